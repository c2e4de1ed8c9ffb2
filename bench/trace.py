"""Times `pyrometer trace` and simdjson on large traces, each run in a separate process.

Generates traces from a real one. Prints throughput, its ratio to simdjson (which only sums the
durations), the speedup on two cores, memory, and ns per event at each size. The commands run in
turns (A B C A B C ...); a ratio is the median of the ratios within a turn, because the speed of
cores on shared machines varies by half within seconds. A one-core time is the mean of the two
cores in the same turn. The upper bound of the speedup is that of two independent processes, one
per core: it is below 2 if the cores share caches, memory or a physical core. Never fails on a time.

usage: python bench/trace.py [--tool build/pyrometer] [--quick] [--cores 0,1] [--runs 9]
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import gen_trace

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "bench"
BENCH = pathlib.Path(__file__).parent
SOURCE = ROOT / "tests" / "files" / "trace" / "h200_resnet18_train.json.gz"
MB = 1_000_000
HTA = ("HolisticTraceAnalysis==0.5.0", "pandas==2.2.3")  # with newer pandas some files fail


class Runs:
    """The runs of one command, one per turn."""

    def __init__(self) -> None:
        self.turns: list[float] = []
        self.peak_bytes = 0

    def add(self, seconds: float, peak_bytes: int) -> None:
        self.turns.append(seconds)
        self.peak_bytes = max(self.peak_bytes, peak_bytes)

    @property
    def seconds(self) -> float:
        """Median time."""
        return statistics.median(self.turns)


def compile_program(name: str, source: pathlib.Path, *flags: str) -> str | None:
    """Builds a small program into the bench folder; None if that fails."""
    program = FOLDER / name
    compiler = "c++" if source.suffix == ".cpp" else os.environ.get("CC", "cc")
    command = [compiler, "-O3", "-o", str(program), str(source), *flags]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        print(f"    {name}: not built: {finished.stderr.strip().splitlines()[0]}")
        return None
    return str(program)


def pin(command: list[str], cores: str) -> list[str]:
    """The command on these cores: "0", "1" or "0,1"."""
    return ["taskset", "-c", cores, *command]


def run_once(measure: str, commands: list[list[str]]) -> tuple[float, int] | None:
    """Runs commands at the same time: seconds of the slowest, and its peak; None on a failure."""
    running = [
        subprocess.Popen([measure, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    worst = None
    for process, command in zip(running, commands, strict=True):
        output, complaint = process.communicate()
        fields = output.decode().split()
        if len(fields) != 3 or fields[2] != "0":
            print(f"    failed: {' '.join(command)}: {complaint.decode().strip()}")
            return None
        result = (int(fields[0]) * 1e-9, int(fields[1]) * 1024)
        worst = result if worst is None else max(worst, result)
    return worst


def run_in_turns(measure: str, peers: dict, turns: int) -> dict:
    """Runs all peers in turns, once to warm the page cache and then `turns` times.

    A peer is a list of commands that run at the same time. Returns the runs per peer; None if one
    fails.
    """
    runs: dict[str, Runs | None] = {name: Runs() for name in peers}
    for turn in range(turns + 1):
        for name, commands in peers.items():
            result = run_once(measure, commands) if runs[name] else None
            if not result:
                runs[name] = None
            elif turn:
                runs[name].add(*result)
    return runs


def run_alone(measure: str, command: list[str], turns: int, cores: str) -> Runs | None:
    """One command alone."""
    return run_in_turns(measure, {"only": [pin(command, cores)]}, turns)["only"]


def mean_of(first: Runs | None, second: Runs | None) -> Runs | None:
    """Mean of two equal commands, per turn."""
    if not first or not second:
        return None
    mean = Runs()
    for a, b in zip(first.turns, second.turns, strict=True):
        mean.add((a + b) / 2, max(first.peak_bytes, second.peak_bytes))
    return mean


def speed(size: int, runs: Runs | None) -> str:
    """Megabytes of the file per second."""
    return f"{size / MB / runs.seconds:,.0f} MB/s" if runs else "-"


def gain(value: Runs | None, than: Runs | None) -> float | None:
    """Speedup of one over the other: the median over the turns."""
    if not value or not than:
        return None
    return statistics.median(b / a for a, b in zip(value.turns, than.turns, strict=True))


def ratio(value: Runs | None, than: Runs | None) -> str:
    times = gain(value, than)
    return f"{times:.2f}x" if times else "-"


def count_events(tool: str, name: str) -> int:
    """Number of events in a file, as the tool counts them."""
    command = [tool, "trace", name, "--format", "json", "-q"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["events"]


def bench_plain(programs: dict, tool: str, path: pathlib.Path, turns: int) -> tuple | None:
    """One plain file: the reader alone and the whole command, on one core and on two.

    Returns the events and the time on one core.
    """
    size, name = path.stat().st_size, str(path)
    first, second = programs["cores"].split(",")
    command = [tool, "trace", name, "-q"]
    tables = [*command, "--format", "json"]
    peers = {
        "whole, first": [pin(command, first)],
        "whole, both": [pin(command, f"{first},{second}")],
        "whole, second": [pin(command, second)],
        "tables": [pin(tables, first)],
        "tables, both": [pin(tables, f"{first},{second}")],
        "apart": [pin(command, first), pin(command, second)],
        "reader, first": [pin([programs["read"], "1", name], first)],
        "reader, both": [pin([programs["read"], "2", name], f"{first},{second}")],
        "reader, second": [pin([programs["read"], "1", name], second)],
    }
    if programs["simdjson"]:
        peers = {"simdjson": [pin([programs["simdjson"], name], first)], **peers}
    runs = run_in_turns(programs["measure"], peers, turns)
    simdjson = runs.get("simdjson")
    print(f"\n{path.name}, {size / MB:,.0f} MB")
    print(f"  simdjson sums durations, 1 core     {speed(size, simdjson):>12}")
    for label, key in (("reader alone", "reader"), ("pyrometer trace", "whole")):
        one, two = mean_of(runs[f"{key}, first"], runs[f"{key}, second"]), runs[f"{key}, both"]
        beside = ratio(runs[f"{key}, first"], simdjson)
        print(f"  {label + ', 1 core':<36}{speed(size, one):>12}  {beside} simdjson")
        print(f"  {label + ', 2 cores':<36}{speed(size, two):>12}  {ratio(two, one)} one core")
    label = "all tables as JSON, 1 core"
    beside = ratio(runs["tables"], simdjson)
    print(f"  {label:<36}{speed(size, runs['tables']):>12}  {beside} simdjson")
    if one and runs["apart"]:
        most = 2 * gain(runs["apart"], one)
        print(f"  {'two processes, one core each':<36}{'':>12}  {most:.2f}x one core")
    if two:
        ours = [run for key, run in runs.items() if run and key.startswith(("whole", "tables"))]
        peak_bytes = max(run.peak_bytes for run in ours)
        peak = f"{peak_bytes / MB:,.0f} MB"
        print(f"  {'highest peak memory':<36}{peak:>12}  {peak_bytes / size:.2f} of the file")
    return (path.name, count_events(tool, name), one.seconds) if one else None


def print_linearity(results: list) -> None:
    """Time per event at each size, on one core; constant if the work is linear."""
    print("\nns per event, 1 core:")
    for name, events, seconds in results:
        print(f"  {name:<36}{seconds * 1e9 / events:>9,.0f} ns  {events:,} events")


def bench_packed(programs: dict, tool: str, path: pathlib.Path, turns: int) -> None:
    """The same file compressed: our throughput as a share of zlib's."""
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        with open(path, "rb") as plain, gzip.open(packed, "wb", 6) as file:
            shutil.copyfileobj(plain, file, 1 << 20)
    size = path.stat().st_size
    command = [tool, "trace", str(packed), "--format", "json", "-q"]
    peers = {"whole": [pin(command, programs["cores"])]}
    if programs["inflate"]:
        first = programs["cores"].split(",")[0]
        peers["zlib"] = [pin([programs["inflate"], str(packed)], first)]
    runs = run_in_turns(programs["measure"], peers, turns)
    zlib, whole = runs.get("zlib"), runs["whole"]
    print(f"\n{packed.name}, {size / MB:,.0f} MB decompressed")
    print(f"  zlib decompresses, 1 core           {speed(size, zlib):>12}")
    kept = gain(whole, zlib)
    share = f"{100 * kept:.0f}% of zlib's speed" if kept else ""
    print(f"  pyrometer trace, 2 cores            {speed(size, whole):>12}  {share}")


