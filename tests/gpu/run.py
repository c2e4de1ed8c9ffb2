"""Runs the tests of this folder on a machine with a GPU, in parts and without pytest.

    make test-gpu                 builds the package for python3 or PYTHON, then runs this
    make test-gpu SECONDS=420     stops before the limit; the next call resumes

A test is a function test_*(), with or without the parameter tmp_path. Each file runs in one
process, so that torch is imported once per file. The names of passed tests are kept,
with a digest of the package, the tests and the machine, until all have. Exit status: 0 all passed,
1 a test failed, 3 some tests are left.
"""

import argparse
import ast
import hashlib
import importlib
import inspect
import json
import os
import pathlib
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIRST_GUESS_S = 45  # of a test that has not been run yet
LEFT = 3


def names_in(path):
    """The tests of a file in order, without importing it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{path.name}::{node.name}"


def digest_of(package, facts):
    """Digest of all inputs of a result."""
    found = hashlib.sha256(facts.encode())
    files = [path for path in HERE.iterdir() if path.suffix == ".py"]
    files += [path for path in package.rglob("*") if path.suffix in (".py", ".so", ".cpp", ".hpp")]
    for path in sorted(files):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def machine():
    """(the GPU, or None; one line about it), queried in a separate process."""
    program = (
        "import sys\n"
        "try:\n    import torch\n"
        "except ImportError as error:\n    sys.exit(f'{sys.executable}: {error}')\n"
        "if not torch.cuda.is_available(): sys.exit('torch sees no GPU')\n"
        "print(f'{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA '\n"
        "      f'{torch.version.cuda}, Python {sys.version.split()[0]}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = (done.stdout or done.stderr).strip().splitlines()
    return (done.stdout.strip() or None), (said[-1] if said else "torch does not answer")


class State:
    """Passed tests, their times, and the interrupted test, kept between calls."""

    def __init__(self, path, digest, again):
        self.path, self.data = path, {"digest": digest, "passed": {}, "cut_off": None}
        try:
            kept = json.loads(path.read_text())
        except (OSError, ValueError):
            kept = {}
        self.seconds = kept.get("seconds", {})
        if kept.get("digest") == digest and not again:
            self.data = kept

    def note(self, test, outcome, seconds):
        self.seconds[test] = seconds
        if outcome in ("passed", "skipped"):
            self.data["passed"][test] = outcome
        self.save()

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps({**self.data, "seconds": self.seconds}, indent=1))
        temporary.replace(self.path)

    def forget_passed(self):
        """All have passed: the next call starts over, with the times known."""
        self.data = {"digest": None, "passed": {}, "cut_off": None}
        self.save()


class Runner:
    """Runs files one after the other, each in a child that reports each test's start and end."""

    def __init__(self, state, deadline):
        self.state, self.deadline = state, deadline
        self.failed = []
        self.is_cut_off = False

    def run_file(self, name, tests):
        """Returns False when the time is over."""
        begun = time.monotonic()
        command = [sys.executable, str(HERE / "run.py"), "--child", name, *tests]
        if self.deadline is not None:
            command += ["--until", str(self.deadline)]
        read, write = os.pipe()
        child = subprocess.Popen([*command, "--report", str(write)], pass_fds=[write])
        os.close(write)
        running, over = self._follow(read, child)
        status = child.wait()
        if running and not self.is_cut_off:
            self._end(running, "failed", time.monotonic() - begun, f"ended with status {status}")
            rest = tests[tests.index(running) + 1 :]
            return self.run_file(name, rest) if rest else True
        if status and not running and not over:
            self._end(name, "failed", time.monotonic() - begun, f"ended with status {status}")
        return not over

    def _follow(self, read, child):
        """(the test that was running when the child ended, whether it stopped for the time)"""
        running, buffer, over = None, b"", False
        with selectors.DefaultSelector() as selector, os.fdopen(read, "rb", 0) as pipe:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                left = None if self.deadline is None else self.deadline - time.monotonic()
                if not selector.select(left if left is None else max(left, 0)):
                    child.kill()
                    self.is_cut_off = over = True
                    if running:
                        self._cut_off(running)
                    return running, over
                data = pipe.read(65536)
                if not data:
                    return running, over
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["event"] == "begin":
                        running = event["test"]
                    elif event["event"] == "over":
                        over = True
                    else:
                        self._end(running, event["outcome"], event["seconds"], event["reason"])
                        running = None

    def _end(self, test, outcome, seconds, reason):
        print(f"{outcome.upper()}  {test}  {seconds:.1f} s{f'  {reason}' if reason else ''}\n")
        self.state.data["cut_off"] = None
        self.state.note(test, outcome, seconds)
        if outcome == "failed":
            self.failed.append(test)

    def _cut_off(self, test):
        """A test that ran alone and was still interrupted can never finish in the limit."""
        if self.state.data["cut_off"] == test:
            self._end(test, "failed", self.state.seconds.get(test, 0), "exceeded the limit twice")
        else:
            print(f"CUT OFF  {test}  the time is over; the next call starts with it", flush=True)
            self.state.data["cut_off"] = test
            self.state.save()


