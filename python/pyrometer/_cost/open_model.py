"""Opening what users call a model, as the command-line tool does."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pyrometer import _core
from pyrometer._error import Error
from pyrometer._helper import main
from pyrometer._helper.export_errors import Broken


def open_model(
    spec: str | os.PathLike[str], input_shape: Sequence[int] | None = None
) -> _core.Model:
    """A file, a name, an id of Hugging Face or timm, a folder, or "file.py:function"."""
    if _core.spec_kind(spec) == "model":
        return _core.open(spec)
    text = os.fspath(spec)
    return _core.open_memory(export(text, input_shape), text)


def export(spec: str, input_shape: Sequence[int] | None = None) -> bytes:
    """What Python has to build, as an archive; every size that can be open is."""
    try:
        main.require(["torch"])
        module, inputs = main.build_spec(spec)
        inputs = main.with_shape(module, inputs, input_shape)
        return main.export_module(module, inputs, input_shape)
    except Broken as broken:
        failed = broken.as_error(spec)
    except main.Unusable as error:
        failed = Error(str(error), "argument", spec)
    except main.Missing as error:
        packages = " ".join(error.packages)
        failed = Error(f"{spec} needs {packages}; pip install {packages}", "export", spec)
    raise failed from failed.__cause__
