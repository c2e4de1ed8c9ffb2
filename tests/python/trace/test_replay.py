"""Ops of recorded models can be rebuilt: replayed ops give outputs of the recorded shapes."""

import json
import os
import pathlib
import runpy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pyrometer = pytest.importorskip("pyrometer")

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build" / "pyrometer"))


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 16, 3, groups=4, dilation=2),
            torch.nn.GroupNorm(4, 16),
            torch.nn.SiLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.ConvTranspose2d(16, 8, 2, stride=2),
            torch.nn.Upsample(scale_factor=2, mode="bilinear"),
            torch.nn.AdaptiveAvgPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(32, 10),
        )

    def forward(self, x):
        return self.stack(x)


class Language(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16)
        self.block = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1)
        self.lstm = torch.nn.LSTM(16, 8, batch_first=True)
        self.head = torch.nn.Linear(8, 50)

    def forward(self, tokens):
        x = self.block(self.embedding(tokens))
        x = torch.nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[
            :, 0
        ]
        x, _ = self.lstm(x)
        return torch.nn.functional.log_softmax(self.head(x), -1)


class Indices(torch.nn.Module):
    def forward(self, x):
        index = torch.randint(0, x.shape[1], (x.shape[0], 3))
        y = torch.gather(x, 1, index)
        z = torch.zeros_like(x).scatter_add(1, index, y)
        z = torch.index_select(z, 1, index[0]) + x[:, index[1]]
        top = torch.topk(z, 2).values.sort(-1, descending=True).values
        return torch.cat([top, y.cumsum(1), torch.where(y > 0, y, -y)], 1).softmax(-1).pow(2).sum()


