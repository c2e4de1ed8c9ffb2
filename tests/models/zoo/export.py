"""Exports models of the zoo as the `.pt2` files that tests read.

usage: python -m catalog.export --pt2 NAME... --dir FOLDER [--static]
"""

import argparse
import pathlib
import sys
import warnings

import torch

from catalog import zoo
from catalog.entry import Entry


def export_program(
    entry: Entry, module: torch.nn.Module, static: bool = False
) -> torch.export.ExportedProgram:
    """Exports a module of an entry; `static` fixes every size at its default."""
    fixed = static or not entry.is_dynamic()
    args, kwargs = entry.example("default" if fixed else "export")
    dynamic_shapes = None if fixed else entry.dynamic_shapes()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(
            module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
        )


def default_shapes(entry: Entry, program: torch.export.ExportedProgram) -> dict[str, list[int]]:
    """Each input of the program with the shape at which its cost is reported by default."""
    names = [name for name in program.graph_signature.user_inputs if isinstance(name, str)]
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    tensors = [name for name in names if isinstance(values[name], torch.Tensor)]
    return {name: list(given.shape) for name, given in zip(tensors, entry.inputs(), strict=True)}


def write_pt2(entry: Entry, path: str, static: bool = False) -> None:
    """Writes the file that torch.export.save gives."""
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
