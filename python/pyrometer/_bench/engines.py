"""What runs a model: one small interface over modules, .pt2, TorchScript, Hugging Face folders,
.onnx files and plain callables."""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.util
import os
import pathlib
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer import _core
from pyrometer._bench import precisions
from pyrometer._error import Error
from pyrometer._helper import counters, example_inputs
from pyrometer._helper.example_inputs import Inputs

PRECISIONS = ("fp32", "fp16", "bf16", "int8")
_TYPES = {name: kind for name, kind in precisions.TYPES.items() if name != "int8"}


def need(package: str, what: str) -> Any:
    """The module of that name, or an error with the line that installs it."""
    if importlib.util.find_spec(package) is None:
        raise Error(f"{what} needs {package}; pip install {package}", "unsupported")
    return importlib.import_module(package)


def choose_device(device: str | None) -> str:
    """cuda where there is one and nothing else was asked for."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    device = str(device)
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ValueError(f'device {device!r}: "cpu" and "cuda" are known')
    if kind == "cuda":
        if not torch.cuda.is_available():
            why = "torch was built without it" if torch.version.cuda is None else "no GPU is seen"
            raise Error(f'no CUDA here ({why}); device="cpu" runs on the processor', "unsupported")
        index = torch.device(device).index
        if index is not None and index >= torch.cuda.device_count():
            raise Error(f"{device}: there are {torch.cuda.device_count()} GPUs", "argument")
    return device


class Engine:
    """A model that can be called. `module` is None where there is no nn.Module in it."""

    kind = "module"

    def __init__(self, name: str, device: str, precision: str) -> None:
        self.name = name
        self.device = device
        self.precision = precision
        self.how = ""  # how the precision is had, for the result
        self.module: Any = None
        self.priced: Any = None  # what pyrometer.cost() takes
        self.why_not_priced = ""
        self.path: str | None = None
        self.autocast: Any = None  # the dtype, where it is by autocast
        self.ran: str | None = None  # what operators really ran in, once that was looked at
        self.doubt: str | None = None  # what to warn of about it
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
        """The GPU by its driver's own library; None, with `gpu_reason`, where that is missing."""
        if self._gpu is None and self.gpu_reason is None:
            import torch

            try:
                # By its own name: the driver's numbers are not those that CUDA_VISIBLE_DEVICES
                # leaves.
                uuid = str(torch.cuda.get_device_properties(self.device).uuid)
                self._gpu = _core.Gpu(f"GPU-{uuid.removeprefix('GPU-')}")
            except (Error, AttributeError, ValueError) as error:
                self.gpu_reason = f"the driver's library does not say: {error}"
        return self._gpu

    def verify(self, placed: Inputs) -> None:
        """Calls once and fills `ran`: the precision that the operators have, whatever was asked
        for. An Error where it is another one altogether."""
        if self.ran is not None:
            return
        try:
            seen = self._observe(placed)
        except Exception as error:  # what is wrong with the call is said by the measuring
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self.ran = f"not verified: {lines[0][:120]}"
            self._explain_call(error)
            return
        self.ran = seen.describe()
        self.doubt = precisions.check(self.precision, seen, self.how)
        if self.on_gpu and "float32" in seen.counted and _allows_tf32():
            self.ran += " (TF32 is allowed for products)"

    def _observe(self, placed: Inputs) -> precisions.Types:
        # What torch.compile made is looked at as it was written.
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
        """Raises in better words what torch says of a call that fails."""

    def make_inputs(self, batch_size: int | None) -> Inputs:
        raise Error("this does not say what it takes; give input_data", "argument")

    def place(self, inputs: Inputs) -> Inputs:
        """On the device, in the precision of the weights."""
        import torch

        wanted = None
        if self.autocast is None and self.precision in _TYPES and self.module is not None:
            wanted = getattr(torch, _TYPES[self.precision])

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
        """One iteration, as a function of nothing."""
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
        """Around every call, as programs do it: weights that are cast once for many calls would
        look cheaper than they are."""
        if self.autocast is None:
            return contextlib.nullcontext()
        import torch

        return torch.autocast(self.device.partition(":")[0], dtype=self.autocast)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Evaluation without gradients; a module of the user's is as it was afterwards."""
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
        """On disk, and what that is."""
        if self.path is None:
            return None, "the model is not in a file"
        path = pathlib.Path(self.path)
        if path.is_file():
            return path.stat().st_size, "the file"
        names = ("*.safetensors", "*.bin", "*.pt", "*.onnx*", "*.json")
        files = {file for name in names for file in path.rglob(name) if file.is_file()}
        return sum(file.stat().st_size for file in files), "weights and settings in the folder"

    def _take(self, module: Any, own: bool, autocast: bool) -> None:
        """Sets the module in this precision on this device; what is not our own is not changed."""
        import torch

        self.priced = module
        dtype = getattr(torch, _TYPES.get(self.precision, ""), None)
        if self.precision == "int8":
            self.module, self.how = precisions.quantise(module, self.device)
            return
        floating = {p.dtype for p in module.parameters() if p.dtype.is_floating_point}
        casts = bool(floating - {dtype})
        if autocast and self.precision != "fp32":
            self.autocast = dtype
            self.how = f"autocast to {_TYPES[self.precision]}"
            casts = False
        else:
            self.how = (
                f"weights and inputs cast to {_TYPES[self.precision]}"
                if casts
                else f"weights are {_TYPES[self.precision]}"
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


class ModuleEngine(Engine):
    """An nn.Module that the user has built."""

    def __init__(self, module: Any, device: str, precision: str, autocast: bool) -> None:
        super().__init__(type(module).__name__, device, precision)
        self._take(module, own=False, autocast=autocast)

    def make_inputs(self, batch_size: int | None) -> Inputs:
        if hasattr(self.priced, "config") and hasattr(self.priced, "main_input_name"):
            return example_inputs.from_config(self.priced, batch_size or 1)
        return example_inputs.from_first_layer(self.priced, batch_size or 1)


@contextlib.contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """No progress bars and notes while weights are loaded."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


class FolderEngine(Engine):
    """A folder of transformers: config.json and weights; nothing is downloaded."""

    kind = "huggingface"

    def __init__(self, path: str, device: str, precision: str, autocast: bool) -> None:
        super().__init__(pathlib.Path(path).resolve().name, device, precision)
        transformers = need("transformers", "a Hugging Face folder")
        self.path = path
        config = transformers.AutoConfig.from_pretrained(path, local_files_only=True)
        names = getattr(config, "architectures", None) or []
        kind = getattr(transformers, names[0], None) if names else None
        with _quiet(transformers.utils.logging):
            module = (kind or transformers.AutoModel).from_pretrained(path, local_files_only=True)
        self._take(module.eval(), own=precision == "fp32", autocast=autocast)

    def make_inputs(self, batch_size: int | None) -> Inputs:
        return example_inputs.from_config(self.priced, batch_size or 1)


class ProgramEngine(Engine):
    """A .pt2 file of torch.export."""

    kind = "pt2"

    def __init__(self, path: str, device: str, precision: str, autocast: bool) -> None:
        super().__init__(pathlib.Path(path).stem, device, precision)
        import torch

        self.path = path
        self.program = counters.open_program(path)
        if device != "cpu":
            from torch.export.passes import move_to_device_pass

            self.program = move_to_device_pass(self.program, device)
        self.module = self.program.module()
        self.priced = self.program
        self.how = "as exported"
        if precision == "int8":
            raise ValueError('precision "int8" wants a module or a Hugging Face folder, not a .pt2')
        if precision != "fp32":
            # The graph has its types written into it, so that casting the weights would break it.
            self.autocast = getattr(torch, _TYPES[precision])
            self.how = f"autocast to {_TYPES[precision]}: the types of an exported graph are fixed"

    def place(self, inputs: Inputs) -> Inputs:
        import torch

        example_inputs.check_sizes(
            self.path or self.name, inputs, example_inputs.sizes_of(self.program, inputs)
        )
        return inputs.map(lambda t: t.to(self.device) if isinstance(t, torch.Tensor) else t)

    def _explain_call(self, error: Exception) -> None:
        text = str(error)
        if text.startswith("Guard failed"):
            raise Error(
                f"{self.path}: the file was exported for other inputs "
                f"({text.removeprefix('Guard failed:').strip()}); export it with dynamic_shapes, "
                "or call it with the sizes it has",
                "argument",
            ) from None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        import torch

        with torch.inference_mode():
            yield

    def make_inputs(self, batch_size: int | None) -> Inputs:
        return example_inputs.from_program(self.program, batch_size)

    def parameters(self) -> int | None:
        return sum(p.numel() for p in self.program.parameters())


class ScriptEngine(Engine):
    """A TorchScript archive."""

    kind = "torchscript"

    def __init__(self, path: str, device: str, precision: str, autocast: bool) -> None:
        super().__init__(pathlib.Path(path).stem, device, precision)
        import torch

        if precision == "int8":
            raise ValueError('precision "int8" wants a module or a Hugging Face folder')
        self.path = path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            module = torch.jit.load(path, map_location=device)
        self._take(module.eval(), own=True, autocast=autocast)
        self.priced, self.count = None, sum(p.numel() for p in module.parameters())
        self.why_not_priced = "there is no reader of TorchScript graphs yet"

    def parameters(self) -> int | None:
        return self.count

    def make_inputs(self, batch_size: int | None) -> Inputs:
        raise Error(
            "a TorchScript file does not say which shapes it takes; give input_data "
            "(pyrometer bench: --input-shape)",
            "argument",
        )


class CallableEngine(Engine):
    """Any function; what it computes in is its own matter, but autocast reaches torch in it."""

    kind = "callable"

    def __init__(self, call: Callable[..., Any], device: str, precision: str) -> None:
        super().__init__(getattr(call, "__name__", type(call).__name__), device, precision)
        self.call = call
        self.how = "as the callable computes"
        self.why_not_priced = "a callable has no graph"
        if precision == "int8":
            raise ValueError('precision "int8" wants a module, not a callable')
        if precision != "fp32":
            import torch

            self.autocast = getattr(torch, _TYPES[precision])
            self.how = f"autocast to {_TYPES[precision]}"

    def make_inputs(self, batch_size: int | None) -> Inputs:
        import inspect

        with contextlib.suppress(TypeError, ValueError):
            inspect.signature(self.call).bind()
            return Inputs((), {}, "called with nothing")
        return super().make_inputs(batch_size)

    def verify(self, placed: Inputs) -> None:
        if self.autocast is not None:  # else nothing was converted, and a call may cost anything
            super().verify(placed)

    def bind(self, inputs: Inputs) -> Callable[[], Any]:
        if self.autocast is None and not inputs.args and not inputs.kwargs:
            return self.call
        return self._bound(self.call, inputs)


def load(model: Any, device: str, precision: str, autocast: bool = False) -> Engine:
    """The engine of a module, a callable or a path."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r}: one of {', '.join(PRECISIONS)}")
    if not isinstance(model, str | os.PathLike):
        import torch

        if isinstance(model, torch.nn.Module):
            return ModuleEngine(model, device, precision, autocast)
        if callable(model):
            return CallableEngine(model, device, precision)
        raise TypeError(f"a path, an nn.Module or a callable is wanted, not {type(model)!r}")
    path = os.fspath(model)
    if os.path.isdir(path):
        return _load_folder(path, device, precision, autocast)
    if _core.spec_kind(path) == "python":
        return _load_builder(path, device, precision, autocast)
    if not os.path.exists(path) and not os.path.exists(path.rpartition(":")[0]):
        return _load_named(path, device, precision, autocast)
    if path.endswith(".onnx"):
        from pyrometer._bench.onnx_engine import OnnxEngine

        return OnnxEngine(path, device, precision, autocast)
    return _archive_kind(path)(path, device, precision, autocast)


