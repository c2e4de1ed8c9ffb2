#!/usr/bin/env python3
"""Checks pyrometer bench by experiment: the loop's overhead, its intervals, real A/A pairs.

    make && python3 bench/bench.py [--pairs 10]

Nothing here fails on a time: it prints what it finds. Where hyperfine is installed, both measure
the same command in the same run.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = "python3 -c 'sum(i * i for i in range(200000))'"


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


def run_pairs(tool: pathlib.Path, folder: pathlib.Path, count: int) -> None:
    """The same command measured twice, the runs of both interleaved; any alarm is a false one."""
    verdicts: dict[str, int] = {}
    for pair in range(count):
        both = folder / "both.json"
        data = bench(
            tool, both, "--runs", "20", "--seed", str(pair), "-n", "a", COMMAND, "-n", "b", COMMAND
        )
        paths = []
        for result in list(data["benchmarks"]):
            path = folder / f"{result['name']}.json"
            result["name"] = "same"
            data["benchmarks"] = [result]
            path.write_text(json.dumps(data))
            paths.append(str(path))
        diff = [str(tool), "diff", *paths, "--format", "json"]
        found = json.loads(subprocess.run(diff, capture_output=True, check=False).stdout)
        row = found["metrics"][0]
        verdicts[row["verdict"]] = verdicts.get(row["verdict"], 0) + 1
        low, high = row["interval"]
        print(
            f"  pair {pair + 1}: {row['change']:+.2%} ({low:+.2%} to {high:+.2%}) {row['verdict']}"
        )
    alarms = verdicts.get("regressed", 0) + verdicts.get("improved", 0)
    print(f"real A/A pairs: {alarms} false alarms of {count} ({verdicts})")


def compare_with_hyperfine(tool: pathlib.Path, folder: pathlib.Path) -> None:
    if shutil.which("hyperfine") is None:
        print("hyperfine: not installed, not compared")
        return
    ours = bench(tool, folder / "ours.json", "--runs", "30", COMMAND)
    theirs = folder / "theirs.json"
    subprocess.run(
        ["hyperfine", "-w", "1", "-r", "30", "--export-json", str(theirs), COMMAND],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    median = json.loads(theirs.read_text())["results"][0]["median"] * 1000
    mine = ours["benchmarks"][0]["metrics"][0]["percentiles"]["p50"]["value"]
    print(f"median of the same command: ours {mine:.2f} ms, hyperfine {median:.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    tool = arguments.build / "pyrometer"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([str(compile_loop(folder, arguments.build))], check=True)
        run_pairs(tool, folder, arguments.pairs)
        compare_with_hyperfine(tool, folder)


if __name__ == "__main__":
    main()
