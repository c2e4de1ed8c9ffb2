"""python -m pyrometer COMMAND ...: runs the tool `pyrometer`, with this Python as --python."""

from __future__ import annotations

import os
import sys

from pyrometer._tool import find_tool

WITH_PYTHON = ("bench", "profile", "check", "run")


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
