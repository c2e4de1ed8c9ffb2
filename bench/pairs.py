#!/usr/bin/env python3
"""Runs real A/A pairs: `pyrometer bench --against HEAD` without changes. Every alarm is false and
makes this exit with 1; "cannot tell" is accepted, since the machine may be busy.

    make && python3 bench/pairs.py [--pairs 10] [--models 0 --python .venv/bin/python]

Ten pairs of commands take about a minute. A pair of models starts at least 20 processes.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = f"{sys.executable} -S work.py"
WORK = "sum(i * i for i in range(200000))\n"
MODEL = """from torch import nn
def make():
    return nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)])
"""


def make_repository(folder: pathlib.Path) -> None:
    (folder / "work.py").write_text(WORK)
    (folder / "model.py").write_text(MODEL)
    settings = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    for words in (("init", "-q", "."), ("add", "."), (*settings, "commit", "-qm", "same")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def run_pair(tool: pathlib.Path, folder: pathlib.Path, *words: str) -> dict:
    """The verdict's row for latency."""
    command = [str(tool), "bench", "-q", "--against", "HEAD", "--max-time", "10"]
    command += ["--format", "json", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    if not done.stdout:
        sys.exit(done.stderr.decode())
    rows = json.loads(done.stdout)["comparison"]["metrics"]
    return next(row for row in rows if row["metric"] == "latency")


def run_pairs(tool: pathlib.Path, what: str, count: int, *words: str) -> int:
    """Number of false alarms."""
    verdicts: collections.Counter[str] = collections.Counter()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_repository(folder)
        for pair in range(count):
            row = run_pair(tool, folder, "--seed", str(pair + 1), *words)
            verdicts[row["verdict"]] += 1
            low, high = row["interval"]
            print(
                f"  {what} {pair + 1}: {row['change']:+.2%} ({low:+.2%} to {high:+.2%}), "
                f"{row['base_n']} and {row['current_n']} processes: {row['verdict']}",
                flush=True,
            )
    alarms = verdicts["regressed"] + verdicts["improved"]
    seconds = time.perf_counter() - start
    said = f"{dict(verdicts)}, {seconds:.0f} s"
    print(f"A/A pairs of {what}s: {alarms} false alarms of {count} ({said})")
    return alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--models", type=int, default=0)
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    tool = (arguments.build / "pyrometer").resolve()
    load = os.getloadavg()[0]
    print(f"load {load:.1f} on {len(os.sched_getaffinity(0))} processors")
    alarms = run_pairs(tool, "command", arguments.pairs, COMMAND)
    if arguments.models:
        words = ("--python", arguments.python, "--model-path", "model.py:make", "--runs", "50")
        alarms += run_pairs(tool, "model", arguments.models, *words)
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
