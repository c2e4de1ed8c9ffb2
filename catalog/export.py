"""Exports models of the zoo, as whole `.pt2` files for tests or as weightless skeletons.

usage: python -m catalog.export (--pt2 | --skeleton) NAME... --dir FOLDER [--static]
"""

import argparse
import importlib.metadata
import json
import pathlib
import sys
import warnings

import torch
from torch._export.serde.serialize import serialize

from catalog import skeleton, zoo
from catalog.entry import Entry, ties


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


def write_skeleton(entry: Entry, path: str) -> None:
    """Writes the model without its weights, and without anything that varies between machines."""
    module = entry.module()
    program = export_program(entry, module)
    extra = {
        "name": entry.name,
        "display_name": entry.display_name,
        "ties": ties(module),
        "default_shapes": default_shapes(entry, program),
        "source": {
            "package": entry.package,
            "version": importlib.metadata.version(entry.package).partition("+")[0],
            "builder": entry.builder,
        },
    }
    document = json.loads(serialize(program).exported_program)
    skeleton.write_skeleton(path, entry.name, document, extra)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--pt2", nargs="+", metavar="NAME", help="write files with weights")
    kind.add_argument("--skeleton", nargs="+", metavar="NAME", help="write weightless files")
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="the folder to write to")
    parser.add_argument("--static", action="store_true", help="fix every size (with --pt2)")
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    for name in options.pt2 or options.skeleton:
        entry = zoo.find(name)
        path = options.dir / f"{name}.pt2"
        if options.skeleton:
            write_skeleton(entry, str(path))
        else:
            write_pt2(entry, str(path), options.static)
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
