"""pyrometer ranks over real runs: gloo on the CPU, DDP and FSDP2, one rank slower in one layer."""

import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import time

import pytest
import torch

import pyrometer

WORKER = pathlib.Path(__file__).with_name("ranks_worker.py")
SHARED = pathlib.Path(__file__).parents[4] / "shared" / "traces"
DELAY_S = 0.05

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="torch has no gloo",
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(folder, engine, profiler, world, slow_rank):
    """The traces of a run, each rank a process."""
    folder.mkdir()
    environment = dict(
        os.environ,
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(free_port()),
        WORLD_SIZE=str(world),
        OMP_NUM_THREADS="1",
        PYTHONPATH=os.pathsep.join(path for path in sys.path if path),
    )
    arguments = [engine, profiler, str(folder), str(slow_rank), str(DELAY_S)]
    processes = [
        subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    for process, output in zip(processes, outputs, strict=True):
        assert process.returncode == 0, output[-2000:]
    return folder


LAYERS = {
    ("torch", "ddp"): "DistributedDataParallel_0.Net_0.Block_1.Mlp_1",
    ("torch", "fsdp"): "FSDPNet_0.FSDPBlock_1.Mlp_1",
    ("ours", "ddp"): "module.layers.1.mlp",
    ("ours", "fsdp"): "layers.1.mlp",
}


@pytest.mark.parametrize("world", [2, 4])
@pytest.mark.parametrize(("profiler", "engine"), LAYERS)
def test_slow_rank_and_layer_are_named(tmp_path, profiler, engine, world):
    slow_rank = world - 1
    answer = pyrometer.ranks(run(tmp_path / "run", engine, profiler, world, slow_rank))
    assert [row["rank"] for row in answer.ranks] == list(range(world))
    assert answer.stragglers, answer.to_dict()
    row = answer.stragglers[0]
    assert row["rank"] == slow_rank
    assert row["layer"] == LAYERS[profiler, engine]
    assert (row["class"], row["phase"], row["where"]) == ("Mlp", "forward", "host")
    assert row["excess_ns"] >= 0.9 * DELAY_S * 1e9
    assert row["late_ns"] >= 0.4 * DELAY_S * 1e9
    if profiler == "torch":
        assert row["op"] == "<built-in function sleep>"
    assert answer.ranks[0]["wait_ns"] > answer.ranks[slow_rank]["wait_ns"]
    # On one machine the clocks are the same.
    assert all(abs(row["clock_offset_ns"]) < DELAY_S * 1e9 / 2 for row in answer.ranks)


@pytest.mark.parametrize("engine", ["ddp", "fsdp"])
def test_nobody_is_accused(tmp_path, engine):
    answer = pyrometer.ranks(run(tmp_path / "run", engine, "torch", 2, -1))
    assert answer.ranks[0]["matched_collectives"] >= 8
    # A machine that has other things to do may hold a rank up, but no layer of it is slow.
    assert not [row for row in answer.stragglers if row["layer"].endswith("Mlp_1")]
    assert all(row["excess_ns"] < 0.5 * DELAY_S * 1e9 for row in answer.stragglers)


def made_rank(rank, world, steps=3, slow_us=0, slowest_us=0):
    """Like tests/unit/support/rank_maker.h: layers, and a collective that all leave together."""
    events = []

    def event(category, name, thread, start, duration):
        events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 100,
                "tid": thread,
                "ts": start,
                "dur": duration,
                "args": {},
            }
        )

    for step in range(1, steps + 1):
        start = step * 200_000
        ready, end = start + 30_000 + slow_us, start + 32_000 + slowest_us
        event("user_annotation", f"ProfilerStep#{step}", 1, start, 199_000)
        event("python_function", "nn.Module: Net_0", 1, start + 1000, 28_000 + slow_us)
        event("python_function", "nn.Module: Mlp_1", 1, start + 13_000, 10_000 + slow_us)
        event("cpu_op", "c10d::allreduce_", 1, ready, 100)
        event("user_annotation", "gloo:all_reduce", 2, ready + 50, end - ready - 50)
    return {"distributedInfo": {"rank": rank, "world_size": world}, "traceEvents": events}


