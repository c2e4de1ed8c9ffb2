#!/usr/bin/env python3
"""Measures commits of this repository for its own history: instructions that the tool executes.

measure.py [--commits 8] [--db FILE] [COMMIT...]: builds each commit in build/own_line, counts the
instructions of two commands with valgrind's callgrind, which does not depend on other work of the
machine, and adds the results to the history. It does not measure a commit twice.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "own_line"
TREE, TRACE = FOLDER / "tree", FOLDER / "trace.json"
BUILD = TREE / "build"
TRACE_BYTES = 5_000_000
COMMANDS = {
    "pyrometer cost resnet50": ["cost", "resnet50", "--format", "json"],
    "pyrometer trace, 5 MB": ["trace", str(TRACE), "--format", "json"],
}


def git(*words, folder=ROOT):
    words = ["git", *map(str, words)]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def choose(count):
    """Commits of the code at equal distances, the newest first."""
    commits = git("rev-list", "--first-parent", "HEAD", "--", "src", "include", "cli").split()
    step = max(len(commits) // count, 1)
    return commits[: step * count : step]


def build(commit):
    """One clone and one build folder for all commits: only what differs is compiled."""
    if not TREE.exists():
        git("clone", "-q", "--shared", "--no-checkout", ROOT, TREE)
    git("checkout", "-q", "--force", "--detach", commit, folder=TREE)
    flags = ["-DCMAKE_BUILD_TYPE=Release", *shlex.split(os.environ.get("CMAKE_FLAGS", ""))]
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    for words in (
        ["cmake", "-S", TREE, "-B", BUILD, *flags],
        ["cmake", "--build", BUILD, "--target", "pyrometer", "-j", jobs],
    ):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return BUILD / "pyrometer"


def instructions(tool, words):
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, tool, *words], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-500:]}")
    return int(found[1])


def measure(commit):
    tool = build(commit)
    row = {"metric": "instructions", "unit": "instructions", "better": "lower"}
    metrics = [
        {**row, "benchmark": name, "method": "callgrind", "samples": [instructions(tool, words)]}
        for name, words in COMMANDS.items()
    ]
    run = {
        "kind": "bench",
        "project": "pyrometer",
        "commit": commit,
        "branch": "main",
        "time_ns": git("show", "-s", "--format=%ct", commit).strip() + "000000000",
        "machine_class": os.uname().machine,
        "metrics": metrics,
    }
    return {"schema": "pyrometer.history/1", "runs": [run]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=8)
    parser.add_argument("--db", default=FOLDER / "history.db")
    parser.add_argument("commit", nargs="*")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not TRACE.exists():
        words = [ROOT / "bench" / "gen_trace.py", ROOT / "tests/files/kineto/good-1-kineto.json"]
        subprocess.run([sys.executable, *words, TRACE, str(TRACE_BYTES)], check=True)
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    for name in options.commit or choose(options.commits):
        commit = git("rev-parse", f"{name}^{{commit}}").strip()
        path = FOLDER / f"{commit}.json"
        if not path.exists():
            path.write_text(json.dumps(measure(commit), indent=1) + "\n")
        print(commit[:12], git("show", "-s", "--format=%s", commit).strip(), flush=True)
        words = [tool, "history", "add", path, "--db", options.db]
        subprocess.run(words, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
