"""Chooses the engine for a module, a callable, a path, a builder or a built-in name."""

from __future__ import annotations

import os
import zipfile
from typing import Any

from pyrometer import _core
from pyrometer._bench.engine import PRECISIONS, Engine
from pyrometer._bench.onnx_engine import OnnxEngine
from pyrometer._bench.torch_engines import (
    CallableEngine,
    FolderEngine,
    ModuleEngine,
    ProgramEngine,
    ScriptEngine,
)
from pyrometer._cost.cost import cost
from pyrometer._cost.registry import MODEL_REGISTRY
from pyrometer._error import Error
from pyrometer._helper import named_models
from pyrometer._helper.build import build
from pyrometer._helper.build import load as load_builder
from pyrometer._helper.example_inputs import Inputs, as_arguments
from pyrometer._helper.export_errors import Broken
from pyrometer._helper.requirements import Missing, Unusable


def choose_device(device: str | None) -> str:
    """cuda if available, unless another device is requested."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    device = str(device)
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ValueError(f'invalid device {device!r}; valid: "cpu", "cuda"')
    if kind == "cuda":
        if not torch.cuda.is_available():
            why = "torch was built without it" if torch.version.cuda is None else "no GPU found"
            raise Error(f'CUDA is not available ({why}); use device="cpu"', "unsupported")
        index = torch.device(device).index
        if index is not None and index >= torch.cuda.device_count():
            raise Error(f"{device}: this machine has {torch.cuda.device_count()} GPUs", "argument")
    return device


def load(model: Any, device: str, precision: str, autocast: bool = False) -> Engine:
    """Loads the engine of a module, a callable or a path."""
    if precision not in PRECISIONS:
        raise ValueError(f"invalid precision {precision!r}; valid: {', '.join(PRECISIONS)}")
    if not isinstance(model, str | os.PathLike):
        import torch

        if isinstance(model, torch.nn.Module):
            return ModuleEngine(model, device, precision, autocast)
        if callable(model):
            return CallableEngine(model, device, precision)
        raise TypeError(f"expected a path, an nn.Module or a callable, not {type(model)!r}")
    path = os.fspath(model)
    if os.path.isdir(path):
        return _load_folder(path, device, precision, autocast)
    if _core.spec_kind(path) == "python":
        return _load_builder(path, device, precision, autocast)
    if not os.path.exists(path) and not os.path.exists(path.rpartition(":")[0]):
        return _load_named(path, device, precision, autocast)
    if path.endswith(".onnx"):
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
    """FILE.py:function or package.module:function, which returns a module or is the callable."""
    try:
        module, inputs = build(load_builder(path))
    except Unusable as error:
        raise Error(str(error), "argument") from None
    except Missing as error:
        packages = " ".join(error.packages)
        raise Error(f"{path} requires {packages}; pip install {packages}") from None
    except Broken as error:
        failed = error.as_error(path)
        raise failed from failed.__cause__
    engine = load(module, device, precision, autocast)
    if inputs is not None:
        args, kwargs = as_arguments(inputs)
        given = Inputs(args, kwargs, "given by the builder")
        engine.make_inputs = lambda size: given if size is None else given.resized(size)
    return engine


def _load_named(name: str, device: str, precision: str, autocast: bool) -> Engine:
    """A built-in model by name: its package builds it with random weights."""
    priced = cost(name).to_dict()  # for an unknown name, the error suggests similar ones
    model = MODEL_REGISTRY[priced["model"]]
    builder = model.source["builder"]
    if model.own:
        return load(builder, device, precision, autocast)
    if 4 * priced["params"] > 0.7 * named_models.available_bytes():
        raise Error(f"{name}: its weights need {4 * priced['params'] / 2**30:.0f} GiB of memory")
    try:
        module = named_models.make_named(model.source["package"], builder, "cpu")
    except ModuleNotFoundError as error:
        raise Error(f"{name} requires {error.name}; pip install {error.name}") from None
    except Unusable as error:
        raise Error(f"{name}: {error}") from None
    args, kwargs = named_models.named_inputs(module, priced["inputs"], "cpu")
    given = Inputs(args, kwargs, "of the built-in model's sizes; its weights are random")
    engine = load(module, device, precision, autocast)
    engine.name = model.name
    engine.make_inputs = lambda size: given if size is None else given.resized(size)
    return engine


def _archive_kind(path: str) -> type[Engine]:
    """Chooses by content, not by file name."""
    if not os.path.exists(path):  # file.pt2:name
        return ProgramEngine
    if not zipfile.is_zipfile(path):
        raise Error(f"{path}: not a .pt2, TorchScript or .onnx file", "format")
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
        f"{path}: contains weights or a pickled module, which cannot be run; save it with "
        "torch.export.save(), or pass the nn.Module itself",
        "format",
    )
