"""Finds the command-line tool that belongs to this package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def find_tool() -> str | None:
    """The tool of this installation, or of the same build."""
    folder = Path(__file__).resolve().parent
    places = [
        os.environ.get("PYRO_TOOL"),
        os.path.join(sysconfig.get_path("scripts"), "pyrometer"),
        os.path.join(os.path.dirname(sys.executable), "pyrometer"),
        str(folder.parent.parent / "pyrometer"),
        shutil.which("pyrometer"),
    ]
    for place in places:
        if place and os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    return None
