"""Power, clocks and use of a GPU in recordings, on a stub of NVML."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STUB = HERE.parents[1] / "unit" / "bench" / "nvml_stub.c"

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What gpu_samples_driver.py found, in one process."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("samples")
    stub = folder / "libnvml_stub.so"
    flags = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", str(stub), str(STUB)]
    subprocess.run([*compiler.split(), *flags], check=True)
    done = subprocess.run(
        [sys.executable, HERE / "gpu_samples_driver.py", stub, folder],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_without_a_driver_one_line_says_so(found):
    missing = found["missing"]
    assert missing["counters"] == 0 and missing["layers"] >= 1
    (line,) = missing["said"]
    assert "power and clocks of the GPU are not recorded" in line and "libnvidia-ml.so.1" in line


def test_counters_of_the_recording(found):
    counters = found["sampled"]["counters"]
    assert counters["GPU power/W"] == 450.25 and counters["GPU clock/SM MHz"] == 1755
    assert counters["GPU throttle/heat"] == 1 and counters["GPU memory/used bytes"] == 400
    assert counters["GPU units/tensor %"] == 5
    assert "GPU temperature/C" not in counters
    assert "does not report, so not recorded: GPU temperature" in found["sampled"]["said"]


def test_power_and_energy(found):
    sampled = found["sampled"]
    summary = sampled["summary"]
    assert summary["devices"] == 1 and summary["samples"] >= 5 and sampled["rows"] >= 1
    assert summary["sensor"] == "instant" and summary["throttled_share"] == 1
    # The stub's counter runs at 431.5 W; a busy machine may delay a sample after its time.
    assert summary["mean_power_w"] == pytest.approx(431.5, rel=0.5)
    assert "GPU power:" in sampled["text"] and " W, at most 450 W" in sampled["text"]
    assert "gpu-throttled" in sampled["findings"]
    status = sampled["status"]
    assert status["state"] == "off" and status["has_units"] and status["has_energy"]


def test_chrome_json_has_the_counters_and_reads_the_same(found):
    sampled = found["sampled"]
    assert sampled["chrome"] == sampled["again"] == sampled["summary"]["samples"]
    assert sampled["places"] == [0]


def test_doctor_says_what_the_driver_reports(found):
    from pyrometer._testing import doctor

    check = doctor._describe_samples(found["sampled"]["status"])
    assert check["state"] == "ok" and "instant power, energy counter, use of units" in check["text"]
    assert "the driver lacks GPU temperature" in check["text"]
    check = doctor._describe_samples({"samples": 0, "reason": "libnvidia-ml.so.1 is missing"})
    assert check["state"] == "note" and "libnvidia-ml.so.1 is missing" in check["text"]


def test_sampling_can_be_switched_off(found):
    assert found["off"] == [0, 0, 0]


def test_invalid_intervals(monkeypatch):
    import pyrometer

    for wanted in (-1, 61, 1e-5, float("nan"), "x", [1]):
        with pytest.raises(ValueError, match="gpu_sampling must be seconds"):
            pyrometer.capture(gpu_sampling=wanted)
    monkeypatch.setenv("PYROMETER_GPU_SAMPLING", "often")
    with pytest.raises(ValueError, match="PYROMETER_GPU_SAMPLING must be seconds"):
        pyrometer.capture()
