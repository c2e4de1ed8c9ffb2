"""profiler() on several ranks: torchrun with DDP and FSDP2, TensorBoard, a kill, a full disk."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest
import torch

import pyrometer

DRIVER = pathlib.Path(__file__).with_name("train_driver.py")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def launch(processes, what, folder, python):
    """torchrun starts the ranks with its own interpreter, unless it is told not to."""
    own = python == sys.executable
    return subprocess.run(
        [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
         str(processes), *([] if own else ["--no-python", python]), DRIVER, what, folder],
        capture_output=True, text=True, env=ENVIRONMENT, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module", params=[2, 4])
def run(request, tmp_path_factory, warm_python):
    """DDP and FSDP2, one after the other in the same processes."""
    if not torch.distributed.is_available():
        pytest.skip("torch without torch.distributed")
    folder = tmp_path_factory.mktemp(f"ranks{request.param}")
    python = warm_python if request.param > 2 else sys.executable
    done = launch(request.param, "both", folder, python)
    assert done.returncode == 0, done.stderr
    return request.param, folder, done


def test_one_trace_a_rank(run):
    processes, folder, _ = run
    for kind in ("ddp", "fsdp"):
        expected = [f"rank_{rank}" for rank in range(processes)]
        expected += [f"trace_rank_{rank}.json" for rank in range(processes)]
        assert sorted(path.name for path in (folder / kind).iterdir()) == sorted(expected)
        workers = set()
        for rank in range(processes):
            trace = json.loads((folder / kind / f"trace_rank_{rank}.json").read_text())
            assert trace["distributedInfo"] == {
                "backend": "gloo", "rank": rank, "world_size": processes
            }  # fmt: skip
            shown = list((folder / kind / f"rank_{rank}").glob("*.pt.trace.json"))
            assert len(shown) == 1 and shown[0].name.startswith(socket.gethostname())
            assert f"_rank{rank}." in shown[0].name
            workers.add(shown[0].name.split(".")[0])
            names = {event["name"] for event in trace["traceEvents"]}
            assert {f"ProfilerStep#{step}" for step in (3, 4, 5)} <= names
        assert len(workers) == processes


def test_only_rank_0_prints(run):
    processes, _, done = run
    assert done.stdout.count("# of Calls") == 2
    assert done.stdout.count(f"Steps 3 to 5, rank 0 of {processes}\n") == 2
    assert "pyrometer:" not in done.stderr


def test_communication_is_a_part_of_every_step(run):
    processes, folder, _ = run
    for kind in ("ddp", "fsdp"):
        steps = pyrometer.trace(folder / kind / f"trace_rank_{processes - 1}.json").training
        assert [row["number"] for row in steps] == [3, 4, 5]
        for row in steps:
            parts = ("forward", "backward", "optimizer", "data", "communication", "other")
            assert sum(row[f"{part}_ns"] for part in parts) == row["span_ns"]
            assert row["communication_total_ns"] >= row["communication_ns"] >= 0
            assert row["communication_total_ns"] > 0
            assert min(row[f"{part}_ns"] for part in parts[:4]) > 0
            # Both kinds compute the same: 3 layers, no gradient of the input.
            macs = 8 * (3 * (64 * 128 + 128 * 128 + 128 * 10) - 64 * 128)
            assert row["torch_flops"] == 2 * macs


def test_tensorboard_reads_the_scalars(run):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    ).EventAccumulator
    processes, folder, _ = run
    for rank in range(processes):
        events = accumulator(str(folder / "ddp" / f"rank_{rank}"))
        events.Reload()
        tags = set(events.Tags()["scalars"])
        parts = ("forward", "backward", "optimizer", "data", "communication", "other")
        assert {f"step/{part}_ms" for part in ("time", *parts)} <= tags
        assert {"work/flops", "work/flops_per_s", "memory/host_mib"} <= tags
        training = pyrometer.trace(folder / "ddp" / f"trace_rank_{rank}.json").training
        for column, tag in (("span_ns", "step/time_ms"), ("forward_ns", "step/forward_ms")):
            values = events.Scalars(tag)
            assert [value.step for value in values] == [3, 4, 5]
            assert [value.value for value in values] == pytest.approx(
                [row[column] / 1e6 for row in training], abs=1e-3
            )
        assert all(10 < value.value < 1e6 for value in events.Scalars("memory/host_mib"))


def test_the_profiler_plugin_reads_the_traces(run):
    loader = pytest.importorskip("torch_tb_profiler.profiler.data")
    _, folder, _ = run
    for kind in ("ddp", "fsdp"):
        path = next((folder / kind / "rank_1").glob("*.pt.trace.json"))
        worker = path.name.split(".")[0]
        data = loader.RunProfileData.parse(worker, None, str(path), str(folder))
        data.process()
        assert data.has_communication and not data.has_kernel
        names = {operator.name for operator in data.op_list_groupby_name}
        assert "aten::addmm" in names
        assert [step for step in data.steps_names] == ["3", "4", "5"]
        assert data.distributed_info["rank"] == 1


EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "training"


@pytest.mark.parametrize("name", ["train.py", "train_llama.py", "train_resnet.py"])
def test_examples(tmp_path, warm_python, name):
    done = subprocess.run(
        [warm_python, EXAMPLES / name, "--steps", "4", "--batch", "1", "--profile"],
        capture_output=True, text=True, env=ENVIRONMENT, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Step 3, rank 0\n" in done.stdout and "4 steps on 1 ranks, loss" in done.stdout
    assert "only 1 of 3 active steps" in done.stderr
    assert (tmp_path / "profiler_logs" / "trace_rank_0.json").exists()


def test_a_rank_that_is_killed(tmp_path, warm_python):
    """Without torchrun, which would stop the other rank too."""
    ranks = [
        subprocess.Popen(
            [warm_python, DRIVER, "die", tmp_path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**ENVIRONMENT, "RANK": str(rank), "WORLD_SIZE": "2"},
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        output, messages = ranks[0].communicate(timeout=600)
        ranks[1].communicate(timeout=600)
    finally:
        for rank in ranks:
            rank.kill()
    assert ranks[1].returncode == -9
    assert ranks[0].returncode == 1 and "Error" in messages  # gloo's, from the training
    assert "Steps 3 to 4, rank 0 of 2; the training raised" in output
    whole = pyrometer.trace(tmp_path / "trace_rank_0.json")
    assert [row["number"] for row in whole.training][:2] == [3, 4]
    assert not (tmp_path / "trace_rank_1.json").exists()
    [left] = (tmp_path / "rank_1").glob("*.pyro")
    killed = pyrometer.trace(left)
    assert [row["number"] for row in killed.training] == [3, 4, 5]
    assert killed.ops


def test_a_full_disk(tmp_path, warm_python):
    """A file system of 700 KiB: training continues, with one warning and its own exit code."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", small], capture_output=True
    ).returncode  # fmt: skip
    if not mounted:
        pytest.skip("cannot mount a file system")
    try:
        program = """
import sys, torch
from torch import nn
from pyrometer import profiler, step_profiler
@profiler(output_dir=sys.argv[1], active=60)
def train():
    model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(20)])
    for _ in range(64):
        model(torch.randn(2, 8)).sum().backward()
        step_profiler()
    return 5
sys.exit(train())
"""
        done = subprocess.run(
            [warm_python, "-c", program, small],
            capture_output=True, text=True, env=ENVIRONMENT, timeout=600,
        )  # fmt: skip
        assert done.returncode == 5
        assert done.stderr.count("pyrometer:") == 1, done.stderr
        assert "No space left on device" in done.stderr or "disk is full" in done.stderr
        assert not list(small.rglob("*.tmp"))
    finally:
        subprocess.run(["umount", small], check=True)


