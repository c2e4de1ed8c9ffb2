"""profiler() and step_profiler() in one process: schedule, files, summary, results and errors."""

import itertools
import json
import os
import subprocess
import sys
import threading
import warnings

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import pyrometer
from pyrometer import profiler, step_profiler
from pyrometer._testing import NEVER, Schedule, training, training_files


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))


def train(steps, model=None, step=step_profiler):
    model = model or make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 32)), torch.zeros(16).long())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step()
    return steps


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def steps_in(path):
    events = json.loads(path.read_text())["traceEvents"]
    return [event["name"] for event in events if event["name"].startswith("ProfilerStep#")]


GRID = list(itertools.product((0, 1, 3), (0, 1, 2), (0, 1, 2), (1, 3), (0, 1, 2)))


def test_schedule_is_torchs():
    for skip_first, wait, warmup, active, repeat in GRID:
        ours = Schedule(skip_first, wait, warmup, active, repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no warm-up
            theirs = torch.profiler.schedule(
                skip_first=skip_first, wait=wait, warmup=warmup, active=active, repeat=repeat
            )
        for step in range(30):
            assert ours.action(step).name == theirs(step).name, (ours, repeat, step)


def test_nothing_changes_before_it_is_due():
    for numbers in GRID:
        schedule = Schedule(*numbers)
        for step in range(30):
            action, due = schedule.action(step), schedule.next_due(step)
            assert due > step
            for later in range(step + 1, min(due, 60)):
                assert schedule.action(later) is action
            if due != NEVER and action.name in ("NONE", "WARMUP"):
                assert schedule.action(due) is not action


@pytest.mark.parametrize(
    "numbers", [{"active": 0}, {"wait": -1}, {"repeat": 1.5}, {"warmup": True}, {"skip_first": "1"}]
)
def test_bad_numbers(numbers):
    with pytest.raises(ValueError, match=f"profiler: {next(iter(numbers))} must be an integer"):
        profiler(**numbers)


def test_defaults(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    @profiler
    def run():
        """Trains."""
        return train(8)

    assert run() == 8
    assert (run.__name__, run.__doc__) == ("run", "Trains.")
    folder = tmp_path / "profiler_logs"
    assert names(folder) == ["rank_0", "trace_rank_0.json"]
    assert steps_in(folder / "trace_rank_0.json") == [f"ProfilerStep#{n}" for n in (3, 4, 5)]
    kinds = sorted(name.split(".")[0] for name in names(folder / "rank_0"))
    assert kinds[0] == "events" and kinds[1].endswith(f"_{os.getpid()}_rank0") and len(kinds) == 2
    output, messages = capfd.readouterr()
    assert messages == ""
    assert output.startswith("\nSteps 3 to 5, rank 0\n")
    titles = next(line for line in output.splitlines() if "# of Calls" in line)
    assert titles.split("  ")[-1].strip() == "# of Calls"
    assert [title.strip() for title in titles.split("  ") if title.strip()] == [
        "Name", "Self FLOPS", "CPU total", "CUDA total", "# of Calls"
    ]  # fmt: skip
    assert "FLOP per step (convention full)" in output
    assert "profiler_logs/trace_rank_0.json" in output


def test_rows_of_the_summary_are_those_of_the_trace(tmp_path, capfd):
    with profiler(output_dir=tmp_path) as profile:
        train(8, step=profile.step)
    lines = capfd.readouterr().out.splitlines()
    ops = {row["name"]: row for row in pyrometer.trace(tmp_path / "trace_rank_0.json").ops}
    # Three steps: the first layer's weight, and both gradients of the second.
    macs = 3 * (16 * 32 * 64 + 2 * 16 * 64 * 10)
    assert ops["aten::mm"]["flops"] == 2 * macs and ops["aten::mm"]["calls"] == 9
    rules = [i for i, line in enumerate(lines) if line.startswith("---")]
    rows = [line.rsplit(None, 4) for line in lines[rules[1] + 1 : rules[2]]]
    times = []
    for name, flops, host, device, calls in rows:
        name = name.strip()  # long names are cut and end in dots
        op = ops.get(name) or next(ops[one] for one in ops if one.startswith(name.rstrip(".")))
        assert int(calls) == op["calls"] and device == "--"
        if flops != "--":
            amount = float(flops.rstrip("KM")) * {"K": 1e3, "M": 1e6}.get(flops[-1], 1)
            assert amount == pytest.approx(op["flops"], rel=1e-3)
        times.append(op["host_total_ns"])
        assert float(host[:-2]) * {"us": 1e3, "ms": 1e6}[host[-2:]] == pytest.approx(
            times[-1], abs=1000
        )
    assert len(rows) == 10 and times == sorted(times, reverse=True)


def test_parts_of_a_step_add_up(tmp_path, capfd):
    with profiler(output_dir=tmp_path, active=4) as profile:
        train(9, step=profile.step)
    lines = capfd.readouterr().out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("Step  "))
    scale = {"us": 1e3, "ms": 1e6}
    for line in lines[begin + 1 : begin + 5]:
        label, time, *parts = line.split()
        values = [float(part[:-2]) * scale[part[-2:]] for part in (time, *parts)]
        assert sum(values[1:]) == pytest.approx(values[0], rel=1e-3)
        assert label in "3456" and all(value > 0 for value in values[1:4])
    assert lines[begin + 5].startswith("mean ")


def test_cycles(tmp_path, capfd):
    train_profiled = profiler(
        output_dir=tmp_path, skip_first=0, wait=0, warmup=1, active=2, repeat=3
    )(train)
    assert train_profiled(12) == 12
    assert names(tmp_path) == [
        "rank_0", "trace_rank_0.json", "trace_rank_0_2.json", "trace_rank_0_3.json"
    ]  # fmt: skip
    assert steps_in(tmp_path / "trace_rank_0_3.json") == ["ProfilerStep#7", "ProfilerStep#8"]
    assert len(list((tmp_path / "rank_0").glob("*.pt.trace.json"))) == 3
    assert len(list((tmp_path / "rank_0").glob("events.*"))) == 1
    assert capfd.readouterr().out.count("# of Calls") == 3


def test_windows_in_the_history(tmp_path, capfd):
    """One line per output folder; a history that cannot be written changes nothing else."""
    db = tmp_path / "history.db"
    profiler(output_dir=tmp_path / "run", repeat=2, history=db)(train)(12)
    lines = pyrometer.history(db).lines(metric="step_time")
    assert f"{len(os.sched_getaffinity(0))} CPUs" in lines[0]["machine_class"]
    assert [line["benchmark"] for line in lines] == ["run rank 0"]
    assert [point["n"] for point in lines[0]["points"]] == [3, 3]
    profiler(output_dir=tmp_path / "other", history=tmp_path / "none" / "h.db")(train)(6)
    assert "not in the history" in capfd.readouterr().err
    assert "trace_rank_0.json" in names(tmp_path / "other")


def test_no_end_keeps_a_bounded_number_of_files(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(training_files, "KEPT_CYCLES", 3)
    with profiler(output_dir=tmp_path, skip_first=0, wait=0, warmup=0, active=1, repeat=0) as p:
        train(7, step=p.step)
    kept = [name for name in names(tmp_path) if name.startswith("trace")]
    # The first, and the last two; an eighth never ran.
    assert kept == ["trace_rank_0.json", "trace_rank_0_6.json", "trace_rank_0_7.json"]
    assert len(list((tmp_path / "rank_0").glob("*.pt.trace.json"))) == 3


def test_files_of_an_earlier_run_are_moved(tmp_path, capfd):
    for name in ("trace_rank_0.json", "trace_rank_0_2.json", "trace_rank_12.json", "notes.json"):
        (tmp_path / name).write_text("{}")
    with profiler(output_dir=tmp_path) as p:
        train(6, step=p.step)
    assert names(tmp_path) == [
        "notes.json", "rank_0", "trace_rank_0.json", "trace_rank_0.json.1",
        "trace_rank_0_2.json.1", "trace_rank_12.json.1",
    ]  # fmt: skip
    assert "of an earlier run" in capfd.readouterr().err


def test_the_folder_is_that_of_the_begin(tmp_path, monkeypatch, capfd):
    run = profiler(output_dir="logs")(train)
    assert run.output_dir == "logs"
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run(6, step=lambda: (step_profiler(), os.chdir(tmp_path / "there")))
    assert names(tmp_path / "here") == ["logs"] and names(tmp_path / "there") == []


def test_forked_workers_leave_nothing(tmp_path, capfd):
    """Workers of a loader start in the middle of the active steps."""
    data = torch.utils.data.TensorDataset(torch.randn(8, 32))
    with profiler(output_dir=tmp_path, skip_first=0, wait=0, active=2) as profile:
        for _ in range(4):
            loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=1)
            for (batch,) in loader:
                make_model()(batch).sum().backward()
            profile.step()
    assert not list(tmp_path.rglob("*.pyro"))
    training = pyrometer.trace(tmp_path / "trace_rank_0.json").training
    assert [row["number"] for row in training] == [1, 2] and min(training["data_ns"]) > 0


@pytest.mark.parametrize("steps", [0, 2])
def test_too_few_steps(tmp_path, capfd, steps):
    assert profiler(output_dir=tmp_path)(train)(steps) == steps
    output, messages = capfd.readouterr()
    assert output == ""
    assert "nothing was profiled: the schedule needs 6 steps" in messages
    assert "skip_first 1 + wait 1 + warmup 1 + active 3" in messages
    assert f"step_profiler() was called {steps} times" in messages
    assert ("call it at the end of every step" in messages) == (steps == 0)
    assert not list(tmp_path.rglob("*.pyro")) and not list(tmp_path.rglob("*.json"))


def test_some_of_the_active_steps(tmp_path, capfd):
    profiler(output_dir=tmp_path)(train)(5)
    output, messages = capfd.readouterr()
    assert output.startswith("\nSteps 3 to 4, rank 0\n")
    assert "only 2 of 3 active steps were profiled" in messages


@pytest.mark.parametrize(
    ("options", "steps", "kept"),
    [
        ({}, 3, []),
        ({"skip_first": 0, "wait": 0, "warmup": 0}, 0, []),
        ({"skip_first": 0, "wait": 0, "warmup": 0, "repeat": 0}, 3, [[0, 1, 2]]),
        ({"skip_first": 0, "wait": 0, "warmup": 0, "repeat": 0}, 4, [[0, 1, 2], [3]]),
        ({"skip_first": 0, "wait": 0, "warmup": 1, "repeat": 0}, 4, [[1, 2, 3]]),
        ({}, 5, [[3, 4]]),
    ],
)
@pytest.mark.parametrize("is_busy_afterwards", [False, True])
def test_a_step_that_never_ran_is_not_there(
    tmp_path, capfd, options, steps, kept, is_busy_afterwards
):
    def run():
        train(steps)
        if is_busy_afterwards and steps:
            make_model()(torch.randn(2, 32))  # an evaluation after the last step

    profiler(output_dir=tmp_path, **options)(run)()
    paths = [tmp_path / f"trace_rank_0{'' if n == 0 else f'_{n + 1}'}.json" for n in range(3)]
    assert [path.exists() for path in paths] == [n < len(kept) for n in range(3)]
    for path, numbers in zip(paths, kept, strict=False):
        assert steps_in(path) == [f"ProfilerStep#{number}" for number in numbers]
        assert [row["number"] for row in pyrometer.trace(path).training] == numbers
    output, messages = capfd.readouterr()
    assert output.count("# of Calls") == len(kept)
    assert ("nothing was profiled" in messages) == (not kept)
    assert not list(tmp_path.rglob("*.pyro"))
    assert len(list(tmp_path.rglob("events.*"))) == bool(kept)


def test_one_step_without_a_call(tmp_path, capfd):
    with profiler(output_dir=tmp_path, skip_first=0, wait=0, warmup=0, active=1):
        train(1, step=lambda: None)
    output, messages = capfd.readouterr()
    assert output.startswith("\nStep 0, rank 0\n") and messages == ""


def test_exceptions_pass_through(tmp_path, capfd):
    error = KeyError("mine")

    @profiler(output_dir=tmp_path)
    def run():
        train(4)
        raise error

    with pytest.raises(KeyError) as caught:
        run()
    assert caught.value is error
    assert "; the training raised KeyError" in capfd.readouterr().out
    assert steps_in(tmp_path / "trace_rank_0.json")[0] == "ProfilerStep#3"
    assert profiler(output_dir=tmp_path)(train)(6) == 6


def test_disabled_is_the_function_itself(tmp_path):
    assert profiler(enabled=False)(train) is train
    with profiler(enabled=False, output_dir=tmp_path) as profile:
        train(8, step=profile.step)
    assert names(tmp_path) == []
    step_profiler()


def test_nested_use_is_refused(tmp_path, capfd):
    inner = profiler(output_dir=tmp_path)(train)
    with profiler(output_dir=tmp_path) as profile:
        with pytest.raises(RuntimeError, match="profilers cannot be nested"):
            inner(1)
        with profiler(enabled=False):
            train(6, step=profile.step)
    assert steps_in(tmp_path / "trace_rank_0.json")
    assert training._current is None


def test_other_kinds_of_functions(tmp_path, capfd):
    @profiler(output_dir=tmp_path)
    async def run():
        return train(6)

    @profiler(output_dir=tmp_path)
    def pieces():
        yield train(6)
        return 7

    import asyncio

    assert asyncio.run(run()) == 6
    assert list(pieces()) == [6]
    assert capfd.readouterr().out.count("Steps 3 to 5") == 2
    with pytest.raises(TypeError, match="profiler can only decorate functions"):
        profiler()(3)


def test_options_do_what_they_say(tmp_path, capfd):
    def run(name, **options):
        with profiler(output_dir=tmp_path / name, active=1, **options) as profile:
            train(4, step=profile.step)
        events = json.loads((tmp_path / name / "trace_rank_0.json").read_text())["traceEvents"]
        op = next(event for event in events if event["name"] == "aten::addmm")
        return op["args"], capfd.readouterr().out

    plain, text = run("plain")
    assert "Input Dims" in plain and "Stack" not in plain and plain["layer"] == "0"
    assert "Layer Analysis" not in text
    bare, text = run("bare", with_flops=False)
    assert "Input Dims" not in bare and "FLOP" not in text and "# of Calls" in text
    stacks, _ = run("stacks", with_stack=True)
    assert any("test_training.py" in frame for frame in stacks["Stack"])
    _, text = run("modules", with_modules=True)
    assert "Layer Analysis" in text and "(16, 32)" in text


def test_steps_of_other_threads_count(tmp_path, capfd):
    with profiler(output_dir=tmp_path):
        thread = threading.Thread(target=train, args=(6,))
        thread.start()
        thread.join()
    assert len(steps_in(tmp_path / "trace_rank_0.json")) == 3


def test_inside_a_recording_is_said_and_training_goes_on(tmp_path, capfd):
    with pyrometer.capture(tmp_path / "mine.pyro") as recording:
        assert profiler(output_dir=tmp_path)(train)(6) == 6
    assert recording.ops()
    messages = capfd.readouterr().err
    assert messages.count("cannot profile the training: a recording is already running") == 1
    assert "nothing was profiled" not in messages


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.LSTM(16, 24, 2)
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.recurrent(x)[0])


