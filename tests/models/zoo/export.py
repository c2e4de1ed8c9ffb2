"""Exports models of the zoo as `.pt2` files for tests.

usage: PYTHONPATH=.:tests/models python -m zoo.export --pt2 NAME... --dir FOLDER [--static]
"""

import argparse
import pathlib
import sys

import torch

import zoo
from catalog.entry import Entry
from catalog.export import export_program


def write_pt2(entry: Entry, path: str, static: bool = False) -> None:
    """Writes a file with torch.export.save."""
    program = export_program(entry, entry.module(), static)
    torch.export.save(program, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--pt2", nargs="+", metavar="NAME", required=True, help="write files with weights"
    )
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="the folder to write to")
    parser.add_argument("--static", action="store_true", help="fix every size")
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    for name in options.pt2:
        entry = zoo.find(name)
        path = options.dir / f"{name}.pt2"
        write_pt2(entry, str(path), options.static)
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
