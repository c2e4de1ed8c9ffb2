"""Checks every model of the catalog at its default and other sizes: right or rejected.

The real module is built from its package and run at a shape under FlopCounterMode; the tool prices
the skeleton at that shape. Both must agree. The tool may reject a shape that the model was
not exported for, but never its default, nor one in which only the sizes change that it says may,
unless the export relied on what those sizes break.
Numbers that torchvision publishes (GMACs and parameters) must be met too.
At its smallest and largest valid sizes a model must be right as well, and just beyond them
rejected, as the module raises there; "stricter" means rejected although it would run.

Results are kept (--rows) under a digest of the skeleton, the tool and the scripts, so that an
interrupted run resumes, and a table describes one state of all of them.

usage: python tests/models/verify_catalog.py [NAME...] [--tool build/pyrometer] [--markdown]
"""

import argparse
import dataclasses
import functools
import hashlib
import itertools
import json
import logging
import os
import pathlib
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

# Functions that a model compiles with TorchScript do not run on tensors without values.
os.environ.setdefault("PYTORCH_JIT", "0")
# Nor do checks of the number of image tokens in a prompt.
os.environ.setdefault("TRANSFORMERS_DISABLE_TORCH_CHECK", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import reference
import torch

from catalog import archive, models
from catalog.entry import Entry, Input
from catalog.model import Model

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKELETONS = ROOT / "catalog" / "skeletons"

# Two other values per kind of size, different from each other and from the default.
_OTHERS = {
    "batch": (3, 2),
    "height": (1.25, 1.5),
    "width": (1.5, 1.25),
    "frames": (0.5, 1.5),
    "sequence": (56, 200),
    "past": (77, 100),
    "samples": (1.5, 2.25),
    "proposals": (300, 50),
    "detections": (20, 7),
    "patches": (1024, 2304),
}

# Start of the tool's message that other sizes break an assumption of the export.
_GUARD = "at these sizes the model would run other operators"
# Deeper models run with few of their equal layers, and are extrapolated.
_FULL_DEPTH = 12


@dataclasses.dataclass
class Outcome:
    """Result of one skeleton: one word per shape."""

    name: str
    words: dict[str, str] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0


def _scaled(what: str, size: int, which: int) -> int:
    change = _OTHERS.get(what, (None, None))[which]
    if change is None:
        return size
    return change if isinstance(change, int) else round(size * change)


def at_shape(entry: Entry, which: int, only_free: bool) -> Entry:
    """The entry with other default sizes; `only_free` changes only dynamic sizes."""

    def changed(given: Any) -> Any:
        if isinstance(given, list):
            return [changed(item) for item in given]
        if isinstance(given, dict):
            return {name: changed(item) for name, item in given.items()}
        if not isinstance(given, Input):
            return given
        shape = tuple(
            size if only_free and axis not in given.dynamic else _scaled(what, size, which)
            for axis, (what, size) in enumerate(zip(given.axes, given.shape, strict=True))
        )
        return dataclasses.replace(given, shape=shape)

    return dataclasses.replace(entry, arguments=changed(dict(entry.arguments)))


def with_sizes(entry: Entry, sizes: dict[tuple[int, int], int]) -> Entry:
    """The entry with some sizes changed, each by the place of its input and its axis."""
    place = itertools.count()

    def changed(given: Any) -> Any:
        if isinstance(given, list):
            return [changed(item) for item in given]
        if isinstance(given, dict):
            return {name: changed(item) for name, item in given.items()}
        if not isinstance(given, Input):
            return given
        at = next(place)
        shape = tuple(sizes.get((at, axis), size) for axis, size in enumerate(given.shape))
        return dataclasses.replace(given, shape=shape)

    arguments = {name: changed(given) for name, given in entry.arguments.items()}
    return dataclasses.replace(entry, arguments=arguments)


def _skeleton_inputs(path: pathlib.Path) -> dict[str, list[int]]:
    extra = json.loads(archive.read_zstd(str(path))["extra/pyrometer.json"])
    return extra["default_shapes"]


def price(tool: str, path: pathlib.Path, entry: Entry) -> dict | str:
    """The tool's cost in torch's convention, or its error line."""
    command = [tool, "cost", str(path), "--format", "json", "--convention", "torch"]
    for name, given in zip(_skeleton_inputs(path), entry.inputs(), strict=True):
        command += ["--input", f"{name}={','.join(map(str, given.shape))}"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if finished.returncode == 0:
        return json.loads(finished.stdout)
    return finished.stderr.strip() or f"exit {finished.returncode}"


def _flops(model: Model, entry: Entry, change: Callable[[Entry], Entry]) -> int:
    depth = model.depth
    if not depth or depth.layers <= _FULL_DEPTH:
        return reference.torch_flops(change(entry), "default")
    counts = []
    for units in (1, 2):
        few = depth.at(depth.first + units * depth.period)
        shallow = few.decode if entry is model.decode else few.entry
        counts.append(reference.torch_flops(change(shallow), "default"))
    units = (depth.layers - depth.first) // depth.period
    return counts[0] + (units - 1) * (counts[1] - counts[0])


def expected(model: Model, entry: Entry, change: Callable[[Entry], Entry]) -> int | str:
    """FlopCounterMode's count at the changed shape, or why the module does not run there."""
    try:
        return _flops(model, entry, change)
    except Exception as error:  # any exception of a model on an unsupported shape
        first_line = (str(error).strip().splitlines() or [""])[0]
        return f"{type(error).__name__}: {first_line}"


def check_shape(
    outcome: Outcome,
    label: str,
    options: argparse.Namespace,
    subject: tuple[Model, Entry, pathlib.Path],
    change: Callable[[Entry], Entry],
    refusable: bool = False,
) -> None:
    """Compares at one shape, and stores the outcome as one word."""
    model, entry, path = subject
    ours = price(options.tool, path, change(entry))
    if isinstance(ours, str):
        outcome.words[label] = "refused"
        # A guard may forbid some sizes within a valid range.
        if not refusable and _GUARD not in ours:
            outcome.problems.append(f"{label}: {ours}")
        return
    theirs = expected(model, entry, change)
    outcome.words[label] = "equal" if ours["total_flops"] == theirs else "WRONG"
    if ours["total_flops"] != theirs:
        outcome.problems.append(f"{label}: {ours['total_flops']} here, {theirs} there")


def _bounds(path: pathlib.Path) -> list[tuple[list[tuple[int, int]], int | None, int | None, int]]:
    """For each dynamic size: its place, minimum, maximum and step."""
    members = archive.read_zstd(str(path))
    extra = json.loads(members["extra/pyrometer.json"])
    program = json.loads(next(data for name, data in members.items() if name.startswith("models/")))
    values = program["graph_module"]["graph"]["tensor_values"]
    names = list(extra["default_shapes"])
    found = []
    for dim in extra["dims"]:
        size = values[dim["input"]]["sizes"][dim["axis"]]
        places = [
            (place, axis)
            for place, name in enumerate(names)
            for axis, other in enumerate(values[name]["sizes"])
            if other == size
        ]
        step = dim.get("multiple", 1)
        found.append((places, dim.get("min", step), dim.get("max"), step))
    return found


def _positions(model: Model) -> int | None:
    """Number of positions a language model was trained for, which may or may not limit it."""
    depth = model.depth
    few = depth.at(depth.first + depth.period).entry if depth else model.entry
    config = getattr(few.module(), "config", None)
    return getattr(config, "max_position_embeddings", None)


def _beyond(outcome: Outcome, options, subject, sizes: dict[tuple[int, int], int]) -> str:
    """Checks one shape just outside: rejected where the model raises, or right."""
    model, entry, path = subject
    change = functools.partial(with_sizes, sizes=sizes)
    ours = price(options.tool, path, change(entry))
    theirs = expected(model, entry, change)
    if isinstance(ours, str):
        return "refused" if isinstance(theirs, str) else "stricter"
    if ours["total_flops"] == theirs:
        return "equal"
    outcome.problems.append(f"beyond {sizes}: {ours['total_flops']} here, {theirs} there")
    return "WRONG"


def check_bounds(outcome: Outcome, options, subject: tuple[Model, Entry, pathlib.Path]) -> None:
    """At the smallest and the largest sizes, and at those just beyond."""
    model, entry, path = subject
    bounds = _bounds(path)
    smallest = {place: least for places, least, _, _ in bounds for place in places}
    largest = {place: most for places, _, most, _ in bounds if most for place in places}
    for label, sizes in (("smallest", smallest), ("largest", largest)):
        if sizes:
            change = functools.partial(with_sizes, sizes=sizes)
            check_shape(outcome, label, options, subject, change)
    words = []
    for places, least, most, step in bounds:
        if least > step:
            words.append(_beyond(outcome, options, subject, dict.fromkeys(places, least - step)))
        if most:
            words.append(_beyond(outcome, options, subject, dict.fromkeys(places, most + step)))
    unbounded = [places for places, _, most, _ in bounds if not most and _is_length(entry, places)]
    positions = _positions(model) if unbounded and entry.package == "transformers" else None
    for places in unbounded if positions else ():
        words.append(_beyond(outcome, options, subject, dict.fromkeys(places, positions + 1)))
    if words:
        outcome.words["beyond"] = ", ".join(dict.fromkeys(sorted(words)))


def _is_length(entry: Entry, places: list[tuple[int, int]]) -> bool:
    place, axis = places[0]
    return entry.inputs()[place].axes[axis] in ("sequence", "past")


def check_published(outcome: Outcome, options, model: Model, path: pathlib.Path) -> None:
    """Every row that torchvision publishes for the builder, its crop and its parameters."""
    from torchvision.models import get_model_weights, get_weight

    weights = get_weight(model.entry.weights)
    # torchvision counted detectors with fewer boxes; see docs/reference/conventions.md.
    boxes = {
        "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1": ["proposals=1,0,5"],
        "FasterRCNN_MobileNet_V3_Large_FPN_Weights.COCO_V1": ["proposals=1,0,5"],
        "MaskRCNN_ResNet50_FPN_Weights.COCO_V1": ["detections=1,0,5"],
        "KeypointRCNN_ResNet50_FPN_Weights.COCO_LEGACY": ["detections=1,0,5"],
        "KeypointRCNN_ResNet50_FPN_Weights.COCO_V1": ["detections=1,1,5"],
    }
    builder = model.entry.builder.split("'")[1]
    for row in get_model_weights(builder):
        if row.meta["num_params"] != weights.meta["num_params"]:
            continue
        crop = getattr(row.transforms, "keywords", {}).get("crop_size")
        crop = crop[0] if isinstance(crop, (tuple, list)) else crop
        command = [options.tool, "cost", str(path), "--format", "json"]
        command += ["--convention", "torchvision"]
        if crop:
            shape = [*next(iter(_skeleton_inputs(path).values()))[:-2], crop, crop]
            command += ["--input-shape", ",".join(map(str, shape))]
        for given in boxes.get(str(row), []):
            command += ["--input", given]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        ours = json.loads(finished.stdout) if finished.returncode == 0 else {}
        told = (f"{ours.get('total_flops', 0) / 1e9:.3f}", ours.get("params"))
        if told != (f"{row.meta['_ops']:.3f}", row.meta["num_params"]):
            outcome.problems.append(f"{row}: {told}, published {row.meta['_ops']}")
            outcome.words["published"] = "WRONG"
        outcome.words.setdefault("published", "equal")


def verify(model: Model, entry: Entry, path: pathlib.Path, options) -> Outcome:
    """Checks one skeleton."""
    outcome = Outcome(path.name.removesuffix(".pt2"))
    started = time.monotonic()
    if not path.exists():
        outcome.problems.append("no skeleton")
        return outcome
    subject = (model, entry, path)
    check_shape(outcome, "default", options, subject, lambda given: given)
    check_shape(outcome, "free", options, subject, lambda given: at_shape(given, 0, True))
    # A decoding step has one token: another length is another kind of run.
    only_free = entry is model.decode
    for label, which in (("first", 0), ("second", 1)):
        check_shape(
            outcome,
            label,
            options,
            subject,
            lambda given, which=which: at_shape(given, which, only_free),
            refusable=True,
        )
    check_bounds(outcome, options, subject)
    if entry.weights:
        check_published(outcome, options, model, path)
    outcome.seconds = time.monotonic() - started
    return outcome


_COLUMNS = ("default", "free", "first", "second", "smallest", "largest", "beyond", "published")


def print_row(outcome: Outcome, markdown: bool) -> None:
    words = [outcome.words.get(column, "-") for column in _COLUMNS]
    if markdown:
        print(f"| `{outcome.name}` | " + " | ".join(words) + " |", flush=True)
        return
    cells = "".join(f"{word:<10}" for word in words)
    verdict = "FAILED" if outcome.problems else "ok"
    print(f"{outcome.name:<34}{cells}{outcome.seconds:6.1f} s  {verdict}", flush=True)
    for problem in outcome.problems:
        print(f"    {problem}", flush=True)


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all if none")
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--tool", default=tool, help="the tool, build/pyrometer if not given")
    parser.add_argument("--dir", type=pathlib.Path, default=SKELETONS, help="the skeletons")
    parser.add_argument("--present", action="store_true", help="only models that are there")
    parser.add_argument("--rows", type=pathlib.Path, help="what was found, read and added to")
    parser.add_argument("--markdown", action="store_true", help="print rows of a table")
    return parser.parse_args(arguments)


def work(options: argparse.Namespace) -> list[tuple[Model, Entry, pathlib.Path]]:
    """The skeletons to check."""
    chosen = [models.find(name) for name in options.names] or models.all_models().values()
    found = []
    for model in chosen:
        found.append((model, model.entry, options.dir / f"{model.name}.pt2"))
        if model.decode:
            found.append((model, model.decode, options.dir / f"{model.name}.decode.pt2"))
    return [item for item in found if item[2].exists() or not options.present]


def digest(paths: Iterable[pathlib.Path]) -> str:
    """A digest of the contents of files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes() if path.exists() else b"")
    return found.hexdigest()[:32]


def state_of(tool: str) -> str:
    """A digest of all inputs of a result except the skeleton."""
    scripts = [*(ROOT / "catalog").glob("*.py"), *(ROOT / "tests" / "models").glob("*.py")]
    return digest([pathlib.Path(tool), *sorted(scripts)])


def read_rows(path: pathlib.Path | None) -> dict[str, Outcome]:
    """Results of earlier runs, by digest."""
    lines = path.read_text().splitlines() if path and path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row.pop("key"): Outcome(**row) for row in rows}


def main() -> int:
    options = parse_options()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    failed = count = 0
    state = state_of(options.tool)
    found = read_rows(options.rows)
    for model, entry, path in work(options):
        key = state + digest([path])
        outcome = found.get(key) or verify(model, entry, path, options)
        if options.rows and key not in found:
            with options.rows.open("a") as rows:
                rows.write(json.dumps({"key": key, **dataclasses.asdict(outcome)}) + "\n")
        print_row(outcome, options.markdown)
        failed += bool(outcome.problems)
        count += 1
    print(f"{count - failed} passed, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
