"""`pyrometer bench --model-path`, as a job of continuous integration runs it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from pyrometer.__main__ import find_tool

torch = pytest.importorskip("torch")

TOOL = find_tool()
pytestmark = pytest.mark.skipif(TOOL is None, reason="the tool is not built")

MODEL = """
import time
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)
    def forward(self, x):
        time.sleep(0.002)
        return self.layer(x)
"""
FILES = {
    "results.json", "results.csv", "report.html", "junit.xml", "summary.md",
    "github-benchmark.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "model.py"
    path.write_text(MODEL)
    return f"{path}:Model"


def run(*words, tool=(), cwd=None, **variables):
    """(exit code, standard output, standard error)"""
    command = [*(tool or (sys.executable, "-m", "pyrometer")), *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYRO_TOOL": TOOL, **variables}
    environment.pop("GITHUB_ACTIONS", None) if not variables else None
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def test_thresholds_that_hold(model, tmp_path):
    code, out, err = run(
        "profile", "--model-path", model, "--output-dir", tmp_path / "results",
        "--threshold", "latency:10s", "throughput:0.01samples/s", "memory:1TiB",
        "--runs", 20,
    )  # fmt: skip
    assert code == 0, err
    assert {path.name for path in (tmp_path / "results").iterdir()} == FILES
    assert "latency:10s" in out and "passed" in out
    whole = json.loads((tmp_path / "results" / "results.json").read_text())
    result = whole["benchmarks"][0]
    assert result["engine"] == "module" and result["facts"]["device"] in ("cpu", "cuda")
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    assert len(metrics["latency"]["samples"]) == 20 and metrics["latency"]["min"] >= 2
    assert metrics["macs"]["value"] == 16 * 16
    assert whole["environment"]["extra"]["torch"] == torch.__version__


def test_thresholds_that_are_broken(model, tmp_path):
    code, _, err = run(
        "profile", "--model-path", model, "--output-dir", tmp_path, "--runs", 20,
        "--threshold", "latency:1ms", "throughput:1000000samples/s", GITHUB_ACTIONS="true",
    )  # fmt: skip
    assert code == 1, err
    assert err.count("::error::") == 2 and "latency:1ms failed" in err
    assert "<failure" in (tmp_path / "junit.xml").read_text()


def test_what_cannot_be_told_and_what_is_wrong(model, tmp_path):
    few = run("bench", "--model-path", model, "--runs", 5, "--threshold", "p99:10s")
    assert few[0] == 3 and "n is too small" in few[1]
    assert run("bench", "--model-path", model, "--threshold", "latncy:1s")[0] == 2
    assert run("bench", "--model-path", model, "--threshold", "latency:1parsec")[0] == 2
    code, _, err = run("bench", "--model-path", tmp_path / "none")
    assert code == 2 and "no such file" in err
    code, _, err = run("bench", "--model-path", model, "true")
    assert code == 2 and "not both" in err
    if not torch.cuda.is_available():
        code, _, err = run("bench", "--model-path", model, "--device", "cuda")
        assert code == 2 and 'device="cpu"' in err


def test_against_an_earlier_file(model, tmp_path):
    base = tmp_path / "base.json"
    settings = ("--model-path", model, "--runs", 25, "--input-shape", "2,16")
    code, _, err = run("bench", *settings, "--processes", 2, "--export-json", base)
    assert code == 0, err
    whole = json.loads(base.read_text())
    result = whole["benchmarks"][0]
    assert result["processes"] == [25, 25]
    assert len(result["metrics"][0]["samples"]) == 50
    # Every sample a third: the present run is a regression of what this pretends was before.
    for metric in result["metrics"]:
        if metric["name"] == "latency":
            metric["samples"] = [sample / 3 for sample in metric["samples"]]
    base.write_text(json.dumps(whole))
    code, out, err = run("bench", *settings, "--against", base, "--fail-on", "regression")
    assert code == 1 and "regressed" in out, err
    base.write_text(base.read_text()[:1000])
    assert run("bench", *settings, "--against", base)[0] == 2
    whole["schema"] = "pyrometer.bench/9"
    base.write_text(json.dumps(whole))
    assert run("bench", *settings, "--against", base)[0] == 3


def test_a_sweep(model):
    code, out, err = run(
        "bench", "--model-path", model, "--batch-size", "1,4", "--runs", 20, "--format", "json"
    )
    assert code == 0, err
    results = json.loads(out)["benchmarks"]
    assert [result["parameters"]["batch_size"] for result in results] == ["1", "4"]
    assert [result["items"] for result in results] == [1, 4]


def test_a_package_that_is_missing(tmp_path):
    if pathlib.Path(TOOL).name != "pyrometer":
        pytest.skip("not the tool")
    empty = tmp_path / "python3"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    empty.chmod(0o755)
    code, _, err = run("bench", "--python", empty, "--model-path", empty, tool=(TOOL,))
    assert code == 2 and "pip install pyrometer" in err
