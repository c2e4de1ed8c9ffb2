"""The flight recorder: a trigger saves the last part of a run, and recording goes on."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from torch import nn

import pyrometer
from pyrometer._testing import core, devices, observer_build

HERE = pathlib.Path(__file__).resolve().parent
STUBS = HERE.parents[1] / "unit" / "device"
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", HERE.parents[2] / "build/pyrometer"))

pytestmark = pytest.mark.needs_observer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(64, 256)
        self.narrow = nn.Linear(256, 8)

    def forward(self, x):
        return self.narrow(torch.relu(self.wide(x)))


def names(c):
    return [os.path.basename(path) for path in c.saved_files]


def first_screen(path):
    done = subprocess.run([TOOL, "trace", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(model, steps, pauses_s):
    """Steps of at least 2 ms; those with a longer pause pause between forward and backward."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 64)).sum()
        time.sleep(pauses_s.get(step, 0.002))
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize(("trigger", "pause_s"), [("slow-step:100x", 2), ("slow-step", 4)])
def test_a_slow_step_at_random_is_saved_and_named(tmp_path, capsys, trigger, pause_s):
    slow = random.randint(15, 35)
    with pyrometer.capture(tmp_path / "run.pyro", keep_last="20s", on=trigger) as c:
        # What is a little slow, before and after, neither hides the slow step nor has its rank.
        train(Net(), 45, {slow - 3: 0.03, slow: pause_s, slow + 5: 0.1})
    if trigger == "slow-step:100x":
        # A busy machine may delay any step, but not by this much.
        assert names(c) == ["run.slow-step-1.pyro"]
    trace = pyrometer.trace(c.saved_files[-1])
    assert trace.trigger == "slow-step"
    # The first optimizer step begins step 1, so the slow one is the one before in its count.
    assert f"step {slow - 1} took {pause_s}." in trace.trigger_text
    steps = {row["number"]: row["span_ns"] for row in trace.steps}
    assert max(steps, key=steps.get) == slow - 1 and steps[slow - 1] > (pause_s - 0.1) * 1e9
    assert {"", "wide", "narrow"} <= set(trace.layers["path"])
    screen = " ".join(first_screen(c.saved_files[-1]).split())
    assert f"Saved on: slow-step: step {slow - 1} took {pause_s}." in screen
    assert f"Slow step: Python outside ops {pause_s}." in screen and f"--step {slow - 1} " in screen
    assert "saved" in capsys.readouterr().err


def test_out_of_memory_names_who_held_it(tmp_path):
    model, kept = Net(), []
    with (
        pyrometer.capture(tmp_path / "run.pyro", keep_last="30s", on=["oom"]) as c,
        contextlib.suppress(RuntimeError),
    ):
        hook = model.wide.register_forward_hook(lambda *call: kept.append(call[2]))
        for _ in range(3):
            model(torch.randn(1000, 64))
        hook.remove()
        torch.empty(1 << 50)
    assert names(c) == ["run.oom-1.pyro"]
    trace = pyrometer.trace(c.saved_files[0])
    cpu = next(row for row in trace.memory if row["device"] == "cpu")
    assert cpu["failed_bytes"] == 4 << 50
    screen = first_screen(c.saved_files[0])
    assert "Out of memory:" in screen and "Live when memory ran out" in screen
    held = next(line for line in screen.splitlines() if line.strip().startswith("wide"))
    assert "aten::addmm" in held and "3" in held.split() and len(kept) == 3


@pytest.mark.parametrize("options", [{"ops": False}, {"profile_memory": False}, {}])
def test_out_of_memory_is_a_trigger_whatever_is_recorded(tmp_path, capsys, options):
    with pyrometer.capture(tmp_path / "run.pyro", on="oom", **options) as c:
        Net()(torch.ones(1, 64))
        with contextlib.suppress(RuntimeError):
            torch.empty(1 << 50)
        torch.empty(1000).resize_(2000)  # a block of the watched allocator grows
    assert names(c) == ["run.oom-1.pyro"]
    trace = pyrometer.trace(c.saved_files[0])
    assert trace.trigger_text == "an allocation of 4.00 PiB failed on the CPU"
    assert {"", "wide", "narrow"} <= set(trace.layers["path"])
    assert bool(len(trace.ops)) == options.get("ops", True)
    assert [row["device"] for row in trace.memory] == ([] if options else ["cpu"])
    assert "does not see" not in capsys.readouterr().err


