"""What needs torch: building and exporting a model that the user names.

The command-line tool carries this file and runs it in the user's Python, which need not have
Pyrometer installed; the package uses it too. Nothing here counts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._error import Error
from .archive import export, slow_attention_path, tied_parameters, write_archive
from .example_inputs import from_first_layer
from .export_errors import Broken, hint_for, quiet

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


def require(packages: Sequence[str]) -> None:
    """Raises Missing for those that cannot be imported."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Missing(missing)


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
        if error.name and f"{place}.".startswith(f"{error.name}."):
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


def example(module: torch.nn.Module, shape: Sequence[int] | None) -> torch.Tensor:
    """A tensor of that shape, of the type that the module's first layer takes; without a shape,
    what that layer says it takes."""
    import torch

    parameter = next(iter(module.parameters()), None)
    device = parameter.device if parameter is not None else "cpu"
    if shape is None:
        with contextlib.suppress(Error):
            return from_first_layer(module, 1).args[0].to(device)
        shape = DEFAULT_SHAPE
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


def run_plainly(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises Broken where the model does not even run with these inputs."""
    import torch

    try:
        with torch.no_grad():
            module(*args, **kwargs)
    except Exception as error:
        raise Broken("forward", error, hint_for(error, module)) from error


def export_module(module: torch.nn.Module, inputs: Any, shape: Sequence[int] | None) -> bytes:
    """A module as an archive without weights, every size that can be open left open."""
    import torch
    from torch.utils import _pytree as pytree

    if inputs is None:
        inputs = example(module, shape)
    args, kwargs = as_arguments(inputs)
    label = type(module).__name__
    program = None
    with quiet(hide_warnings=True), torch.no_grad(), slow_attention_path():
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
            except Broken:
                run_plainly(module, args, kwargs)
                raise
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


def declare_operators() -> None:
    """Lets other packages import torchvision where it is installed without its library. The tool
    carries what that needs; the package does not."""
    if importlib.util.find_spec("torchvision") is None:
        return
    with contextlib.suppress(Exception):
        importlib.import_module(".torchvision_ops", __package__).declare()


def build_spec(spec: str, device: str | None = None) -> tuple[torch.nn.Module, Any]:
    """The module that a function or a folder of transformers or timm stands for, and its example
    inputs or None."""
    if os.path.isdir(spec):
        from .config_folder import build_folder

        return build_folder(spec, device or "meta")
    module, inputs = build(load(spec))
    return module if device is None else module.to(device), inputs


def with_shape(module: torch.nn.Module, inputs: Any, shape: Sequence[int] | None) -> Any:
    """Example inputs with the shape that was asked for, where one tensor is all there is. Of
    several, the first is given its size when the program is priced."""
    import torch
    from torch.utils import _pytree as pytree

    if shape is None:
        return inputs
    if inputs is None:
        return example(module, shape)
    leaves, structure = pytree.tree_flatten(inputs)
    if len(leaves) != 1 or not isinstance(leaves[0], torch.Tensor):
        return inputs
    resized = torch.zeros(tuple(shape), dtype=leaves[0].dtype, device=leaves[0].device)
    return pytree.tree_unflatten([resized], structure)


def export_spec(spec: str, shape: Sequence[int] | None, archive: str) -> dict[str, Any]:
    """Exports "file.py:function", "package.module:function" or a folder into a file."""
    require(["torch"])
    module, inputs = build_spec(spec)
    inputs = with_shape(module, inputs, shape)
    pathlib.Path(archive).write_bytes(export_module(module, inputs, shape))
    if os.path.isdir(spec):
        return {"label": type(module).__name__, "builder": str(pathlib.Path(spec).resolve())}
    place, _, name = spec.rpartition(":")
    known = str(pathlib.Path(place).resolve()) if place.endswith(".py") else place
    return {"label": type(module).__name__, "builder": f"{known}:{name}"}


def bench(request: str) -> dict[str, Any]:
    """Results of measuring a model, by the package that is installed here."""
    import pyrometer._bench.command

    pyrometer._bench.command.stop_once()
    declare_operators()
    with open(request) as file:
        return pyrometer._bench.command.measure(json.load(file))


def sizes(text: str) -> tuple[int, ...]:
    """ "1,3,224,224", "1x3x224x224" or "(1, 3, 224, 224)" as numbers."""
    inner = text.strip().strip("()[]").strip().removesuffix(",")
    return tuple(int(part) for part in re.split(r"\s*[x,]\s*|\s+", inner))


def answer(options: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, or what stood in the way."""
    try:
        if options.verb == "bench":
            return bench(options.spec)
        if options.verb == "export":
            return export_spec(options.spec, options.input_shape, options.archive)
        from .counters import count

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
