"""Compares ops of a trace with torch: times and calls equal key_averages', FLOPs those of
torch's counter and of `pyrometer cost` on the same model."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
TOOL = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
pytestmark = pytest.mark.skipif(
    subprocess.run([TOOL, "trace", "--help"], capture_output=True).returncode != 0,
    reason="the tool has no `trace`",
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 5, stride=2, padding=2, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.grouped = nn.Conv2d(16, 32, 3, padding=1, groups=4)
        self.up = nn.ConvTranspose2d(32, 8, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.pool = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
        self.mean = nn.AdaptiveAvgPool2d((4, 4))
        self.embed = nn.Linear(16, 24)
        self.layer = nn.LayerNorm(24)
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.stem(x)))
        x = self.up(nn.functional.silu(self.grouped(x)))
        x = self.mean(self.pool(x)).flatten(2)
        x = self.layer(nn.functional.gelu(self.embed(x)))
        y = nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])
        return self.head((x + y[:, 0]) * 0.5).softmax(-1)


def read(path, *options):
    command = [TOOL, "trace", str(path), "--format", "json", *options]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def record(tmp_path, work, **options):
    path = tmp_path / "trace.json"
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, **options) as profiler:
        work()
    profiler.export_chrome_trace(str(path))
    return profiler, path


def train_step(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    with record_function("user"):
        loss.backward()
    optimizer.step()


@pytest.mark.parametrize("options", [{}, {"with_stack": True}, {"profile_memory": True}])
def test_key_averages(tmp_path, options):
    torch.manual_seed(0)
    model, x = Net(), torch.randn(2, 3, 32, 32)
    optimizer = torch.optim.Adam(model.parameters())
    train_step(model, optimizer, x)
    profiler, path = record(
        tmp_path, lambda: [train_step(model, optimizer, x) for _ in range(2)], **options
    )
    ours = {row["name"]: row for row in read(path)["ops"]}
    in_file = {
        e["name"] for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "cpu_op"
    }
    theirs = {row.key: row for row in profiler.key_averages() if row.key in in_file}
    assert set(ours) == set(theirs) == in_file
    for name, row in theirs.items():
        # torch keeps microseconds as floating point numbers
        near = pytest.approx
        assert ours[name]["calls"] == row.count, name
        assert ours[name]["host_total_ns"] == near(row.cpu_time_total * 1e3, abs=row.count), name
        assert ours[name]["host_self_ns"] == near(
            row.self_cpu_time_total * 1e3, abs=4 * row.count
        ), name
        assert ours[name]["device_self_ns"] == 0


def test_shapes_table(tmp_path):
    torch.manual_seed(0)
    model, x = Net(), torch.randn(2, 3, 32, 32)
    profiler, path = record(tmp_path, lambda: model(x).sum().backward())
    ours = {(r["name"], r["shapes"]): r["calls"] for r in read(path)["ops_by_shape"]}
    for row in profiler.key_averages(group_by_input_shape=True):
        if row.key.startswith("aten::conv") or row.key in ("aten::mm", "aten::addmm"):
            assert ours[row.key, str(row.input_shapes)] == row.count


def test_forward_flops_equal_those_of_the_model(tmp_path):
    torch.manual_seed(0)
    model, x = Net().eval(), torch.randn(2, 3, 32, 32)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "net.pt2")
    with torch.no_grad():
        _, path = record(tmp_path, lambda: model(x))
    cost = subprocess.run(
        [TOOL, "cost", str(tmp_path / "net.pt2"), "--format", "json"],
        capture_output=True,
        check=True,
    )
    expected = json.loads(cost.stdout)["total_flops"]
    rows = read(path)["ops"]
    assert sum(row["flops"] or 0 for row in rows if (row["flops"] or 0) > 0) == expected


def test_backward_flops_equal_torchs(tmp_path):
    """FLOPs where torch's counter is right: without grouped convolutions."""
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.Flatten(), nn.Linear(8 * 36, 5, bias=False)
    )
    x = torch.randn(4, 3, 8, 8)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    _, path = record(tmp_path, lambda: model(x).sum().backward())
    rows = [r for r in read(path)["ops"] if "conv" in r["name"] or r["name"] == "aten::mm"]
    total = sum(max(row["flops"] or 0, 0) for row in rows)
    assert total == counter.get_total_flops()


def test_planted_traces_are_as_written():
    planted = pathlib.Path(__file__).parent / "planted" / "make.py"
    subprocess.run([sys.executable, str(planted), "--check"], check=True)