def hta_python() -> str | None:
    """An interpreter with HTA, in a separate environment because HTA pins old packages."""
    python = ROOT / ".venv-hta" / "bin" / "python"
    if not python.exists():
        print(f"    downloading into .venv-hta: {', '.join(HTA)} and their dependencies, 150 MB")
        subprocess.run([sys.executable, "-m", "venv", str(ROOT / ".venv-hta")], check=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *HTA]
    finished = subprocess.run(pip, capture_output=True, text=True, check=False)
    if finished.returncode:
        print(f"    HTA: not installed: {finished.stderr.strip().splitlines()[-1]}")
        return None
    return str(python)


def bench_hta(programs: dict, tool: str, path: pathlib.Path, turns: int) -> None:
    """HTA loads and runs two analyses, once because it takes a minute; ours runs all analyses."""
    python = hta_python()
    if not python:
        return
    peer = [python, str(BENCH / "peers" / "hta_trace.py"), str(path)]
    hta = run_once(programs["measure"], [peer])
    if not hta:
        return
    ours = run_alone(
        programs["measure"], [tool, "trace", str(path), "-q"], turns, programs["cores"]
    )
    size = path.stat().st_size
    print(f"\n{path.name}, {size / MB:,.0f} MB")
    memory = f"{hta[1] / size:.1f} of the file in memory"
    print(f"  HTA, load and two analyses          {hta[0]:>10.1f} s  {memory}")
    if ours:
        times = f"{hta[0] / ours.seconds:,.0f}x HTA"
        print(f"  pyrometer trace, all analyses       {ours.seconds:>10.3f} s  {times}")


