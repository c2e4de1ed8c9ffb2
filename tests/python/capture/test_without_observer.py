"""Capturing by torch.profiler: no crash, every op in its layer, and missing data is reported.

The observer is switched off inside this process, so that these run on every machine."""

import collections
import contextlib
import json
import os
import subprocess
import sys
import threading
import time

import pytest
import torch
from recording import Recording
from torch import nn

import pyrometer
from pyrometer import capture_model, parse_model_trace
from pyrometer._testing import finish_passes, kineto, observer_build, session

TOOL = os.path.abspath(os.environ["PYRO_TOOL"]) if "PYRO_TOOL" in os.environ else ""


@pytest.fixture(autouse=True)
def without_observer(monkeypatch, tmp_path):
    """Enables capturing, in a separate folder, without an observer."""
    session.stop()
    reason = observer_build.Unavailable("switched off by a test", expected=True)
    monkeypatch.setattr(observer_build._State, "reason", reason)
    monkeypatch.setenv("PYROMETER", "1")
    monkeypatch.chdir(tmp_path)
    yield
    finish()
    session.stop()


def finish():
    finish_passes()


def make_net(meanwhile=None, **options):
    @capture_model(model_name="Net", **options)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 8)
            self.relu = nn.ReLU()
            self.second = nn.Linear(8, 8)
            self.tanh = nn.Tanh()

        def forward(self, x):
            x = self.relu(self.first(x))
            if meanwhile is not None:
                meanwhile()
            return self.tanh(self.second(x))

    return Net()


def read(path):
    with open(path) as file:
        return json.load(file)


def layers_of_ops(data):
    return tuple(
        (event["name"], event["args"].get("layer"))
        for event in data["traceEvents"]
        if event.get("cat") == "cpu_op"
    )


