"""Checks `pyrometer cost` on the zoo against other counters and published numbers.

Every model is exported, saved and priced by the tool. Its parameters, its FLOPs in the convention
of torch, and its MACs must equal those of the live module exactly, at the default shapes and, if
sizes may change, at a second set; published GMACs must agree to three decimals. fvcore's count,
if it can trace the model, must equal ours in its convention, except for differences that are
listed with their reason.

usage: python tests/models/verify.py [NAME...] [--all] [--tool build/pyrometer] [--reuse]
"""

import argparse
import csv
import dataclasses
import json
import logging
import os
import pathlib
import subprocess
import sys
import time
import warnings
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import reference
import torch

import zoo
from catalog.entry import Entry, unique_parameters
from zoo import export

ROOT = pathlib.Path(__file__).resolve().parents[2]

# One of each kind; `make test` checks these, `make verify-models` all. Whole networks of depthwise
# convolutions and of image patches are compared with torch by test_catalog.py, and with published
# numbers by test_check.py.
CHOSEN = (
    "resnet18",
    "conv2d_depthwise",
    "transformer_encoder",
    "swin_t",
    "gpt2_tiny",
    "mixtral_tiny",
    "lstm_bidirectional",
    "unet",
)


@dataclasses.dataclass
class Check:
    """One of our numbers, and the number it must equal."""

    what: str
    ours: int | str
    theirs: int | str
    known_difference: str = ""

    def passed(self) -> bool:
        return self.ours == self.theirs or bool(self.known_difference)


@dataclasses.dataclass
class Outcome:
    """Result of one model; `skipped` says why it could not be checked."""

    name: str
    checks: list[Check] = dataclasses.field(default_factory=list)
    error: str = ""
    skipped: str = ""
    seconds: float = 0.0

    def passed(self) -> bool:
        return not self.error and all(check.passed() for check in self.checks)


class ToolError(Exception):
    """The tool failed, or its output is invalid."""


def price(tool: str, path: pathlib.Path, convention: str, inputs: list[str]) -> dict:
    """Runs the tool and returns its JSON."""
    command = [tool, "cost", str(path), "--format", "json", "--convention", convention]
    for given in inputs:
        command += ["--input", given]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if finished.returncode != 0:
        message = finished.stderr.strip().splitlines()
        raise ToolError(f"exit {finished.returncode}: {message[-1] if message else 'no message'}")
    return json.loads(finished.stdout)


def input_names(path: pathlib.Path) -> list[str]:
    """The input tensors of the saved program, in order."""
    with zipfile.ZipFile(path) as archive:
        member = next(name for name in archive.namelist() if "models/" in name)
        program = json.loads(archive.read(member))
    specs = program["graph_module"]["signature"]["input_specs"]
    given = [spec["user_input"]["arg"] for spec in specs if "user_input" in spec]
    return [argument["as_tensor"]["name"] for argument in given if "as_tensor" in argument]


def shape_options(entry: Entry, path: pathlib.Path, which: str) -> list[str]:
    """NAME=SIZES for every input with dynamic sizes."""
    options = []
    for name, given in zip(input_names(path), entry.inputs(), strict=True):
        if given.dynamic:
            shape = given.other if which == "other" and given.other else given.shape
            options.append(f"{name}={','.join(map(str, shape))}")
    return options


