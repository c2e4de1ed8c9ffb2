"""pyrometer.trace(), parse_model_trace(), and the command on every real trace available."""

import gc
import json
import os
import pathlib
import pty
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pyrometer

ROOT = pathlib.Path(__file__).parents[3]
FILES = ROOT / "tests/files/trace"
TRAINING = FILES / "good-1-training.json"
RESNET18 = FILES / "h200_resnet18_train.json.gz"
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build/pyrometer"))
FOLDER = pathlib.Path(os.environ.get("PYRO_TRACES", ROOT.parent / "shared" / "traces"))
# Our traces, one per dialect, and other people's if available.
OURS = [*sorted(FILES.glob("good-*.json*")), *sorted(FILES.glob("h200_*.json.gz"))]
REAL = OURS + sorted(FOLDER.glob("*.json*"))


def run_tool(*arguments):
    return subprocess.run(
        [TOOL, *arguments], cwd=FILES, capture_output=True, check=False, text=True
    )


@pytest.fixture(scope="module")
def resnet18():
    return pyrometer.trace(RESNET18, model="resnet18")


def test_totals_add_up(resnet18):
    layers = resnet18.layers
    own = np.asarray(layers.forward_device_self_ns) + np.asarray(layers.backward_device_self_ns)
    assert own.sum() + sum(resnet18.unattributed.values()) == resnet18.device_total_ns
    assert sum(resnet18.kernels.total_ns) <= resnet18.device_total_ns
    assert resnet18.device_busy_ns <= resnet18.span_ns
    assert resnet18.device == "NVIDIA H200"
    assert resnet18.events == 17189
    assert resnet18.warnings == []
    assert resnet18.file == str(RESNET18)


def test_layers_have_dotted_names(resnet18):
    paths = resnet18.layers["path"]
    assert "layer1.0.conv1" in paths
    row = resnet18.layers[paths.index("layer1.0.conv1")]
    assert row["class"] == "Conv2d"
    assert row["calls"] == row["backward_calls"] == 2
    assert row["forward_device_ns"] > 0
    assert row["backward_device_ns"] > 0
    assert paths[row["parent"]] == "layer1.0"


def test_columns_share_the_librarys_memory():
    trace = pyrometer.trace(TRAINING)
    column = trace.layers.calls
    assert isinstance(column, memoryview)
    assert column.readonly
    assert column.format == "q"
    first, second = np.asarray(column), np.asarray(trace._core.column("layers", "calls"))
    assert first.dtype == np.int64
    assert np.shares_memory(first, second)
    assert first.__array_interface__["data"] == second.__array_interface__["data"]
    host = np.asarray(trace.layers.forward_host_ns)
    assert first.strides == host.strides  # both share the same rows
    assert (
        abs(host.__array_interface__["data"][0] - first.__array_interface__["data"][0])
        < (first.strides[0])
    )
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_columns_outlive_the_trace():
    layers = pyrometer.trace(TRAINING).layers
    array = np.asarray(layers["forward_device_ns"])
    expected = array.tolist()
    del layers
    gc.collect()
    pyrometer.trace(RESNET18)
    assert array.tolist() == expected == [80000, 40000, 40000]


def test_tables_equal_the_json():
    trace = pyrometer.trace(TRAINING)
    data = trace.to_dict()
    assert data["schema"] == "pyrometer.trace/1"
    for name in ("steps", "layers", "ops", "ops_by_shape", "kernels", "gaps", "synchronizations",
                 "copies", "collectives", "findings"):  # fmt: skip
        assert list(getattr(trace, name)) == data[name], name
    devices = data["memory"]["devices"]
    assert [row["device"] for row in trace.memory] == [row["device"] for row in devices]
    assert data["memory"]["peak_bytes"] == 12288
    assert trace.launch == data["launch"]
    assert trace.data_loading == data["data_loading"]
    assert trace.findings[0]["id"] == data["findings"][0]["id"]


def test_unknown_is_none_in_rows_and_minus_one_in_columns():
    trace = pyrometer.trace(TRAINING)
    index = trace.ops.name.index("aten::item")
    assert trace.ops.flops[index] == -1
    assert trace.ops[index]["flops"] is None
    assert trace.layers.parent[0] == 2**32 - 1
    assert trace.layers[0]["parent"] is None
    assert trace.ops.to_dict()["flops"][index] is None


