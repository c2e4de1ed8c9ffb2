"""pyrometer.ray on a real Ray cluster: two nodes on loopback, which the fixture stops."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import pyrometer
from pyrometer._testing import ray_files, ray_group, ray_worker

ray = pytest.importorskip("ray")
torch = pytest.importorskip("torch")

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
LARGE_BYTES = ray_files.PIECE_BYTES * 5 + 7
# Timeouts for hung calls only; Ray may be slow on a busy machine.
LONG_S = 600


class TooCold(Exception):
    """An exception with its own arguments, from a module that only the tests have."""

    def __init__(self, degrees, rank):
        super().__init__(f"{degrees} degrees")
        self.degrees, self.rank = degrees, rank

    def __reduce__(self):
        return TooCold, (self.degrees, self.rank)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    patch.setenv("RAY_AUTH_MODE", "disabled")
    patch.delenv("RAY_ADDRESS", raising=False)
    node = {
        "num_cpus": 2,
        "num_gpus": 2,  # in Ray's accounting
        "object_store_memory": 100 << 20,
    }
    # Ranks use a temporary folder of this test run, in which leftovers are searched.
    patch.setenv("RAY_TMPDIR", tempfile.gettempdir())
    patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
    # Each node has its own folder, so that they share nothing by accident.
    patch.chdir(tmp_path_factory.mktemp("head"))
    made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        patch.chdir(tmp_path_factory.mktemp("node"))
        made.add_node(**node)
        patch.chdir(tmp_path_factory.mktemp("driver"))
        ray.init(address=made.address, log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        patch.undo()


@pytest.fixture
def here(cluster, tmp_path, monkeypatch):
    """A folder for the driver; then checks that the call left nothing on the nodes."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(pathlib.Path(os.environ["TMPDIR"]).glob("pyrometer-ray-*"))
    assert free_cpus() == 4


def free_cpus():
    """Free CPUs of the cluster, after it has noticed ended processes."""
    deadline = time.monotonic() + LONG_S
    while ray.available_resources().get("CPU") != 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    return ray.available_resources().get("CPU")


def names(folder):
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


@pyrometer.ray(num_nodes=2)
@pyrometer.profiler(output_dir="./profiles", skip_first=0, wait=0, active=2)
def train(steps, learning_rate=0.1):
    import torch.distributed as dist

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.full((16, 8), 1.0 + rank)).square().mean().backward()
        optimizer.step()
        pyrometer.step_profiler()
    with open("profiles/large.bin", "wb") as file:  # more than one piece
        file.write(bytes([rank]) * LARGE_BYTES)
    open("profiles/empty", "w").close()
    dist.destroy_process_group()
    return {"rank": rank, "weight": model.module[0].weight.detach().numpy()}


def test_profiled_training_on_two_nodes(here, capfd):
    value = train(4, learning_rate=0.5)
    assert value["rank"] == 0
    value["weight"] += 1  # it belongs to the caller
    logs = here / "profiles"
    found = names(logs)
    tensorboard = [one for one in found if one.startswith("rank_")]
    assert [one for one in found if one not in tensorboard] == [
        "empty",
        "empty.rank1",
        "large.bin",
        "large.rank1.bin",
        "trace_rank_0.json",
        "trace_rank_1.json",
    ]
    assert (logs / "large.bin").read_bytes() == bytes(LARGE_BYTES)
    assert (logs / "large.rank1.bin").read_bytes() == b"\1" * LARGE_BYTES
    for rank in range(2):
        assert {one.split("/")[0] for one in tensorboard} == {"rank_0", "rank_1"}
        trace = pyrometer.trace(logs / f"trace_rank_{rank}.json")
        assert len(trace.steps) == 2
        assert any("allreduce" in one["name"] for one in trace.ops)
    assert f"{len(found)} files of 2 ranks in profiles" in capfd.readouterr().err


VARIABLES = [
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "CUDA_VISIBLE_DEVICES",
]


def test_a_rank_a_gpu(here):
    @pyrometer.ray(num_nodes=2, gpus_per_node=2, return_all=True)
    def environment(names):
        # Not distributed again: inside a rank this is the plain function.
        assert environment.__wrapped__ is not None
        return [os.environ[name] for name in names], os.environ["MASTER_ADDR"], inner(), node()

    @pyrometer.ray(num_nodes=7)
    def inner():
        return os.environ["MASTER_PORT"]

    def node():
        import ray

        return ray.get_runtime_context().get_node_id()

    values, addresses, ports, nodes = zip(*environment(VARIABLES), strict=True)
    assert values == (
        ["0", "4", "0", "2", "0", values[0][-1]],
        ["1", "4", "1", "2", "0", values[0][-1]],
        ["2", "4", "0", "2", "1", values[2][-1]],
        ["3", "4", "1", "2", "1", values[2][-1]],
    )
    assert all(sorted(one[-1].split(",")) == ["0", "1"] for one in values)
    assert set(addresses) == {ray.util.get_node_ip_address()}
    assert len(set(ports)) == 1
    assert nodes[0] == nodes[1] != nodes[2] == nodes[3]


