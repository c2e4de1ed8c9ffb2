"""Layers of compiled code, from every form in which torch says where kernels come from. The traces
and logs in tests/trace/compiled are ours; make.py there writes them."""

import pathlib
import subprocess
import sys

import pytest

import pyrometer

FILES = pathlib.Path(__file__).parents[2] / "trace" / "compiled"
STEPS = 2
# Microseconds per step. The fused kernel of 9 us is shared out by bytes, 1 to 3.
LAYERS = {
    "blocks.0.norm": 10,
    "blocks.0.up": 40,
    "blocks.0": 6 + 2.25,
    "blocks.0.down": 42,
    "blocks.1.norm": 6.75,
    "blocks.1.up": 41,
    "blocks.1": 7 + 5,
    "blocks.1.down": 43,
}


def own_us(trace, steps=STEPS):
    rows = trace.layers
    return {
        path: (forward + backward) / 1000 / steps
        for path, forward, backward in zip(
            rows.path, rows.forward_device_self_ns, rows.backward_device_self_ns, strict=True
        )
        if forward + backward
    }


def check_sum(trace):
    rows, rest = trace.layers, trace.unattributed
    own = sum(rows.forward_device_self_ns) + sum(rows.backward_device_self_ns)
    assert own + sum(rest.values()) == trace.device_total_ns


def notes(trace):
    return " ".join(trace.notes)