def test_tables_are_sequences():
    table = pyrometer.trace(TRAINING).kernels
    assert len(table) == len(list(table)) == 4
    assert table[-1] == table[3]
    assert table[:2] == [table[0], table[1]]
    assert "total_ns" in dir(table)
    assert "total_ns" in table.columns
    with pytest.raises(IndexError):
        table[4]
    with pytest.raises(KeyError, match="no column 'nothing'"):
        table["nothing"]
    with pytest.raises(AttributeError):
        _ = table.nothing
    empty = pyrometer.trace(TRAINING).collectives
    assert len(empty) == 0
    assert np.asarray(empty.calls).shape == (0,)
    assert list(empty) == []


def test_to_pandas(resnet18):
    pandas = pytest.importorskip("pandas")
    frame = resnet18.to_pandas("kernels")
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(resnet18.kernels.columns)
    assert frame["total_ns"].sum() == sum(resnet18.kernels.total_ns)
    assert list(resnet18.to_pandas()["path"]) == resnet18.layers.path
    with pytest.raises(ValueError, match="valid: steps, training, serving, layers"):
        resnet18.to_pandas("nothing")


def test_narrowing():
    whole = pyrometer.trace(TRAINING)
    step = pyrometer.trace(TRAINING, step=2)
    assert step.device_total_ns == whole.device_total_ns // 2
    assert step.steps.name == ["ProfilerStep#2"]
    backward = pyrometer.trace(TRAINING, phase="backward")
    assert backward.device_total_ns == 60000
    assert pyrometer.trace(TRAINING, filter="addmm").ops.name == ["aten::addmm"]
    layers = pyrometer.trace(FILES / "good-2-annotations.json", layers_from=r"fwd\|(.*)").layers
    assert {"stem.conv", "stem.norm", "head"} <= set(layers.path)
    assert pyrometer.trace(TRAINING, threads=1).to_dict() == whole.to_dict()


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"path": "none.json"}, FileNotFoundError, "none.json"),
        ({"path": FILES / "bad-3-empty.json"}, pyrometer.Error, "empty"),
        ({"path": FILES / "bad-5-not-a-trace.json"}, pyrometer.Error, "no trace"),
        ({"path": TRAINING, "filter": "("}, ValueError, "filter"),
        ({"path": TRAINING, "layers_from": "("}, ValueError, "Unmatched"),
        ({"path": TRAINING, "phase": "sideways"}, ValueError, "must be forward, backward"),
        ({"path": TRAINING, "step": 7}, ValueError, "no step 7"),
        ({"path": TRAINING, "step": -2}, ValueError, "numbered from 0"),
        ({"path": TRAINING, "model": "none.pt2"}, FileNotFoundError, "none.pt2"),
        ({"path": TRAINING, "layers_from": 3}, TypeError, "str"),
    ],
)
def test_failures(arguments, error, match):
    with pytest.raises(error, match=match):
        pyrometer.trace(**arguments)


@pytest.mark.parametrize("path", sorted((ROOT / "fuzz/corpus/recording").glob("good-*.pyro")))
def test_recordings_are_exported_as_json(path, tmp_path):
    target = tmp_path / "out.json"
    assert run_tool("trace", path, "--chrome", target).returncode == 0
    events = json.loads(target.read_text())["traceEvents"]
    assert events
    for event in events:
        if event.get("cat") == "kernel":
            assert not {"occupancy", "priority", "channel", "hsa_queue"} & event["args"].keys()


def test_damage_is_said():
    trace = pyrometer.trace(FILES / "bad-1-truncated.json")
    assert any("truncated" in warning for warning in trace.warnings)
    assert trace.events > 0
    assert "truncated" in str(trace)
    assert "bad-1-truncated.json" in repr(trace)


READ_WHAT_A_THREAD_WRITES = """
import sys, threading
import pyrometer

def write():
    with open(sys.argv[2], "wb") as pipe:
        pipe.write(open(sys.argv[1], "rb").read())

threading.Thread(target=write).start()
print(pyrometer.trace(sys.argv[2]).events)
"""


def test_the_lock_is_released_while_reading(tmp_path):
    """Another Python thread supplies the bytes, which deadlocks if the GIL is held."""
    os.mkfifo(tmp_path / "pipe.json")
    done = subprocess.run(
        [sys.executable, "-c", READ_WHAT_A_THREAD_WRITES, TRAINING, tmp_path / "pipe.json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == pyrometer.trace(TRAINING).events


def test_threads_run_while_a_trace_is_analysed(tmp_path):
    """A held GIL lets at most a stray switch through; a busy machine may need more rounds."""
    document = json.loads(TRAINING.read_text())
    document["traceEvents"] *= 300
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document))
    count, stop = [0], threading.Event()

    def run():
        while not stop.is_set():
            count[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        busy_rounds = 0
        for _ in range(60):
            before = count[0]
            pyrometer.trace(path, threads=1)
            busy_rounds += count[0] - before > 1000
            if busy_rounds == 3:
                break
    finally:
        stop.set()
        thread.join()
    assert busy_rounds == 3


def test_many_threads_at_once():
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(pyrometer.trace(RESNET18).device_total_ns))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results)) == 1


