"""python -m pyrometer COMMAND ...: runs the tool `pyrometer`, with this Python as --python."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

WITH_PYTHON = ("bench", "profile", "check", "run")


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


def main() -> int:
    tool = find_tool()
    if tool is None:
        sys.stderr.write("pyrometer: the tool is missing; pip install pyrometer installs it\n")
        return 2
    words = sys.argv[1:]
    named = any(word == "--python" or word.startswith("--python=") for word in words)
    if words and words[0] in WITH_PYTHON and not named:
        words = [words[0], "--python", sys.executable, *words[1:]]
    os.execv(tool, ["pyrometer", *words])


if __name__ == "__main__":
    sys.exit(main())
