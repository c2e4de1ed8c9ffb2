"""Compares the layers of a trace with hooks that observed the same run.

A model trains on the CPU under torch.profiler(with_stack, record_shapes) while forward hooks time
every module. The trace must show every module by its dotted path with as many forward and backward
calls as the hooks saw. For every module whose forwards take over a millisecond in sum (over all
passes: the strictest reading) the trace's forward time must be within 10% of the hooks': the median
over the passes of the ratio in each.

Hooks run inside the frame that the trace shows: the time of calling and running them, up to a
tenth of a millisecond under the profiler, is in the trace's time and not in theirs.
So the models are large enough for every module to take several milliseconds per call, and nothing
is corrected. Since times are compared, the machine should be idle.
"""

from __future__ import annotations

import collections
import json
import statistics
import subprocess
from time import perf_counter_ns as now_ns

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402

PASSES = 10
LONG_NS = 1_000_000
TOLERANCE = 0.10


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + x)


class ConvNet(nn.Module):
    """Residual blocks, of which one runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, stride=2, padding=3), nn.ReLU())
        self.blocks = nn.Sequential(Block(32), Block(32))
        self.head = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.blocks(self.stem(x)))
        return self.head(x.movedim(1, 3))


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 512, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(256, 256)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.tokens(ids)))


MODELS = {
    "convnet": (ConvNet, lambda: torch.randn(32, 3, 128, 128)),
    "language": (Language, lambda: torch.randint(0, 1000, (128, 64))),
}


class Watch:
    """Forward calls and times of every module, one record per pass."""

    def __init__(self, model: nn.Module) -> None:
        self.passes: list[dict[str, list[int]]] = []
        self.starts: list[int] = []
        for path, module in model.named_modules():
            module.register_forward_pre_hook(self.enter)
            module.register_forward_hook(self.leave(path))

    def enter(self, *_: object) -> None:
        self.starts.append(now_ns())

    def leave(self, path: str):
        def note(*_: object) -> None:
            elapsed_ns = now_ns() - self.starts.pop()
            self.passes[-1].setdefault(path, []).append(elapsed_ns)

        return note


def count_backward_calls(model: nn.Module, example: torch.Tensor) -> collections.Counter[str]:
    """Number of backward runs of each module in one pass, from torch's hooks."""
    calls: collections.Counter[str] = collections.Counter()
    handles = []
    for path, module in model.named_modules():
        if getattr(module, "inplace", False):
            module.inplace = False  # full backward hooks do not support in-place operators
        handles.append(
            module.register_full_backward_hook(lambda *_, _path=path: calls.update([_path]))
        )
    model(example).square().mean().backward()
    for handle in handles:
        handle.remove()
    return calls


def record(model: nn.Module, example: torch.Tensor, passes: int, trace: str) -> Watch:
    watch = Watch(model)
    plan = schedule(wait=0, warmup=2, active=passes, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU], schedule=plan, with_stack=True, record_shapes=True
    ) as profiler:
        for _ in range(passes + 2):
            watch.passes.append({})
            model(example).square().mean().backward()
            profiler.step()
    profiler.export_chrome_trace(trace)
    del watch.passes[:2]
    return watch


def layers_of(tool: str, trace: str, program: str, *options: str) -> dict[str, dict]:
    command = [tool, "trace", trace, "--model", program, "--format", "json", *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {row["path"]: row for row in json.loads(printed)["layers"]}


def step_numbers(tool: str, trace: str) -> list[int]:
    command = [tool, "trace", trace, "--format", "json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [step["number"] for step in json.loads(printed)["steps"]]


@pytest.fixture(scope="module", params=MODELS)
def run(request, tmp_path_factory, tool):
    """(records of the hooks, the trace, the program, backward calls per module)"""
    folder = tmp_path_factory.mktemp(request.param)
    torch.manual_seed(0)
    build, make_example = MODELS[request.param]
    example = make_example()
    program, trace = f"{folder}/model.pt2", f"{folder}/trace.json"
    torch.export.save(torch.export.export(build().eval(), (example,), strict=False), program)
    backward = count_backward_calls(build(), example)
    watch = record(build(), example, PASSES, trace)
    return watch, trace, program, backward


def test_calls_are_those_of_the_hooks(run, tool):
    watch, trace, program, backward = run
    layers = layers_of(tool, trace, program)
    wanted = {
        path: (len(times) * PASSES, backward[path] * PASSES)
        for path, times in watch.passes[0].items()
    }
    got = {
        path: (layers[path]["calls"], layers[path]["backward_calls"])
        for path in wanted
        if path in layers
    }
    assert got == wanted


def test_times_are_those_of_the_hooks(run, tool):
    watch, trace, program, _ = run
    first = min(step_numbers(tool, trace))
    rows = [
        layers_of(tool, trace, program, "--step", str(first + index)) for index in range(PASSES)
    ]
    ratios = {}
    for path in watch.passes[0]:
        hooks = [sum(seen[path]) for seen in watch.passes]
        if sum(hooks) > LONG_NS:
            shown = [row[path]["forward_host_ns"] if path in row else 0 for row in rows]
            ratios[path] = statistics.median(a / b for a, b in zip(shown, hooks, strict=True))
    print(f"{len(ratios)} of {len(watch.passes[0])} modules timed, {max(ratios.values()):.3f} most")
    assert ratios
    assert not {path: ratio for path, ratio in ratios.items() if abs(ratio - 1) > TOLERANCE}
