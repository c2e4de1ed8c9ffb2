"""Faults in a program or in the recorder never change the program's behavior."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn

import pyrometer
from pyrometer import capture_model
from pyrometer._testing import finish_passes

HERE = pathlib.Path(__file__).parent

MODEL = """
import os, signal, sys, threading, torch
from torch import nn
import pyrometer
from pyrometer import capture_model

@capture_model
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
    def forward(self, x, fail=None):
        x = self.linear(x)
        if fail is not None:
            raise fail
        return x

torch.manual_seed(0)
net, x = Net(), torch.ones(1, 8)
"""

PROGRAMS = {
    "fine": "print(net(x).sum().item())",
    "raises": "net(x)\nnet(x, fail=ValueError('mine'))",
    "catches": """
try:
    net(x, fail=ValueError('mine'))
except ValueError as error:
    print(repr(error), error.__traceback__.tb_next is not None)
print(net(x).sum().item())""",
    "exits": "net(x)\nsys.exit(7)",
    "interrupted": """
def stop(module, arguments):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100000):
        pass
net.linear.register_forward_pre_hook(stop)
net(x)""",
    "hook": """
def failing(module, arguments, output):
    raise KeyError('hook')
net.linear.register_forward_hook(failing)
net(x)""",
    "thread": """
thread = threading.Thread(target=net, args=(x,))
thread.start(); thread.join(); print('joined')""",
    "no_folder": """
os.environ['PYROMETER_OUTPUT_DIR'] = '/proc/there/is/none'
print(net(x).sum().item())""",
    "at_exit": """
import atexit
atexit.register(lambda: print(net(x).sum().item()))
net(x)""",
    "leaves_at_once": "net(x)\nsys.stdout.flush()\nos._exit(5)",
}


def run_jobs(tmp_path, jobs):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(jobs))
    done = subprocess.run(
        [sys.executable, str(HERE / "fault_driver.py"), str(path)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def make_job(tmp_path, name, code, environment, **more):
    folder = tmp_path / name
    folder.mkdir()
    return {"name": name, "folder": str(folder), "code": code, "environment": environment, **more}


def own_output(text):
    """A program's output without Pyrometer's tables and lines; ignores its line numbers."""
    blocks = re.sub(r"\n.*Layer Analysis for (.|\n)*?\nTOTAL.*\n", "", text)
    return [line for line in blocks.splitlines() if not line.startswith("pyrometer:")]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    root = tmp_path_factory.mktemp("programs")
    jobs = []
    for name, code in PROGRAMS.items():
        for state, environment in (("on", {"PYROMETER": "1"}), ("off", {"PYROMETER": "0"})):
            jobs.append(make_job(root, f"{name}-{state}", MODEL + code, environment))
    return root, run_jobs(root, jobs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_the_same_with_us(programs, name):
    root, statuses = programs
    assert statuses[f"{name}-on"] == statuses[f"{name}-off"]
    for stream in ("stdout", "stderr"):
        on, off = ((root / f"{name}-{state}" / stream).read_text() for state in ("on", "off"))
        assert own_output(on) == own_output(off)
    assert not list((root / f"{name}-off").glob("*.json"))


@pytest.mark.parametrize(
    ("name", "passes"),
    [("fine", 1), ("raises", 2), ("catches", 2), ("exits", 1), ("interrupted", 1), ("hook", 1),
     ("thread", 1), ("no_folder", 0), ("at_exit", 2)],
)  # fmt: skip
def test_their_passes_are_complete(programs, name, passes):
    root, _ = programs
    files = sorted((root / f"{name}-on").glob("*.json"))
    assert len(files) == passes
    for path in files:
        assert json.loads(path.read_text())["traceEvents"]
    tables = (root / f"{name}-on" / "stdout").read_text().count("TOTAL")
    assert tables == passes
    if name == "no_folder":
        said = (root / f"{name}-on" / "stderr").read_text()
        assert said.count("pyrometer: cannot write passes") == 1


KILLED = """
import mmap
counter = os.open('counter', os.O_RDWR | os.O_CREAT)
os.ftruncate(counter, 8)
memory = mmap.mmap(counter, 8)
model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(4)])
with pyrometer.capture('run.pyro'):
    open('started', 'w').close()
    count = 0
    while True:
        model(x).sum().backward()
        count += 1
        memory[:8] = count.to_bytes(8, 'little')
