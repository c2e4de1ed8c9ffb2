#!/usr/bin/env python3
"""Counts wrong verdicts on simulated recordings, and on real ones on an idle and a busy machine.

    make && python3 bench/verdicts.py [--simulated 100] [--pairs 20] [--load 6] [--only NAME...]

A pair is two recordings, made one after the other, that `pyrometer diff` compares, or one run of
`pyrometer bench --against HEAD`, which interleaves both sides. `--load` busy loops make the machine
busy. The real part takes about an hour; build/bench/verdicts.jsonl gets every pair as it ends, and
another run with the same tool resumes there (--restart starts over). `--pairs 0` skips the real
part. A criterion for an idle machine is judged only if the machine was idle.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
OCTAVES = 10
# Largest share of the processors that other programs use on an idle machine.
IDLE_SHARE = 0.1


class SlowPhases:
    """1/f noise of variance 1: a sum of autoregressive processes whose time constants double."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.memory = [math.exp(-1 / 2**octave) for octave in range(OCTAVES)]
        self.state = [draw.gauss(0, 1) for _ in self.memory]

    def next(self) -> float:
        for i, keep in enumerate(self.memory):
            self.state[i] = keep * self.state[i] + math.sqrt(1 - keep**2) * self.draw.gauss(0, 1)
        return sum(self.state) / math.sqrt(OCTAVES)


def heavy_tail(draw: random.Random) -> float:
    """Student's t with four degrees of freedom, scaled to a standard deviation of 1."""
    squares = sum(draw.gauss(0, 1) ** 2 for _ in range(4))
    return draw.gauss(0, 1) / math.sqrt(squares / 4) / math.sqrt(2)


def simulate(seed: int, busy: bool) -> tuple[int, Callable[[], float]]:
    """Runs per side, and a simulated machine: each call returns the time of one run in ms."""
    draw = random.Random(seed)
    if busy:
        own, drift = draw.uniform(0.05, 0.3), draw.uniform(0.05, 0.3)
    else:
        own, drift = draw.uniform(0.005, 0.015), draw.uniform(0, 0.004)
    phases = SlowPhases(draw)

    def run() -> float:
        disturbed = draw.expovariate(1) if busy and draw.random() < 0.05 else 0.0
        return 50 * math.exp(drift * phases.next() + own * heavy_tail(draw) + disturbed)

    return draw.randint(10, 100) if busy else draw.randint(20, 60), run


def results(samples: list[float], busy: bool, rounds: str | None) -> dict:
    environment = {
        "architecture": "simulated",
        "cpu_model": "simulated",
        "cpu_count": 2,
        "usable_cpus": 2,
        "memory_bytes": 2**34,
        "load_1m_before": 6.0 if busy else 0.1,
        "load_1m_after": 6.2 if busy else 0.8,
        "other_cpus": 1.6 if busy else 0.02,
    }
    latency = {"name": "latency", "unit": "ms", "better": "lower", "samples": samples}
    result = {"name": "work", "engine": "command", "replicate": "process", "metrics": [latency]}
    return {
        "schema": "pyrometer.bench/1",
        "environment": environment,
        "benchmarks": [result],
        **({"rounds": rounds} if rounds else {}),
    }


def row_of(document: dict) -> dict:
    """The part of the verdict on latency that the log keeps."""
    row = next(row for row in document["metrics"] if row["metric"] == "latency")
    return {
        "verdict": row["verdict"],
        "change": row["change"],
        "interval": row["interval"],
        "n": row["current_n"],
    }


def diff(tool: pathlib.Path, base: pathlib.Path, new: pathlib.Path) -> dict:
    command = [str(tool), "diff", "--format", "json", str(base), str(new)]
    done = subprocess.run(command, capture_output=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr.decode())
    return row_of(json.loads(done.stdout))