def train():
    """Steps of several models."""
    torch.manual_seed(0)
    for size in (16, 24, 40):
        Convolutions()(torch.randn(2, 3, size, size)).square().mean().backward()
    for length in (4, 7):
        model = Language()
        tokens = torch.randint(0, 50, (2, length))
        loss = torch.nn.functional.nll_loss(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        torch.optim.Adam(model.parameters()).step()
    for width in (5, 9):
        Indices()(torch.randn(4, width))


def run_script(path, *words):
    """In this process, because importing torch takes seconds."""
    before = sys.argv
    sys.argv = [str(path), *map(str, words)]
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before
    return ended.value.code


def replay(folder, recording):
    run_tool("replay", recording, "--top", "0", "-q", "-o", folder / "replay.py")
    results = folder / "results.json"
    assert run_script(folder / "replay.py", "--check", "--json", results) == 0
    return json.loads(results.read_text())["ops"]


def rejected(ops):
    return [(op["name"], op["rejected"]) for op in ops if op["rejected"]]


def test_outputs_have_the_recorded_shapes(tmp_path, observer):
    with pyrometer.capture(tmp_path / "run.pyro"):
        train()
    ops = replay(tmp_path, tmp_path / "run.pyro")
    assert not [op for op in ops if op["shapes_equal"] is False]
    assert sum(op["shapes_equal"] is True for op in ops) >= 200
    assert len(rejected(ops)) <= len(ops) // 20, rejected(ops)


def test_ops_of_torch_profiler(tmp_path):
    with torch.profiler.profile(record_shapes=True) as profile:
        train()
    profile.export_chrome_trace(str(tmp_path / "run.json"))
    ops = replay(tmp_path, tmp_path / "run.json")
    assert len(ops) >= 200
    assert len(rejected(ops)) <= len(ops) // 20, rejected(ops)


def test_replayed_times_can_be_learnt(tmp_path):
    with torch.profiler.profile(record_shapes=True) as profile:
        torch.mm(torch.randn(64, 64).t(), torch.randn(64, 64))
    profile.export_chrome_trace(str(tmp_path / "run.json"))
    run_tool("replay", tmp_path / "run.json", "-q", "-o", tmp_path / "replay.py")
    trace = tmp_path / "replayed.json"
    assert run_script(tmp_path / "replay.py", "--seconds", "0.01", "--trace", trace) == 0
    words = ("--chip", "this", "--table", tmp_path / "table.json", "--format", "json")
    learnt = json.loads(run_tool("learn", trace, *words).stdout)
    assert learnt["files"][0]["samples"] >= 1 and learnt["rows"] >= 1


def test_strides_and_autograd_are_kept_apart(tmp_path):
    """Their calls take other times, and products of batches another way."""
    weight, x = torch.randn(8, 8, requires_grad=True), torch.randn(4, 4, 8)
    with torch.profiler.profile(record_shapes=True) as profile:
        torch.nn.functional.linear(x, weight)
        torch.nn.functional.linear(x.transpose(0, 1), weight)
        with torch.no_grad():
            torch.nn.functional.linear(x, weight)
    profile.export_chrome_trace(str(tmp_path / "run.json"))
    run_tool("replay", tmp_path / "run.json", "--top", "0", "-q", "-o", tmp_path / "replay.py")
    ops = runpy.run_path(str(tmp_path / "replay.py"))["OPS"]
    found = sorted(
        (op["strides"][0], op["has_gradient"]) for op in ops if op["name"] == "aten::linear"
    )
    assert found == [([8, 32, 1], True), ([32, 8, 1], False), ([32, 8, 1], True)]
    assert run_script(tmp_path / "replay.py", "--check") == 0


def test_ops_that_are_shorter_than_their_recording_are_kept(tmp_path):
    """What recording the ops inside takes is subtracted, but not more than there is."""
    matrix = [[[8, 8], [8, 8]], ["float", "float"], ["", ""]]
    inside = [{**op_event("aten::view", at, *matrix), "dur": 0.5} for at in range(1, 9)]
    outer = {**op_event("aten::mm", 0, *matrix), "dur": 10}
    long = op_event("aten::mm", 1000, *matrix)
    (tmp_path / "run.json").write_text(json.dumps({"traceEvents": [outer, *inside, long]}))
    done = run_tool("replay", tmp_path / "run.json", "--format", "json")
    (op,) = json.loads(done.stdout)["ops"]
    assert (op["name"], op["calls"], op["total_ns"]) == ("aten::mm", 2, 500_000)


def test_rejected_with_a_reason(tmp_path):
    trace = {
        "traceEvents": [
            op_event("mylib::fused", 0, [[4, 4]], ["float"], [""]),
            op_event("aten::relu", 1000, [[4, 4]], ["c10::qint8"], [""]),
            op_event("aten::add", 2000, [[4], [4], []], ["float", "float", "Scalar"], None),
        ]
    }
    (tmp_path / "run.json").write_text(json.dumps(trace))
    done = run_tool("replay", tmp_path / "run.json", "--format", "json")
    reasons = {op["name"]: op["rejected"] for op in json.loads(done.stdout)["ops"]}
    assert "another library" in reasons["mylib::fused"]
    assert "type" in reasons["aten::relu"]
    assert "scalars" in reasons["aten::add"]
    failed = run_tool("replay", tmp_path / "run.json", "-o", tmp_path / "replay.py")
    assert failed.returncode == 2 and "cannot be rebuilt" in failed.stderr
    assert not (tmp_path / "replay.py").exists()


def test_text_of_a_trace_is_never_code(tmp_path):
    hostile = '"); open("owned", "w"); ("\\'
    trace = {"traceEvents": [op_event("aten::relu", 0, [[4, 4]], ["float"], [hostile])]}
    (tmp_path / "run.json").write_text(json.dumps(trace))
    run_tool("replay", tmp_path / "run.json", "-q", "-o", tmp_path / "replay.py")
    names = runpy.run_path(str(tmp_path / "replay.py"))
    assert names["OPS"][0]["concrete"] == [hostile]
    assert not (tmp_path / "owned").exists() and not pathlib.Path("owned").exists()


def op_event(name, start_us, dims, types, concrete):
    arguments = {"Input Dims": dims, "Input type": types}
    if concrete is not None:
        arguments["Concrete Inputs"] = concrete
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": 1000 + start_us,
        "dur": 500,
        "args": arguments,
    }


def run_tool(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)
