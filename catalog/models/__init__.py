"""The catalog: all built-in models of the tool."""

import difflib
import functools
import importlib

from catalog.model import Model

_FAMILIES = (
    "torchvision",
    "language",
    "llama",
    "decoders",
    "experts",
    "recurrent",
    "text",
    "perception",
    "detection",
    "vision",
    "image_text",
    "diffusion",
)

# Described, with checked parameter counts, but without a skeleton. `make catalog NAMES=...`
# exports them; then they are removed from this list.
NOT_EXPORTED = frozenset(
    {
        "command_r_plus_104b",
        "depth_anything_v2_base",
        "depth_anything_v2_large",
        "dinov3_vit7b16",
        "dinov3_vitl16",
        "glm4_32b_0414",
        "glm4_5_air",
        "llama4_maverick",
        "mamba2_2_7b",
        "mamba_codestral_7b",
        "rtdetr_r18",
        "sam2_hiera_large_encoder",
        "sd35_large",
        "siglip2_so400m",
        "starcoder2_3b",
        "wan2_1_t2v_14b",
    }
)


@functools.cache
def _described() -> dict[str, Model]:
    """All described models by name, sorted."""
    found: dict[str, Model] = {}
    for family in _FAMILIES:
        for model in importlib.import_module(f"catalog.models.{family}").models():
            if model.name in found:
                raise ValueError(f"{model.name}: duplicate name in the catalog")
            found[model.name] = model
    return dict(sorted(found.items()))


def all_models() -> dict[str, Model]:
    """All models with a skeleton by name, sorted."""
    return {name: model for name, model in _described().items() if name not in NOT_EXPORTED}


def find(name: str) -> Model:
    """The model of that name; LookupError, with the nearest names, if unknown."""
    known = _described()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise LookupError(f"{name}: no such model in the catalog{hint}")