def simulated_pair(
    tool: pathlib.Path, seed: int, busy: bool, slower: float, interleaved: bool
) -> dict:
    count, run = simulate(seed, busy)
    if interleaved:
        rounds = [(run(), run() * slower) for _ in range(count)]
        sides = [[pair[0] for pair in rounds], [pair[1] for pair in rounds]]
    else:
        base = [run() for _ in range(count)]
        for _ in range(count // 2):  # simulates the time between two recordings
            run()
        sides = [base, [run() * slower for _ in range(count)]]
    with tempfile.TemporaryDirectory() as name:
        files = [pathlib.Path(name) / "base.json", pathlib.Path(name) / "new.json"]
        for file, samples in zip(files, sides, strict=True):
            mark = f"simulated {seed}" if interleaved else None
            file.write_text(json.dumps(results(samples, busy, mark)))
        return diff(tool, *files)


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    loops = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)
    ]
    try:
        time.sleep(2 if count else 0)
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def other_share(seconds: float = 2) -> float:
    """Share of the processors that all programs use while we sleep."""

    def read() -> list[int]:
        with open("/proc/stat") as file:
            return [int(word) for word in file.readline().split()[1:9]]

    before = read()
    time.sleep(seconds)
    spent = [now - then for now, then in zip(read(), before, strict=True)]
    idle = spent[3] + spent[4]
    return 1 - idle / max(sum(spent), 1)


class Work:
    """A repository with a program whose work tree takes as long as its commit, or 10% longer."""

    def __init__(self, folder: pathlib.Path, count: int) -> None:
        self.folder, self.count, self.ratio = folder, count, 1.1
        self.write(count)
        settings = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
        for words in (("init", "-q", "."), ("add", "."), (*settings, "commit", "-qm", "base")):
            subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
        # Python's start-up does not get slower, so the loop must, by more than 10%.
        start, whole = self.processor_time(0), self.processor_time(count)
        self.slow_count = round(count * (1 + 0.1 * whole / (whole - start)))

    def write(self, count: int) -> None:
        (self.folder / "work.py").write_text(f"sum(i * i for i in range({count}))\n")

    def processor_time(self, count: int) -> float:
        """The minimum of several runs, because other programs only add time."""
        code = f"sum(i * i for i in range({count}))"
        least = math.inf
        for _ in range(15):
            process = subprocess.Popen([sys.executable, "-S", "-c", code])
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
            least = min(least, used.ru_utime + used.ru_stime)
        return least

    def command(self) -> list[str]:
        return ["--shell", "none", "-n", "work", f"{sys.executable} -S work.py"]


def one_after_the_other(tool: pathlib.Path, work: Work, seed: int, slow: bool) -> dict:
    files = []
    for side in ("base", "new"):
        work.write(work.slow_count if slow and side == "new" else work.count)
        files.append(work.folder / f"{side}.json")
        command = [str(tool), "bench", "-q", "--seed", str(seed), "-o", str(files[-1])]
        subprocess.run([*command, *work.command()], cwd=work.folder, check=True)
    return diff(tool, *files)


def interleaved(tool: pathlib.Path, work: Work, seed: int, slow: bool) -> dict:
    work.write(work.slow_count if slow else work.count)
    command = [str(tool), "bench", "-q", "--seed", str(seed), "--against", "HEAD"]
    command += ["--format", "json", *work.command()]
    done = subprocess.run(command, cwd=work.folder, capture_output=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr.decode())
    return row_of(json.loads(done.stdout)["comparison"])


