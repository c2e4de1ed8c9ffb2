"""`pyrometer top` in a pseudo-terminal: live, killed, narrow, and the terminal afterwards."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

ROOT = pathlib.Path(__file__).parents[3]
TOOL = os.environ.get("PYRO_TOOL", "")
SAMPLE = pathlib.Path(TOOL).with_name("record_sample")
LEAVE = b"\x1b[?25h\x1b[?1049l"

pytestmark = pytest.mark.skipif(
    not TOOL or not SAMPLE.exists(), reason="PYRO_TOOL is not set, or record_sample is not built"
)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A recording that our recorder is writing."""
    folder = tmp_path_factory.mktemp("live")
    path = folder / "sample.pyro"
    with subprocess.Popen([SAMPLE, folder, "600"]) as recorder:
        end = time.monotonic() + 30
        while "linear1" not in _once(path):
            assert time.monotonic() < end
            time.sleep(0.2)
        yield path
        recorder.kill()


def _once(path, *options):
    command = [TOOL, "top", path, "--once", *options]
    return subprocess.run(command, capture_output=True, text=True).stdout


class Terminal:
    """A process of the tool on a pseudo-terminal of a given size."""

    def __init__(self, *arguments, columns=80, rows=24):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        environment = os.environ | {"TERM": "xterm"}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [TOOL, "top", *arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        while select.select([self.master], [], [], seconds)[0]:
            self.seen += os.read(self.master, 65536)
            seconds = 0.05

    def wait_for(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            self.read()

    def press(self, keys):
        os.write(self.master, keys)

    def screen(self):
        """The lines of the last complete screen."""
        last = self.seen.rpartition(b"\x1b[J")[0].rpartition(b"\x1b[H")[2]
        return re.sub(rb"\x1b\[[?0-9]*[a-zA-Z]", b"", last).decode().replace("\r", "").split("\n")

    def end(self):
        """Waits for the process; the terminal must be as it was."""
        code = self.process.wait(timeout=30)
        self.read()
        assert termios.tcgetattr(self.slave) == self.before
        assert self.seen.count(b"\x1b[?1049h") == self.seen.count(LEAVE)
        os.close(self.master)
        os.close(self.slave)
        return code


@contextlib.contextmanager
def top(*arguments, **size):
    terminal = Terminal(*arguments, **size)
    try:
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()


def test_follows_a_live_recording(live):
    with top(live, "--interval", "0.2") as terminal:
        terminal.wait_for(b"linear1")
        first = terminal.screen()
        assert "recording" in first[0] and "process" in first[0]
        assert any(line.startswith("Layer") and "Own time" in line for line in first)
        for _ in range(3):  # it draws again and again
            terminal.seen = terminal.seen.replace(b"\x1b[J", b"")
            terminal.wait_for(b"\x1b[J")
        terminal.press(b"o")
        terminal.wait_for(b"aten::")
        terminal.press(b"k")
        terminal.wait_for(b"no kernels in this part")
        terminal.press(b" ")
        terminal.wait_for(b"paused")
        terminal.press(b"q")
        assert terminal.end() == 0


@pytest.mark.parametrize(("columns", "rows"), [(30, 8), (60, 12), (80, 24), (200, 50)])
def test_fits_the_terminal(live, columns, rows):
    with top(live, columns=columns, rows=rows) as terminal:
        terminal.wait_for(b"\x1b[J")
        lines = terminal.screen()
        assert len(lines) <= rows and max(map(len, lines)) <= columns
        if columns >= 60:
            assert any("linear1" in line for line in lines)
        terminal.seen = b""
        terminal.resize(100, 30)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.wait_for(b"Backward")
        terminal.press(b"q")
        terminal.process.wait(timeout=30)


@pytest.mark.parametrize("ending", ["ctrl-c", "term", "hangup"])
def test_other_endings_restore_the_terminal(live, ending):
    with top(live) as terminal:
        terminal.wait_for(b"linear1")
        if ending == "ctrl-c":
            terminal.press(b"\x03")
        else:
            number = signal.SIGTERM if ending == "term" else signal.SIGHUP
            terminal.process.send_signal(number)
        assert terminal.end() == 0


def test_stopping_and_continuing(live):
    with top(live) as terminal:
        terminal.wait_for(b"linear1")
        terminal.press(b"\x1a")  # Ctrl-Z
        terminal.wait_for(LEAVE)
        assert termios.tcgetattr(terminal.slave) == terminal.before
        terminal.seen = b"\x1b[?1049h" * terminal.seen.count(LEAVE)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for(b"linear1")
        terminal.press(b"q")
        terminal.process.wait(timeout=30)
        terminal.read()
        assert terminal.seen.endswith(LEAVE)
        assert termios.tcgetattr(terminal.slave) == terminal.before


def test_killed_writer(tmp_path):
    with subprocess.Popen([SAMPLE, tmp_path, "600"]) as recorder:
        path = tmp_path / "sample.pyro"
        while "linear1" not in _once(path):
            time.sleep(0.1)
        recorder.kill()
    with top(path) as terminal:
        terminal.wait_for(b"linear1")
        assert "killed" in terminal.screen()[0]
        terminal.press(b"q")
        assert terminal.end() == 0


def test_without_a_terminal(live):
    text = _once(live)
    assert "\x1b" not in text and "q quit" not in text
    assert re.search(r"^linear1 +\d+\.\d% ", text, re.MULTILINE), text
    assert "aten::" in _once(live, "--by", "op")
    piped = subprocess.run([TOOL, "top", live], capture_output=True, text=True)
    assert piped.returncode == 0 and "linear1" in piped.stdout


def test_only_the_last_part_is_read(live, tmp_path):
    def calls(last):
        text = _once(live, "--last", last)
        row = re.search(r"^linear1 +\S+ +\S+ \w+ +([\d,]+)", text, re.MULTILINE)
        return int(row[1].replace(",", ""))

    time.sleep(2)
    short, long = calls("500ms"), calls("10min")
    assert 0 < short < long / 2


def test_errors(tmp_path):
    def fails(*arguments):
        done = subprocess.run([TOOL, "top", *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
        return done.stderr

    text = tmp_path / "text.pyro"
    text.write_text("hello")
    os.mkfifo(tmp_path / "fifo.pyro")
    assert "not a recording" in fails(text)
    assert "not a recording" in fails(tmp_path / "fifo.pyro")
    assert "not a recording" in fails(ROOT / "tests/files/kineto/good-1-kineto.json")
    assert "No such file" in fails(tmp_path / "missing.pyro")
    assert "needs one recording" in fails()
    assert "is not a time" in fails(text, "--last", "soon")
    with top(text) as terminal:  # also on a terminal, and without its own screen
        terminal.wait_for(b"not a recording")
        assert terminal.end() == 2
