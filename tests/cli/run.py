#!/usr/bin/env python3
"""Runs the CLI tests tests/cli/*.t, each a list of commands with their expected output.

    # a comment
    $ pyrometer cost --bogus
    pyrometer: unknown option --bogus (see pyrometer cost --help)
    [2]

Lines that begin with "> " continue a command. Output is standard output and standard error
together; a line that ends in " (re)" or " (glob)" is a pattern. [N] is the exit code if
it is not 0. Empty lines at the end of an output are ignored. Commands run in tests/files with
$TMP, an empty folder per test file. --update writes the actual output into the test files.
"""

import argparse
import difflib
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 300


class Step:
    """One command: its lines, and the lines it must print."""

    def __init__(self, line_number, command_lines):
        self.line_number = line_number
        self.command_lines = command_lines
        self.expected = []

    def command(self):
        return "\n".join(line[2:] for line in self.command_lines)


def parse(text):
    """Splits a test file into parts: a Step per command, a str per line between."""
    parts = []
    for number, line in enumerate(text.split("\n"), 1):
        last = parts[-1] if parts else None
        if line.startswith("$ "):
            parts.append(Step(number, [line]))
        elif line.startswith("> ") and isinstance(last, Step) and not last.expected:
            last.command_lines.append(line)
        elif line.startswith("# ") or not isinstance(last, Step):
            parts.append(line)
        else:
            last.expected.append(line)
    return parts


def strip_end(lines):
    """The lines without empty ones at the end."""
    lines = list(lines)
    while lines and lines[-1] == "":
        lines.pop()
    return lines


def matches(expected, actual):
    if expected == actual:
        return True
    if expected.endswith(" (re)"):
        return re.fullmatch(expected[: -len(" (re)")], actual) is not None
    if expected.endswith(" (glob)"):
        return fnmatch.fnmatchcase(actual, expected[: -len(" (glob)")])
    return False


def execute(command, environment, folder, temporary):
    """The output of a command as lines, followed by [N] if it fails."""
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, code = (expired.output or b"") + b"\n(timed out)", 124
    text = output.decode("utf-8", "backslashreplace").replace(str(temporary), "$TMP")
    lines = strip_end(text.split("\n"))
    return [*lines, f"[{code}]"] if code else lines


def show_difference(path, step, actual):
    print(f"{path}:{step.line_number}: {step.command_lines[0]}")
    expected = strip_end(step.expected)
    for line in difflib.unified_diff(expected, actual, "expected", "printed", lineterm="", n=2):
        print(f"    {line}")


def run_transcript(path, tools, folder, update):
    """Runs one file; returns the numbers of passed and failed commands."""
    parts = parse(path.read_text(encoding="utf-8"))
    passed = failed = 0
    out = []
    with tempfile.TemporaryDirectory() as name:
        temporary = pathlib.Path(name).resolve()
        environment = {
            key: value
            for key, value in os.environ.items()
            if key not in ("NO_COLOR", "LANG", "LANGUAGE") and not key.startswith("LC_")
        }
        environment.update(
            LC_ALL="C",
            COLUMNS="80",
            TERM="dumb",
            TMP=str(temporary),
            XDG_DATA_HOME=str(temporary / "data"),
            PATH=f"{tools}{os.pathsep}{os.environ.get('PATH', '')}",
        )
        for part in parts:
            if isinstance(part, str):
                out.append(part)
                continue
            actual = execute(part.command(), environment, folder, temporary)
            expected = strip_end(part.expected)
            same = len(expected) == len(actual) and all(map(matches, expected, actual))
            out += part.command_lines + (part.expected if same else [*actual, ""])
            if same or update:
                passed += 1
            else:
                failed += 1
                show_difference(path, part, actual)
    if update:
        path.write_text("\n".join(strip_end(out)) + "\n", encoding="utf-8")
    return passed, failed


def link_tools(folder, tool):
    """Links the tool, and programs built with it, into a folder for PATH."""
    (folder / "pyrometer").symlink_to(tool)
    for name in ("pyrometer-docgen", "pyrometer-without-page"):
        if (tool.parent / name).exists():
            (folder / name).symlink_to(tool.parent / name)
    (folder / "python3").symlink_to(sys.executable)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default="build/pyrometer", help="the pyrometer to test")
    parser.add_argument("--update", action="store_true", help="write what was printed")
    parser.add_argument(
        "paths",
        nargs="*",
        type=pathlib.Path,
        default=[HERE],
        help="transcripts, or folders of them",
    )
    arguments = parser.parse_args()
    tool = pathlib.Path(shutil.which(arguments.tool) or arguments.tool).resolve()
    if not tool.exists():
        sys.exit(f"{tool}: no such tool; build it or give --tool")
    folder = HERE.parent / "files"
    transcripts = []
    for path in arguments.paths:
        transcripts += sorted(path.glob("*.t")) if path.is_dir() else [path]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tools:
        link_tools(pathlib.Path(tools), tool)
        for path in transcripts:
            counts = run_transcript(
                path, tools, folder if folder.is_dir() else HERE, arguments.update
            )
            passed += counts[0]
            failed += counts[1]
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