def write(folder, name, trace):
    path = folder / name
    path.write_text(json.dumps(trace))
    return path


def test_folder_with_other_files(tmp_path):
    for rank in range(3):
        trace = made_rank(rank, 4, slow_us=50_000 * (rank == 1), slowest_us=50_000)
        write(tmp_path, f"trace_rank_{rank}.json", trace)
    write(tmp_path, "config.json", {"lr": 0.1})
    (tmp_path / "events.out.tfevents").write_bytes(bytes(range(256)))
    (tmp_path / "notes.txt").write_text("rank_9")
    whole = (tmp_path / "trace_rank_2.json").read_text()
    (tmp_path / "rank_3.json").write_text(
        whole.replace('"rank": 2', '"rank": 3')[: len(whole) * 3 // 4]
    )
    with pytest.warns(RuntimeWarning, match=r"config\.json"):
        answer = pyrometer.ranks(tmp_path)
    assert [row["rank"] for row in answer.ranks] == [0, 1, 2, 3]
    assert answer.ranks[3]["warnings"] > 0
    assert answer.stragglers[0]["rank"] == 1
    assert answer.stragglers[0]["layer"] == "Net_0.Mlp_1"


def test_two_files_claim_a_rank(tmp_path):
    for name in ("a.json", "b.json"):
        write(tmp_path, name, made_rank(0, 2))
    write(tmp_path, "c.json", made_rank(1, 2))
    answer = pyrometer.ranks(tmp_path)
    assert [row["rank"] for row in answer.ranks] == [0, 1]
    assert answer.ranks[0]["file"].endswith("a.json")
    assert any("b.json" in note for note in answer.notes)


def test_nothing_to_read(tmp_path):
    with pytest.raises(pyrometer.Error, match="no trace of any rank"):
        pyrometer.ranks(tmp_path)
    write(tmp_path, "config.json", {})
    with pytest.raises(pyrometer.Error, match=r"config\.json"):
        pyrometer.ranks(tmp_path)
    with pytest.raises(ValueError, match="late"):
        pyrometer.ranks(tmp_path, late=0)
    with pytest.raises(ValueError, match="step"):
        pyrometer.ranks(tmp_path, step=-1)


def test_a_thousand_ranks(tmp_path):
    names = list(range(1000))
    random.Random(0).shuffle(names)
    for rank in names:
        trace = made_rank(rank, 1000, slow_us=50_000 * (rank == 617), slowest_us=50_000)
        write(tmp_path, f"rank_{rank}.json", trace)
    start = time.monotonic()
    answer = pyrometer.ranks(tmp_path)
    assert time.monotonic() - start < 120
    assert [row["rank"] for row in answer.ranks] == list(range(1000))
    assert [row["rank"] for row in answer.stragglers] == [617]
    assert answer.to_pandas("groups").loc[0, "last_rank"] == 617
    assert answer.to_dict() == pyrometer.ranks(tmp_path, threads=3).to_dict()


@pytest.mark.skipif(not SHARED.is_dir(), reason="no traces of others here")
def test_two_ranks_of_somebody():
    files = sorted(SHARED.glob("ranks2_rank*.json.gz"))
    if len(files) != 2:
        pytest.skip("not among them")
    answer = pyrometer.ranks(files)
    assert [row["rank"] for row in answer.ranks] == [0, 1]
    assert answer.to_dict()["missing"] == 126
    assert {row["kind"] for row in answer.groups} == {"alltoall", "allgather", "allreduce"}
    assert answer.to_dict()["matched_collectives"] >= 4
    assert answer.to_dict()["clock_residual_ns"] < 1_000_000
