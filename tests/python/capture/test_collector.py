"""Kernels in recordings by the collector, on a stub of CUPTI: layers, graphs, passes, refusals."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STUB = HERE.parents[1] / "unit" / "device" / "cupti_stub.c"

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.needs_observer


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    """What collector_driver.py found, by scenario, in one process."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("collector")
    stubs = folder / "libcupti_stub.so", folder / "libcupti_shared_stub.so"
    flags = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", str(STUB), "-lpthread"]
    for stub, more in zip(stubs, ((), ("-DSTUB_SHARED",)), strict=True):
        subprocess.run([*compiler.split(), *flags, *more, "-o", str(stub)], check=True)
    done = subprocess.run(
        [sys.executable, HERE / "collector_driver.py", *stubs, folder],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def run(scenarios):
    """The result of a scenario, and what it said."""
    return lambda name: scenarios[name]


def test_a_block_has_kernels_by_layer_in_one_file(run):
    found, said = run("block")
    assert found["kernels"] == [["gemm(float*, int)", 2]]
    assert found["layers"]["wide"] == pytest.approx(5000, abs=20)
    assert found["layers"]["narrow"] == pytest.approx(5000, abs=20)
    assert found["files"] == ["run.pyro"]
    assert found["warnings"] == []
    assert found["state"] == "off"
    assert "kernels" not in said


def test_layers_without_ops_have_kernels(run):
    found, _ = run("layers_only")
    assert found["layers"]["narrow"] == pytest.approx(5000, abs=20)


def test_records_beside_kernels_are_chosen(run):
    found, _ = run("records")
    assert found[""] == ["gpu_memset", "kernel"]
    assert found["kernels"] == ["kernel"]
    assert found["synchronizations,overhead"] == ["cuda_sync", "kernel", "overhead"]
    assert found["all"] == ["cuda_sync", "gpu_memset", "kernel", "overhead"]
    assert "PYROMETER_GPU_RECORDS must be some of" in found["error"]


def test_replayed_graphs_keep_their_layers(run):
    found, _ = run("graph")
    assert found["layers"]["wide"] == pytest.approx(12000, abs=60)
    assert found["layers"]["narrow"] == pytest.approx(12000, abs=60)
    assert found["warnings"] == []
    assert set(found["layers"]) == {"", "wide", "narrow"}  # no row for the graph itself
    assert any("100.0% of the time by the recorded captures" in note for note in found["notes"])


def test_an_op_that_a_graph_replays_has_no_rate(run):
    """Its FLOPs are those of one call, and its kernels those of ten replays."""
    found, _ = run("graph_rates")
    assert found["calls"]["device_total_ns"] == pytest.approx(50000, abs=200)
    assert found["calls"]["flops_per_s"] > 0
    assert found["replays"]["device_total_ns"] == pytest.approx(50000, abs=200)
    assert found["replays"]["flops_per_s"] is None


def test_a_recorded_capture_counts_more_than_an_eager_run(run):
    found, _ = run("graph_of_a_part")
    own = found["layers"]
    assert own["wide"] == pytest.approx(5000, abs=20)
    assert sum(ns for path, ns in own.items() if path != "wide") == pytest.approx(29000, abs=120)


def test_profiler_has_the_kernels_of_each_layer(run):
    found, _ = run("model_graph")
    nodes = found["nodes"]
    assert nodes["net.wide"] == pytest.approx(5000, abs=20)
    assert nodes["net.narrow"] == pytest.approx(5000, abs=20)
    assert nodes["relu"] == 0 and nodes["x"] is None
    assert "Device ms" in found["text"] and "0.005" in found["text"]
    assert found["left"] == []


def test_every_pass_has_its_own_kernels(run):
    found, _ = run("passes")
    # The first pass ran before the collector began.
    assert list(found.values())[1:] == [2, 2]


def test_a_taken_subscriber_is_one_line_and_recording_goes_on(run):
    found, said = run("taken")
    assert found["kernels"] == 0
    assert found["layers"] >= 2
    lines = [line for line in said.splitlines() if "kernels are not recorded" in line]
    assert len(lines) == 1
    assert "another profiler" in lines[0] and "doctor" in lines[0]
    assert "--gpu torch" in lines[0]


def test_a_recording_of_the_last_part_cannot_use_torch_profiler_instead(run):
    found, said = run("taken_in_flight")
    assert found["kernels"] == 0 and found["layers"] >= 2
    assert "another profiler" in said and "doctor)" in said and "--gpu torch" not in said


def test_without_kernels(run):
    found, said = run("none")
    assert found == {"current": True, "on": False}
    assert "kernels" not in said


def test_the_programs_own_profiler_gets_cupti(run):
    found, said = run("other_profiler")
    assert (found["before"], found["after"], found["kernels"]) == ("on", "off", 2)
    assert "torch.profiler started meanwhile" in said


def test_doctor_says_how_kernels_are_recorded(run):
    found, _ = run("examine")
    assert found["works"]["state"] == "ok"
    assert "CUPTI 130001" in found["works"]["text"]
    assert found["taken"]["state"] == "note"
    assert "--gpu torch" in found["taken"]["mend"]  # words: ok, JSON key


def test_several_subscribers(run):
    found, said = run("shared")
    assert found["layers"]["wide"] == pytest.approx(5000, abs=20)
    assert found["state"] == "off"
    assert "kernels" not in said
    # No function for one subscriber, all buffers read before the end.
    calls = found["log"].split()
    assert calls[:4] == ["subscribe", "attribute", "register", "enable"]
    assert calls[-2:] == ["attribute", "unsubscribe"]
    assert "read" in calls
    assert not any(call.startswith("cupti") for call in calls)


def test_one_subscriber_where_several_do_not_work(run):
    found, said = run("shared that fails")
    assert found["layers"]["wide"] == pytest.approx(5000, abs=20)
    assert "kernels" not in said
    assert "enable" in found["log"] and "unsubscribe" in found["log"]


@pytest.mark.parametrize(
    ("scenario", "reason", "advice"),
    [
        ("no library", "libcupti was not found", "install torch for CUDA"),
        ("damaged library", "libcupti cannot be loaded", "install torch for CUDA"),
        ("no functions", "has no function cuptiGetVersion", "CUDA 11.8 or later"),
        ("old library", "CUDA 11.8 or later is required", "CUDA 11.8 or later"),
        ("old driver", "cannot connect to the NVIDIA driver", "update the NVIDIA driver"),
    ],
)
def test_a_gpu_without_a_usable_cupti_is_one_line(run, scenario, reason, advice):
    found, said = run(scenario)
    assert found["kernels"] == 0
    assert {"wide", "narrow"} <= set(found["layers"])
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) == 1 and reason in lines[0] and "doctor" in lines[0]
    assert found["doctor"]["state"] == "note" and reason in found["doctor"]["text"]
    assert advice in found["doctor"]["mend"]  # words: ok, JSON key


def test_an_unknown_way_is_refused():
    import pyrometer

    with pytest.raises(ValueError, match="gpu must be one of"):
        pyrometer.capture(gpu="cuda")
    with pytest.raises(ValueError, match="gpu must be one of"):
        pyrometer.capture_model(gpu="cuda")


def test_torchs_lock_is_free_while_recording_starts(monkeypatch):
    """The lock is not reentrant: torch.profiler in the collector's place could not start."""
    from pyrometer._testing import devices

    held = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    devices.when_cuda_is_used(lambda: held.append(torch.cuda._initialization_lock.locked()))
    assert held == [False]