def plan(state, only=()):
    """[(file, [tests])] that have not passed, or those named; an interrupted test comes first."""
    files = []
    for path in sorted(HERE.glob("test_*.py")):
        tests = [
            test
            for test in names_in(path)
            if (test in only or path.name in only if only else test not in state.data["passed"])
        ]
        if tests:
            files.append((path.name, tests))
    first = state.data["cut_off"]
    for name, tests in files:
        if first in tests:
            rest = [(other, kept) for other, kept in files if other != name]
            return [(name, [first, *(test for test in tests if test != first)]), *rest]
    return files


def run_test(function, checks):
    """(outcome, reason) of one test, which runs in its own folder."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "test")
            path.mkdir()
            with checks.around(path):
                if "tmp_path" in inspect.signature(function).parameters:
                    function(path)
                else:
                    function()
    except unittest.SkipTest as error:
        return "skipped", str(error)
    except Exception as error:
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return "passed", ""


def run_child(name, tests, report, until):
    """Runs the tests of one file; the child process."""

    def say(event, **more):
        os.write(report, json.dumps({"event": event, **more}).encode() + b"\n")

    sys.path.insert(0, str(HERE.parent))
    module = importlib.import_module(f"gpu.{name.removesuffix('.py')}")
    checks = importlib.import_module("gpu.checks")
    guesses = json.loads(os.environ.get("PYRO_TEST_SECONDS", "{}"))
    for test in tests:
        guess = guesses.get(test, FIRST_GUESS_S)
        if until is not None and test != tests[0] and time.monotonic() + guess > until:
            say("over")
            return 0
        print(f"== {test}", flush=True)
        say("begin", test=test)
        begun = time.monotonic()
        outcome, reason = run_test(getattr(module, test.split("::")[1]), checks)
        sys.stdout.flush()
        say("end", outcome=outcome, seconds=time.monotonic() - begun, reason=reason)
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, help="stop before so many have passed")
    parser.add_argument("--state", type=pathlib.Path, default=ROOT / "build" / "test-gpu.json")
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build-gpu" / "python")
    parser.add_argument("--again", action="store_true", help="also what has passed already")
    parser.add_argument("--only", nargs="+", default=(), help="tests (file::test) or files to run")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--report", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    parser.add_argument("tests", nargs="*", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse()
    if options.child:
        return run_child(options.child, options.tests, options.report, options.until)
    begun = time.monotonic()
    everything = [test for path in HERE.glob("test_*.py") for test in names_in(path)]
    total = len(everything)
    for name in options.only:
        if not any(name in (test, test.split("::")[0]) for test in everything):
            sys.exit(f"tests/gpu/run.py: {name}: no such test")
    facts, said = machine()
    if facts is None:
        print(f"tests/gpu: none of {total} tests is run: {said}")
        return 0
    print(said, flush=True)
    state = State(options.state, digest_of(options.package, facts), options.again)
    os.environ["PYRO_TEST_SECONDS"] = json.dumps(state.seconds)
    runner = Runner(state, None if options.seconds is None else begun + options.seconds)
    for name, tests in plan(state, options.only):
        guess = state.seconds.get(tests[0], FIRST_GUESS_S)
        if runner.deadline is not None and time.monotonic() + guess > runner.deadline:
            break
        if not runner.run_file(name, tests):
            break
    done = state.data["passed"]
    if options.only:
        named = {test for test in everything if {test, test.split("::")[0]} & set(options.only)}
        done = {test: outcome for test, outcome in done.items() if test in named}
        total = len(named)
    skipped = sum(outcome == "skipped" for outcome in done.values())
    print(f"{len(done) - skipped} passed, {skipped} skipped, {len(runner.failed)} failed", end="")
    left = total - len(done) - len(set(runner.failed) - set(done))
    if left:
        print(f", {left} of {total} left: make test-gpu goes on with them")
    else:
        print(f" of {total}")
    for test in runner.failed:
        print(f"    FAILED {test}")
    if runner.failed:
        return 1
    if left:
        return LEFT
    if not options.only:
        state.forget_passed()
    return 0


if __name__ == "__main__":
    sys.exit(main())
