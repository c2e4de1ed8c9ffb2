"""`pyrometer bench --model-path`, as a CI job runs it."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from pyrometer._testing import core, find_tool

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


def run(*words, tool=(), python=None, cwd=None, **variables):
    """(exit code, standard output, standard error)"""
    if python is not None:
        words = (words[0], "--python", python, *words[1:])
    command = [*(tool or (sys.executable, "-m", "pyrometer")), *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYRO_TOOL": TOOL, **variables}
    environment.pop("GITHUB_ACTIONS", None) if not variables else None
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=600
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


def test_thresholds_that_are_broken(model, tmp_path, warm_python):
    code, _, err = run(
        "profile", "--model-path", model, "--output-dir", tmp_path, "--runs", 20,
        "--threshold", "latency:1ms", "throughput:1000000samples/s", GITHUB_ACTIONS="true",
        python=warm_python,
    )  # fmt: skip
    assert code == 1, err
    assert err.count("::error::") == 2 and "latency:1ms failed" in err
    assert "<failure" in (tmp_path / "junit.xml").read_text()


def test_what_cannot_be_told_and_what_is_wrong(model, tmp_path, warm_python):
    cold = ["--cold-cache"] if core.cache_eviction_bytes(1) else []
    few = run(
        "bench", "--model-path", model, "--runs", 5, "--threshold", "p99:10s", *cold,
        python=warm_python,
    )  # fmt: skip
    assert few[0] == 3 and "n is too small" in few[1]
    assert not cold or "caches are: cold: " in few[1]
    assert run("bench", "--cold-cache", "true")[0] == 2
    assert run("bench", "--model-path", model, "--threshold", "latncy:1s")[0] == 2
    assert run("bench", "--model-path", model, "--threshold", "latency:1parsec")[0] == 2
    # The inputs have neither tokens nor images; the results are still written.
    code, out, err = run(
        "bench", "--model-path", model, "--runs", 5, "--threshold", "throughput:1tokens/s",
        "throughput:0.001requests/s", "--export-json", tmp_path / "units.json",
        python=warm_python,
    )  # fmt: skip
    assert code == 2 and "no number in tokens/s; it has samples/s, requests/s" in err
    assert "no number in this unit" in out and (tmp_path / "units.json").exists()
    code, _, err = run("bench", "--model-path", tmp_path / "none", python=warm_python)
    assert code == 2 and "no such file" in err
    code, _, err = run("bench", "--model-path", model, "true")
    assert code == 2 and "not both" in err
    if not torch.cuda.is_available():
        code, _, err = run("bench", "--model-path", model, "--device", "cuda", python=warm_python)
        assert code == 2 and 'device="cpu"' in err


def test_against_an_earlier_file(model, tmp_path, warm_python):
    base = tmp_path / "base.json"
    settings = ("--model-path", model, "--runs", 25, "--input-shape", "2,16")
    code, _, err = run(
        "bench", *settings, "--processes", 2, "--export-json", base, python=warm_python
    )
    assert code == 0, err
    whole = json.loads(base.read_text())
    result = whole["benchmarks"][0]
    assert result["processes"] == [25, 25]
    assert len(result["metrics"][0]["samples"]) == 50
    # Every sample divided by 100: even on a busy machine the current run is a regression.
    for metric in result["metrics"]:
        if metric["name"] == "latency":
            metric["samples"] = [sample / 100 for sample in metric["samples"]]
    base.write_text(json.dumps(whole))
    code, out, err = run(
        "bench", *settings, "--against", base, "--fail-on", "regression", python=warm_python
    )
    assert code == 1 and "regressed" in out, err
    base.write_text(base.read_text()[:1000])
    assert run("bench", *settings, "--against", base, python=warm_python)[0] == 2
    whole["schema"] = "pyrometer.bench/9"
    base.write_text(json.dumps(whole))
    assert run("bench", *settings, "--against", base, python=warm_python)[0] == 3


@pytest.fixture
def repository(tmp_path):
    """A commit whose model, and the module that defines its pause, differ from the work tree."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = tmp_path / "repository" / "part"
    folder.mkdir(parents=True)
    (folder / "pause.py").write_text("SECONDS = 0.002\n")
    text = MODEL.replace("0.002", "pause.SECONDS").replace("import time", "import time, pause")
    (folder / "model.py").write_text(text)
    settings = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for words in (("init", "-q", "."), ("add", "."), (*settings, "commit", "-qm", "base")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    (folder / "pause.py").write_text("SECONDS = 0.02\n")
    return folder


def worktrees(folder):
    out = subprocess.run(
        ["git", "worktree", "list"], cwd=folder, check=True, capture_output=True, text=True
    )
    return len(out.stdout.splitlines())


def verdict_of(text):
    """(verdict of latency, samples or processes of the base, of the new side)"""
    row = next(
        row for row in json.loads(text)["comparison"]["metrics"] if row["metric"] == "latency"
    )
    return row["verdict"], row["base_n"], row["current_n"]


def test_against_a_commit(repository, tmp_path, warm_python):
    (tmp_path / "tmp").mkdir()
    settings = ("--runs", 20, "--format", "json", "--against", "HEAD", "--fail-on", "regression")
    # An absolute path in PYTHONPATH also finds the commit's modules.
    package = str(pathlib.Path(sys.modules["pyrometer"].__file__).parents[1])
    paths = {"PYTHONPATH": f"{repository}:{package}", "TMPDIR": str(tmp_path / "tmp")}
    code, out, err = run(
        "bench", "--model-path", "model.py:Model", "--processes", 5, *settings,
        "--output-dir", tmp_path / "results", cwd=repository, python=warm_python, **paths,
    )  # fmt: skip
    assert code == 1, err
    assert verdict_of(out) == ("regressed", 5, 5)
    base = json.loads((tmp_path / "results" / "base.json").read_text())["benchmarks"][0]
    latency = next(metric for metric in base["metrics"] if metric["name"] == "latency")
    assert base["processes"] == [20] * 5 and 2 <= latency["min"] < 20
    assert worktrees(repository) == 1 and not list((tmp_path / "tmp").glob("pyrometer-*"))

    (repository / "new.py").write_text(MODEL)
    code, _, err = run("bench", "--model-path", "new.py:Model", *settings, cwd=repository)
    assert code == 2 and "the commit has no new.py" in err
    (tmp_path / "outside.py").write_text(MODEL)
    outside = f"{tmp_path / 'outside.py'}:Model"
    code, _, err = run("bench", "--model-path", outside, *settings, cwd=repository)
    assert code == 2 and "not in this repository" in err
    code, _, err = run("bench", "--model-path", outside, "--against", "no-ref", cwd=repository)
    assert code == 2 and "neither a results file nor a commit" in err


def test_against_another_model(model, tmp_path, warm_python):
    """One process per side does not suffice for a verdict; test_against_a_commit has enough."""
    (tmp_path / "other.py").write_text(MODEL.replace("0.002", "0.02"))
    code, out, err = run(
        "bench", "--model-path", model, "--against", f"{tmp_path / 'other.py'}:Model",
        "--runs", 10, "--warmup", 1, "--processes", 1, "--format", "json",
        "--output-dir", tmp_path / "results", python=warm_python,
    )  # fmt: skip
    assert code == 3, err
    assert verdict_of(out) == ("cannot tell", 10, 10)
    base = json.loads((tmp_path / "results" / "base.json").read_text())["benchmarks"][0]
    assert next(one for one in base["metrics"] if one["name"] == "latency")["min"] >= 20


@contextlib.contextmanager
def started(*words, folder, is_under_way):
    """Starts the tool and waits until is_under_way() is true or the tool has ended."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}
    command = [TOOL, "bench", "--python", sys.executable, *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        until = time.monotonic() + 600
        while not is_under_way() and process.poll() is None:
            assert time.monotonic() < until, "the tool does not begin to measure"
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_was_measured(tmp_path, number):
    called = tmp_path / "called"
    note = f"        open({str(called)!r}, 'a').write('.')\n"
    text = MODEL.replace("        time.sleep", f"{note}        time.sleep")
    (tmp_path / "model.py").write_text(text)
    words = ("--model-path", f"{tmp_path / 'model.py'}:Model", "--warmup", 0, "--runs", 1000000)
    words += ("--max-time", 3600, "--format", "json")

    # Some calls precede the first measured call.
    def is_measured():
        return called.exists() and called.stat().st_size > 100

    with started(*words, folder=tmp_path, is_under_way=is_measured) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    whole = json.loads(out)
    result = whole["benchmarks"][0]
    assert whole["interrupted"] and result["status"] == "interrupted"
    assert 0 < len(result["metrics"][0]["samples"]) < 1000000
    assert "Traceback" not in err
    assert not list(tmp_path.glob("pyrometer-*"))


def test_an_interruption_before_anything_was_measured(tmp_path):
    called = tmp_path / "called"
    (tmp_path / "model.py").write_text(
        f"import time\nopen({str(called)!r}, 'w')\ntime.sleep(3600)\n"
    )
    words = ("--model-path", f"{tmp_path / 'model.py'}:Model")
    with started(*words, folder=tmp_path, is_under_way=called.exists) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130 and not out
    assert err == "pyrometer: interrupted before anything was measured\n"
    assert not list(tmp_path.glob("pyrometer-*"))


def test_a_sweep(tmp_path):
    """Also, torch's compiler is not loaded into a process that only measures times."""
    text = MODEL.replace("        time.sleep", "        assert not compilers()\n        time.sleep")
    text += (
        "\nimport sys\ndef compilers(): return [m for m in sys.modules if m == 'torch._dynamo']\n"
    )
    (tmp_path / "model.py").write_text(text)
    code, out, err = run(
        "bench", "--model-path", f"{tmp_path / 'model.py'}:Model", "--batch-size", "1,4",
        "--runs", 20, "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    results = json.loads(out)["benchmarks"]
    assert [result["status"] for result in results] == ["ok", "ok"]
    assert [result["parameters"]["batch_size"] for result in results] == ["1", "4"]
    assert [result["items"] for result in results] == [1, 4]
    # Each call takes the same pause, whatever the batch.
    assert results[1]["facts"]["knee"].startswith("not reached")
    assert "knee" not in results[0]["facts"]


def test_a_package_that_is_missing(tmp_path):
    if pathlib.Path(TOOL).name != "pyrometer":
        pytest.skip("not the tool")
    empty = tmp_path / "python3"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    empty.chmod(0o755)
    code, _, err = run("bench", "--python", empty, "--model-path", empty, tool=(TOOL,))
    assert code == 2 and "pip install pyrometer" in err