def _load_folder(path: str, device: str, precision: str, autocast: bool) -> Engine:
    if os.path.exists(os.path.join(path, "config.json")):
        return FolderEngine(path, device, precision, autocast)
    endings = (".pt2", ".onnx", ".pt", ".ts", ".torchscript")
    files = [file for file in sorted(os.listdir(path)) if file.endswith(endings)]
    if len(files) == 1:
        return load(os.path.join(path, files[0]), device, precision, autocast)
    what = "several models" if files else "no config.json and no model file"
    raise Error(f"{path}: {what} in this folder; name a .pt2, .onnx or TorchScript file", "format")


def _load_builder(path: str, device: str, precision: str, autocast: bool) -> Engine:
    """FILE.py:function or package.module:function, which gives a module or is the callable."""
    from pyrometer._helper import main

    try:
        module, inputs = main.build(main.load(path))
    except main.Unusable as error:
        raise Error(str(error), "argument") from None
    except main.Missing as error:
        packages = " ".join(error.packages)
        raise Error(f"{path} needs {packages}; pip install {packages}") from None
    except main.Broken as error:
        failed = error.as_error(path)
        raise failed from failed.__cause__
    engine = load(module, device, precision, autocast)
    if inputs is not None:
        args, kwargs = main.as_arguments(inputs)
        given = Inputs(args, kwargs, "given by the builder")
        engine.make_inputs = lambda size: given if size is None else given.resized(size)
    return engine


