"""HTA and TensorBoard's profiler plugin read a recording exported as Chrome JSON."""

import os
import pathlib
import subprocess

import pytest

HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=".")
frame = analysis.t.get_trace(0)
names = analysis.t.symbol_table.sym_table
ops = [names[i] for i in frame["name"]]
assert ops.count("aten::linear") == int(sys.argv[2]), ops
"""

PLUGIN = """
import json, sys
from torch_tb_profiler.profiler.data import RunProfileData
run = RunProfileData.from_json("worker", 0, json.load(open(sys.argv[1])))
calls = {op.name: op.calls for op in run.op_list_groupby_name}
assert calls["aten::linear"] == int(sys.argv[2]), calls
assert run.memory_snapshot.memory_records
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory, tool):
    """Paths of Chrome JSON with the number of aten::linear in each: a recording, and its passes."""
    sample = pathlib.Path(tool).with_name("record_sample")
    if not sample.exists():
        pytest.skip("build/record_sample is missing: build with -DPYRO_TESTS=ON")
    folder = tmp_path_factory.mktemp("sample")
    subprocess.run([sample, folder], check=True)
    whole = folder / "sample.json"
    command = [tool, "trace", "-q", folder / "sample.pyro", "--chrome", whole]
    subprocess.run(command, check=True, capture_output=True)
    passes = sorted(folder.glob("MLP_forward_*.json"))
    assert len(passes) == 3
    return [(whole, 6), *((path, 2) for path in passes)]


def ask(python, script, files):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for path, calls in files:
        done = subprocess.run(
            [python, "-c", script, path, str(calls)],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, f"{path.name}: {done.stderr}"


def test_hta_reads_it(files, hta):
    ask(hta, HTA, files)


def test_the_plugin_of_tensorboard_reads_it(files, tensorboard):
    ask(tensorboard, PLUGIN, files)