def resnet18():
    from torchvision.models import resnet18

    return resnet18(num_classes=10)


MODELS = {
    "products": (make_model, (16, 32)),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Flatten(), nn.Linear(4 * 16 * 16, 5),
        ),
        (4, 3, 16, 16),
    ),
    "recurrent": (Recurrent, (7, 3, 16)),
    "attention": (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (2, 9, 32)),
    "resnet18": (resnet18, (2, 3, 32, 32)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_flops_of_a_step_are_torchs(tmp_path, capfd, name):
    """In the convention torch, with torch's counter configured to see everything."""
    make, shape = MODELS[name]
    model = make()
    inputs = torch.randn(shape)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def one_step():
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    was_fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            with profiler(output_dir=tmp_path, wait=0, active=2) as profile:
                for _ in range(4):
                    one_step()
                    profile.step()
            with FlopCounterMode(display=False) as counter:
                one_step()
    finally:
        torch.backends.mha.set_fastpath_enabled(was_fast)
    rows = list(pyrometer.trace(tmp_path / "trace_rank_0.json").training)
    assert [row["torch_flops"] for row in rows] == [counter.get_total_flops()] * 2
    assert all(row["flops"] > row["torch_flops"] for row in rows)


MEMORY = """
import gc, sys, torch
from torch import nn
from pyrometer import profiler, step_profiler
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
optimizer = torch.optim.AdamW(model.parameters())
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
@profiler(output_dir=sys.argv[1], wait=46, active=3, repeat=0)
def train():
    sizes = []
    for step in range(1000):
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        step_profiler()
        if step % 100 == 99:
            sizes.append(resident())
    return sizes
sizes = train()
print("sizes", *sizes)
"""


def test_memory_of_a_long_run_is_flat(tmp_path):
    done = run_script(MEMORY, str(tmp_path))
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("sizes"))
    sizes = [int(size) for size in line.split()[1:]]
    assert done.stdout.count("# of Calls") == 20
    # 14 cycles in between, so that leaks would add up.
    assert max(sizes[3:]) - sizes[2] < 4 << 20, sizes
    assert len(list(tmp_path.glob("trace_rank_0*.json"))) == 16
    assert not list(tmp_path.rglob("*.pyro"))


