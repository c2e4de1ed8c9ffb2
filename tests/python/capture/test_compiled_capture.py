"""Modules of torch.compile's kernels in recordings: while code is compiled, Inductor's provenance
is on.

On the CPU the calls of libraries (mm) are ops; generated kernels would take a compiler's time here
and are in tests/gpu."""

import json
import os
import subprocess
import sys

import pytest

import pyrometer
from pyrometer._testing import compiled_code

torch = pytest.importorskip("torch")

PROGRAM = """
import json, sys
import torch
from torch import nn
import pyrometer

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16, bias=False), nn.Linear(16, 8, bias=False)

    def forward(self, x):
        return self.down(self.up(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

folder = sys.argv[1]
model, x = torch.compile(Net()), torch.randn(4, 8)
with pyrometer.capture(folder + "/first.pyro"):
    model(x).sum().backward()
    model(x).sum().backward()
from torch._inductor import config
level = config.trace.provenance_tracking_level
with pyrometer.capture(folder + "/second.pyro"):
    model(x).sum().backward()
print(json.dumps({"level": level, "again": config.trace.provenance_tracking_level}))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two recordings of one process; the second one compiles nothing."""
    folder = tmp_path_factory.mktemp("compiled")
    env = os.environ | {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYROMETER_OBSERVER": "off",  # its build is no subject here
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env=env, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout.splitlines()[-1])


def modules(trace):
    rows = trace.layers
    return {
        path: (forward > 0, backward > 0)
        for path, forward, backward in zip(
            rows.path, rows.forward_host_self_ns, rows.backward_host_self_ns, strict=True
        )
        if path.count(".") == 2
    }


@pytest.mark.parametrize("name", ["first", "second"])
def test_products_have_their_modules(recorded, name):
    trace = pyrometer.trace(recorded[0] / f"{name}.pyro")
    assert modules(trace) == {
        f"blocks.{block}.{layer}": (True, True) for block in (0, 1) for layer in ("up", "down")
    }
    assert "by provenance of 2 graphs (in the recording)" in " ".join(trace.notes)


def test_the_setting_is_restored(recorded):
    assert recorded[1] == {"level": 0, "again": 0}


def test_what_inductors_cache_lacks_is_kept(recorded):
    kept = sorted((recorded[0] / "cache" / "pyrometer" / "compiled").glob("f*.json"))
    assert len(kept) == 2
    directions = [json.loads(file.read_text())["backward"] for file in kept]
    assert sorted(directions) == [False, True]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("L['self'].blocks.0.attn", "blocks.0.attn"),
        ("L['s']", ""),
        ("G['model'].head", "head"),
        ("L['self']._modules['blocks']._modules['3'].mlp[1]", "blocks.3.mlp.1"),
        ('L["fn"]._orig_mod.a', "a"),
        ("self.a.b", "a.b"),
    ],
)
def test_paths_of_modules(text, path):
    assert compiled_code.module_path(text) == path


def test_long_graphs_are_cut_into_parts():
    calls = [{"name": f"triton_{i}", "layers": [["blocks.0", i, "Block"]]} for i in range(3000)]
    parts = compiled_code.parts_of("key", {"backward": True, "calls": calls})
    assert len(parts) > 2 and all(len(part) < 60_000 for part in parts)
    read = [json.loads(part) for part in parts]
    assert [one["part"] for one in read] == list(range(len(parts)))
    assert [call for one in read for call in one["calls"]] == calls


def test_damaged_kept_graphs_are_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled_code._store("key", {"backward": False, "calls": []})
    assert compiled_code._load("key") == {"backward": False, "calls": []}
    for text in ("", "{", "[]", '{"calls": 3}', '{"calls": []}'):
        (tmp_path / "pyrometer" / "compiled" / "key.json").write_text(text)
        assert compiled_code._load("key") is None
