"""Throttled GPUs, simulated by a stub of the driver's library; and cold caches."""

import os
import pathlib
import shutil
import subprocess
import time

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from pyrometer import Error, ModelProfiler  # noqa: E402
from pyrometer._testing import core, engine, timing  # noqa: E402

STUB = pathlib.Path(__file__).resolve().parents[2] / "unit" / "bench" / "nvml_stub.c"


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("nvml") / "libnvml_stub.so"
    command = [*compiler.split(), "-shared", "-fPIC", "-o", str(path), str(STUB)]
    subprocess.run(command, check=True)
    return str(path)


@pytest.fixture
def play(stub, monkeypatch):
    """Makes the CPU look like a GPU with simulated clocks."""

    def begin(script):
        monkeypatch.setenv("PYRO_NVML", stub)
        monkeypatch.setenv("PYRO_STUB_GPU", script)
        gpu = core.Gpu("GPU-stub")
        monkeypatch.setattr(engine.Engine, "gpu", lambda self: gpu)
        return gpu

    return begin


def profile(**settings):
    def call():
        time.sleep(0.05)  # much longer than the interval between two samples of the GPU

    profiler = ModelProfiler(call, device="cpu")
    return profiler.profile(num_runs=10, warmup_runs=0, only_times=True, **settings), profiler


def test_a_gpu_as_the_driver_sees_it(play):
    assert play("1755:0x44").read() == {
        "clock_mhz": 1755.0,
        "memory_clock_mhz": 3201.0,
        "power_w": 431.5,
        "temperature_c": None,  # this driver does not report it
        "busy_percent": 87.0,
        "reasons": "power cap, heat (hardware)",
        "throttled": True,
    }
    with pytest.raises(ValueError, match="GPU-other"):
        core.Gpu("GPU-other")


def test_without_a_driver(monkeypatch):
    monkeypatch.setenv("PYRO_NVML", "/nowhere/libnvidia-ml.so.1")
    with pytest.raises(Error, match="libnvidia-ml"):
        core.Gpu()


def test_throttled_samples_are_discarded_and_counted(play):
    play("4*1980:0,2*1980:0x40,1980:0")
    results, profiler = profile()
    assert results["latency"]["n"] == 10 and results["latency"]["discarded"] == 3
    gpu = results["gpu"]
    assert gpu["clock_mhz"] == gpu["clock_limit_mhz"] == 1980
    assert gpu["power_cap_w"] == 500 and gpu["throttled_looks"] == 2 and gpu["looks"] == 13
    assert gpu["reasons"] == "heat (hardware)"
    assert any("3 samples were discarded" in text for text in results["warnings"])
    text = profiler._bench.report("text")
    assert "Discarded:   3 samples" in text and "power cap 500 W (lowered from 700 W)" in text
    assert results.document["benchmarks"][0]["discarded"] == 3


def test_a_gpu_that_stays_throttled_is_measured_and_told(play):
    play("1980:0x20")
    results, _ = profile()
    assert results["latency"]["n"] == 10
    assert any("10 throttled samples had to be kept" in text for text in results["warnings"])


def test_a_lowered_clock_is_told(play):
    play("990:0x2")
    results, _ = profile()
    assert results["latency"]["discarded"] == 0
    assert any("990 of 1980 MHz" in text for text in results["warnings"])


def test_without_a_gpu_nothing_is_told_of_one():
    results, profiler = profile()
    assert results["gpu"] is None and results["latency"]["discarded"] == 0
    assert "Discarded" not in profiler._bench.report("text")


def test_caches_are_emptied_before_every_call(monkeypatch):
    flushed, calls = [], []
    cold = timing.ColdCache.__call__
    monkeypatch.setattr(
        timing.ColdCache, "__call__", lambda self: (flushed.append(len(calls)), cold(self))
    )
    profiler = ModelProfiler(lambda: calls.append(1), device="cpu")
    try:
        results = profiler.profile(num_runs=5, warmup_runs=2, only_times=True, cold_cache=True)
    except Error as error:
        assert "report the cache sizes" in str(error)
        pytest.skip("this machine does not say how large its caches are")
    assert flushed == list(range(7))  # once before each of the seven runs, not after the last
    facts = results.document["benchmarks"][0]["facts"]
    assert facts["caches are"].startswith("cold: ") and results["parameters"]["cache"] == "cold"
    warm = profiler.profile(num_runs=5, warmup_runs=2, only_times=True)
    assert warm["parameters"]["cache"] == "warm" and len(flushed) == 7


def test_caches_of_unknown_size_are_an_error(monkeypatch):
    monkeypatch.setattr(core, "cache_eviction_bytes", lambda threads: None)
    with pytest.raises(Error, match="does not report the cache sizes"):
        ModelProfiler(lambda: None, device="cpu").profile(num_runs=5, cold_cache=True)