SPAWNED = """
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from pyrometer import profiler, step_profiler

@profiler(output_dir=sys.argv[1], skip_first=0, wait=0, warmup=0, active=2)
def work(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    for _ in range(2):
        torch.ones(4, 4).mm(torch.ones(4, 4))
        step_profiler()
    dist.destroy_process_group()

if __name__ == "__main__":
    import os
    os.makedirs(sys.argv[1], exist_ok=True)
    mp.spawn(work, args=(sys.argv[1],), nprocs=2)
"""


def test_a_group_that_is_made_inside_of_the_function(tmp_path):
    """The rank is known only from the first step's start to the last step's end."""
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    environment = {name: text for name, text in ENVIRONMENT.items() if name != "RANK"}
    done = subprocess.run(
        [sys.executable, script, tmp_path / "logs"],
        capture_output=True, text=True, env=environment, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = sorted(path.name for path in (tmp_path / "logs").iterdir() if path.name != "store")
    assert found == ["rank_0", "rank_1", "trace_rank_0.json", "trace_rank_1.json"]
    for rank in range(2):
        trace = json.loads((tmp_path / "logs" / f"trace_rank_{rank}.json").read_text())
        assert trace["distributedInfo"] == {"backend": "gloo", "rank": rank, "world_size": 2}
    assert done.stdout.count("# of Calls") == 1 and "rank 0 of 2" in done.stdout
    assert "of an earlier run" not in done.stderr