def trace_tool(*arguments):
    if not TOOL:
        pytest.skip("PYRO_TOOL is not set")
    done = subprocess.run([TOOL, "trace", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@contextlib.contextmanager
def busy_thread():
    """Another thread interrupts the model at any time, as on a busy machine."""
    is_over, before = threading.Event(), sys.getswitchinterval()

    def spin():
        while not is_over.is_set():
            sum(range(100))

    thread = threading.Thread(target=spin)
    sys.setswitchinterval(1e-4)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(before)


def test_identical_passes_have_their_ops_in_the_same_layers(tmp_path):
    net, x = make_net(), torch.ones(2, 8)
    with torch.no_grad(), busy_thread():
        for _ in range(240):
            net(x)
    finish()
    seen = collections.Counter(layers_of_ops(read(path)) for path in tmp_path.glob("*.json"))
    assert sum(seen.values()) == 240
    assert len(seen) == 1, seen.values()
    (ops,) = seen
    assert {layer for _, layer in ops} == {"first", "relu", "second", "tanh"}
    assert dict(ops)["aten::clamp_min"] == "relu" and dict(ops)["aten::tanh"] == "tanh"


def test_identical_passes_have_not_changed(tmp_path):
    net, x = make_net(), torch.ones(2, 8)
    for number in range(4):
        with torch.profiler.profile() if number == 2 else contextlib.nullcontext():
            net(x)
    finish()
    text = trace_tool(*sorted(str(path) for path in tmp_path.glob("*.json")))
    assert "Changed between passes" not in text
    assert "The ops of 1 pass could not be recorded" in text


THREADS = """
import sys, threading
import torch, torch.nn as nn
import pyrometer

torch.set_num_threads(1)

@pyrometer.capture_model(output_dir=sys.argv[1])
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x).relu()

net, x, barrier = Net(), torch.ones(1, 4), threading.Barrier(4)

def work():
    for _ in range(50):
        barrier.wait()
        net(x)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_forwards_on_four_threads_do_not_crash(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", THREADS, str(tmp_path)],
        env={**os.environ, "PYROMETER_OBSERVER": "off"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    paths = sorted(tmp_path.glob("Net_forward_*.json"))
    assert len(paths) == 200
    with_ops = 0
    for path in paths:
        data = read(path)
        layers = [e for e in data["traceEvents"] if e.get("cat") == "layer"]
        assert len(layers) == 2, path
        ops = layers_of_ops(data)
        with_ops += bool(ops)
        is_missing = data["pyrometer"].get("ops") == "missing"
        assert is_missing != bool(ops), path
        assert (
            not is_missing or "ops and memory (torch.profiler was" in data["pyrometer"]["missing"]
        )
        assert {layer for _, layer in ops} <= {"", "linear"}
    assert with_ops >= 1


def test_a_pass_without_ops_says_why_and_gives_no_wrong_advice(tmp_path, capsys):
    net, x = make_net(), torch.ones(2, 8)
    with torch.profiler.profile() as theirs:
        net(x)
    finish()
    assert "aten::addmm" in {event.name for event in theirs.events()}
    path = tmp_path / "Net_forward_001.json"
    assert not layers_of_ops(read(path))
    assert read(path)["pyrometer"]["ops"] == "missing"
    why = "ops and memory (the program's own torch.profiler was running)"
    assert f"Not recorded: {why}" in capsys.readouterr().out
    assert any(note.startswith(f"not recorded: {why}") for note in pyrometer.trace(path).notes)
    with pytest.warns(UserWarning) as warned:
        parse_model_trace(str(path), "Net")
    assert why in str(warned[0].message) and "with_stack" not in str(warned[0].message)


def test_recordings_without_layers_are_not_told_to_use_torch_profiler(tmp_path):
    with pyrometer.capture(tmp_path / "x.pyro", record_shapes=False, profile_memory=False) as block:
        torch.ones(3).add(1)
    assert "aten::add" in block.ops()["name"]
    text = block.summary()
    assert "no module was called" in text and "torch.profiler.profile(" not in text


def test_inputs_of_a_shared_layer_are_read_by_python(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.activation = nn.ReLU()

        def forward(self, x):
            return self.activation(self.activation(x).sum(0))

    net = Net()
    with pyrometer.capture(tmp_path / "x.pyro", with_stack=False):
        for rows in (3, 3, 5, 3):
            net(torch.ones(rows, 2))
    spans = [s for s in Recording(tmp_path / "x.pyro").spans if s.module]
    inputs = [s.inputs[0][1] for s in spans if s.module.path == "activation"]
    assert inputs == [(3, 2), (2,), (3, 2), (2,), (5, 2), (2,), (3, 2), (2,)]


def test_the_programs_profiler_may_start_inside_of_a_forward(tmp_path):
    def meanwhile():
        with torch.profiler.profile() as theirs:
            torch.ones(3) + 1
        seen.append({event.name for event in theirs.events()})

    seen = []
    net = make_net(meanwhile)
    net(torch.ones(2, 8))
    finish()
    assert "aten::add" in seen[0] and not any("pyrometer" in name for name in seen[0])
    data = read(tmp_path / "Net_forward_001.json")
    assert {layer for _, layer in layers_of_ops(data)} == {"first", "relu"}
    assert "later ops and memory" in data["pyrometer"]["missing"]
    assert data["pyrometer"]["ops"] == "missing"


def test_the_programs_profiler_warms_up_undisturbed(tmp_path):
    net, x = make_net(), torch.ones(2, 8)
    schedule = torch.profiler.schedule(wait=1, warmup=2, active=1, repeat=1)
    with torch.profiler.profile(schedule=schedule) as theirs:
        for _ in range(4):
            net(x)
            theirs.step()
    net(x)
    finish()
    assert "aten::addmm" in {event.name for event in theirs.events()}
    has_ops = [bool(layers_of_ops(read(path))) for path in sorted(tmp_path.glob("*.json"))]
    assert has_ops == [True, False, False, False, True]


def test_the_programs_profiler_on_another_thread_waits_for_the_pass(tmp_path):
    def profile():
        begun.set()
        with torch.profiler.profile() as theirs:
            torch.ones(3) + 1
        seen.extend(event.name for event in theirs.events())

    seen, begun, other = [], threading.Event(), threading.Thread(target=profile)

    def meanwhile():
        other.start()
        begun.wait()
        time.sleep(
            0.05
        )  # it waits by now; if it were later, the test would prove nothing, but still pass

    make_net(meanwhile)(torch.ones(2, 8))
    other.join()
    finish()
    assert "aten::add" in seen
    assert len(layers_of_ops(read(tmp_path / "Net_forward_001.json"))) > 10


def test_a_profiler_beside_a_recording_is_refused_and_not_a_crash(tmp_path):
    def profile():
        try:
            with torch.profiler.profile():
                pass
        except RuntimeError as error:
            refused.append(str(error))

    refused = []
    with pyrometer.capture(tmp_path / "x.pyro") as block:
        other = threading.Thread(target=profile)
        other.start()
        other.join()
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert "torch allows one per process" in refused[0]
    assert "aten::addmm" in block.ops()["name"]


def test_an_exception_leaves_the_profiler_free(tmp_path):
    net = make_net(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            net(torch.ones(2, 8))
    finish()
    assert kineto._State.held is None
    for path in tmp_path.glob("*.json"):
        assert {layer for _, layer in layers_of_ops(read(path))} == {"first", "relu"}


def test_a_recording_that_another_thread_ends(tmp_path):
    block = pyrometer.capture(tmp_path / "x.pyro")
    block.__enter__()
    nn.Linear(2, 2)(torch.ones(1, 2))
    other = threading.Thread(target=block.__exit__, args=(None, None, None))
    other.start()
    other.join()
    assert "must be stopped by the thread that started it" in block.trace().notes[0]
    assert len(block.ops()) == 0
    with pyrometer.capture(tmp_path / "y.pyro") as block:
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert "aten::addmm" in block.ops()["name"]


def test_a_recording_whose_thread_has_ended(tmp_path):
    blocks = []

    def begin():
        blocks.append(pyrometer.capture(tmp_path / "x.pyro"))
        blocks[0].__enter__()
        nn.Linear(2, 2)(torch.ones(1, 2))

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    blocks[0].__exit__(None, None, None)
    assert "aten::addmm" in blocks[0].ops()["name"]


def test_a_forked_child_leaves_its_parents_ops_alone(tmp_path):
    net = nn.Linear(2, 2)
    with pyrometer.capture(tmp_path / "x.pyro") as block:
        net(torch.ones(1, 2))
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                net(torch.ones(1, 2))
                session.stop()
                status = 0
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        net(torch.ones(1, 2))
    row = next(row for row in block.ops() if row["name"] == "aten::addmm")
    assert row["calls"] == 2
    assert "ops" not in block.trace().notes[0]
    childs = pyrometer.trace(tmp_path / f"x.{child}.pyro")
    assert childs.layers["calls"][0] == 1 and len(childs.ops) == 0
    assert "not recorded: ops and memory (there is no *.devices.json" in childs.notes[0]


def test_layers_on_other_threads_are_reported(tmp_path):
    net = nn.Linear(2, 2)
    with pyrometer.capture(tmp_path / "x.pyro") as block:
        other = threading.Thread(target=net, args=(torch.ones(1, 2),))
        other.start()
        other.join()
        net(torch.ones(1, 2))
    assert "ops of 1 of 2 layer calls" in block.trace().notes[0]


def test_what_cannot_be_recorded_is_reported(tmp_path):
    with pyrometer.capture(tmp_path / "x.pyro", storages=True) as block:
        make_net()(torch.ones(2, 8))
    (note,) = block.trace().notes
    for what in ("output shapes", "Python stacks", "identities of tensors"):
        assert what in note
    with pytest.raises(pyrometer.Error, match="without the observer"):
        block.graph()
    finish()
    data = read(tmp_path / "Net_forward_001.json")
    assert "they are in the recording" in data["pyrometer"]["missing"]
