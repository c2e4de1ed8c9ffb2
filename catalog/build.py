"""Exports the catalog: one weightless skeleton per model.

Downloads nothing: builds models from their packages' code, on the meta device. The same versions of
the packages give the same bytes.

usage: python -m catalog.build [NAME...] [--missing] [--dir catalog/skeletons] [--limit SECONDS]
       python -m catalog.build [NAME...] --sources [--dir catalog/skeletons]
"""

import argparse
import importlib.metadata
import json
import logging
import multiprocessing
import pathlib
import sys
import time
import warnings

import sympy
import torch
from torch._export.serde.serialize import serialize

from catalog import archive, models, skeleton
from catalog.conditions import conditions
from catalog.entry import Entry, Input, ties, unique_parameters
from catalog.export import default_shapes, export_program
from catalog.layer_names import named_by_layer
from catalog.model import Model, Published
from catalog.repeat_layers import repeated

# Axes whose size the model determines, such as its channels.
_PART_OF_THE_MODEL = ("channel", "box", "heads", "features")

# Keys of the metadata that come from the description of a model, not from its export.
_SOURCE_KEYS = ("published_params", "published_params_rounded_to", "params_source")

ROOT = pathlib.Path(__file__).resolve().parents[1]


def _dim(program, given: Input, name: str, axis: int, expression: sympy.Expr) -> dict:
    """The description of one variable size: its meaning and its bounds."""
    what = given.axes[axis]
    dim = {"symbol": str(expression), "input": name, "axis": axis, "what": what}
    if expression.is_Symbol:
        bounds = program.range_constraints[expression]
        # Export raises the bound to 2 although the graph is also valid for 1.
        dim["min"] = 1 if int(bounds.lower) == 2 else int(bounds.lower)
        if isinstance(bounds.upper, sympy.Integer) and int(bounds.upper) < 2**31:
            dim["max"] = int(bounds.upper)
    else:
        factor = expression.as_coeff_Mul()[0]
        if factor.is_integer and int(factor) > 1:
            dim["multiple"] = int(factor)
    least, most = given.bounds.get(what, (None, None))
    if least is not None:
        dim["min"] = least
    if most is not None:
        dim["max"] = most
    return dim


def dims_of(
    entry: Entry, program: torch.export.ExportedProgram, shapes: dict[str, list[int]]
) -> list[dict]:
    """The variable sizes of the inputs, each once, with their meaning and bounds."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    dims: dict[str, dict] = {}
    for name, given in zip(shapes, entry.inputs(), strict=True):
        for axis, size in enumerate(values[name].shape):
            if isinstance(size, torch.SymInt):
                expression = size.node.expr
                dims.setdefault(str(expression), _dim(program, given, name, axis, expression))
    return list(dims.values())


def fixed_of(entry: Entry, program: torch.export.ExportedProgram, shapes: dict) -> list[dict]:
    """The fixed sizes of images and sequences, per input."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    fixed = []
    for (name, shape), given in zip(shapes.items(), entry.inputs(), strict=True):
        sizes = {
            what: shape[axis]
            for axis, what in enumerate(given.axes)
            if what not in _PART_OF_THE_MODEL and isinstance(values[name].shape[axis], int)
        }
        if sizes:
            fixed.append({"input": name, **sizes})
    return fixed


def bound(document: dict, dims: list[dict]) -> None:
    """Adds the bounds that export could not know to the program."""
    for dim in dims:
        limits = document["range_constraints"].get(dim["symbol"])
        if limits and dim["min"] == 0:
            limits["min_val"] = 0
        if limits and "max" in dim:
            limits["max_val"] = dim["max"]


def _shallow(model: Model, entry: Entry) -> Entry:
    """The entry to trace: with fewer layers if the others can be copied."""
    if not model.depth:
        return entry
    few = model.depth.at(model.depth.traced())
    return few.decode if entry is model.decode else few.entry


def _input_shapes(entry: Entry, stripped: dict) -> dict[str, list[int]]:
    """Each input of a program with its default shape."""
    specs = stripped["graph_module"]["signature"]["input_specs"]
    given = [spec["user_input"]["arg"] for spec in specs if "user_input" in spec]
    names = [argument["as_tensor"]["name"] for argument in given if "as_tensor" in argument]
    return {name: list(one.shape) for name, one in zip(names, entry.inputs(), strict=True)}


def _source_of(published: Published) -> dict:
    """A parameter count and its source, as metadata; a count that nobody states is left out."""
    if not published.is_stated:
        return {"params_source": published.source}
    return {
        "published_params": published.params,
        "published_params_rounded_to": published.rounded_to,
        "params_source": published.source,
    }