def test_parse_model_trace():
    path = str(FILES / "good-3-cpu-only.json")
    stats = pyrometer.parse_model_trace(path, "Net")
    assert (stats["model_name"], stats["trace_file"]) == ("Net", path)
    assert stats["shapes_from"] == "operators"  # torch.profiler does not record inputs of layers
    layers = stats["layer_stats"]
    assert list(layers) == ["Net_0.Linear_0", "Net_0.ReLU_0", "Net_0"]
    linear = layers["Net_0.Linear_0"]
    assert linear["op_time_us"] == 80  # aten::linear; the addmm inside is not counted again
    assert linear["total_time_us"] >= 80 and linear["call_count"] == 1
    assert linear["shapes"] == layers["Net_0"]["shapes"] == {(32, 100)}
    assert linear["operations"] == {"aten::linear", "aten::addmm"}
    assert layers["Net_0.ReLU_0"]["shapes"] == {(32, 50)}
    assert layers["Net_0.ReLU_0"]["op_time_us"] == 30
    assert sum(layer["total_time_us"] for layer in layers.values()) == stats["total_time_us"]
    stats = pyrometer.parse_model_trace(str(TRAINING))
    assert stats["model_name"] == "Unknown"
    linear = stats["layer_stats"]["Net_0.Linear_0"]
    assert (linear["op_time_us"], linear["call_count"]) == (140, 2)


@pytest.mark.parametrize("name", ["none.json", "bad-3-empty.json", "make_traces.py"])
def test_parse_model_trace_warns(name):
    with pytest.warns(UserWarning, match=name):
        assert pyrometer.parse_model_trace(str(FILES / name)) is None


def test_parse_model_trace_without_layers():
    with pytest.warns(UserWarning, match="with_stack=True"):
        stats = pyrometer.parse_model_trace(str(FILES / "good-4-bare-array.json"))
    assert stats["layer_stats"] == {}


def test_a_trace_of_this_torch(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(100, 50), torch.nn.ReLU(), torch.nn.Linear(50, 10))
    inputs = torch.randn(32, 100)
    model(inputs).sum().backward()
    path = tmp_path / "run.json"
    with torch.profiler.profile(with_stack=True, record_shapes=True) as profiler:
        for _ in range(3):
            model(inputs).sum().backward()
    profiler.export_chrome_trace(str(path))

    trace = pyrometer.trace(path)
    by_class = {
        name: [row for row in trace.layers if row["class"] == name]
        for name in ("Sequential", "Linear", "ReLU")
    }
    assert [len(rows) for rows in by_class.values()] == [1, 2, 1]
    assert all(row["calls"] == 3 for rows in by_class.values() for row in rows)
    assert sum(row["flops"] for row in by_class["Linear"]) > 3 * 2 * 32 * (100 * 50 + 50 * 10)
    expected = {
        event.key: (event.count, round(event.self_cpu_time_total * 1000))
        for event in profiler.key_averages()
        if event.key.startswith("aten::")
    }
    ops = {row["name"]: row for row in trace.ops}
    for name, (count, self_ns) in expected.items():
        assert ops[name]["calls"] == count, name
        assert abs(ops[name]["host_self_ns"] - self_ns) <= 2 * count, name

    stats = pyrometer.parse_model_trace(str(path))["layer_stats"]
    shapes = sorted(tuple(sorted(layer["shapes"])) for layer in stats.values())
    assert shapes == [((32, 50),), ((32, 50),), ((32, 100),), ((32, 100),)]
    assert all("aten::" in op for layer in stats.values() for op in layer["operations"])


def test_every_key_is_documented():
    document = (ROOT / "docs/reference/trace.md").read_text()
    trace = pyrometer.trace(TRAINING)
    data = trace.to_dict()
    keys = {key for columns in trace._core.tables().values() for key in columns}
    keys |= data.keys() | data["memory"].keys() | data["memory"]["devices"][0].keys()
    for name in ("launch", "data_loading", "unattributed", "gap_totals"):
        keys |= data[name].keys()
    missing = {key for key in keys if f"`{key}`" not in document and f"`{key}[]`" not in document}
    assert not missing


