"""Models by name: pyrometer.models() lists them, MODEL_REGISTRY adds your own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrometer import _core
from pyrometer._cost.cost import Cost, cost
from pyrometer._helper.build import build
from pyrometer._helper.export import export_module
from pyrometer._helper.export_errors import Broken
from pyrometer._helper.requirements import Missing, Unusable, require

if TYPE_CHECKING:
    import torch

Builder = Callable[[], "torch.nn.Module | tuple[torch.nn.Module, Any]"]


class Model(NamedTuple):
    """A model that has a name. Calling it prices it: MODEL_REGISTRY["resnet50"]().

    `macs` and `params` are at the shapes of `input`; None where unknown.
    `dims` are the sizes that may change. `source` and `params_source` name the origin of the
    architecture and of the published parameter count.
    """

    name: str
    display_name: str
    family: str
    task: str
    params: int | None
    published_params: int | None
    params_source: str
    macs: int | None
    input: dict[str, tuple[int, ...]]
    dims: tuple[dict[str, Any], ...]
    decode: bool
    source: dict[str, str]
    own: bool
    hides_builtin: bool
    problem: str | None

    def __call__(self, **options: Any) -> Cost:
        """Prices the model; accepts the options that pyrometer.cost() accepts for a file."""
        return cost(self.name, **options)


def models(
    pattern: str | None = None,
    *,
    family: str | None = None,
    task: str | None = None,
    sort: str = "name",
) -> list[Model]:
    """Lists the models that pyrometer.cost() accepts by name.

    Args:
        pattern: a part of a name or family, or a glob such as "vit_*".
        family: only models of this family.
        task: only models for this task.
        sort: "name", or "params" or "macs" with the largest first.
    """
    listing = json.loads(_core.models(pattern, family, task, sort))
    return [
        Model(
            **{
                **entry,
                "input": {given["name"]: tuple(given["shape"]) for given in entry["input"]},
                "dims": tuple(entry["dims"]),
            }
        )
        for entry in listing["models"]
    ]


def register(
    name: str,
    builder: Builder,
    input_shape: Sequence[int] | None = None,
    *,
    inputs: Any = None,
    force: bool = False,
) -> None:
    """Stores a model under a name, so that pyrometer.cost(name) and `pyrometer cost NAME` price it.

    The model is built and exported at once. Its graph, without weights, is stored in the user's
    registry; pricing it requires neither torch nor Python.

    Args:
        name: letters, digits, and (not first) the characters . _ -
        builder: called without arguments; returns an nn.Module, or a module and its example inputs.
        input_shape: shape of its only input; (1, 3, 224, 224) unless given otherwise.
        inputs: example inputs, where one tensor is not enough, in the form of pyrometer.cost().
        force: replace your own model, or hide a built-in model of that name.

    Raises:
        ModuleNotFoundError: torch is not installed.
        ValueError: the name is taken or invalid.
        Error: the model cannot be built or traced; the message names the line.
    """
    _core.registry_check_name(name, force)
    if not callable(builder):
        raise TypeError(f"expected a function that returns an nn.Module, not {type(builder)!r}")
    try:
        require(["torch"])
        module, own_inputs = build(builder)
        if inputs is None and input_shape is None:
            inputs = own_inputs
        archive = export_module(module, inputs, input_shape)
    except Missing as error:
        raise ModuleNotFoundError(
            f"registering a model exports it, which requires torch: pip install {error}"
        ) from error
    except Unusable as error:
        raise TypeError(f"{name}: {error}") from error
    except Broken as error:
        failed = error.as_error(name)
        raise failed from failed.__cause__
    _core.registry_add(name, archive, source_of(builder), force)


def source_of(builder: Builder) -> str:
    """ "file.py:function" where that finds the function again; otherwise its qualified name."""
    code = getattr(builder, "__code__", None)
    name = getattr(builder, "__qualname__", type(builder).__name__)
    if code is None or "<" in name:
        return f"{getattr(builder, '__module__', '')}:{name}"
    return f"{os.path.abspath(code.co_filename)}:{name}"


class ModelRegistry(MutableMapping[str, Any]):
    """All models that have a name: the built-in ones and the user's own.

    Setting a name to a function that returns an nn.Module is register(); deleting one removes it
    from the user's registry. A built-in model can be neither replaced nor deleted.
    """

    def __getitem__(self, name: str) -> Model:
        if isinstance(name, str):
            for known in (name, _core.builtin_of_id(name)):
                for model in models(known) if known is not None else ():
                    if _core.same_name(model.name, known):
                        return model
        raise KeyError(name)

    def __setitem__(self, name: str, builder: Builder) -> None:
        own = any(model.own and model.name == name for model in models(name))
        register(name, builder, force=own)

    def __delitem__(self, name: str) -> None:
        if not self[name].own:
            raise TypeError(f"{name} is a built-in model and cannot be removed")
        _core.registry_remove(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(model.name for model in models()))

    def __len__(self) -> int:
        return len({model.name for model in models()})

    def __contains__(self, name: object) -> bool:
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __repr__(self) -> str:
        return f"<MODEL_REGISTRY of {len(self)} models>"


MODEL_REGISTRY = ModelRegistry()