def test_an_exception_of_a_rank(here):
    absolute = here / "logs"

    @pyrometer.ray(num_nodes=2, output_dir=absolute, grace_s=LONG_S)
    def fail():
        rank = int(os.environ["RANK"])
        try:
            if rank == 1:
                while not (here / "begun").exists():
                    time.sleep(0.05)
                raise TooCold(-40, rank)
            (here / "begun").touch()
            time.sleep(LONG_S)
            (absolute / "not-interrupted").touch()
        finally:
            (absolute / f"rank_{rank}.txt").write_text("written while ending")

    with pytest.raises(TooCold) as caught:
        fail()
    assert (caught.value.degrees, caught.value.rank) == (-40, 1)
    assert re.search(r"raised on rank 1 \(pid \d+ on [\d.]+\)", caught.value.__notes__[0])
    assert "raise TooCold(-40, rank)" in str(caught.value.__cause__)
    # An absolute folder of the driver is written to and not removed.
    assert names(absolute) == ["rank_0.txt", "rank_1.txt"]


def test_a_rank_is_killed(here, monkeypatch):
    monkeypatch.setattr(ray_group, "SETTLE_S", LONG_S)  # both end; Ray may notice one much later

    @pyrometer.ray(num_nodes=2)
    def be_killed():
        import torch.distributed as dist

        dist.init_process_group("gloo")
        rank = dist.get_rank()
        with pyrometer.capture(f"profiler_logs/rank_{rank}.pyro"):
            torch.nn.Linear(4, 4)(torch.ones(2, 4))
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            dist.barrier()

    with pytest.raises(pyrometer.Error, match=r"^rank 1 \(pid \d+ on [\d.]+\) died") as caught:
        be_killed()
    assert caught.value.code == "cluster"
    for rank in range(2):
        trace = pyrometer.trace(here / f"profiler_logs/rank_{rank}.pyro")
        assert any(one["name"] == "aten::linear" for one in trace.ops)


def test_the_driver_is_interrupted(here, monkeypatch):
    @pyrometer.ray(num_nodes=2, grace_s=LONG_S)
    def run():
        rank = int(os.environ["RANK"])
        try:
            (here / f"{rank}").touch()
            time.sleep(LONG_S)
            pathlib.Path(f"profiler_logs/{rank}-was-not-interrupted").touch()
        finally:
            pathlib.Path(f"profiler_logs/{rank}").write_text("ended")

    interrupt_ranks = ray_group.Group._interrupt

    def interrupt_and_note(group, running):
        was_heard.set()
        interrupt_ranks(group, running)

    def interrupt():
        while not all((here / rank).exists() for rank in "01") and not has_ended.is_set():
            time.sleep(0.05)
        # Python drops an interrupt that arrives in a callback from C, of which Ray has many. It is
        # sent until the driver starts to stop the ranks.
        while not has_ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            if was_heard.wait(10):
                break

    monkeypatch.setattr(ray_group.Group, "_interrupt", interrupt_and_note)
    was_heard, has_ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        has_ended.set()
        was_heard.set()
    thread.join()
    assert names(here / "profiler_logs") == ["0", "1"]