"""


def test_fifty_kills(tmp_path):
    chance = random.Random(5)
    jobs = [
        make_job(
            tmp_path,
            f"kill{number}",
            MODEL + KILLED,
            {},
            kill_after_calls=chance.randrange(200),
            pause_s=chance.random() / 500,
        )
        for number in range(50)
    ]
    run_jobs(tmp_path, jobs)
    counts = []
    for job in jobs:
        folder = pathlib.Path(job["folder"])
        counted = int.from_bytes((folder / "counter").read_bytes(), "little")
        try:
            trace = pyrometer.trace(folder / "run.pyro")
        except pyrometer.Error as error:
            assert counted == 0, error  # killed before the first call
            continue
        layers, paths = trace.layers, trace.layers["path"]
        assert any("the recording has no end" in warning for warning in trace.warnings)
        recorded = layers["calls"][paths.index("")] if "" in paths else 0
        assert abs(recorded - counted) <= 1, (folder, recorded, counted)
        counts.append(counted)
    assert max(counts) > 100 and len(counts) > 40


WORKERS = """
import multiprocessing
net(x)
context = multiprocessing.get_context('fork')
workers = [context.Process(target=net, args=(x,)) for _ in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
net(x)
sys.exit(sum(worker.exitcode for worker in workers))
"""


def test_forked_workers_have_files_of_their_own(tmp_path):
    jobs = [make_job(tmp_path, "fork", MODEL + WORKERS, {"PYROMETER": "1"})]
    assert run_jobs(tmp_path, jobs) == {"fork": 0}
    names = sorted(path.name for path in (tmp_path / "fork").glob("*.json"))
    assert names[:2] == ["Net_forward_001.json", "Net_forward_002.json"]
    assert len(names) == 4
    assert all(re.fullmatch(r"Net_pid\d+_forward_001.json", name) for name in names[2:])


def test_spawned_workers_have_files_of_their_own(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(
        MODEL
        + """
def work(number):
    print(net(x * number).sum().item())
if __name__ == '__main__':
    import multiprocessing
    net(x)
    process = multiprocessing.get_context('spawn').Process(target=work, args=(2,))
    process.start(); process.join(); sys.exit(process.exitcode)
"""
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env={**os.environ, "PYROMETER": "1"},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.glob("*.json"))
    assert names[0] == "Net_forward_001.json"
    assert re.fullmatch(r"Net_pid\d+_forward_001.json", names[1]) and len(names) == 2


RUNNING_THREADS = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Identity(), nn.Sequential(nn.ReLU())
    def forward(self, x, fails):
        x = self.first(x)
        if fails:
            raise ValueError
        return self.second(self.first(x))

import contextlib, random, time
sys.setswitchinterval(1e-5)
models, has_ended, calls = [Model(), Model()], False, [0] * 4
def work(index, most_calls):
    chance = random.Random(index)
    while not has_ended and most_calls:
        if chance.random() < 0.02:
            models[index % 2] = Model()
        with contextlib.suppress(ValueError):
            x = torch.ones(chance.choice([2, 2, 3]), 2)
            models[chance.randrange(2)](x, chance.random() < 0.1)
        calls[index] += 1
        most_calls -= 1
threads = [threading.Thread(target=work, args=(i, -1), daemon=True) for i in range(3)]
for thread in threads:
    thread.start()
for session in SESSIONS:
    before = sum(calls)
    with pyrometer.capture('run.pyro', **session) as block:
        begun = calls[:3]
        while min(now - then for now, then in zip(calls, begun)) < 50:
            short = threading.Thread(target=work, args=(3, 20))
            short.start(); short.join()
    most, table = sum(calls) - before, block.layers()
    whole = sum(n for n, path in zip(table['calls'], table['path']) if '.' not in path)
    # Each thread may be inside of a call at either end.
    assert 3 * 49 <= whole <= most + 3, (whole, most, session)
has_ended = True
for thread in threads:
    thread.join()
"""


def test_capture_of_running_threads(tmp_path):
    """Several of them call the same models when the first capture starts, and later ones."""
    every = [{"with_stack": stack, "ops": ops} for stack in (True, False) for ops in (True, False)]
    jobs = [
        make_job(tmp_path, f"first{i}", MODEL + f"SESSIONS = {sessions}\n" + RUNNING_THREADS, {})
        for i, sessions in enumerate((every, every[::-1]))
    ]
    statuses = run_jobs(tmp_path, jobs)
    said = [(tmp_path / name / "stderr").read_text() for name in statuses]
    assert statuses == {"first0": 0, "first1": 0}, said


PASSES_OF_THREADS = """
import faulthandler
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-5)
has_ended, counts = False, [0, 0]
def work(index):
    while not has_ended:
        net(x)
        counts[index] += 1
threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
for thread in threads:
    thread.start()
try:
    for number in range(40):
        before = list(counts)
        with pyrometer.capture('run.pyro', with_stack=False):
            net(x)
        while number % 4 == 0 and any(now == then for now, then in zip(counts, before)):
            net(x)
finally:
    has_ended = True
for thread in threads:
    thread.join()
"""


def test_captures_beside_passes_of_threads(tmp_path):
    """Each capture ends the session of the passes and waits for their tables."""
    jobs = [
        make_job(tmp_path, f"passes{i}", MODEL + PASSES_OF_THREADS, {"PYROMETER": "1"})
        for i in range(2)
    ]
    statuses = run_jobs(tmp_path, jobs)
    for name, status in statuses.items():
        assert status == 0, (tmp_path / name / "stderr").read_text()
        tables = (tmp_path / name / "stdout").read_text().count("TOTAL")
        assert tables == len(list((tmp_path / name).glob("*.json"))) > 40


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode != 0:
        pytest.skip("cannot mount a file system; the recorder's unit tests cover a full disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_full_disk(small_disk, monkeypatch, capsys):
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(10)])
    x = torch.ones(1, 8)
    expected = net(x)
    with pyrometer.capture(small_disk / "run.pyro") as block:
        for _ in range(300):
            assert torch.equal(net(x), expected)
    assert block.status["lost_records"] > 0
    assert sum(block.layers()["calls"]) > 10
    monkeypatch.setenv("PYROMETER", "1")
    monkeypatch.setenv("PYROMETER_OUTPUT_DIR", str(small_disk))
    capture_model("Full")(net)
    for _ in range(50):
        assert torch.equal(net(x), expected)
    finish_passes()
    assert "No space left" in capsys.readouterr().err
    assert not list(small_disk.glob("*.tmp"))


def test_sixty_four_threads(tmp_path):
    net = nn.Linear(4, 4)
    barrier = threading.Barrier(64)

    def work():
        barrier.wait()
        for _ in range(20):
            net(torch.ones(1, 4))

    with pyrometer.capture(tmp_path / "threads.pyro") as block:
        threads = [threading.Thread(target=work) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(block.layers()["calls"]) == 64 * 20


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_thousand_times_on_and_off(tmp_path):
    net, x = nn.Linear(4, 4), torch.ones(1, 4)

    def once():
        with pyrometer.capture(tmp_path / "again.pyro", with_stack=False):
            net(x)

    for _ in range(100):
        once()
    waiting = len(torch.cuda._queued_calls)
    before, files = resident_bytes(), len(os.listdir("/proc/self/fd"))
    for _ in range(900):
        once()
    # Torch never drops what waits for CUDA.
    assert len(torch.cuda._queued_calls) == waiting
    assert resident_bytes() - before < 16 << 20
    assert len(os.listdir("/proc/self/fd")) == files
    assert nn.Module._call_impl.__name__ == "_call_impl"