def test_uncaught_exceptions_with_their_frame(tmp_path):
    def fail():
        raise ValueError("a bad batch")

    with pytest.raises(ValueError, match="a bad batch"):
        with pyrometer.capture(tmp_path / "run.pyro", on="exception") as c:
            Net()(torch.ones(1, 64))
            fail()
    trace = pyrometer.trace(tmp_path / "run.exception-1.pyro")
    assert trace.trigger_text.startswith("ValueError: a bad batch, at ")
    assert trace.trigger_text.endswith(": fail")
    assert names(c) == ["run.exception-1.pyro"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_exceptions_of_threads(tmp_path):
    def fail():
        raise KeyError("mine")

    with pyrometer.capture(tmp_path / "run.pyro", on="exception") as c:
        Net()(torch.ones(1, 64))
        before = threading.excepthook
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert threading.excepthook is not before
    assert names(c) == ["run.exception-1.pyro"]
    assert "KeyError" in pyrometer.trace(c.saved_files[0]).trigger_text


def wait_for_files(block, count):
    end = time.monotonic() + 60
    while len(block.saved_files) < count and time.monotonic() < end:
        time.sleep(0.01)


def test_signals_reach_the_program_too(tmp_path):
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    try:
        with pyrometer.capture(tmp_path / "run.pyro", on=["SIGUSR1", "signal"]) as c:
            Net()(torch.ones(1, 64))
            os.kill(os.getpid(), signal.SIGUSR1)
            os.kill(os.getpid(), signal.SIGUSR2)  # by itself it would end the process
            wait_for_files(c, 2)
        assert sorted(names(c)) == ["run.SIGUSR1-1.pyro", "run.SIGUSR2-1.pyro"]
        assert seen == [1]
        for path in c.saved_files:
            assert pyrometer.trace(path).trigger in ("SIGUSR1", "SIGUSR2")
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("wraps_again", [False, True])
def test_a_handler_that_was_just_installed(tmp_path, monkeypatch, wraps_again):
    seen, installed = [], signal.signal
    before = signal.getsignal(signal.SIGUSR2)

    def handler(*_):
        seen.append(1)

    try:
        with pyrometer.capture(tmp_path / "run.pyro", on=["signal"]) as c:
            Net()(torch.ones(1, 64))
            with pytest.raises(TypeError):
                signal.signal(signal.SIGUSR2, "not a handler")
            for count in range(1, 4):
                signal.signal(signal.SIGUSR2, handler)
                assert signal.getsignal(signal.SIGUSR2) is handler
                os.kill(os.getpid(), signal.SIGUSR2)  # within the recorder's 200 ms
                wait_for_files(c, count)
            ours = signal.signal
            if wraps_again:
                monkeypatch.setattr(signal, "signal", lambda *args: ours(*args))
        assert seen == [1, 1, 1] and names(c) == [f"run.SIGUSR2-{n}.pyro" for n in (1, 2, 3)]
        assert (signal.signal is installed) != wraps_again
        assert signal.signal(signal.SIGUSR2, handler) is handler
        os.kill(os.getpid(), signal.SIGUSR2)
        assert len(seen) == 4
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGUSR2, before)


def test_memory_stays_flat_over_many_steps(tmp_path):
    model = Net()
    with pyrometer.capture(
        tmp_path / "run.pyro", max_size=2 << 20, keep_last="100 steps", on="slow-step:1000x"
    ):
        sizes = []
        for _ in range(4):
            for _ in range(300):
                model(torch.randn(4, 64))
            sizes.append(core.recorder_status()["file_bytes"])
    assert max(sizes) <= (2 << 20) + (256 << 10)


