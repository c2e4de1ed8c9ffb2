"""The catalog: all built-in models of the tool."""

import difflib
import functools
import importlib

from catalog.model import Model

_FAMILIES = (
    "torchvision",
    "language",
    "llama",
    "text",
    "perception",
    "diffusion",
)


@functools.cache
def all_models() -> dict[str, Model]:
    """All models by name, sorted."""
    found: dict[str, Model] = {}
    for family in _FAMILIES:
        for model in importlib.import_module(f"catalog.models.{family}").models():
            if model.name in found:
                raise ValueError(f"{model.name}: duplicate name in the catalog")
            found[model.name] = model
    return dict(sorted(found.items()))


def find(name: str) -> Model:
    """The model of that name; LookupError, with the nearest names, if unknown."""
    known = all_models()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise LookupError(f"{name}: no such model in the catalog{hint}")
