"""Without the observer, torch.profiler provides the same layers, ops, shapes and memory."""

import collections
import json
import os
import shlex
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from pyrometer._testing import observer_build

PROGRAM = """
import sys
import torch, torch.nn as nn
import pyrometer

torch.manual_seed(0)

@pyrometer.capture_model(output_dir=sys.argv[1], with_stack=False)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.blocks = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 4)])

    def forward(self, x):
        x = self.relu(self.linear1(x))
        for block in self.blocks:
            x = block(x)
        return x

model = Net()
x = torch.ones(4, 8)
model(x).sum().backward()
if len(sys.argv) > 2:
    with pyrometer.capture(sys.argv[2]):
        nn.Sequential(nn.Linear(8, 8), nn.Tanh())(x).sum().backward()
"""


def run(folder, observer, python=sys.executable, **environment):
    recording = folder / "x.pyro"
    done = subprocess.run(
        [python, "-c", PROGRAM, str(folder), *([str(recording)] if not observer else [])],
        env={**os.environ, "PYROMETER": "1", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr, recording


def events(folder):
    (path,) = folder.glob("*_forward_001.json")
    rows = json.loads(path.read_text())["traceEvents"]
    ops = collections.Counter(
        (e["name"], json.dumps(e["args"].get("Input Dims")))
        for e in rows
        if e.get("cat") == "cpu_op"
    )
    memory = [e["args"]["Bytes"] for e in rows if e.get("name") == "[memory]"]
    return ops, memory


def test_a_pass_is_the_same(tmp_path, warm_python):
    import pyrometer

    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    said, _ = run(tmp_path / "with", True, warm_python)
    assert "torch.profiler" not in said
    said, recording = run(tmp_path / "without", False, PYROMETER_OBSERVER="off")
    assert said.count("ops come from torch.profiler") == 2  # of the passes, and of the recording
    ours, our_memory = events(tmp_path / "with")
    theirs, their_memory = events(tmp_path / "without")
    assert ours == theirs and len(ours) > 5
    assert our_memory == their_memory
    layers = {
        folder: pyrometer.trace(next((tmp_path / folder).glob("*_forward_001.json"))).layers["path"]
        for folder in ("with", "without")
    }
    assert sorted(layers["with"]) == sorted(layers["without"])
    assert {"linear1", "relu", "blocks.0", "blocks.1"} <= set(layers["without"])

    trace = pyrometer.trace(recording)
    assert {"0", "1"} <= set(trace.layers["path"])
    names = set(trace.ops["name"])
    assert {"aten::addmm", "aten::tanh", "AddmmBackward0"} <= names
    assert not any(name.startswith("pyrometer") for name in names)


def test_no_compiler_is_said(tmp_path, warm_python):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    said, _ = run(tmp_path, True, warm_python, CXX="no-such-compiler", **cache)
    assert "no-such-compiler" in said and "torch.profiler" in said
    assert events(tmp_path)[0]


def test_a_broken_compiler_is_said(tmp_path, warm_python):
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'fatal error: no torch here' >&2\nexit 1\n")
    compiler.chmod(0o755)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    said, _ = run(tmp_path, True, warm_python, CXX=str(compiler), **cache)
    assert "no torch here" in said and "torch.profiler" in said
    assert not list((tmp_path / "cache" / "pyrometer").glob("*.so"))


def test_a_torch_with_another_inside(tmp_path):
    """If torch's private members have other names, the observer is built without them."""
    script = tmp_path / "compiler"
    try:
        compiler = shlex.join(observer_build.compiler())
    except observer_build.Unavailable as error:
        pytest.skip(f"no observer: {error}")
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *READS_PRIVATE*) exit 1;; esac\nexec {compiler} "$@"\n'
    )
    script.chmod(0o755)
    said, _ = run(tmp_path, True, CXX=str(script), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert "torch.profiler" not in said
    assert len(list((tmp_path / "cache").rglob("observer-*.so"))) == 1
    ops, memory = events(tmp_path)
    assert any(name == "aten::addmm" for name, _ in ops) and memory