def test_saving_by_hand_and_the_limit_of_files(tmp_path, capsys):
    with pyrometer.capture(tmp_path / "run.pyro", on="oom", max_files=2) as c:
        Net()(torch.ones(1, 64))
        assert [c.save("first"), c.save(), c.save()] == [True, True, False]
    assert names(c) == ["run.save-1.pyro", "run.save-2.pyro"]
    assert c.status["skipped_triggers"] == 1
    assert pyrometer.trace(c.saved_files[0]).trigger_text == "first"
    assert pyrometer.trace(tmp_path / "run.pyro").trigger is None
    assert capsys.readouterr().err.count("saved") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_last": "30"}, "neither a time nor a number of steps"),
        ({"on": "slow"}, "unknown trigger"),
        ({"on": ["slow-step:fast"]}, "slow-step:1.5x"),
        ({"keep_last": True}, "max_size"),
        ({"keep_last": [30]}, "keep_last must be True, seconds, or a text"),
        ({"keep_last": 0}, "keeps nothing"),
        ({"max_size": "1M"}, 'max_size: "1M" is too small'),
        ({"max_size": "much"}, 'max_size: "much" is not a size'),
        ({"max_size": -1}, 'max_size: "-1" is not a size'),
        ({"max_size": 1.5}, 'max_size must be bytes or a text such as "500M", not 1.5'),
        ({"on": 5}, "on must be a trigger"),
        ({"on": ["oom", 5]}, "on must be a trigger"),
        ({"on": "oom", "max_files": 0}, "max_files must be a number from 1 to 9999, not 0"),
        ({"on": "oom", "max_files": -1}, "max_files must be"),
        ({"on": "oom", "max_files": "2"}, "max_files must be"),
    ],
)
def test_refusals(tmp_path, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pyrometer.capture(tmp_path / "run.pyro", **options)
    with pytest.raises(ValueError, match="need a path"):
        pyrometer.capture(on="oom")


def test_sizes_as_texts_and_the_status_afterwards(tmp_path):
    with pyrometer.capture(tmp_path / "run.pyro", max_size="2M", keep_last=True) as c:
        Net()(torch.ones(1, 64))
        assert core.recorder_status()["running"]
    assert c.status["running"] is False and c.status["chunks"] > 0
    assert c.trace().layers["calls"][0] == 1


def test_torch_profiler_is_refused_once_cuda_is_used(tmp_path, monkeypatch, capsys):
    waiting = []
    monkeypatch.setattr(devices, "when_cuda_is_used", waiting.append)
    options = {"keep_last": "30s", "gpu": "torch", "gpu_sampling": 0}
    with pyrometer.capture(tmp_path / "cpu.pyro", **options):
        Net()(torch.ones(1, 64))
    (late,) = waiting
    late()  # the recording is over
    assert "kernels" not in capsys.readouterr().err
    monkeypatch.setattr(devices, "when_cuda_is_used", lambda method: method())
    with pyrometer.capture(tmp_path / "gpu.pyro", **options):
        Net()(torch.ones(1, 64))
    assert "kernels are not recorded: torch.profiler would keep" in capsys.readouterr().err


def test_without_the_observer_layers_are_recorded(tmp_path, monkeypatch, capsys):
    def fail(flags):
        raise observer_build.Unavailable("no compiler")

    monkeypatch.setattr(observer_build, "start", fail)
    with pyrometer.capture(tmp_path / "run.pyro", on="oom") as c:
        Net()(torch.ones(1, 64))
        c.save()
    trace = pyrometer.trace(c.saved_files[0])
    assert trace.layers["path"] == ["", "wide", "narrow"] and not len(trace.ops)
    said = capsys.readouterr().err
    assert "ops are not recorded: no compiler" in said
    assert said.count("the trigger oom does not see") == 1
    assert not list(tmp_path.glob("*.json"))


def test_without_the_observer_the_limit_of_oom_is_one_line(tmp_path, monkeypatch, capsys):
    def fail(flags):
        raise observer_build.Unavailable("no compiler")

    monkeypatch.setattr(observer_build, "start", fail)
    for trigger, lines in (("oom", 1), ("slow-step", 0)):
        with pyrometer.capture(tmp_path / "run.pyro", on=trigger, ops=False) as c:
            with contextlib.suppress(RuntimeError):
                torch.empty(1 << 50)
        assert c.saved_files == []
        said = capsys.readouterr().err.splitlines()
        assert len(said) == lines
        assert all("oom does not see" in line and "no compiler" in line for line in said)
    with pytest.raises(RuntimeError):
        with pyrometer.capture(tmp_path / "run.pyro", on="oom", ops=False) as c:
            torch.empty(1 << 50)
    assert names(c) == ["run.oom-1.pyro"]


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    """What flight_driver.py found, by scenario, in one process."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("flight")
    stubs = []
    for name in ("cupti_stub", "nvtx_stub"):
        stubs.append(folder / f"lib{name}.so")
        flags = ["-shared", "-fPIC", "-D_GNU_SOURCE", "-o", str(stubs[-1])]
        source = str(STUBS / f"{name}.c")
        subprocess.run([*compiler.split(), *flags, source, "-lpthread"], check=True)
    stubs.append(folder / "libc10_cuda.so")
    torch_lib = os.path.join(os.path.dirname(torch.__file__), "lib")
    flags = ["-shared", "-fPIC", "-o", str(stubs[-1]), str(STUBS / "c10_cuda_stub.c")]
    subprocess.run([*compiler.split(), *flags, f"-L{torch_lib}", "-lc10"], check=True)
    done = subprocess.run(
        [sys.executable, HERE / "flight_driver.py", *stubs, folder],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_layers_as_nvtx_ranges(scenarios):
    assert scenarios["ranges"] == {
        "inside": ["<Net", "<body", "<body.0", ">", "<body.1", ">", ">", ">"],
        "after": [],
    }
    assert scenarios["ranges_of_exceptions"] == ["<Net", ">"]


def test_profiled_steps_as_nvtx_ranges(scenarios):
    found = scenarios["profiled_steps"]
    assert found["calls"] == ["start", "stop"]
    step = ["<ProfilerStep#{}", "<Linear", ">", ">"]
    assert found["seen"] == [one.format(number) for number in (1, 2) for one in step]


def test_a_server_controls_what_is_recorded(scenarios):
    found = scenarios["profiler_windows"]
    assert found["names"] == ["server.cuda-profiler-1.pyro"]
    assert found["calls"] == 3 and found["kernels"] == 3
    assert "cudaProfilerStart" in found["text"]


@pytest.mark.skipif(bool(torch.version.cuda or torch.version.hip), reason="torch has an allocator")
@pytest.mark.parametrize("way", ["collector", "taken", "lost", "torch", "none"])
def test_memory_of_gpus_needs_no_kernels(scenarios, way):
    found = scenarios["gpu_memory"][way]
    assert found["names"] == ["gpu.oom-1.pyro"]
    assert found["text"] == "an allocation of 1.00 TiB failed on cuda:3"
    # "none" records the host alone; the stub's total is 100 bytes.
    assert found["peaks"] == ({} if way == "none" else {"cuda:3": 100})
    assert found["failed"] == ({} if way == "none" else {"cuda:3": 1 << 40})
    assert found["layer_mib"] == (0 if way == "none" else 2)


@pytest.mark.skipif(bool(torch.version.cuda or torch.version.hip), reason="torch has an allocator")
def test_memory_of_gpus_is_recorded_once(scenarios):
    """torch.profiler, in the collector's place, leaves memory to the library."""
    assert scenarios["gpu_memory_beside_torch"] == {"by_torch": False, "layer_mib": 1}


class Cudart:
    """Stands for torch._C._cudart of a torch with CUDA."""

    def __init__(self):
        self.calls = []

    def cudaProfilerStart(self):
        self.calls.append("start")

    def cudaProfilerStop(self):
        self.calls.append("stop")


def test_windows_by_torch(tmp_path, monkeypatch):
    cudart, model = Cudart(), Net()
    monkeypatch.setattr(torch._C, "_cudart", cudart, raising=False)
    with pyrometer.capture(tmp_path / "run.pyro", on="cuda-profiler") as c:
        model(torch.ones(1, 64))
        torch._C._cudart.cudaProfilerStart()
        model(torch.ones(2, 64))
        torch._C._cudart.cudaProfilerStop()
    assert cudart.calls == ["start", "stop"]
    assert pyrometer.trace(c.saved_files[0]).layers["calls"][0] == 1
    assert cudart.cudaProfilerStart.__name__ == "cudaProfilerStart"


def run(folder, *options, program):
    package = str(pathlib.Path(pyrometer.__file__).parents[1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([package, environment.get("PYTHONPATH", "")])
    (folder / "serve.py").write_text(program)
    return subprocess.run(
        [TOOL, "run", "--python", sys.executable, *options, "serve.py"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


CALL = "import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))\n"


@pytest.mark.parametrize(
    ("options", "program", "said"),
    [
        (["--on", "cuda-profiler"], CALL, "nothing was recorded: the program opened no window"),
        (
            ["--on", "cuda-profiler", "--keep-last", "30s"],
            CALL,
            "serve.pyro has the end of the run",
        ),
        (["--on", "oom"], "import torch\n", "serve.pyro is empty: no op was called"),
    ],
)
def test_a_run_without_triggers(tmp_path, options, program, said):
    done = run(tmp_path, *options, program=program)
    assert done.returncode == 0 and said in done.stderr, done.stderr
    assert ("the end of the run" in done.stderr.replace("record the end of the run", "")) == (
        "the end" in said
    )


PROGRAM = """
import time, torch
from torch import nn
class Net(nn.Module):
    def forward(self, x):
        time.sleep(1.5 if step == 20 else 0.001)
        return x + 1
model = Net()
for step in range(1, 31):
    model(torch.ones(2, 8))
def fail():
    raise ValueError("mine")
fail()
"""


def test_run(tmp_path):
    triggers = "slow-step:200x, oom, exception, SIGUSR2"
    done = run(tmp_path, "--keep-last", "20s", "--on", triggers, program=PROGRAM)
    assert done.returncode == 1 and "ValueError: mine" in done.stderr
    saved = sorted(path.name for path in tmp_path.glob("serve.*-*.pyro"))
    assert saved == ["serve.exception-1.pyro", "serve.slow-step-1.pyro"]
    assert "pyrometer: saved serve.slow-step-1.pyro: call 20 of Net took 1." in done.stderr
    text = pyrometer.trace(tmp_path / "serve.exception-1.pyro").trigger_text
    assert text.startswith("ValueError: mine, at ") and text.endswith("serve.py(12): fail")
    assert "next: pyrometer trace serve.slow-step-1.pyro" in done.stderr
