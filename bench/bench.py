#!/usr/bin/env python3
"""Measures `pyrometer bench`: the loop's overhead, its intervals, real A/A pairs, and hyperfine.

    make && python3 bench/bench.py [--pairs 10]

Prints results and never fails on a time. If hyperfine is installed, both tools measure the same
commands in the same run.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import pairs

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Without a shell: hyperfine subtracts its shell's mean time, which a busy machine raises.
COMPARED = ("python3 -S -c 'sum(i * i for i in range(200000))'", "sleep 0.02", "true")
ROUNDS, RUNS = 3, 20


def compile_loop(folder: pathlib.Path, build: pathlib.Path) -> pathlib.Path:
    program = folder / "loop"
    flags = ["-O3", "-D_GNU_SOURCE", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    libraries = [str(build / "libpyrometer.a"), "-lz", "-lzstd", "-lm", "-ldl", "-pthread"]
    source = str(ROOT / "bench" / "loop.c")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, *flags, "-o", str(program), source, *libraries], check=True)
    return program


def bench(tool: pathlib.Path, output: pathlib.Path, *options: str) -> dict:
    command = [str(tool), "bench", "-q", *options, "-o", str(output)]
    subprocess.run(command, check=True)
    return json.loads(output.read_text())


def hyperfine(folder: pathlib.Path, command: str) -> list[float]:
    """Milliseconds of every run."""
    out = folder / "theirs.json"
    words = ["hyperfine", "-w", "1", "-r", str(RUNS), "--shell", "none", "--export-json", str(out)]
    subprocess.run(
        [*words, command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return [1000 * seconds for seconds in json.loads(out.read_text())["results"][0]["times"]]


def timed(call, *arguments):
    start = time.perf_counter()
    found = call(*arguments)
    return found, 1000 * (time.perf_counter() - start)


def compare_with_hyperfine(tool: pathlib.Path, folder: pathlib.Path) -> None:
    """Prints, per command, the mean that each tool measured and the tool's own overhead."""
    if shutil.which("hyperfine") is None:
        print("hyperfine: skipped, not installed")
        return
    print("mean of the same command in ms (95% interval), and the tool's overhead per run:")
    for command in COMPARED:
        samples: dict[str, list[float]] = {"ours": [], "theirs": []}
        spent = {"ours": 0.0, "theirs": 0.0}
        for _ in range(ROUNDS):
            words = (folder / "ours.json", "--runs", str(RUNS), "--shell", "none", command)
            data, wall = timed(bench, tool, *words)
            samples["ours"] += data["benchmarks"][0]["metrics"][0]["samples"]
            spent["ours"] += wall
            times, wall = timed(hyperfine, folder, command)
            samples["theirs"] += times
            spent["theirs"] += wall
        print(f"  {command}")
        for name, found in samples.items():
            mean = statistics.fmean(found)
            half = 1.96 * statistics.stdev(found) / len(found) ** 0.5
            own = (spent[name] - sum(found) / len(found) * ROUNDS * (RUNS + 1)) / (ROUNDS * RUNS)
            print(f"    {name:6} {mean:8.3f} (+- {half:.3f}), {own:.2f} ms overhead per run")
        means = [statistics.fmean(found) for found in samples.values()]
        errors = [statistics.stdev(found) / len(found) ** 0.5 for found in samples.values()]
        within = abs(means[0] - means[1]) <= 1.96 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5
        print(
            f"    {means[0] / means[1] - 1:+.2%}, {'within' if within else 'beyond'} the interval"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    tool = arguments.build / "pyrometer"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([str(compile_loop(folder, arguments.build))], check=True)
        pairs.run_pairs(tool.resolve(), "command", arguments.pairs, pairs.COMMAND)
        compare_with_hyperfine(tool, folder)


if __name__ == "__main__":
    main()