def published() -> dict[str, dict]:
    """The published numbers by model."""
    with open(pathlib.Path(__file__).with_name("published.csv"), newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def saved_model(entry: Entry, folder: pathlib.Path, reuse: bool) -> pathlib.Path:
    """The model as torch.export.save writes it."""
    path = folder / f"{entry.name}.pt2"
    if not (reuse and path.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        export.write_pt2(entry, str(path))
    return path


def checks_of(entry: Entry, path: pathlib.Path, options: argparse.Namespace) -> list[Check]:
    """All comparisons of one model."""
    checks = []
    shapes = ("default", "other") if entry.is_dynamic() else ("default",)
    for which in shapes:
        ours = price(options.tool, path, "torch", shape_options(entry, path, which))
        if which == "default":
            checks.append(Check("params", ours["params"], unique_parameters(entry.module())))
        flops = reference.torch_flops(entry, which)
        checks.append(Check(f"torch flops ({which})", ours["total_flops"], flops))
        checks.append(Check(f"macs ({which})", ours["total_macs"], reference.macs(entry, which)))
    defaults = shape_options(entry, path, "default")
    row = published().get(entry.name)
    if row:
        ours = price(options.tool, path, "torchvision", defaults)
        gmacs = f"{ours['total_flops'] / 1e9:.3f}"
        checks.append(Check("published GMACs", gmacs, f"{float(row['gmacs']):.3f}"))
        checks.append(Check("published params", ours["params"], int(row["params"])))
    if options.fvcore:
        theirs = reference.fvcore_flops(entry)
        if theirs is not None:
            ours = price(options.tool, path, "fvcore", defaults)
            reason = reference.FVCORE_DIFFERENCES.get(entry.name, "")
            checks.append(Check("fvcore", ours["total_flops"], theirs, reason))
    return checks


def verify(name: str, options: argparse.Namespace) -> Outcome:
    """Checks one model; never raises if the model or the tool fails."""
    outcome = Outcome(name)
    started = time.monotonic()
    try:
        entry = zoo.find(name)
        path = saved_model(entry, options.dir, options.reuse)
        outcome.checks = checks_of(entry, path, options)
    except ModuleNotFoundError as error:
        outcome.skipped = f"needs the package {error.name}"
    except Exception as error:  # one model must not stop the run, whatever torch raises
        first_line = (str(error).strip().splitlines() or [""])[0]
        outcome.error = f"{type(error).__name__}: {first_line}"
    outcome.seconds = time.monotonic() - started
    return outcome


def _cell(outcome: Outcome, what: str) -> str:
    """One word for one check in the table."""
    for check in outcome.checks:
        if check.what == what:
            if check.ours == check.theirs:
                return "equal"
            return "differs" if check.known_difference else "DIFFERS"
    return "-"


_COLUMNS = {
    "params": "params",
    "torch": "torch flops (default)",
    "macs": "macs (default)",
    "torch, 2nd shape": "torch flops (other)",
    "macs, 2nd shape": "macs (other)",
    "published": "published GMACs",
    "fvcore": "fvcore",
}


def print_row(outcome: Outcome) -> None:
    """Prints a line of the table, and the problems below it."""
    cells = "".join(f"{_cell(outcome, what):<18}" for what in _COLUMNS.values())
    verdict = "skipped" if outcome.skipped else "ok" if outcome.passed() else "FAILED"
    print(f"{outcome.name:<30}{cells}{outcome.seconds:6.1f} s  {verdict}")
    for line in (outcome.skipped, outcome.error):
        if line:
            print(f"    {line}")
    for check in outcome.checks:
        if check.ours != check.theirs:
            known = f": it {check.known_difference}" if check.known_difference else ""
            print(f"    {check.what}: {check.ours} here, {check.theirs} there{known}")
    sys.stdout.flush()


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; the chosen few if none")
    parser.add_argument("--all", action="store_true", help="every model of the zoo")
    parser.add_argument("--family", help="every model of one family of the zoo")
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--tool", default=tool, help="the tool, build/pyrometer if not given")
    parser.add_argument(
        "--dir", type=pathlib.Path, default=ROOT / "build" / "models", help="where files go"
    )
    parser.add_argument("--reuse", action="store_true", help="do not export what is there already")
    parser.add_argument("--no-fvcore", dest="fvcore", action="store_false", help="leave fvcore out")
    return parser.parse_args(arguments)


def selected(options: argparse.Namespace) -> list[str]:
    """The requested models."""
    entries = zoo.all_entries()
    if options.all:
        return list(entries)
    if options.family:
        return [name for name, entry in entries.items() if entry.family == options.family]
    return options.names or list(CHOSEN)


def main() -> int:
    options = parse_options()
    if not os.access(options.tool, os.X_OK):
        print(f"{options.tool}: no such program; build it first", file=sys.stderr)
        return 2
    # Most warnings of libraries do not affect a count.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    print(f"{'model':<30}" + "".join(f"{title:<18}" for title in _COLUMNS))
    outcomes = []
    for name in selected(options):
        outcomes.append(verify(name, options))
        print_row(outcomes[-1])
    failed = sum(not outcome.passed() for outcome in outcomes)
    skipped = sum(bool(outcome.skipped) for outcome in outcomes)
    if skipped:
        print(f"{skipped} skipped")
    print(f"{len(outcomes) - failed - skipped} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
