"""Opens a model by path, name or id, as the command-line tool does."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pyrometer import _core
from pyrometer._error import Error
from pyrometer._helper.build import build_spec
from pyrometer._helper.export import export_module, with_shape
from pyrometer._helper.export_errors import Broken
from pyrometer._helper.requirements import Missing, Unusable, require


def open_model(
    spec: str | os.PathLike[str], input_shape: Sequence[int] | None = None
) -> _core.Model:
    """Opens a file, a name, a Hugging Face or timm id, a folder, or "file.py:function"."""
    if _core.spec_kind(spec) == "model":
        return _core.open(spec)
    text = os.fspath(spec)
    return _core.open_memory(export(text, input_shape), text)


def export(spec: str, input_shape: Sequence[int] | None = None) -> bytes:
    """Builds a model in Python and exports it as an archive, with every possible size open."""
    try:
        require(["torch"])
        module, inputs = build_spec(spec)
        inputs = with_shape(module, inputs, input_shape)
        return export_module(module, inputs, input_shape)
    except Broken as broken:
        failed = broken.as_error(spec)
    except Unusable as error:
        failed = Error(str(error), "argument", spec)
    except Missing as error:
        packages = " ".join(error.packages)
        failed = Error(f"{spec} needs {packages}; pip install {packages}", "export", spec)
    raise failed from failed.__cause__
