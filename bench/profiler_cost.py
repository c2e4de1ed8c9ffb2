"""Measures whether `pyrometer trace` knows how long a step takes without the profiler.

    python bench/profiler_cost.py [--device cuda] [--rounds 5] [--only gpt] [--options all]

Every program runs bare and recorded in turn, in one process, because machines are noisy. A round
records some steps; the range that the analysis of this recording gives is compared with the median
of the bare steps right before and after it. Programs: the planted scripts and some models.
With --cpu-time, steps are measured in CPU time, which other programs on the machine hardly change.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

import torch
from torch import nn

import pyrometer

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "planted_scripts"))

import check  # noqa: E402
import recording  # noqa: E402

OPTIONS = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "stacks": {"with_stack": True},
    "memory": {"profile_memory": True, "record_shapes": True},
    "usual": {"record_shapes": True, "with_stack": True},
    "all": {"record_shapes": True, "with_stack": True, "profile_memory": True},
}
STEPS = 4


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.rest = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.inputs(self.norms[0](x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.rest(self.norms[1](x))


def training_step(model, inputs, device):
    model.to(device)
    inputs = inputs.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


def make_gpt(device):
    return training_step(
        nn.Sequential(*[Block(128, 4) for _ in range(8)]), torch.randn(4, 64, 128), device
    )


def make_convolutions(device):
    def block(channels):
        return nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
        )

    model = nn.Sequential(nn.Conv2d(3, 32, 3), *[block(32) for _ in range(16)])
    return training_step(model, torch.randn(4, 3, 34, 34), device)


def make_perceptron(device):
    layers = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(24)]
    return training_step(nn.Sequential(*layers), torch.randn(128, 256), device)


def make_decoder(device):
    """Inference of one token after the other: the smallest ops."""
    model = nn.Sequential(*[Block(256, 8) for _ in range(12)]).to(device).eval()
    token = torch.randn(1, 1, 256, device=device)
    return torch.no_grad()(lambda: model(token))


def make_recurrent(device):
    cell = nn.GRUCell(64, 64).to(device)
    inputs = torch.randn(48, 32, 64, device=device)

    def step():
        state = torch.zeros(32, 64, device=device)
        for x in inputs:
            state = cell(x, state)
        state.square().mean().backward()
        cell.zero_grad()

    return step


MODELS = {
    "gpt": make_gpt,
    "convolutions": make_convolutions,
    "perceptron": make_perceptron,
    "decoder": make_decoder,
    "recurrent": make_recurrent,
}


def record_torch(step, path, device, options, clock):
    """Records some steps; returns how long they took, in milliseconds."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device != "cpu":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    times = []
    with torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        **OPTIONS[options],
    ) as profiler:
        for _ in range(1 + STEPS):
            times += recording.time_steps(step, device, 1, clock)
            profiler.step()
    return times[1:]


def record_pyrometer(step, path, device, options, clock):
    with pyrometer.capture(path):
        return recording.time_steps(step, device, STEPS, clock)


def without_cost(cost, recorded_ms, steps):
    """The range of the analysis for a step whose time was measured by another clock."""
    cost_ms = cost["time_ns"] / steps / 1e6
    bare_ms = recorded_ms - cost_ms
    half_ms = min(0.04 * bare_ms + 0.3 * cost_ms, 0.15 * bare_ms)
    return bare_ms - half_ms, bare_ms + half_ms


def measure(name, step, arguments, folder):
    """Yields one result per round."""
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    record, path = record_torch, folder / "trace.json"
    if arguments.recorder == "pyrometer":
        record, path = record_pyrometer, folder / "trace.pyro"
    for _ in range(arguments.rounds):
        bare = recording.time_steps(step, arguments.device, 2 * STEPS, clock)
        recorded = record(step, path, arguments.device, arguments.options, clock)
        bare += recording.time_steps(step, arguments.device, 2 * STEPS, clock)
        cost = pyrometer.trace(path).profiler_cost
        low, high = cost["step_without_low_ns"] / 1e6, cost["step_without_high_ns"] / 1e6
        recorded_ms = cost["step_ns"] / 1e6
        if arguments.cpu_time:
            recorded_ms = statistics.median(recorded)
            low, high = without_cost(cost, recorded_ms, STEPS)
        yield {
            "name": name,
            "bare_ms": statistics.median(bare),
            "recorded_ms": recorded_ms,
            "low_ms": low,
            "high_ms": high,
            "costs": cost,
        }


def is_inside(row):
    return row["low_ms"] <= row["bare_ms"] <= row["high_ms"]


def programs(arguments):
    """(name, context manager of a step)"""
    for name in check.names_for(arguments.device):
        script = check.load(name)
        yield name, recording.steps_of(script, arguments.device, False)
    for name, make in MODELS.items():
        script = type(
            "Script", (), {"make": staticmethod(lambda device, _, make=make: make(device))}
        )
        yield name, recording.steps_of(script, arguments.device, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--recorder", choices=recording.RECORDERS, default="torch")
    parser.add_argument("--options", choices=OPTIONS, default="usual")
    parser.add_argument("--only", nargs="*", help="Names of programs.")
    parser.add_argument("--cpu-time", action="store_true", help="Measure steps in CPU time.")
    parser.add_argument("--json", help="File for all results.")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        torch.set_num_threads(1)
    inside, rows = [], []
    print(f"{'program':22} {'bare':>8} {'recorded':>9} {'profiler':>8} {'range without':>18}")
    with tempfile.TemporaryDirectory() as folder:
        for name, steps in programs(arguments):
            if arguments.only and name not in arguments.only:
                continue
            with steps as step:
                found = list(measure(name, step, arguments, pathlib.Path(folder)))
            rows += found
            found.sort(key=lambda row: row["recorded_ms"])
            middle = found[len(found) // 2]
            inside.append(is_inside(middle))
            print(
                f"{name:22} {middle['bare_ms']:8.2f} {middle['recorded_ms']:9.2f} "
                f"{1 - middle['bare_ms'] / middle['recorded_ms']:8.1%} "
                f"{middle['low_ms']:8.2f} - {middle['high_ms']:7.2f}  "
                f"{'in ' if inside[-1] else 'OUT'} {sum(map(is_inside, found))}/{len(found)} "
                f"op {middle['costs']['op_ns']} frame {middle['costs']['frame_ns']}",
                flush=True,
            )
    print(f"{sum(inside)} of {len(inside)} ranges hold the bare time")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