def skeleton_of(model: Model, entry: Entry) -> tuple[bytes, dict]:
    """The archive of one entry of a model, and its metadata."""
    module = entry.module()
    params = unique_parameters(module)
    if not model.published.agrees_with(params):
        raise ValueError(f"{params:,} parameters, but {model.published.params:,} are published")
    traced = _shallow(model, entry)
    program = export_program(traced, traced.module() if model.depth else module)
    traced_shapes = default_shapes(traced, program)
    dims = dims_of(traced, program, traced_shapes)
    document = json.loads(serialize(program).exported_program)
    bound(document, dims)
    stripped = skeleton.strip_program(document, conditions(program))
    if model.depth:
        depth = model.depth
        stripped = repeated(stripped, depth.prefix, depth.layers, depth.first, depth.period)
    if model.layers:
        stripped = named_by_layer(stripped, model.layers)
    extra = {
        "name": entry.name,
        "display_name": entry.display_name,
        "family": entry.family,
        "task": model.task,
        "params": params,
        **_source_of(model.published),
        "ties": ties(module),
        "default_shapes": _input_shapes(entry, stripped),
        "dims": dims,
        "fixed": fixed_of(traced, program, traced_shapes),
        "source": {
            "package": entry.package,
            "version": importlib.metadata.version(entry.package).partition("+")[0],
            "builder": entry.builder,
        },
    }
    if model.variants:
        extra["variants"] = [{"size": size, "model": name} for size, name in model.variants]
    return archive.zstd_archive(skeleton.members(entry.name, stripped, extra)), extra


def _with_source(extra: dict, model: Model) -> dict:
    """Metadata with the source of the model's count, in the order of a new export."""
    if not model.published.agrees_with(extra["params"]):
        raise ValueError(f"{model.name}: {extra['params']:,} parameters, not as its source states")
    written: dict = {}
    for key, value in extra.items():
        if key not in _SOURCE_KEYS:
            written[key] = value
        if key == "params":
            written.update(_source_of(model.published))
    return written


def renew_sources(names: list[str], folder: pathlib.Path) -> None:
    """Writes the sources of parameter counts into skeletons that exist, without a new export."""
    for name in names:
        model = models.find(name)
        for file, _ in _entries(model):
            path = folder / file
            members = archive.read_zstd(str(path))
            extra = json.loads(members["extra/pyrometer.json"])
            members["extra/pyrometer.json"] = skeleton.compact_json(_with_source(extra, model))
            path.write_bytes(archive.zstd_archive(members))


def renamed(model: Model, entry: Entry, path: pathlib.Path) -> tuple[bytes, dict]:
    """The skeleton of a model that differs only in its weights from `same_as`."""
    members = archive.read_zstd(str(path))
    extra = json.loads(members.pop("extra/pyrometer.json"))
    program = members.pop(f"models/{model.same_as}.json")
    extra["name"], extra["display_name"] = entry.name, entry.display_name
    extra = _with_source(extra, model)
    members["extra/pyrometer.json"] = skeleton.compact_json(extra)
    members[f"models/{model.name}.json"] = program
    return archive.zstd_archive(members), extra


def _entries(model: Model) -> list[tuple[str, Entry]]:
    """The files of a model, with their entries."""
    files = [(f"{model.name}.pt2", model.entry)]
    if model.decode:
        files.append((f"{model.name}.decode.pt2", model.decode))
    return files


def _write(name: str, folder: pathlib.Path) -> None:
    """Writes the files of one model; runs in a separate process."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    model = models.find(name)
    for file, entry in _entries(model):
        started = time.monotonic()
        if model.same_as:
            data, extra = renamed(model, entry, folder / file.replace(model.name, model.same_as))
        else:
            data, extra = skeleton_of(model, entry)
        (folder / file).write_bytes(data)
        free = ", ".join(f"{dim['what']}" for dim in extra["dims"]) or "nothing"
        print(
            f"{file}: {len(data):,} bytes, {extra['params']:,} parameters, {free} may change, "
            f"{time.monotonic() - started:.1f} s",
            flush=True,
        )


def _load_exporter() -> None:
    """Runs the lazy imports of torch.export once, so that forked processes need not."""
    with torch.no_grad():
        program = torch.export.export(torch.nn.Linear(1, 1), (torch.zeros(2, 1),))
    serialize(program)


def write_models(names: list[str], folder: pathlib.Path, limit_s: float) -> list[str]:
    """Writes models one by one, each within a time limit; returns the names of those that failed.

    Each runs in a forked process with all packages loaded, because an export leaves
    much memory allocated and can only be stopped by ending its process.
    """
    failed = []
    context = multiprocessing.get_context("fork")
    _load_exporter()
    for name in names:
        process = context.Process(target=_write, args=(name, folder))
        process.start()
        process.join(limit_s)
        if process.is_alive():
            process.kill()
            process.join()
            print(f"{name}: stopped after {limit_s:.0f} s", flush=True)
        if process.exitcode != 0:
            failed.append(name)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="Models to export; default: all.")
    parser.add_argument("--missing", action="store_true", help="Export only missing models.")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "catalog" / "skeletons")
    parser.add_argument("--limit", type=float, default=900, help="Time limit per model in seconds.")
    parser.add_argument(
        "--sources",
        action="store_true",
        help="Write only the sources of parameter counts, into skeletons that exist.",
    )
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    names = [models.find(name).name for name in options.names] or list(models.all_models())
    if options.sources:
        renew_sources(names, options.dir)
        return 0
    if options.missing:
        names = [
            name
            for name in names
            if not all((options.dir / file).exists() for file, _ in _entries(models.find(name)))
        ]
    names.sort(key=lambda name: models.find(name).same_as is not None)
    failed = write_models(names, options.dir, options.limit)
    if failed:
        print(f"{len(failed)} of {len(names)} failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
