"""Builds a module without weights from a Hugging Face folder of transformers or timm."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any

from .._error import Error
from .example_inputs import from_config
from .export_errors import Broken, hint_for
from .requirements import Unusable, declare_operators, require

if TYPE_CHECKING:
    import torch


def build_folder(folder: str, device: str) -> tuple[torch.nn.Module, Any]:
    """The module that config.json describes, and inputs for it. Does not read weights."""
    path = pathlib.Path(folder) / "config.json"
    try:
        config = json.loads(path.read_text())
    except OSError as error:
        raise Unusable(f"{folder}: no config.json and no .pt2 file in this folder") from error
    except ValueError as error:
        raise Unusable(f"{path}: not JSON: {error}") from error
    if "architecture" in config and "model_type" not in config:
        return _timm(config, device)
    return _transformers(folder, device)


def _timm(config: dict[str, Any], device: str) -> tuple[torch.nn.Module, Any]:
    require(["timm"])
    declare_operators()
    import timm
    import torch

    settings = config.get("pretrained_cfg") or config
    classes = config.get("num_classes", settings.get("num_classes", 1000))
    try:
        with torch.device(device):
            module = timm.create_model(config["architecture"], num_classes=classes).eval()
    except Exception as error:
        raise Broken("build", error, "check that this timm knows the architecture") from error
    size = settings.get("input_size") or (3, 224, 224)
    return module, torch.zeros((1, *size), device=device)


def _transformers(folder: str, device: str) -> tuple[torch.nn.Module, Any]:
    require(["transformers"])
    declare_operators()
    import torch
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        config.use_cache = False
        names = getattr(config, "architectures", None) or []
        kind = getattr(transformers, names[0], None) if names else None
        with torch.device(device):
            module = (
                kind(config) if kind is not None else transformers.AutoModel.from_config(config)
            )
    except Exception as error:
        hint = "check that this transformers knows the model and can be imported with torch"
        raise Broken("build", error, hint) from error
    try:
        inputs = from_config(module, 1)
    except Error as error:
        raise Broken("build", error, hint_for(error)) from error
    given = {name: tensor.to(device) for name, tensor in inputs.kwargs.items()}
    return module.eval(), given
