"""What needs torch: exporting a user's model, and asking other counters about a named one.

The command-line tool carries this file and runs it in the user's Python, which need not have
Pyrometer installed; the package uses it to register models. Nothing here counts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import linecache
import logging
import os
import pathlib
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unittest import mock

from ._error import Error
from ._live import (
    export,
    slow_attention_path,
    tied_parameters,
    write_archive,
)

if TYPE_CHECKING:
    import torch

DEFAULT_SHAPE = (1, 3, 224, 224)


class Missing(Exception):
    """A package is not there."""

    def __init__(self, packages: Sequence[str]) -> None:
        super().__init__(", ".join(packages))
        self.packages = list(packages)


class Unusable(Exception):
    """What was asked for is not there or is no model: a file, a function, a result of it."""


class Broken(Exception):
    """The user's code raised: where, and what to do about it."""

    def __init__(self, stage: str, error: BaseException, hint: str = "") -> None:
        super().__init__(str(error))
        self.stage = stage
        self.error = error
        self.hint = hint

    def report(self) -> dict[str, Any]:
        """The failure for the caller: message, file, line and the line's text."""
        lines = str(self.error).strip().splitlines() or [""]
        return {
            "stage": self.stage,
            "type": type(self.error).__name__,
            "message": lines[0],
            "hint": self.hint,
            **locate(self.error),
        }