class Log:
    """Pairs that this tool judged, in a file that survives an interruption."""

    def __init__(self, path: pathlib.Path, tool: pathlib.Path, restart: bool) -> None:
        self.path = path
        self.tool = hashlib.sha256(tool.read_bytes()).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        if restart:
            path.unlink(missing_ok=True)
        self.pairs: dict[tuple[str, int], dict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                if entry.get("tool") != self.tool:
                    continue
                self.pairs[entry["part"], entry["pair"]] = entry

    def add(self, entry: dict) -> None:
        self.pairs[entry["part"], entry["pair"]] = entry
        with self.path.open("a") as file:
            file.write(json.dumps({"tool": self.tool, **entry}) + "\n")


def run_part(log: Log, part: str, count: int, judge: Callable[[int], dict], real: bool) -> None:
    start, done = time.perf_counter(), 0
    for pair in range(1, count + 1):
        if (part, pair) in log.pairs:
            continue
        share = other_share() if real else None
        entry = {"part": part, "pair": pair, **judge(pair)}
        if real:
            entry |= {"load": os.getloadavg()[0], "share": share}
        log.add(entry)
        done += 1
        if not real:
            continue
        low, high = (math.nan if end is None else end for end in entry["interval"])
        left = (time.perf_counter() - start) / done * (count - pair) / 60
        print(
            f"  {part} {pair} of {count}: {entry['change']:+.1%} ({low:+.1%} to {high:+.1%}), "
            f"n {entry['n']}, load {entry['load']:.1f}: {entry['verdict']}; "
            f"about {left:.0f} min left",
            flush=True,
        )


def report(log: Log, part: str, count: int, limit: str, passed: Callable[[dict], bool]) -> bool:
    """Prints the result of one criterion; returns False if it failed."""
    entries = [log.pairs[part, pair] for pair in range(1, count + 1) if (part, pair) in log.pairs]
    if not entries:
        return True
    verdicts = collections.Counter(entry["verdict"] for entry in entries)
    tally = {name: verdicts[name] for name in ("regressed", "improved", "no change", "cannot tell")}
    said = ", ".join(f"{number} {name}" for name, number in tally.items())
    shares = [entry["share"] for entry in entries if entry.get("share") is not None]
    loads = [entry["load"] for entry in entries if "load" in entry]
    if loads:
        said += f"; load {min(loads):.1f} to {max(loads):.1f}"
    ok = passed({**tally, "pairs": len(entries)})
    state = "passed" if ok else "FAILED"
    if part.startswith("idle") and shares and sorted(shares)[len(shares) // 2] > IDLE_SHARE:
        ok, state = True, "not judged, the machine was not idle"
    elif len(entries) < count:
        ok, state = True, f"not judged, {len(entries)} of {count} pairs"
    print(f"{part}, {len(entries)} pairs: {said}\n    {limit}: {state}")
    return ok


def few_alarms(tally: dict) -> bool:
    return tally["regressed"] + tally["improved"] <= 0.05 * tally["pairs"]


def found(share: float) -> Callable[[dict], bool]:
    return lambda tally: tally["improved"] == 0 and tally["regressed"] >= share * tally["pairs"]


def mostly_told(tally: dict) -> bool:
    return few_alarms(tally) and tally["cannot tell"] <= 0.3 * tally["pairs"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--simulated", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--load", type=int, default=6)
    parser.add_argument(
        "--count", type=int, default=200000, help="iterations of the real program's loop"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], help="run only parts with one of these in their name"
    )
    parser.add_argument("--restart", action="store_true")
    arguments = parser.parse_args()
    tool = (arguments.build / "pyrometer").resolve()
    log = Log(arguments.build / "bench" / "verdicts.jsonl", tool, arguments.restart)
    processors, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"load {load:.1f} on {processors} processors; pairs are kept in {log.path}")
    alarms = "at most 5% false alarms"
    at_load = f"load {arguments.load}"
    # Name, busy, slower, interleaved, criterion, check.
    simulated = [
        ("simulated A/A at load 6", True, 1.0, False, alarms, few_alarms),
        ("simulated interleaved A/A at load 6", True, 1.0, True, alarms, few_alarms),
        ("simulated idle A/A", False, 1.0, False, "and at most 30% cannot tell", mostly_told),
        ("simulated idle 10% slower", False, 1.1, False, "90% found, none improved", found(0.9)),
    ]
    half = "60% found, none improved"
    most = "90% found, none improved"
    real = [
        ("idle A/A", 0, False, one_after_the_other, "and at most 30% cannot tell", mostly_told),
        ("idle interleaved 10% slower", 0, True, interleaved, most, found(0.9)),
        (f"{at_load} A/A", arguments.load, False, one_after_the_other, alarms, few_alarms),
        (f"{at_load} interleaved 10% slower", arguments.load, True, interleaved, half, found(0.6)),
        (f"{at_load} interleaved A/A", arguments.load, False, interleaved, alarms, few_alarms),
    ]

    def wanted(part: str) -> bool:
        return not arguments.only or any(word in part for word in arguments.only)

    simulated = [row for row in simulated if wanted(row[0])]
    real = [row for row in real if wanted(row[0]) and arguments.pairs > 0]
    for part, busy, slower, together, _, _ in simulated:

        def judge(pair: int, b=busy, s=slower, t=together) -> dict:
            return simulated_pair(tool, pair, b, s, t)

        run_part(log, part, arguments.simulated, judge, False)
    if real and shutil.which("git") is None:
        sys.exit("the real pairs require git; install it, or pass --pairs 0")
    with tempfile.TemporaryDirectory() as name:
        work = Work(pathlib.Path(name), arguments.count) if real else None
        for part, loops, slow, way, _, _ in real:
            with busy_loops(loops):

                def judge(pair: int, w=way, s=slow) -> dict:
                    return w(tool, work, pair, s)

                run_part(log, part, arguments.pairs, judge, True)
    good = [report(log, row[0], arguments.simulated, row[4], row[5]) for row in simulated]
    good += [report(log, row[0], arguments.pairs, row[4], row[5]) for row in real]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
