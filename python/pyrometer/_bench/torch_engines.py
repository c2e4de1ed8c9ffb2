"""Runs models in torch: modules, Hugging Face folders, .pt2, TorchScript, plain callables."""

from __future__ import annotations

import contextlib
import pathlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer._bench.engine import TYPES, Engine, need
from pyrometer._error import Error
from pyrometer._helper import example_inputs
from pyrometer._helper.example_inputs import Inputs
from pyrometer._helper.named_models import open_program


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
    """Suppresses progress bars and notes while weights are loaded."""
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
        self.program = open_program(path)
        if device != "cpu":
            from torch.export.passes import move_to_device_pass

            self.program = move_to_device_pass(self.program, device)
        self.module = self.program.module()
        self.priced = self.program
        self.how = "as exported"
        if precision == "int8":
            raise ValueError('precision "int8" requires a module or a Hugging Face folder')
        if precision != "fp32":
            # The graph fixes its types: casting the weights would break it.
            self.autocast = getattr(torch, TYPES[precision])
            self.how = f"autocast to {TYPES[precision]}: the types of an exported graph are fixed"

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
                "or call it with the exported sizes",
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
            raise ValueError('precision "int8" requires a module or a Hugging Face folder')
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
            "a TorchScript file does not describe its input shapes; pass input_data "
            "(pyrometer bench: --input-shape)",
            "argument",
        )


class CallableEngine(Engine):
    """Any function; it chooses its own types, but autocast affects torch inside it."""

    kind = "callable"

    def __init__(self, call: Callable[..., Any], device: str, precision: str) -> None:
        super().__init__(getattr(call, "__name__", type(call).__name__), device, precision)
        self.call = call
        self.how = "as the callable computes"
        self.why_not_priced = "a callable has no graph"
        if precision == "int8":
            raise ValueError('precision "int8" requires a module, not a callable')
        if precision != "fp32":
            import torch

            self.autocast = getattr(torch, TYPES[precision])
            self.how = f"autocast to {TYPES[precision]}"

    def make_inputs(self, batch_size: int | None) -> Inputs:
        import inspect

        with contextlib.suppress(TypeError, ValueError):
            inspect.signature(self.call).bind()
            return Inputs((), {}, "called with nothing")
        return super().make_inputs(batch_size)

    def verify(self, placed: Inputs) -> None:
        if self.autocast is not None:  # else nothing was converted, and a call may be expensive
            super().verify(placed)

    def bind(self, inputs: Inputs) -> Callable[[], Any]:
        if self.autocast is None and not inputs.args and not inputs.kwargs:
            return self.call
        return self._bound(self.call, inputs)
