"""The interface of engines, which run models, and their common parts."""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.util
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer import _core
from pyrometer._bench import precisions
from pyrometer._error import Error
from pyrometer._helper.example_inputs import Inputs

PRECISIONS = ("fp32", "fp16", "bf16", "int8")
TYPES = {name: kind for name, kind in precisions.TYPES.items() if name != "int8"}


def need(package: str, what: str) -> Any:
    """Imports a package, or raises an error with the command that installs it."""
    if importlib.util.find_spec(package) is None:
        raise Error(f"{what} requires {package}; pip install {package}", "unsupported")
    return importlib.import_module(package)


class Engine:
    """A model that can be called. `module` is None without an nn.Module."""

    kind = "module"

    def __init__(self, name: str, device: str, precision: str) -> None:
        self.name = name
        self.device = device
        self.precision = precision
        self.how = ""  # how the precision was obtained, for the result
        self.module: Any = None
        self.priced: Any = None  # argument of pyrometer.cost()
        self.why_not_priced = ""
        self.path: str | None = None
        self.autocast: Any = None  # the dtype of autocast, if used
        self.ran: str | None = None  # observed precision of the operators, set by verify()
        self.doubt: str | None = None  # warning about it
        self.gpu_reason: str | None = None if self.on_gpu else "runs on the processor"
        self._gpu: Any = None

    @property
    def on_gpu(self) -> bool:
        return self.device.startswith("cuda")

    def synchronize(self) -> Callable[[], Any] | None:
        if not self.on_gpu:
            return None
        import functools

        import torch

        return functools.partial(torch.cuda.synchronize, self.device)

    def gpu(self) -> Any:
        """The GPU in the driver's library; None, with `gpu_reason`, if the library is missing."""
        if self._gpu is None and self.gpu_reason is None:
            import torch

            try:
                # By its UUID: CUDA_VISIBLE_DEVICES does not change the driver's numbers.
                uuid = str(torch.cuda.get_device_properties(self.device).uuid)
                self._gpu = _core.Gpu(f"GPU-{uuid.removeprefix('GPU-')}")
            except (Error, AttributeError, ValueError) as error:
                self.gpu_reason = f"the driver's library does not say: {error}"
        return self._gpu

    def verify(self, placed: Inputs) -> None:
        """Calls once and sets `ran` to the precision in which the operators run. Raises an Error if
        the requested precision is not used at all."""
        if self.ran is not None:
            return
        try:
            seen = self._observe(placed)
        except Exception as error:  # the measurement reports what is wrong with the call
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self.ran = f"not verified: {lines[0][:120]}"
            self._explain_call(error)
            return
        self.ran = seen.describe()
        self.doubt = precisions.check(self.precision, seen, self.how)
        if self.on_gpu and "float32" in seen.counted and _allows_tf32():
            self.ran += " (TF32 is allowed for products)"

    def _observe(self, placed: Inputs) -> precisions.Types:
        # A compiled module is observed in its original form.
        whole = getattr(self.module, "_orig_mod", self.module)
        run = self.bind(placed) if whole is self.module else self._bound(whole, placed)
        with self.running():
            seen = precisions.observe(run)
            if (wait := self.synchronize()) is not None:
                wait()
        if not seen.counted and self.autocast is None and hasattr(self.module, "parameters"):
            return precisions.of_weights(self.module)
        return seen

    def _explain_call(self, error: Exception) -> None:
        """Raises a clearer error for a failed call of torch."""

    def make_inputs(self, batch_size: int | None) -> Inputs:
        raise Error("this model does not describe its inputs; pass input_data", "argument")

    def place(self, inputs: Inputs) -> Inputs:
        """Moves inputs to the device, in the precision of the weights."""
        import torch

        wanted = None
        if self.autocast is None and self.precision in TYPES and self.module is not None:
            wanted = getattr(torch, TYPES[self.precision])

        def move(tensor: Any) -> Any:
            if not isinstance(tensor, torch.Tensor):
                return tensor
            if wanted is not None and tensor.dtype in (
                torch.float32, torch.float16, torch.bfloat16
            ):  # fmt: skip
                return tensor.to(self.device, wanted)
            return tensor.to(self.device)

        return inputs.map(move)

    def bind(self, inputs: Inputs) -> Callable[[], Any]:
        """One iteration, as a function without arguments."""
        return self._bound(self.module, inputs)

    def _bound(self, call: Callable[..., Any], inputs: Inputs) -> Callable[[], Any]:
        args, kwargs = inputs.args, inputs.kwargs
        if self.autocast is not None:
            casting = self.casting

            def run() -> Any:
                with casting():
                    return call(*args, **kwargs)

            return run
        if not kwargs and len(args) == 1:
            only = args[0]
            return lambda: call(only)
        return lambda: call(*args, **kwargs)

    def casting(self) -> Any:
        """Surrounds every single call, as in programs: weights cast once for many calls would look
        cheaper than they are."""
        if self.autocast is None:
            return contextlib.nullcontext()
        import torch

        return torch.autocast(self.device.partition(":")[0], dtype=self.autocast)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Evaluation mode without gradients; restores the state of the user's module."""
        import torch

        training: list[Any] = []
        if isinstance(self.module, torch.nn.Module):
            training = [layer for layer in self.module.modules() if layer.training]
            for layer in training:
                layer.training = False
        try:
            with torch.inference_mode():
                yield
        finally:
            for layer in training:
                layer.training = True

    def parameters(self) -> int | None:
        if self.priced is None or not hasattr(self.priced, "parameters"):
            return None
        return sum(parameter.numel() for parameter in self.priced.parameters())

    def weight_bytes(self) -> int | None:
        if self.module is None or not hasattr(self.module, "parameters"):
            return None
        import torch

        tensors = [*self.module.parameters(), *self.module.buffers()]
        held = {
            t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
            for t in tensors
            if isinstance(t, torch.Tensor) and t.layout is torch.strided
        }
        for layer in self.module.modules():
            weight = getattr(layer, "weight", None)
            if callable(weight) and not isinstance(weight, torch.Tensor):
                with contextlib.suppress(Exception):  # a quantised layer, whose weight is packed
                    packed = weight()
                    held[id(layer)] = packed.numel() * packed.element_size()
        return sum(held.values())

    def size_bytes(self) -> tuple[int | None, str]:
        """Size on disk, and what it covers."""
        if self.path is None:
            return None, "the model is not in a file"
        path = pathlib.Path(self.path)
        if path.is_file():
            return path.stat().st_size, "the file"
        names = ("*.safetensors", "*.bin", "*.pt", "*.onnx*", "*.json")
        files = {file for name in names for file in path.rglob(name) if file.is_file()}
        return sum(file.stat().st_size for file in files), "weights and settings in the folder"

    def _take(self, module: Any, own: bool, autocast: bool) -> None:
        """Sets up the module in this precision on this device; never changes the user's module."""
        import torch

        self.priced = module
        dtype = getattr(torch, TYPES.get(self.precision, ""), None)
        if self.precision == "int8":
            self.module, self.how = precisions.quantise(module, self.device)
            return
        floating = {p.dtype for p in module.parameters() if p.dtype.is_floating_point}
        casts = bool(floating - {dtype})
        if autocast and self.precision != "fp32":
            self.autocast = dtype
            self.how = f"autocast to {TYPES[self.precision]}"
            casts = False
        else:
            self.how = (
                f"weights and inputs cast to {TYPES[self.precision]}"
                if casts
                else f"weights are {TYPES[self.precision]}"
            )
        devices = {p.device for p in module.parameters()} | {b.device for b in module.buffers()}
        wanted = torch.device(self.device)
        if self.on_gpu and wanted.index is None:
            wanted = torch.device("cuda", torch.cuda.current_device())
        moves = any(device != wanted for device in devices)
        if (casts or moves) and not own:
            module = copy.deepcopy(module)
        if casts:
            module = module.to(dtype)
        self.module = module.to(wanted) if moves else module


def _allows_tf32() -> bool:
    import torch

    return bool(torch.backends.cuda.matmul.allow_tf32)
