"""Compares the traffic of language models, in decoding and prefill, with that of a live run.

The real module of every skeleton is built without values and run once at the default shape, with
every operator recorded (traffic.py); deep models with one and two rounds of their layers, and
extrapolated. Decoding runs with the cache that transformers uses by default, which grows by
concatenation. The tool prices a preallocated cache: the copies made by growing are the only
expected difference, and their size is known.

With --small, runs small models of every architecture with values, after a prompt that fills the
cache, and without; both must move the same bytes.

usage: python tests/models/compare_traffic.py [NAME...] [--prefill | --small] [--markdown]
"""

import argparse
import collections
import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import subprocess
import sys
import warnings
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import small_models
import torch
import traffic

from catalog import models, transformers_build
from catalog.entry import Entry
from catalog.model import Model

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKELETONS = ROOT / "catalog" / "skeletons"
TOOL = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))

# Remaining differences, by class of the model's code, and their reasons.
EXPLAINED = {
    "BloomForCausalLM": "torch.where makes tensors of two of its numbers",
    "Gemma2ForCausalLM": "torch.where makes tensors of two of its numbers",
    "GptOssForCausalLM": "torch.where makes tensors of two of its numbers",
    "GPTJForCausalLM": "repeat_interleave runs as a copy of an expanded view, read as often as it "
    "repeats; torch.where makes tensors of two of its numbers",
}
EXPLAINED_PREFILL = EXPLAINED | {
    "Gemma2ForCausalLM": "the export looks for packed sequences in the positions, and masks by it",
}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Bytes of one step: by the tool, and recorded, including `growth` of the cache."""

    name: str
    priced: int
    recorded: int
    growth: int
    by_operator: collections.Counter

    @property
    def rest(self) -> int:
        return self.recorded - self.growth - self.priced


@contextlib.contextmanager
def _one_sequence_a_row() -> Iterator[None]:
    """Gives transformers what it would read from position ids, which have no values here."""
    from transformers import masking_utils

    found = masking_utils.find_packed_sequence_indices
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    try:
        yield
    finally:
        masking_utils.find_packed_sequence_indices = found


def _record(entry: Entry) -> collections.Counter:
    args, kwargs = entry.example("default")
    module = entry.module()
    with _one_sequence_a_row():
        return traffic.record(module, *args, **kwargs).bytes


def recorded(model: Model, decode: bool) -> collections.Counter:
    """Bytes per operator of one run, extrapolated to all layers."""

    def chosen(of: Model) -> Entry:
        return of.decode if decode else of.entry

    depth = model.depth
    if not depth:
        return _record(chosen(model))
    one = _record(chosen(depth.at(depth.first + depth.period)))
    two = _record(chosen(depth.at(depth.first + 2 * depth.period)))
    rounds = (depth.layers - depth.first) // depth.period
    names = one.keys() | two.keys()
    return collections.Counter(
        {name: one[name] + (rounds - 1) * (two[name] - one[name]) for name in names}
    )


def compare(name: str, decode: bool = True, tool: str = TOOL) -> Comparison:
    """One model at its default shape."""
    model = models.find(name)
    path = SKELETONS / f"{name}{'.decode' if decode else ''}.pt2"
    command = [tool, "cost", str(path), "--format", "json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    cost = json.loads(finished.stdout)
    # Concatenation reads and writes the whole cache.
    growth = 2 * cost["decode"]["kv_cache_read_bytes"] if decode else 0
    found = recorded(model, decode)
    return Comparison(name, cost["total_memory"], sum(found.values()), growth, found)


def small_steps(class_name: str) -> tuple[collections.Counter, collections.Counter]:
    """Bytes of one decoding step of a small model: with values, and without."""
    from transformers import DynamicCache

    module = small_models.build(class_name)
    cache = DynamicCache(config=module.config)
    tokens = torch.ones(1, 33, dtype=torch.int64)
    with torch.no_grad():
        module(tokens[:, :32], past_key_values=cache, use_cache=True)
    past = [(layer.keys.to("meta"), layer.values.to("meta")) for layer in cache.layers]
    real = traffic.record(module, tokens[:, 32:], past_key_values=cache, use_cache=True)
    with torch.device("meta"):
        module = transformers_build.with_cache_inputs(small_models.build(class_name))
        token = torch.ones(1, 1, dtype=torch.int64)
    keys, values = (list(kind) for kind in zip(*past, strict=True))
    return real.bytes, traffic.record(module, token, keys, values).bytes


def explanation(name: str, decode: bool) -> str:
    """The reason for a model's remaining difference; "" if none is expected."""
    known = EXPLAINED if decode else EXPLAINED_PREFILL
    builder = models.find(name).entry.builder
    return known.get(builder.removeprefix("transformers.").partition("(")[0], "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all that decode if none")
    parser.add_argument("--tool", default=TOOL, help="the tool, build/pyrometer if not given")
    parser.add_argument("--prefill", action="store_true", help="reading a prompt, not decoding")
    parser.add_argument("--small", action="store_true", help="small models, with values")
    parser.add_argument("--markdown", action="store_true", help="print rows of a table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    unexplained = 0
    if options.small:
        for class_name in options.names or small_models.CONFIGS:
            real, without = small_steps(class_name)
            unexplained += real != without
            print(f"{class_name}  {sum(real.values()):,}  {sum(without.values()):,}", flush=True)
        return 1 if unexplained else 0
    names = options.names or [
        name for name, model in sorted(models.all_models().items()) if model.decode
    ]
    for name in names:
        found = compare(name, not options.prefill, options.tool)
        why = explanation(name, not options.prefill) if found.rest else ""
        unexplained += bool(found.rest) and not why
        columns = [
            f"{found.recorded:,}",
            f"{found.growth:,}",
            f"{found.priced:,}",
            f"{found.rest:,}",
            why,
        ]
        row = (
            " | ".join([f"`{name}`", *columns]) if options.markdown else "  ".join([name, *columns])
        )
        print(f"| {row} |" if options.markdown else row, flush=True)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