def run_script(text, *arguments, python=sys.executable, **environment):
    return subprocess.run(
        [python, "-c", text, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        timeout=600,
    )


PROGRAM = """
import sys, torch
from torch import nn
from pyrometer import profiler, step_profiler
@profiler(output_dir=sys.argv[1])
def train():
    model = nn.Linear(8, 8)
    for _ in range(6):
        model(torch.randn(2, 8)).sum().backward()
        step_profiler()
    return 3
sys.exit(train())
"""


def test_under_pyrometer_run(tmp_path):
    """The program's own recording continues after the active steps."""
    tool = os.environ.get("PYRO_TOOL")
    if not tool or not os.path.exists(tool):
        pytest.skip("PYRO_TOOL is not set")
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [tool, "run", "--python", sys.executable, "-o", tmp_path / "all.pyro", script, tmp_path],
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert len(pyrometer.trace(tmp_path / "trace_rank_0.json").training) == 3
    assert len(list(tmp_path.glob("all*.pyro"))) == 2


def test_output_that_cannot_be_written(tmp_path, warm_python):
    (tmp_path / "file").write_text("")
    done = run_script(PROGRAM, str(tmp_path / "file" / "logs"), python=warm_python)
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr.count("pyrometer:") == 1
    assert "cannot profile the training" in done.stderr and "Not a directory" in done.stderr


def test_rank_from_the_environment(tmp_path, warm_python):
    done = run_script(PROGRAM, str(tmp_path), python=warm_python, RANK="2", WORLD_SIZE="4")
    assert done.returncode == 3 and (done.stdout, done.stderr) == ("", "")
    assert names(tmp_path) == ["rank_2", "trace_rank_2.json"]
    trace = json.loads((tmp_path / "trace_rank_2.json").read_text())
    assert trace["distributedInfo"] == {"backend": "", "rank": 2, "world_size": 4}


def test_without_a_gpu_nsight_is_one_warning(tmp_path, warm_python):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = run_script(PROGRAM.replace("sys.argv[1]", "sys.argv[1], nsight_enabled=True, repeat=2"),
                      str(tmp_path), python=warm_python)  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.count("nsight_enabled has no effect") == done.stderr.count("\n") == 1
    assert (tmp_path / "trace_rank_0.json").exists()
