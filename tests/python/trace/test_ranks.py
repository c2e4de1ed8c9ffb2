"""pyrometer ranks over real runs: gloo on the CPU, DDP and FSDP2, one rank slower in one layer."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
import torch

import pyrometer

WORKER = pathlib.Path(__file__).with_name("ranks_worker.py")
ROOT = next(path for path in pathlib.Path(__file__).parents if (path / "CMakeLists.txt").exists())
OURS = ROOT / "tests" / "files" / "ranks"
OTHERS = pathlib.Path(os.environ.get("PYRO_TRACES", ROOT.parent / "shared" / "traces"))
DELAY_S = 0.1

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="torch has no gloo",
)


LAYERS = {
    ("torch", "ddp"): "DistributedDataParallel_0.Net_0.Block_1.Mlp_1",
    ("torch", "fsdp"): "FSDPNet_0.FSDPBlock_1.Mlp_1",
    ("ours", "ddp"): "module.layers.1.mlp",
    ("ours", "fsdp"): "layers.1.mlp",
}
NOBODY = "none"


@pytest.fixture(scope="module", params=[2, 4])
def runs(request, tmp_path_factory, warm_python):
    """(number of ranks, folder of all runs); each rank is one process for all runs."""
    world, folder = request.param, tmp_path_factory.mktemp("runs")
    for profiler, engine in LAYERS:
        (folder / f"{profiler}-{engine}-{world - 1}").mkdir()
        (folder / f"{profiler}-{engine}-{NOBODY}").mkdir()
    environment = dict(
        os.environ,
        WORLD_SIZE=str(world),
        OMP_NUM_THREADS="1",
        PYTHONPATH=os.pathsep.join(path for path in sys.path if path),
    )
    python = warm_python if world > 2 else sys.executable
    processes = [
        subprocess.Popen(
            [python, str(WORKER), str(folder), str(DELAY_S)],
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        outputs = [process.communicate(timeout=600)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, output in zip(processes, outputs, strict=True):
        assert process.returncode == 0, output[-2000:]
    return world, folder


@pytest.mark.parametrize(("profiler", "engine"), LAYERS)
def test_slow_rank_and_layer_are_named(runs, profiler, engine):
    world, folder = runs
    slow_rank = world - 1
    answer = pyrometer.ranks(folder / f"{profiler}-{engine}-{slow_rank}")
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
    # On one machine all ranks share the clock.
    assert all(abs(row["clock_offset_ns"]) < DELAY_S * 1e9 / 2 for row in answer.ranks)


@pytest.mark.parametrize(("profiler", "engine"), LAYERS)
def test_nobody_is_accused(runs, profiler, engine):
    """A busy machine may delay a rank sometimes, but no layer is slow in all steps."""
    _, folder = runs
    answer = pyrometer.ranks(folder / f"{profiler}-{engine}-{NOBODY}")
    assert answer.ranks[0]["matched_collectives"] >= 6
    slow = [row for row in answer.stragglers if row["layer"] == LAYERS[profiler, engine]]
    assert all(row["excess_ns"] < 0.5 * DELAY_S * 1e9 for row in slow)


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


def test_equal_ranks_have_no_straggler(tmp_path):
    for rank in range(4):
        write(tmp_path, f"rank_{rank}.json", made_rank(rank, 4))
    assert not pyrometer.ranks(tmp_path).stragglers


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
    answer = pyrometer.ranks(tmp_path)
    assert [row["rank"] for row in answer.ranks] == list(range(1000))
    assert [row["rank"] for row in answer.stragglers] == [617]
    assert answer.to_pandas("groups").loc[0, "last_rank"] == 617
    assert answer.to_dict() == pyrometer.ranks(tmp_path, threads=3).to_dict()


def test_ranks_of_this_repository():
    files = sorted(OURS.glob("trace_rank_*.json"))
    answer = pyrometer.ranks(files)
    assert [row["rank"] for row in answer.ranks] == [0, 1, 2]
    assert answer.to_dict()["missing"] == 1
    assert {row["kind"] for row in answer.groups} == {"allreduce"}
    assert answer.to_dict()["matched_collectives"] >= 3


def test_steps_from_other_ranges():
    files = sorted(OURS.glob("trace_rank_*.json"))
    answer = pyrometer.ranks(files, steps_from="ProfilerStep#([02468])$")
    assert [row["number"] for row in answer.steps] == [2]


def test_two_ranks_of_somebody():
    """As above, with NCCL: traces of two of 128 ranks."""
    files = sorted(OTHERS.glob("ranks2_rank*.json.gz"))
    if len(files) != 2:
        pytest.skip("traces of other people, not available")
    answer = pyrometer.ranks(files)
    assert [row["rank"] for row in answer.ranks] == [0, 1]
    assert answer.to_dict()["missing"] == 126
    assert {row["kind"] for row in answer.groups} == {"alltoall", "allgather", "allreduce"}
    assert answer.to_dict()["matched_collectives"] >= 4
    assert answer.to_dict()["clock_residual_ns"] < 1_000_000
