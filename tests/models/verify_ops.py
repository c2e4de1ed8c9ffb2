"""Prices torch's operator database (op_db) and compares every operator with FlopCounterMode.

Each entry of the database is exported with its first sample inputs. Of those that torch.export
accepts, the library must price all operators of the graph, and its FLOPs in the convention of torch
must equal those that FlopCounterMode counts while the entry runs.

usage: python tests/models/verify_ops.py [NAME...] [--samples N] [--rows FILE]
"""

import argparse
import collections
import contextlib
import dataclasses
import importlib.util
import itertools
import json
import logging
import pathlib
import sys
import types
import unittest
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

import pyrometer

# torch's test classes derive from a class of this package, which the database itself does not use.
if importlib.util.find_spec("expecttest") is None:
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)  # type: ignore
from torch.testing._internal.common_methods_invocations import op_db

REQUIRED_SHARE = 0.97

# Why FlopCounterMode's total is not the amount of work, by entry.
KNOWN_DIFFERENCES: dict[str, str] = {}


@dataclasses.dataclass
class Row:
    """The outcome of one entry with one set of inputs."""

    name: str
    sample: int
    # "priced", "partly" (operators without a rule), "differs", "refused" or "not exported"
    outcome: str = "priced"
    ours: int | None = None
    theirs: int | None = None
    uncounted: list[str] = dataclasses.field(default_factory=list)
    reason: str = ""


class Call(torch.nn.Module):
    """One call of an entry: tensors are inputs, everything else is fixed."""

    def __init__(self, op, sample) -> None:
        super().__init__()
        self._op = op
        leaves, self._structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self._leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.inputs = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    def forward(self, *tensors):
        given = iter(tensors)
        leaves = [next(given) if leaf is None else leaf for leaf in self._leaves]
        first, args, kwargs = pytree.tree_unflatten(leaves, self._structure)
        return self._op(first, *args, **kwargs)


def full_name(op) -> str:
    """The name of an entry, with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples_of(op, count: int) -> list:
    """The first sample inputs of an entry, in the type that most models use."""
    supported = op.supported_dtypes("cpu")
    choices = (torch.float32, torch.complex64, torch.int64, torch.bool)
    dtype = next(dtype for dtype in choices if dtype in supported)
    torch.manual_seed(0)
    samples = iter(op.sample_inputs("cpu", dtype, requires_grad=False))
    found = list(itertools.islice(samples, count))
    # A generator that is closed later, during an export, would run torch's functions there.
    if hasattr(samples, "close"):
        samples.close()
    return found


def torch_flops(call: Call) -> int:
    """FlopCounterMode's total, without the fused paths of the CPU that it cannot see into."""
    counter = FlopCounterMode(display=False)
    inputs = pytree.tree_map_only(torch.Tensor, torch.clone, call.inputs)
    with (
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
        counter,
    ):
        call(*inputs)
    return counter.get_total_flops()


def check(op, sample, number: int) -> Row:
    """Exports, prices and compares one call."""
    row = Row(full_name(op), number)
    call = Call(op, sample).eval()
    try:
        with torch.no_grad():
            program = torch.export.export(call, call.inputs, strict=False)
    except Exception as error:
        row.outcome, row.reason = "not exported", f"{type(error).__name__}: {error}"[:200]
        return row
    try:
        cost = pyrometer.cost(program, convention="torch")
    except Exception as error:
        row.outcome, row.reason = "refused", f"{type(error).__name__}: {error}"[:200]
        return row
    row.ours, row.uncounted = cost.total_flops, sorted(cost.unsupported_ops())
    try:
        row.theirs = torch_flops(call)
    except Exception as error:
        row.reason = f"does not run: {type(error).__name__}: {error}"[:200]
        row.theirs = row.ours
    if row.uncounted:
        row.outcome = "partly"
    elif row.ours != row.theirs:
        row.outcome = "differs"
        row.reason = KNOWN_DIFFERENCES.get(row.name, "")
    return row


def rows_of(op, count: int) -> list[Row]:
    """The outcomes of an entry's samples."""
    try:
        samples = samples_of(op, count)
    except Exception as error:
        return [Row(full_name(op), 0, "not exported", reason=f"no samples: {error}"[:200])]
    return [check(op, sample, number) for number, sample in enumerate(samples)]


@contextlib.contextmanager
def quiet():
    """Without torch's warnings about deprecated functions and about exports that fail."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def report(rows: list[Row]) -> bool:
    """Prints the outcomes; True if they are as required."""
    counts = collections.Counter(row.outcome for row in rows)
    exported = len(rows) - counts["not exported"]
    for row in rows:
        if row.outcome not in ("priced", "not exported"):
            known = row.ours if row.outcome != "differs" else f"{row.ours} not {row.theirs}"
            print(f"{row.name} {row.sample}: {row.outcome} {known} {row.uncounted} {row.reason}")
    wholly = counts["priced"] + counts["differs"]
    unexplained = [row for row in rows if row.outcome == "differs" and not row.reason]
    print(f"\n| of {len(rows)} entries | |\n|---|---|")
    print(f"| exported by torch {torch.__version__} | {exported} |")
    print(f"| priced wholly | {wholly} ({100 * wholly / max(exported, 1):.1f} %) |")
    print(f"| with operators that have no rule | {counts['partly']} |")
    print(f"| rejected | {counts['refused']} |")
    print(f"| FLOPs equal to FlopCounterMode | {counts['priced']} |")
    print(f"| FLOPs different, for a known reason | {counts['differs'] - len(unexplained)} |")
    print(f"| FLOPs different | {len(unexplained)} |")
    return wholly >= REQUIRED_SHARE * exported and not unexplained


def main() -> int:
    """Checks the chosen entries, or all; 1 if the result is worse than required."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--rows", type=pathlib.Path)
    options = parser.parse_args()
    chosen = [
        op
        for op in op_db
        if not options.names or op.name in options.names or full_name(op) in options.names
    ]
    rows: list[Row] = []
    with quiet():
        for op in chosen:
            rows += rows_of(op, options.samples)
    if options.rows:
        lines = (json.dumps(dataclasses.asdict(row)) for row in rows)
        options.rows.write_text("".join(f"{line}\n" for line in lines))
    return 0 if report(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
