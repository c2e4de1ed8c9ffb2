"""Times of graphs on a GPU: ops and layers sum to the pass."""

import contextlib
import io
import statistics
import time

import torch
from torch import nn

import pyrometer
from gpu.checks import check


class Block(nn.Module):
    """A residual block whose sum is an op between layers."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def model_and_input():
    """Matrix products that run far longer on the device than their launch takes on the host."""
    torch.manual_seed(0)
    model = nn.Sequential(*[Block(4096) for _ in range(4)]).cuda().eval()
    return model, torch.randn(2048, 4096, device="cuda")


def plain_ms(model, x):
    """Median time of a synchronized forward without profiling."""
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        model(x)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[2:])


def stats(graph):
    with contextlib.redirect_stdout(io.StringIO()):
        return graph.stats()


def op_times(graph):
    return {node.name: node.median_ns / 1e6 for node in graph if node.kind == "op"}


def check_detail(prof, x, plain, level):
    prof.profile_detail(x, level=level)
    found = stats(prof.detail_graph)
    ops, whole = found["node_total_ns"] / 1e6, found["pass_median_ns"] / 1e6
    check(
        f"{level}: ops sum to the pass within 30%",
        0.7 * whole <= ops <= whole,
        f"{ops:.2f} of {whole:.2f} ms",
    )
    check(
        f"{level}: ops sum to a plain synchronised forward within 30%",
        0.7 * plain <= ops <= 1.3 * plain,
        f"{ops:.2f} and {plain:.2f} ms",
    )
    times = op_times(prof.detail_graph)
    products = sum(time for name, time in times.items() if "linear" in name)
    check(f"{level}: products take most of it", products > 0.5 * ops, f"{products:.2f} ms")


def test_times_of_ops_and_layers():
    model, x = model_and_input()
    with torch.no_grad():
        wanted = model(x)
        plain = plain_ms(model, x)
        prof = pyrometer.Profiler(model, granularity="layer", auto_profile=False)
        output = prof.profile_detail(x)  # first-use initialization is not measured
        check("the result is the model's own", torch.equal(output, wanted))
        for level in ("aten", "high"):
            check_detail(prof, x, plain, level)
        prof.profile_once(x)
        found = stats(prof.graph)
        nodes, whole = found["node_total_ns"] / 1e6, found["pass_median_ns"] / 1e6
        check(
            "layers and the ops between them sum to the pass within 30%",
            0.7 * whole <= nodes <= whole,
            f"{nodes:.2f} of {whole:.2f} ms",
        )
        kernels = {n.name: (n.device_ns or 0) / 1e6 for n in prof.graph}
        ups = [ms for name, ms in kernels.items() if name.endswith("up")]
        check("layers have kernels", len(ups) == 4 and min(ups) > 0, str(kernels))
        check("kernels take most of the layers' time, and no more than it",
              0.5 * nodes <= sum(kernels.values()) <= nodes,
              f"{sum(kernels.values()):.2f} of {nodes:.2f} ms")  # fmt: skip
        after = plain_ms(model, x)
        print(f"a plain forward: {plain:.2f} ms before, {after:.2f} ms after")