def test_files_that_cannot_be_written(cluster, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file where a folder should be")

    @pyrometer.ray(output_dir="taken/logs")
    def write():
        pathlib.Path("taken/logs/result").write_text("kept")
        pathlib.Path("elsewhere").write_text("kept")
        return 42

    assert write() == 42
    (message,) = [one for one in capfd.readouterr().err.splitlines() if "pyrometer:" in one]
    kept = pathlib.Path(
        re.match(r"pyrometer: cannot copy the files of ranks from (\S+) on", message)[1]
    )
    assert (kept / "rank_0/taken/logs/result").read_text() == "kept"
    ray_worker.shutil.rmtree(kept)


def test_too_large_for_the_cluster(cluster):
    @pyrometer.ray(num_nodes=3, gpus_per_node=8)
    def never():
        pass

    with pytest.raises(pyrometer.Error) as caught:
        never()
    assert str(caught.value) == (
        "the Ray cluster is too small: requested 3 nodes with 8 CPUs and 8 GPUs each; there are "
        "2 nodes (2 CPUs and 2 GPUs; 2 CPUs and 2 GPUs); add nodes with 'ray start', or request "
        "less"
    )


def test_a_busy_cluster(here):
    from ray.util.placement_group import placement_group, remove_placement_group

    other = placement_group([{"CPU": 1}])
    assert other.wait(LONG_S)
    try:
        with pytest.raises(pyrometer.Error, match=r"busy: requested 2 nodes with 2 CPUs.* 1 s"):
            pyrometer.ray(num_nodes=2, workers_per_node=2, wait_s=1)(print)()
    finally:
        remove_placement_group(other)


def test_a_value_that_cannot_be_sent(here):
    with pytest.raises(pyrometer.Error, match=r"^rank 0 .*cannot send its value of type lock"):
        pyrometer.ray(threading.Lock)()
    with pytest.raises(TypeError) as caught:
        pyrometer.ray(print)(threading.Lock())
    assert "cannot send the function" in caught.value.__notes__[0]


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(pyrometer.Error, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        pyrometer.ray(print)()


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="pip install ray"):
        pyrometer.ray(print)()


def test_the_example(tmp_path, warm_python):
    """Without a cluster, Ray starts on this machine and stops with the call."""
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_ADDRESS": "local"}
    done = subprocess.run(
        [warm_python, EXAMPLES / "ray_training.py", "--workers-per-node", "3", "--steps", "6"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^3 ranks, loss \d+\.\d{4}$", done.stdout, re.MULTILINE)
    for rank in range(3):
        assert len(pyrometer.trace(tmp_path / f"profiler_logs/trace_rank_{rank}.json").steps) == 3


def test_ray_is_imported_only_when_called():
    program = (
        "import sys, pyrometer\n"
        "@pyrometer.ray(num_nodes=2, gpus_per_node=4)\n"
        "def f(): 'doc'\n"
        "assert f.__name__ == 'f' and f.__doc__ == 'doc'\n"
        "assert 'ray' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_nodes": 0},
        {"num_nodes": 1.5},
        {"gpus_per_node": -1},
        {"gpus_per_node": True},
        {"workers_per_node": 0},
        {"gpus_per_node": 2, "workers_per_node": 4},
        {"cpus_per_worker": 0},
        {"output_dir": "../logs"},
    ],
)
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match=list(arguments)[-1]):
        pyrometer.ray(**arguments)(print)


def test_the_folder_is_that_of_the_function_below():
    def function():
        pass

    assert pyrometer.ray()(function).output_dir == "./profiler_logs"
    function.output_dir = "./profiles"
    assert pyrometer.ray()(function).output_dir == "./profiles"
    assert pyrometer.ray(output_dir="mine")(function).output_dir == "mine"


def test_a_rank_reads_what_was_in_the_current_folder(tmp_path, monkeypatch):
    source, folder = tmp_path / "source", tmp_path / "folder"
    (source / "runs/profiles").mkdir(parents=True)
    (source / "data").mkdir()
    for name in ("data/input", "runs/earlier", "runs/profiles/old"):
        (source / name).write_text(name)
    folder.mkdir()
    monkeypatch.chdir(source)
    ray_worker.enter(str(folder), "./runs/profiles")
    assert pathlib.Path.cwd() == folder
    assert pathlib.Path("data/input").read_text() == "data/input"
    assert pathlib.Path("runs/earlier").read_text() == "runs/earlier"
    assert list(pathlib.Path("runs/profiles").iterdir()) == []


def test_an_agent_of_a_folder_that_is_not_the_drivers(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "changed").write_text("before")
    agent = ray_worker.NodeAgent()
    folders = agent.prepare([2, 3], str(tmp_path), "a-token-of-another-machine")
    (tmp_path / "changed").write_text("afterwards")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/file").write_text("0123456789")
    assert agent.files() == [(2, "changed", 10), (2, "new/file", 10)]
    assert agent.read(2, "new/file", 4, 3) == b"456"
    (pathlib.Path(folders[3]) / "checkpoint").write_text("not to be lost")
    assert agent.remove() == ["rank_3/checkpoint"]
    assert (pathlib.Path(folders[3]) / "checkpoint").exists()
    ray_worker.shutil.rmtree(pathlib.Path(folders[3]).parent)
    assert names(tmp_path) == ["changed", "new/file", "old"]


def test_names_of_files():
    taken = {}
    for rank, name, expected in (
        (0, "a/log.txt", "a/log.txt"),
        (1, "a/log.txt", "a/log.rank1.txt"),
        (2, "a/log.rank1.txt", "a/log.rank1.rank2.txt"),
        (3, "log", "log"),
    ):
        found = ray_files.free_name(name, rank, taken)
        taken[found] = rank
        assert found == expected
    for name in ("../up", "/etc/passwd", "a/../../up"):
        with pytest.raises(OSError):
            ray_files.free_name(name, 0, taken)
