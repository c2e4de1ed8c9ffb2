#!/usr/bin/env python3
"""Checks the structure of the code: cycles, dependencies between rooms, folders, named paths.

check.py --build BUILD reads includes, the symbols of BUILD's object files and Python's imports. It
fails on a cycle that allowed.toml does not list, on a use that ARCHITECTURE.md's table of rooms
does not allow, on a folder with too many files of code, on a path in a document that does not
exist, and on a unit test that mirrors no source.
"""

import argparse
import collections
import pathlib
import sys
import tomllib

import graphs
import paths
import rooms

MOST_FILES = 30
CODE = (*graphs.C_SUFFIXES, ".py", ".sh", ".S")
CODE_FOLDERS = (
    "include", "src", "cli", "python", "catalog", "tests", "fuzz", "bench", "scripts", "cmake",
)  # fmt: skip


def check_cycles(graph, listed):
    """Messages about unlisted cycles, and about listed cycles that no longer exist.

    A temporary entry passes while any part of its cycle is left, and also when it is gone.
    """
    messages = []
    found = [frozenset(cycle) for cycle in graph.cycles()]
    lasting = {frozenset(entry["files"]) for entry in listed if not entry.get("temporary")}
    temporary = [frozenset(entry["files"]) for entry in listed if entry.get("temporary")]
    for cycle in found:
        if cycle not in lasting and not any(cycle <= files for files in temporary):
            edges = [
                f"    {graph.reasons[edge]}"
                for edge in sorted(graph.reasons)
                if edge[0] in cycle and edge[1] in cycle
            ]
            messages.append(
                f"cycle of {len(cycle)} files, not listed in allowed.toml:\n" + "\n".join(edges)
            )
    for cycle in lasting - set(found):
        messages.append(
            f"allowed.toml lists a cycle that does not exist (any more): {sorted(cycle)}"
        )
    return messages


def check_rooms(graph, table):
    """Messages about uses that the table does not allow, and about files outside all rooms."""
    messages = []
    reach = rooms.allowed(table)
    for path in sorted(graph.uses):
        if rooms.room_of(table, path) is None:
            messages.append(f"{path} lies in no room of ARCHITECTURE.md's table")
    for (start, end), reason in sorted(graph.reasons.items()):
        start_room, end_room = rooms.room_of(table, start), rooms.room_of(table, end)
        if start_room and end_room and end_room not in reach[start_room]:
            messages.append(f"{start_room}/ may not use {end_room}/, but {reason}")
    return messages


def check_folders(root, listed):
    """Messages about folders with more files of code than MOST_FILES."""
    messages = []
    counts = collections.Counter(
        str(path.parent) for path in graphs.files_below(root, CODE_FOLDERS, CODE)
    )
    large = {folder: count for folder, count in counts.items() if count > MOST_FILES}
    known = {entry["path"] for entry in listed}
    lasting = {entry["path"] for entry in listed if not entry.get("temporary")}
    for folder, count in sorted(large.items()):
        if folder not in known:
            messages.append(f"{folder}/ has {count} files of code, more than {MOST_FILES}")
    for folder in sorted(lasting - set(large)):
        messages.append(f"allowed.toml lists {folder}/, which is not large (any more)")
    return messages


def all_files(root):
    """Every file that belongs to the project, relative to the root; not what builds make."""
    files = {path.name for path in root.iterdir() if path.is_file()}
    for folder in root.iterdir():
        if folder.is_dir() and not folder.name.startswith(("build", ".git", ".venv", "shared")):
            files |= {
                str(path.relative_to(root))
                for path in folder.rglob("*")
                if path.is_file() and "__pycache__" not in path.parts
            }
    return files


def print_cycles(graph):
    for cycle in graph.cycles():
        print("[[cycle]]\nfiles = [")
        for path in cycle:
            print(f'    "{path}",')
        print(']\nreason = ""\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build of CMake")
    parser.add_argument(
        "--print-cycles", action="store_true", help="print entries for allowed.toml"
    )
    options = parser.parse_args()

    allowed = tomllib.loads((pathlib.Path(__file__).parent / "allowed.toml").read_text())
    graph = graphs.read_graph(options.root, options.build)
    if options.print_cycles:
        print_cycles(graph)
        return 0
    table = rooms.parse((options.root / "ARCHITECTURE.md").read_text())
    messages = [
        *check_cycles(graph, allowed.get("cycle", [])),
        *check_rooms(graph, table),
        *check_folders(options.root, allowed.get("folder", [])),
        *paths.check_documents(options.root, all_files(options.root)),
        *paths.check_unit_tests(options.root, allowed.get("unit_test", [])),
    ]
    for message in messages:
        print(message)
    cycles = graph.cycles()
    print(
        f"{len(graph.uses)} files, {len(graph.reasons)} uses, {len(table)} rooms, "
        f"{len(cycles)} cycles with {sum(map(len, cycles))} files; {len(messages)} violations"
    )
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