def test_files_are_current():
    done = subprocess.run([sys.executable, FILES / "make.py", "--check"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["log/trace.json", "note.json"])
def test_layers_by_provenance(name):
    trace = pyrometer.trace(FILES / name)
    assert own_us(trace) == pytest.approx(LAYERS)
    check_sum(trace)
    rows = {
        path: shared for path, shared in zip(trace.layers.path, trace.layers.shared_ns, strict=True)
    }
    assert rows["blocks.0"] == 2250 * STEPS and rows["blocks.1.norm"] == 6750 * STEPS
    assert rows["blocks.0.up"] == 0
    flops = dict(zip(trace.layers.path, trace.layers.flops, strict=True))
    product = STEPS * (2 * 32 * 64 * 256)
    assert product <= flops["blocks.0.up"] <= 1.02 * product  # with the bias
    assert product <= flops["blocks.1.down"] <= 1.02 * product
    assert flops["blocks.0.norm"] is None or flops["blocks.0.norm"] == -1
    assert "100.0% of its time by provenance of 1 graphs" in notes(trace)
    assert "fused over several layers" in notes(trace)
    sources = dict(zip(trace.kernels.short_name, trace.kernels.source, strict=True))
    assert sources["triton_poi_fused_gelu_1"] == "/home/user/model.py:23"


def test_comments_of_the_code_are_enough():
    """Without INDUCTOR_PROVENANCE the log has only the nodes in comments, and no sizes of them."""
    trace = pyrometer.trace(FILES / "comments" / "trace.json")
    found = own_us(trace)
    check_sum(trace)
    for path in ("blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down"):
        assert found[path] >= LAYERS[path]
    assert found["blocks.0.norm"] == 10
    assert not any(path.startswith("CompiledFx") for path in found)


def test_given_and_found_folders_are_the_same():
    given = pyrometer.trace(FILES / "graph-only.json", provenance=FILES / "log")
    assert own_us(given) == pytest.approx(LAYERS)
    one_file = next((FILES / "log").glob("*.log"))
    assert own_us(pyrometer.trace(FILES / "graph-only.json", provenance=one_file)) == pytest.approx(
        LAYERS
    )


def test_backward_by_parameters():
    trace = pyrometer.trace(FILES / "backward" / "trace.json")
    rows = dict(zip(trace.layers.path, trace.layers.backward_device_self_ns, strict=True))
    check_sum(trace)
    assert rows["blocks.1.down"] == 50_000
    assert rows["blocks.0.down"] == 51_000
    assert rows["blocks.1.norm"] == 12_000


def test_replays_of_graphs():
    trace = pyrometer.trace(FILES / "replay" / "trace.json")
    expected = LAYERS | {"blocks.0.down": 45}  # with the kernel that sums its parts
    assert own_us(trace) == pytest.approx(expected)
    check_sum(trace)
    assert "by the provenance of compiled code" in notes(trace)


def test_modules_below_frames():
    trace = pyrometer.trace(FILES / "frames" / "trace.json")
    prefix = "OptimizedModule_0.Net_0."
    assert own_us(trace) == pytest.approx({prefix + path: us for path, us in LAYERS.items()})
    check_sum(trace)


def test_source_lines_without_modules():
    """Files of a debug trace do not name parameters."""
    trace = pyrometer.trace(FILES / "debug" / "trace.json")
    found = own_us(trace)
    check_sum(trace)
    assert found["model.py:22"] == 81 and found["model.py:23"] == 13


def test_stacks_of_kernels():
    trace = pyrometer.trace(FILES / "stacks.json")
    assert own_us(trace) == {
        "model.py:21": 10,
        "model.py:22": 81,
        "model.py:23": 13,
        "model.py:24": 99,
    }
    check_sum(trace)
    assert "by stacks of the kernels" in notes(trace)


def test_only_the_graph_is_known():
    trace = pyrometer.trace(FILES / "graph-only.json")
    assert own_us(trace) == {"CompiledFxGraph fplantedforw": 203}
    assert "--provenance" in notes(trace)
    trace = pyrometer.trace(FILES / "region-only.json")
    assert own_us(trace) == {"Torch-Compiled Region: 0/0": 203}


@pytest.mark.parametrize("name", ["other-run", "other-names"])
def test_provenance_of_other_code(name):
    trace = pyrometer.trace(FILES / name / "trace.json")
    assert not any("blocks" in path for path in own_us(trace))
    assert "matches no kernel of this trace" in notes(trace)
    check_sum(trace)


@pytest.mark.parametrize("name", ["truncated", "hostile"])
def test_damaged_logs(name):
    """What can be read counts; the file decides nothing else."""
    trace = pyrometer.trace(FILES / name / "trace.json")
    check_sum(trace)


def test_errors_of_files(tmp_path):
    with pytest.raises(pyrometer.Error, match="not a log of TORCH_TRACE"):
        pyrometer.trace(FILES / "graph-only.json", provenance=FILES / "no-log.log")
    with pytest.raises(pyrometer.Error, match="no compiled graph is described"):
        pyrometer.trace(FILES / "graph-only.json", provenance=tmp_path)
    with pytest.raises(ValueError, match="cannot open"):
        pyrometer.trace(FILES / "graph-only.json", provenance=tmp_path / "missing")


def test_every_cut_of_a_log_is_read(tmp_path):
    """Bounded and without errors, wherever a program was killed."""
    text = next((FILES / "log").glob("*.log")).read_bytes()
    for end in range(0, len(text), 1009):
        (tmp_path / "torch_trace_cut.log").write_bytes(text[:end])
        try:
            check_sum(pyrometer.trace(FILES / "graph-only.json", provenance=tmp_path))
        except pyrometer.Error:
            pass


@pytest.mark.parametrize(
    "name", ["capture-file/trace.json", "capture-launches/profiles/trace.json"]
)
def test_traces_of_captures(name):
    """Serving engines write a trace of each capture beside the trace of a run."""
    trace = pyrometer.trace(FILES / name)
    assert own_us(trace, 3) == {"Net_0.Layer_0": 60, "Net_0.Layer_1": 66}
    assert "by traces of their captures" in notes(trace)
    check_sum(trace)


def test_graphs_without_layers_are_rows_by_category():
    """Neither an unrelated trace nor a damaged one in the folder says anything."""
    trace = pyrometer.trace(FILES / "no-capture" / "trace.json")
    found = own_us(trace, 3)
    assert found["CUDA graph 1.gemm"] == 11 + 13 + 15 + 17 + 18
    assert found["CUDA graph 1.softmax"] == 12 and found["CUDA graph 1.norm"] == 14
    assert sum(found.values()) == 126
    assert "100.0% of the time by category only" in notes(trace)
    check_sum(trace)
