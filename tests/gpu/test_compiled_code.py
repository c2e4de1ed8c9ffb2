"""torch.compile under the collector: kernels have the modules that Inductor's provenance names."""

import collections

import torch

import pyrometer
from gpu.checks import check
from gpu.kernel_cases import GPT, no_grad, tokens, train_step

REPEATS = 3


def own_ns(trace):
    return {
        row["path"]: row["forward_device_self_ns"] + row["backward_device_self_ns"]
        for row in trace.layers
    }


def by_block(trace):
    """Shares of the time of all layers, by block."""
    sums = collections.Counter()
    for path, ns in own_ns(trace).items():
        parts = path.split(".")
        sums[".".join(parts[:2]) if "layers" in parts[:1] else parts[0]] += ns
    total = sum(sums.values())
    return {name: ns / total for name, ns in sums.items() if total}


def capture(step, path, repeats=REPEATS):
    """Under a first recording the step compiles, and Inductor times configurations of kernels."""
    with pyrometer.capture(f"{path}.first"):
        for _ in range(4):
            step()
        torch.cuda.synchronize()
    with pyrometer.capture(path) as block:
        for _ in range(repeats):
            step()
        torch.cuda.synchronize()
    return block.trace()


def check_sum(trace):
    total = sum(own_ns(trace).values()) + sum(trace.unattributed.values())
    check("layers and the rest are all kernels", total == trace.device_total_ns,
          f"{total} and {trace.device_total_ns} ns")  # fmt: skip


def check_modules(trace, least=0.9):
    """Kernels that are in a module below the model itself."""
    inner = sum(ns for path, ns in own_ns(trace).items() if path not in ("", "_orig_mod"))
    model = trace.device_total_ns - trace.unattributed["optimizer_ns"]
    check(f"at least {least:.0%} of the model's kernel time has a module", inner >= least * model,
          f"{inner / model:.1%}; {' '.join(trace.notes)}")  # fmt: skip


def check_shares(compiled, eager, most=0.02):
    left, right = by_block(compiled), by_block(eager)
    far = {name: (left.get(name, 0), right.get(name, 0)) for name in left.keys() | right.keys()}
    wrong = {name: pair for name, pair in far.items() if abs(pair[0] - pair[1]) > most}
    check("shares of blocks are within 2 points of the eager run's", not wrong,
          "; ".join(f"{n} {a:.1%} {b:.1%}" for n, (a, b) in sorted(wrong.items())))  # fmt: skip


def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def test_compiled_training(tmp_path):
    fresh()
    step = train_step(torch.compile(GPT().cuda()), tokens())
    trace = capture(step, tmp_path / "train.pyro")
    check_sum(trace)
    check_modules(trace)
    backward = sum(row["backward_device_self_ns"] for row in trace.layers if row["path"])
    check("the backward has modules too", backward > 0.3 * sum(own_ns(trace).values()))
    check("some kernels are shared out", sum(trace.layers["shared_ns"]) > 0)


def test_reduce_overhead_like_eager(tmp_path):
    """Replays of Inductor's CUDA graphs: no op is around their kernels."""
    fresh()
    with torch.no_grad():
        model = GPT().cuda().eval()
        inputs = tokens()
        eager = capture(no_grad(model, inputs), tmp_path / "eager.pyro")
        step = no_grad(torch.compile(model, mode="reduce-overhead"), inputs)
        trace = capture(step, tmp_path / "graphs.pyro")
    check_sum(trace)
    check_modules(trace)
    check_shares(trace, eager)


def test_reduce_overhead_training(tmp_path):
    """Graphs of the forward and of the backward; the optimizer is outside of them."""
    fresh()
    step = train_step(torch.compile(GPT().cuda(), mode="reduce-overhead"), tokens(), autocast=True)
    trace = capture(step, tmp_path / "train.pyro")
    check_sum(trace)
    check_modules(trace)
    backward = sum(row["backward_device_self_ns"] for row in trace.layers if row["path"])
    check("the backward has modules too", backward > 0.3 * sum(own_ns(trace).values()))


def test_code_compiled_before(tmp_path):
    fresh()
    step = no_grad(torch.compile(GPT(layers=3, width=320).cuda().eval()), tokens())
    step()
    with pyrometer.capture(tmp_path / "late.pyro") as block:
        step()
        torch.cuda.synchronize()
    trace = block.trace()
    check_sum(trace)
    notes = " ".join(trace.notes)
    known = "compiled before" in notes or "100.0% of its time by provenance" in notes
    check("modules are known, or the recording says why not", known, notes)


def test_the_setting_of_the_user_returns(tmp_path):
    fresh()
    from torch._inductor import config

    for level in (0, 2):
        config.trace.provenance_tracking_level = level
        capture(lambda: torch.ones(4, device="cuda") + 1, tmp_path / f"{level}.pyro")
        check("the level is as before", config.trace.provenance_tracking_level == level)
    config.trace.provenance_tracking_level = 0
