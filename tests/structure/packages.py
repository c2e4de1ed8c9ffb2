#!/usr/bin/env python3
"""Checks the contents of the source distribution and of the wheel by the rules of pyproject.toml.

scikit-build-core packs the files that .gitignore does not exclude, without sdist.exclude and with
sdist.include. The wheel holds wheel.packages and what CMake installs as component "python".
Building either takes minutes, so this applies the rules to the list of git's files. Exits with 77
without git.
"""

import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import tomllib

# Every top-level folder or file is in one of these: packed, or for work on the project only.
PACKED = {
    ".clang-format", ".editorconfig", ".git-blame-ignore-revs", ".gitignore", "ARCHITECTURE.md",
    "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "Makefile",
    "README.md", "catalog", "cli", "cmake", "docs", "examples", "include", "mkdocs.yml",
    "pyproject.toml", "pyrometer.pc.in", "python", "requirements", "schemas", "scripts", "src",
    "web",
}  # fmt: skip
LEFT_OUT = {".ci", "bench", "fuzz", "tests"}
# Packed where it was built: git does not have it.
BUILT = {"web/dist/index.html"}
FOR_TESTS = {"cmake/tests.cmake", "cmake/fuzz.cmake", "cmake/bench.cmake"}

WORD = re.compile(r"[\w.][\w./-]*")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](pyrometer/[^>"]+)[>"]', re.MULTILINE)
HEADERS = re.compile(r"set\(observer_headers\s+([^)]*)\)")


def git_files(root, *options):
    command = ["git", "-C", root, "ls-files", "-z", *options]
    found = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return {path for path in found.split("\0") if path and (root / path).exists()}


def packed_files(settings, tracked, ignored):
    """The files of the source distribution."""
    excluded = [pattern.strip("/") for pattern in settings.get("sdist", {}).get("exclude", [])]
    included = settings.get("sdist", {}).get("include", [])
    files = set()
    for path in tracked:
        is_out = path in ignored or any(
            path == folder or path.startswith(folder + "/") for folder in excluded
        )
        if not is_out or any(fnmatch.fnmatch(path, pattern) for pattern in included):
            files.add(path)
    return files


def check_rules(settings, tracked):
    """Messages about patterns that match nothing or more than they should."""
    messages = []
    for pattern in settings["sdist"]["exclude"]:
        if not pattern.startswith("/"):
            messages.append(
                f"sdist.exclude: {pattern} is not anchored: src/bench would match /bench"
            )
        if not any(path.startswith(pattern.strip("/") + "/") for path in tracked):
            messages.append(f"sdist.exclude: {pattern} matches nothing")
    for pattern in settings["sdist"]["include"]:
        if pattern not in BUILT and not any(fnmatch.fnmatch(path, pattern) for path in tracked):
            messages.append(f"sdist.include: {pattern} matches nothing")
    return messages


def check_sdist(tracked, packed):
    messages = []
    for top in sorted({path.split("/")[0] for path in tracked} - PACKED - LEFT_OUT):
        messages.append(f"{top}: say in tests/structure/packages.py whether it is packed")
    for path in sorted(tracked):
        top = path.split("/")[0]
        if top in PACKED and path not in packed:
            messages.append(f"the source distribution lacks {path}")
        if top in LEFT_OUT and path in packed:
            messages.append(f"the source distribution contains {path}")
    return messages


def check_build_files(root, tracked, packed):
    """Messages about files that the build names and the source distribution lacks."""
    messages = []
    builds = {path for path in packed if path.endswith(".cmake")} | {"CMakeLists.txt"}
    for build in sorted(builds - FOR_TESTS):
        lines = (root / build).read_text().splitlines()
        text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
        for word in sorted(set(WORD.findall(text))):
            if "/" in word and word in tracked and word not in packed:
                messages.append(f"{build} uses {word}, which the source distribution lacks")
    return messages


def observer_includes(root, package):
    """Public headers that the observer's sources include, directly or through others."""
    folder = root / package / "_capture/observer"
    waiting = {name for path in folder.iterdir() for name in INCLUDE.findall(path.read_text())}
    found = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(INCLUDE.findall((root / "include" / name).read_text())) - found
    return found


def check_wheel(root, settings, packed):
    messages = []
    (package,) = settings["wheel"]["packages"]
    files = {path for path in packed if path.startswith(package + "/")}
    present = {str(path.relative_to(root)) for path in (root / package).rglob("*.py")}
    for path in sorted(present - files):
        messages.append(f"{path} is not under version control, so the wheel lacks it")
    for name in ("__init__.py", "__main__.py", "_core.pyi", "py.typed"):
        if f"{package}/{name}" not in files:
            messages.append(f"the wheel lacks {name}")
    installed = HEADERS.search((root / "cmake/python.cmake").read_text()).group(1).split()
    wanted = {f"include/{name}" for name in observer_includes(root, package)}
    for header in sorted(wanted - set(installed)):
        messages.append(f"the wheel lacks {header}, which the observer includes")
    for header in sorted(set(installed) - wanted):
        messages.append(f"the wheel contains {header}, which the observer does not include")
    return messages


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    root = parser.parse_args().root
    try:
        tracked = git_files(root)
        ignored = git_files(root, "--cached", "--ignored", "--exclude-standard")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"not checked: {error}")
        return 77
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["scikit-build"]
    packed = packed_files(settings, tracked, ignored)
    messages = [
        *check_rules(settings, tracked),
        *check_sdist(tracked, packed),
        *check_build_files(root, tracked, packed),
        *check_wheel(root, settings, packed),
    ]
    for message in messages:
        print(message)
    print(f"{len(packed)} of {len(tracked)} files are packed; {len(messages)} violations")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