def check_json(trace):
    own = sum(
        row["forward_device_self_ns"] + row["backward_device_self_ns"] for row in trace["layers"]
    )
    assert own + sum(trace["unattributed"].values()) == trace["device_total_ns"]
    assert trace["device_busy_ns"] <= trace["device_total_ns"]
    assert trace["steps"]
    for step in trace["steps"]:
        parts = ("compute_ns", "communication_exposed_ns", "copy_exposed_ns", "idle_ns")
        assert sum(step[part] for part in parts) == step["span_ns"]
        phases = ("forward_ns", "backward_ns", "optimizer_ns", "other_ns")
        assert sum(step[phase] for phase in phases) == step["device_total_ns"]
    for index, row in enumerate(trace["layers"]):
        assert row["parent"] is None or row["parent"] < index
    integers = [value for key, value in trace.items() if key.endswith("_ns")]
    assert all(isinstance(value, int) for value in integers)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_every_real_trace(path, tmp_path):
    done = run_tool("trace", str(path), "--format", "json", "--chrome", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    trace = json.loads(done.stdout)
    check_json(trace)
    with open(tmp_path / "out.json", encoding="utf-8") as file:
        assert json.load(file)["traceEvents"]
    again = json.loads(run_tool("trace", str(tmp_path / "out.json"), "--format", "json").stdout)
    assert again["device_total_ns"] == trace["device_total_ns"]
    assert again["kernels"] == trace["kernels"]
    text = run_tool("trace", str(path))
    assert text.returncode == 0
    assert text.stdout.startswith("====")


@pytest.mark.parametrize("name", ["good-1-training.json", "h200_vit_b16_forward.json.gz"])
def test_traces_of_this_repository(name):
    check_json(json.loads(run_tool("trace", name, "--format", "json").stdout))


def test_progress_is_shown_on_a_terminal_only():
    text = TRAINING.read_bytes()
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [TOOL, "trace", "-", "--by", "step"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    for at in range(0, len(text), len(text) // 8):
        process.stdin.write(text[at : at + len(text) // 8])
        process.stdin.flush()
        time.sleep(0.25)
    output, _ = process.communicate()
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert process.returncode == 0
    assert b"ProfilerStep#2" in output
    assert "KiB" in shown and "/s" in shown
    assert shown.endswith("\r\x1b[K")


def test_steps_that_the_trace_does_not_mark():
    folder = pathlib.Path(__file__).resolve().parents[2] / "trace" / "steps"
    inferred = pyrometer.trace(folder / "optimizer.json")
    assert inferred.steps_inferred and inferred.step_source == "optimizer"
    assert inferred.steps.name == ["step 0", "step 1", "step 2", "step 3"]
    assert inferred.startup["span_ns"] == 4_000_000
    chosen = pyrometer.trace(folder / "annotated.json", steps_from="iteration ([0-9]+)")
    assert not chosen.steps_inferred and chosen.step_source == "option"
    assert list(chosen.steps.number) == [10, 11, 12, 13]
    with pytest.raises(ValueError, match="steps_from"):
        pyrometer.trace(folder / "annotated.json", steps_from="(")
    assert pyrometer.trace(folder / "module-once.miss.json").step_source == "none"


def test_serving_steps():
    folder = pathlib.Path(__file__).resolve().parents[2] / "trace" / "steps"
    served = pyrometer.trace(folder / "vllm.json")
    assert served.serving.kind == ["prefill", "mixed", *["decode"] * 5]
    assert list(served.serving.steady) == [0, 0, 1, 1, 1, 1, 0]
    # 8 heads of 64 in 2 layers, and the causal half of 512 x 512
    assert served.serving.attention_flops[0] == 4 * 8 * 64 * 2 * (512 * 513 // 2)
    assert served.serving[0]["flops"] is None
    summary = served.serving_summary
    assert (summary["engine"], summary["shapes_from"]) == ("vLLM", "trace")
    priced = pyrometer.trace(folder / "vllm-without-shapes.json", model="gpt2")
    # 12 layers, keys and values of 12 heads of 64 in bfloat16, for four keys more
    growth = priced.serving.bytes[3] - priced.serving.bytes[2]
    assert growth == 4 * 2 * 12 * 12 * 64 * 2
    assert 0 < priced.serving.peak_share[0] < 1 and 0 < priced.serving.bandwidth_share[0] < 1