def require(packages: Sequence[str]) -> None:
    """Raises Missing for those that cannot be imported."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Missing(missing)


def locate(error: BaseException) -> dict[str, Any]:
    """The innermost line of the user's own code, else of a package's, that an error passed."""
    own: traceback.FrameSummary | None = None
    package: traceback.FrameSummary | None = None
    library = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    packages = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    # The first cause is the last of the chain; its frames are the deepest.
    for part in reversed(chain):
        for frame in traceback.extract_tb(part.__traceback__):
            path = frame.filename
            if path.startswith("<") or "/torch/" in path or __file__ == path or ".zip/" in path:
                continue
            if path.startswith(packages) or "site-packages" in path:
                package = frame
            elif not path.startswith(library) and "/python3" not in path:
                own = frame
        if own is not None:
            break
    frame = own or package
    if frame is None:
        return {"file": None, "line": None, "function": None, "code": None}
    code = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
    return {
        "file": frame.filename,
        "line": frame.lineno,
        "function": frame.name,
        "code": code,
    }


def load(spec: str) -> Callable[[], Any]:
    """The function that "file.py:function" or "package.module:function" names."""
    place, colon, name = spec.rpartition(":")
    if not colon:
        place, name = spec, ""
    if place.endswith(".py"):
        path = pathlib.Path(place)
        if not path.is_file():
            raise Unusable(f"{place}: no such file")
        sys.path.insert(0, str(path.resolve().parent))
        found = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(found)
        sys.modules[path.stem] = module
        runner = lambda: found.loader.exec_module(module)  # noqa: E731
    else:
        sys.path.insert(0, os.getcwd())
        runner = lambda: importlib.import_module(place)  # noqa: E731
    try:
        imported = runner()
    except ModuleNotFoundError as error:
        if error.name == place:
            raise Unusable(f"{place}: no such file or module") from error
        if error.name and importlib.util.find_spec(error.name.partition(".")[0]) is None:
            raise Missing([error.name.partition(".")[0]]) from error
        raise Broken("import", error) from error
    except Exception as error:
        raise Broken("import", error) from error
    module = imported or sys.modules[pathlib.Path(place).stem if place.endswith(".py") else place]
    target: Any = module
    for part in name.split(".") if name else ():
        target = getattr(target, part, None)
    if not name or target is None:
        names = ", ".join(builders(module)) or "none"
        wrong = f"has no {name}" if name else "name a function of it"
        raise Unusable(f"{place}: {wrong}; it has: {names}")
    if not callable(target):
        raise Unusable(f"{spec}: is no function")
    return target


def builders(module: Any) -> list[str]:
    """Functions without arguments, and classes of modules, that a file defines."""
    names = []
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not own or not callable(value):
            continue
        with contextlib.suppress(TypeError, ValueError):
            parameters = inspect.signature(value).parameters.values()
            if all(p.default is not p.empty or p.kind in (2, 4) for p in parameters):
                names.append(name)
    return names


def build(make: Callable[[], Any]) -> tuple[torch.nn.Module, Any]:
    """The module that a function returns, in eval mode, and its example inputs or None."""
    import torch

    try:
        made = make()
    except Exception as error:
        raise Broken("build", error) from error
    inputs = None
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        made, inputs = made
    if not isinstance(made, torch.nn.Module):
        raise Unusable(
            f"{type(made).__name__} was returned where an nn.Module, or one with a tuple of its "
            "inputs, is wanted"
        )
    return made.eval(), inputs


def as_arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs as positional and keyword arguments."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


def example(module: torch.nn.Module, shape: Sequence[int]) -> torch.Tensor:
    """A tensor of that shape, of the type that the module's first layer takes."""
    import torch

    parameter = next(iter(module.parameters()), None)
    device = parameter.device if parameter is not None else "cpu"
    first = next((layer for layer in module.modules() if not list(layer.children())), None)
    if isinstance(first, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
        return torch.zeros(tuple(shape), dtype=torch.int64, device=device)
    dtype = parameter.dtype if parameter is not None else torch.float32
    return torch.zeros(
        tuple(shape), dtype=dtype if dtype.is_floating_point else torch.float32, device=device
    )


def with_batch_of_two(value: Any) -> Any:
    """A tensor with 2 where its first size is 1: export would take a 1 for fixed."""
    import torch

    if not isinstance(value, torch.Tensor) or value.ndim == 0 or value.shape[0] != 1:
        return value
    return torch.cat([value, value])


def open_sizes(value: Any) -> Any:
    """What torch.export takes to leave every size of a tensor open that can be."""
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    return {axis: torch.export.Dim.AUTO for axis in range(value.ndim)}


def hint_for(error: BaseException) -> str:
    """What can be done about a trace that failed."""
    text = f"{type(error).__name__} {error}"
    if "data-dependent" in text or "DataDependent" in text or "item()" in text:
        return (
            "what happens here depends on the values of a tensor, which a trace does not have: "
            "use torch.cond or torch.where, or fix the choice before tracing"
        )
    if "shape" in text or "size" in text or "dimension" in text or "channels" in text:
        return "if the input has the wrong shape, give --input-shape"
    return ""


def run_plainly(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises Broken where the model does not even run with these inputs."""
    import torch

    try:
        with torch.no_grad():
            module(*args, **kwargs)
    except Exception as error:
        raise Broken("forward", error, hint_for(error)) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps what torch says of a trace that fails to itself; the exception says it better."""
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def export_module(module: torch.nn.Module, inputs: Any, shape: Sequence[int] | None) -> bytes:
    """A module as an archive without weights, every size that can be open left open."""
    import torch
    from torch.utils import _pytree as pytree

    if inputs is None:
        inputs = example(module, shape or DEFAULT_SHAPE)
    args, kwargs = as_arguments(inputs)
    label = type(module).__name__
    program = None
    with quiet(), torch.no_grad(), slow_attention_path():
        if hasattr(torch.export, "Dim") and hasattr(torch.export.Dim, "AUTO"):
            wider = pytree.tree_map(with_batch_of_two, (args, kwargs))
            sizes = pytree.tree_map(open_sizes, wider)
            names = list(inspect.signature(module.forward).parameters)
            by_name = dict(zip(names, sizes[0], strict=False)) | sizes[1]
            dynamic = by_name if kwargs else tuple(sizes[0])
            with contextlib.suppress(Exception):
                program = export(module, *wider, dynamic, False)
        if program is None:
            try:
                program = export(module, args, kwargs, None, False)
            except Error as error:
                run_plainly(module, args, kwargs)
                cause = error.__cause__ or error
                raise Broken("trace", cause, hint_for(cause)) from error
    shapes = default_shapes(program, pytree.tree_leaves((args, kwargs)))
    return write_archive(program, label, tied_parameters(module), shapes)


def default_shapes(program: Any, given: Sequence[Any]) -> dict[str, list[int]]:
    """Each tensor that a program takes, by its name there, with the shape that was given."""
    import torch

    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    names = [name for name in program.graph_signature.user_inputs if isinstance(name, str)]
    tensors = [name for name in names if isinstance(values.get(name), torch.Tensor)]
    shapes = [list(leaf.shape) for leaf in given if isinstance(leaf, torch.Tensor)]
    return dict(zip(tensors, shapes, strict=True)) if len(tensors) == len(shapes) else {}


@contextlib.contextmanager
def plain_paths() -> Iterator[None]:
    """Turns off the fused paths inside which torch's own counter sees nothing."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with (
        slow_attention_path(),
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
    ):
        yield


@contextlib.contextmanager
def without_downloads() -> Iterator[None]:
    """Lets torchvision's builders be asked for weights, which sets a model's options, but loads
    none."""
    import torch
    from torchvision.models._api import WeightsEnum
    from torchvision.models.regnet import BlockParams

    from_widths = BlockParams.from_init_params.__func__

    def on_cpu(cls: type, *arguments: Any, **options: Any) -> Any:
        # Its block widths are computed with tensors, which must hold values.
        with torch.device("cpu"):
            return from_widths(cls, *arguments, **options)

    with (
        mock.patch.object(WeightsEnum, "get_state_dict", lambda *_, **__: {}),
        mock.patch.object(torch.nn.Module, "load_state_dict", lambda *_, **__: None),
        mock.patch.object(BlockParams, "from_init_params", classmethod(on_cpu)),
    ):
        yield


def make_named(package: str, builder: str, device: str) -> torch.nn.Module:
    """A model as its package builds it: by the tool's own expression, or the user's function."""
    import torch

    if not package:
        return build(load(builder))[0].to(device)
    if "..." in builder:
        raise Unusable("how it is built is not stored in full")
    downloads = contextlib.nullcontext()
    # Other packages import torchvision where it is installed, which may be without its library.
    if importlib.util.find_spec("torchvision") is not None:
        from .torchvision_ops import declare

        declare()
        if package == "torchvision":
            downloads = without_downloads()
    names = {"torch": torch, package: importlib.import_module(package)}
    with downloads, torch.device(device):
        module = eval(builder, names).eval()
    if type(getattr(module, "transform", None)).__name__ == "GeneralizedRCNNTransform":
        raise Unusable(
            "a detector chooses boxes by their values; its graph is priced with their number as an "
            "input, which another counter cannot be given"
        )
    # A cache is what nobody asked for, and no tensor.
    config = getattr(module, "config", None)
    if package == "transformers" and config is not None:
        config.use_cache = False
    return module


def named_inputs(
    module: torch.nn.Module, inputs: Sequence[Mapping[str, Any]], device: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Zeros of the sizes in question: by name where forward knows the names, else in order."""
    import torch

    tensors = {
        given["name"]: torch.zeros(
            tuple(given["shape"]), dtype=getattr(torch, given["dtype"]), device=device
        )
        for given in inputs
    }
    known = inspect.signature(module.forward).parameters
    if len(tensors) > 1 and all(name in known for name in tensors):
        return (), tensors
    return tuple(tensors.values()), {}


def available_bytes() -> int:
    """Memory that a new process could have."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    return sys.maxsize


def of_tensors(module: torch.nn.Module, names: Sequence[str]) -> torch.nn.Module:
    """The module for counters that trace: it takes tensors in order, by name where `names` has
    some, and gives the tensors of its result, which may be an object of the module's own."""
    import torch

    def tensors_in(result: Any) -> list[torch.Tensor]:
        if isinstance(result, torch.Tensor):
            return [result]
        parts = list(result.values()) if isinstance(result, Mapping) else result
        if not isinstance(parts, (list, tuple)):
            return []
        return [tensor for part in parts for tensor in tensors_in(part)]

    class OfTensors(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            given = dict(zip(names, tensors, strict=True)) if names else {}
            result = self.module(**given) if names else self.module(*tensors)
            return tuple(tensors_in(result))

    return OfTensors().eval()


def count_fvcore(model: Mapping[str, Any]) -> dict[str, Any]:
    """fvcore's total and operators. It runs the model with real weights, on the CPU."""
    import fvcore.nn

    needed = 4 * model["params"]
    if needed > available_bytes() * 0.7:
        raise RuntimeError(f"fvcore makes every weight, which is {needed / 2**30:.0f} GiB here")
    module = make_named(model["package"], model["builder"], "cpu")
    args, kwargs = named_inputs(module, model["inputs"], "cpu")
    traced = of_tensors(module, list(kwargs))
    analysis = fvcore.nn.FlopCountAnalysis(traced, args or tuple(kwargs.values()))
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    with slow_attention_path():
        return {
            "total": int(analysis.total()),
            "by_operator": {name: int(count) for name, count in analysis.by_operator().items()},
            "uncounted": {
                name.removeprefix("aten::"): int(count)
                for name, count in analysis.unsupported_ops().items()
            },
        }


def count_torch(model: Mapping[str, Any]) -> dict[str, Any]:
    """FlopCounterMode's total and operators, on the meta device where the model allows that."""
    from torch.utils.flop_counter import FlopCounterMode

    last: Exception | None = None
    for device in ("meta", "cpu"):
        if device == "cpu" and 4 * model["params"] > available_bytes() * 0.7:
            break
        try:
            module = make_named(model["package"], model["builder"], device)
            args, kwargs = named_inputs(module, model["inputs"], device)
            with plain_paths(), FlopCounterMode(display=False) as counter:
                module(*args, **kwargs)
        except Unusable:
            raise
        except Exception as error:
            last = error
            continue
        counts = counter.get_flop_counts().get("Global", {})
        return {
            "total": int(counter.get_total_flops()),
            "by_operator": {str(op).removeprefix("aten."): int(n) for op, n in counts.items()},
            "uncounted": {},
        }
    raise RuntimeError(str(last)) from last


_COUNTERS = {"fvcore": count_fvcore, "torch": count_torch}


def count(request: Mapping[str, Any]) -> dict[str, Any]:
    """What each counter says of each model; a failure is told beside the others."""
    packages = ["torch", *(name for name in request["against"] if name != "torch")]
    packages += [model["package"] for model in request["models"] if model["package"]]
    require(list(dict.fromkeys(packages)))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    results = []
    for model in request["models"]:
        for counter in request["against"]:
            result = {"model": model["name"], "counter": counter}
            try:
                result |= _COUNTERS[counter](model)
            except Exception as error:
                lines = str(error).strip().splitlines() or [""]
                kind = "" if isinstance(error, Unusable) else f"{type(error).__name__}: "
                result["error"] = f"{kind}{lines[0]}"[:300]
            results.append(result)
    return {"results": results, "versions": versions(packages)}


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions that are installed."""
    import importlib.metadata

    found = {}
    for name in dict.fromkeys(packages):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def export_spec(spec: str, shape: Sequence[int] | None, archive: str) -> dict[str, Any]:
    """Exports "file.py:function" into a file."""
    require(["torch"])
    module, inputs = build(load(spec))
    pathlib.Path(archive).write_bytes(
        export_module(module, None if shape is not None else inputs, shape)
    )
    place, _, name = spec.rpartition(":")
    known = str(pathlib.Path(place).resolve()) if place.endswith(".py") else place
    return {"label": type(module).__name__, "builder": f"{known}:{name}"}


def bench(request: str) -> dict[str, Any]:
    """Results of measuring a model, by the package that is installed here."""
    import pyrometer._model_bench

    pyrometer._model_bench.stop_once()
    if importlib.util.find_spec("torchvision") is not None:
        from .torchvision_ops import declare

        with contextlib.suppress(Exception):
            declare()
    with open(request) as file:
        return pyrometer._model_bench.measure(json.load(file))


def sizes(text: str) -> tuple[int, ...]:
    """ "1,3,224,224" or "1x3x224x224" as numbers."""
    return tuple(int(part) for part in text.replace("x", ",").split(","))


def answer(options: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, or what stood in the way."""
    try:
        if options.verb == "bench":
            return bench(options.spec)
        if options.verb == "export":
            return export_spec(options.spec, options.input_shape, options.archive)
        with open(options.spec) as file:
            return count(json.load(file))
    except Missing as error:
        return {"missing": error.packages}
    except Unusable as error:
        return {"unusable": str(error)}
    except Broken as error:
        return {"broken": error.report()}
    except KeyboardInterrupt:
        return {"unusable": "interrupted"}


def main() -> int:
    """The tool's side: the answer goes to a file, since a model's code may print what it likes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("export", "count", "bench"))
    parser.add_argument("spec")
    parser.add_argument("--result", required=True)
    parser.add_argument("--archive")
    parser.add_argument("--input-shape", type=sizes)
    options = parser.parse_args()
    result = answer(options)
    pathlib.Path(options.result).write_text(json.dumps(result))
    return 0
