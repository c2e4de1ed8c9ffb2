"""Checks layers of traces made here and now against hooks that count and time each module.

Models are trained for some passes under torch.profiler(with_stack=True) while hooks look on. For
every module the calls, forward and backward, must be equal, and its path must be the module's own
with the exported model at hand. Forward times of modules over 1 ms in sum are compared with the
hooks' by the median over the calls; they may differ by 10% or what a call costs. Needs torch; timing makes it no part
of `make test`.

    python tests/trace/check_live_layers.py --dump build/dump_joins
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSES = 10
# What calling a module and its hooks costs under the profiler: in the frame, but not in the hooks.
CALL_NS = 80_000


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        h = self.norm(x)
        attended = F.scaled_dot_product_attention(self.query(h), self.key(h), self.value(h))
        return x + self.dropout(self.out(attended))


class Lists(nn.Module):
    """Lists and dictionaries that are not called, a shared module, the head defined first."""

    recompute = False

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(256, 50)
        self.blocks = nn.ModuleList(Block(256) for _ in range(3))
        self.embedding = nn.Embedding(50, 256)
        self.shared = nn.GELU()
        self.more = nn.ModuleDict({"a": nn.Linear(256, 256), "b": nn.Linear(256, 256)})

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
            x = self.shared(x)
        return self.head(self.more["b"](self.more["a"](x)))


class Recomputing(Lists):
    recompute = True


def convolutions():
    def stage(width, wider):
        shortcut = nn.Conv2d(width, wider, 3, padding=1, bias=False)
        return nn.Sequential(shortcut, nn.BatchNorm2d(wider), nn.ReLU(inplace=True))

    stages = [stage(3, 16), stage(16, 32), nn.MaxPool2d(2), stage(32, 32)]
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def encoder():
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 128)
        self.recurrent = nn.LSTM(128, 128, 2, batch_first=True)
        self.head = nn.Linear(128, 50)

    def forward(self, x):
        return self.head(self.recurrent(self.embedding(x))[0])


def models():
    tokens = torch.randint(0, 50, (8, 64))
    yield "lists", Lists, (tokens,)
    yield "recomputing", Recomputing, (tokens,)
    yield "convolutions", convolutions, (torch.randn(8, 3, 48, 48),)
    yield "encoder", encoder, (torch.randn(8, 64, 128),)
    yield "recurrent", Recurrent, (tokens,)


class Counts:
    """Hooks that count the calls of each module, forward and backward."""

    def __init__(self, model):
        self.calls, self.backward = collections.Counter(), collections.Counter()
        for path, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_, path=path: self.calls.update([path]))
            module.register_forward_hook(lambda _, __, out, path=path: self.leave(path, out))

    def leave(self, path, out):
        out = out[0] if isinstance(out, tuple) else out
        if out.requires_grad:
            out.register_hook(lambda _: self.backward.update([path]))

    def clear(self):
        self.calls.clear()
        self.backward.clear()


class Times:
    """Hooks that do nothing but look at the clock: what they cost lies inside the frames."""

    def __init__(self, model):
        self.passed = []
        clock = time.perf_counter_ns
        for path, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_: self.passed.append(clock()))
            module.register_forward_hook(lambda *_, path=path: self.passed.append((path, clock())))

    def durations(self):
        """Of each path, the time of each call."""
        stack, found = [], collections.defaultdict(list)
        for item in self.passed:
            if isinstance(item, tuple):
                found[item[0]].append(item[1] - stack.pop())
            else:
                stack.append(item)
        return found

    def clear(self):
        self.passed.clear()


def profile(folder, model, inputs, watch):
    """Some passes of training into trace.json."""
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        model(*inputs).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    watch.clear()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True, record_shapes=True
    ) as profiler:
        for _ in range(PASSES):
            step()
    profiler.export_chrome_trace(str(folder / "trace.json"))


def dump(options, folder, *more):
    command = [options.dump, *more, folder / "trace.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)["layers"]


def frame_durations(options, folder):
    """Of each path, the time of each of its frames: rows are alike with a model and without."""
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    by_instance = collections.defaultdict(list)
    for event in events:
        if event.get("name", "").startswith("nn.Module: "):
            by_instance[event["name"].split(": ")[1]].append(event["dur"] * 1000)
    instances = [row["path"].rsplit(".", 1)[-1] for row in dump(options, folder)]
    paths = [row["path"] for row in dump(options, folder, "--model", folder / "model.pt2")]
    return {path: by_instance[name] for path, name in zip(paths, instances, strict=True)}


def check_counts(name, counts, rows):
    problems = []
    found = {row["path"]: row for row in rows}
    for path, calls in counts.calls.items():
        row = found.get(path, {"calls": 0, "backward_calls": 0})
        measured = [row["calls"], row["backward_calls"]]
        expected = [calls, counts.backward[path]]
        if measured != expected:
            problems.append(f"{name}: {path}: {measured} calls, hooks saw {expected}")
    return problems


def check_times(name, hooks, frames):
    problems, compared = [], 0
    for path, durations in hooks.items():
        if sum(durations) < 1e6 or path not in frames:
            continue
        compared += 1
        expected, measured = statistics.median(durations), statistics.median(frames[path])
        if abs(measured - expected) > max(0.1 * expected, CALL_NS):
            problems.append(f"{name}: {path}: {measured:.0f} ns a call, hooks saw {expected:.0f}")
    return problems, compared


def check(options, name, make, inputs):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        exported = torch.export.export(Lists() if make is Recomputing else make(), inputs)
        torch.export.save(exported, folder / "model.pt2")
        model = make()
        counts = Counts(model)
        profile(folder, model, inputs, counts)
        rows = dump(options, folder, "--model", folder / "model.pt2")
        problems = check_counts(name, counts, rows)
        if make is not Recomputing:
            model = make()
            times = Times(model)
            profile(folder, model, inputs, times)
            slower, compared = check_times(
                name, times.durations(), frame_durations(options, folder)
            )
            problems += slower
        else:
            compared = 0
    print(f"{name}: {len(counts.calls)} modules, {compared} timed, {len(problems)} differences")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", default=ROOT / "build" / "dump_joins")
    options = parser.parse_args()
    torch.manual_seed(0)
    problems = []
    for name, make, inputs in models():
        problems += check(options, name, make, inputs)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