def bench_small(programs: dict, tool: str, turns: int) -> None:
    """Time of the whole command on a small file, most of which is not reading."""
    path = make_file("1mb", MB)
    command = [tool, "trace", str(path), "-q"]
    whole = run_alone(programs["measure"], command, 2 * turns, programs["cores"])
    if whole:
        print(f"\n{path.stat().st_size / MB:.1f} MB: {whole.seconds * 1e3:.1f} ms")


def make_file(name: str, size: int) -> pathlib.Path:
    """A trace of about this size, kept between runs. The smallest is a part of the source."""
    path = FOLDER / f"trace-{name}.json"
    if size <= MB:
        lines = gen_trace.read_text(SOURCE)
        if not path.exists():
            cut = lines.index("\n  {\n", size - 10_000)
            path.write_text(lines[:cut].rstrip().rstrip(",") + "\n  ]\n}\n")
    elif not path.exists():
        print(f"    writing {path.name}")
        gen_trace.generate(SOURCE, path, size)
    return path


def main() -> None:
    """Builds, generates, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--quick", action="store_true", help="measure only 100 MB, with fewer runs")
    parser.add_argument("--cores", default="0,1", help="the two cores to use")
    parser.add_argument("--runs", type=int, help="number of runs, after one warm-up run")
    arguments = parser.parse_args()
    turns = arguments.runs or (3 if arguments.quick else 9)
    FOLDER.mkdir(parents=True, exist_ok=True)
    library = [f"-I{ROOT / 'include'}", str(ROOT / "build" / "libpyrometer.a")]
    programs = {
        "cores": arguments.cores,
        "measure": compile_program("measure", BENCH / "measure.c"),
        "read": compile_program(
            "read_trace", BENCH / "read_trace.c", *library, "-lz", "-lzstd", "-lm", "-pthread"
        ),
        "simdjson": compile_program(
            "simdjson_sum", BENCH / "peers" / "simdjson_sum.cpp", "-lsimdjson"
        ),
        "inflate": compile_program("inflate", BENCH / "peers" / "inflate.c", "-lz"),
    }
    sizes = {"100mb": 100 * MB}
    if not arguments.quick:
        sizes |= {"500mb": 500 * MB, "1500mb": 1500 * MB}
    bench_small(programs, arguments.tool, turns)
    results = [
        bench_plain(programs, arguments.tool, make_file(name, size), turns)
        for name, size in sizes.items()
    ]
    print_linearity([result for result in results if result])
    bench_packed(programs, arguments.tool, make_file("100mb", 100 * MB), turns)
    bench_hta(programs, arguments.tool, make_file("100mb", 100 * MB), turns)


if __name__ == "__main__":
    main()