def _load_named(name: str, device: str, precision: str, autocast: bool) -> Engine:
    """A model that is known by name: built by its package, with random weights."""
    from pyrometer._cost.cost import cost
    from pyrometer._cost.registry import MODEL_REGISTRY
    from pyrometer._helper import main

    priced = cost(name).to_dict()  # says what is near where there is no such model
    model = MODEL_REGISTRY[priced["model"]]
    builder = model.source["builder"]
    if model.own:
        return load(builder, device, precision, autocast)
    if 4 * priced["params"] > 0.7 * counters.available_bytes():
        raise Error(f"{name}: its weights need {4 * priced['params'] / 2**30:.0f} GiB of memory")
    try:
        module = counters.make_named(model.source["package"], builder, "cpu")
    except ModuleNotFoundError as error:
        raise Error(f"{name} needs {error.name}; pip install {error.name}") from None
    except main.Unusable as error:
        raise Error(f"{name}: {error}") from None
    args, kwargs = counters.named_inputs(module, priced["inputs"], "cpu")
    given = Inputs(args, kwargs, "of the built-in model's sizes; its weights are random")
    engine = load(module, device, precision, autocast)
    engine.name = model.name
    engine.make_inputs = lambda size: given if size is None else given.resized(size)
    return engine


def _archive_kind(path: str) -> type[Engine]:
    """By what is in the file, whatever it is called."""
    if not os.path.exists(path):  # file.pt2:name
        return ProgramEngine
    if not zipfile.is_zipfile(path):
        raise Error(f"{path}: neither .pt2, TorchScript nor .onnx", "format")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any("/code/" in f"/{name}" for name in names):
        return ScriptEngine
    is_program = path.endswith(".pt2") or any(
        name.endswith(("archive_format", "serialized_exported_program.json")) for name in names
    )
    if is_program:
        return ProgramEngine
    raise Error(
        f"{path}: weights or a pickled module, which is not run from here: save it with "
        "torch.export.save(), or give the nn.Module itself",
        "format",
    )
