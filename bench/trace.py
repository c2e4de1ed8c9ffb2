"""Times `pyrometer trace` on large traces beside simdjson, every run a process of its own.

Generates traces from a real one, and prints speeds, their ratio to simdjson merely adding up the
durations, how much a second core helps, memory, and the time an event at each size. What is
compared runs in turns (A B C A B C ...), so that all meet the same machine, and the best of each
counts: what disturbs a run only makes it slower. Beside what two cores give one trace stands what
they give two processes that have nothing to do with each other, one on each: where cores share
caches, memory or a physical core, that is less than twice, and no program gets more. It never fails
on a time.

usage: python bench/trace.py [--tool build/pyrometer] [--quick] [--large]
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

import gen_trace

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "bench"
BENCH = pathlib.Path(__file__).parent
SOURCE = ROOT / "tests" / "files" / "trace" / "h200_resnet18_train.json.gz"
MB = 1_000_000
HTA = ("HolisticTraceAnalysis==0.5.0", "pandas==2.2.3")  # with newer pandas some files fail


class Best:
    """The best of several runs of a command."""

    def __init__(self, seconds: float, peak_bytes: int) -> None:
        self.seconds = seconds
        self.peak_bytes = peak_bytes


def compile_program(name: str, source: pathlib.Path, *flags: str) -> str | None:
    """Builds a small program into the bench folder; None where that fails."""
    program = FOLDER / name
    compiler = "c++" if source.suffix == ".cpp" else os.environ.get("CC", "cc")
    command = [compiler, "-O3", "-o", str(program), str(source), *flags]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        print(f"    {name}: not built: {finished.stderr.strip().splitlines()[0]}")
        return None
    return str(program)


def pin(command: list[str], cores: str) -> list[str]:
    """The command on these cores: "0", "1" or "0-1"."""
    return ["taskset", "-c", cores, *command]


def read_result(output: str) -> Best | None:
    """What measure printed; None where the command failed."""
    fields = output.split()
    if len(fields) != 3 or fields[2] != "0":
        return None
    return Best(int(fields[0]) * 1e-9, int(fields[1]) * 1024)


def run_once(measure: str, commands: list[list[str]]) -> Best | None:
    """Runs commands at the same time; the slowest of them."""
    running = [
        subprocess.Popen([measure, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    worst = None
    for process, command in zip(running, commands, strict=True):
        output, complaint = process.communicate()
        result = read_result(output.decode())
        if not result:
            print(f"    failed: {' '.join(command)}: {complaint.decode().strip()}")
            return None
        if worst is None or result.seconds > worst.seconds:
            worst = result
    return worst


def best_in_turns(measure: str, peers: dict, runs: int) -> dict:
    """Runs all peers in turns, once to warm the page cache and then as often as asked.

    A peer is a list of commands that run at the same time. The best of each, None for failures.
    """
    best: dict[str, Best | None] = dict.fromkeys(peers)
    failed = set()
    for run in range(runs + 1):
        for name, commands in peers.items():
            result = None if name in failed else run_once(measure, commands)
            if not result:
                failed.add(name)
                best[name] = None
            elif run and (best[name] is None or result.seconds < best[name].seconds):
                best[name] = result
    return best


def best_of(measure: str, command: list[str], runs: int, cores: int) -> Best | None:
    """The best of several runs of one command alone."""
    pinned = pin(command, f"0-{cores - 1}" if cores > 1 else "0")
    return best_in_turns(measure, {"only": [pinned]}, runs)["only"]


def speed(size: int, best: Best | None) -> str:
    """Megabytes of the file a second."""
    return f"{size / MB / best.seconds:,.0f} MB/s" if best else "-"


def ratio(value: Best | None, than: Best | None) -> str:
    """How many times faster one is than the other."""
    return f"{than.seconds / value.seconds:.2f}x" if value and than else "-"


def count_events(tool: str, name: str) -> int:
    """Events of a file, by the tool itself."""
    command = [tool, "trace", name, "--format", "json", "-q"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["events"]


def bench_plain(programs: dict, tool: str, path: pathlib.Path, runs: int) -> tuple | None:
    """One plain file: the reader alone and the whole command, on one core and on two.

    Gives the events and the best time on one core.
    """
    size, name = path.stat().st_size, str(path)
    command = [tool, "trace", name, "--format", "json", "-q"]
    peers = {
        "whole": [pin(command, "0")],
        "whole2": [pin(command, "0-1")],
        "apart": [pin(command, "0"), pin(command, "1")],
        "reader": [pin([programs["read"], "1", name], "0")],
        "reader2": [pin([programs["read"], "2", name], "0-1")],
    }
    if programs["simdjson"]:
        peers = {"simdjson": [pin([programs["simdjson"], name], "0")], **peers}
    best = best_in_turns(programs["measure"], peers, runs)
    simdjson, whole, whole2 = best.get("simdjson"), best["whole"], best["whole2"]
    print(f"\n{path.name}, {size / MB:,.0f} MB")
    print(f"  simdjson adds up durations, 1 core  {speed(size, simdjson):>12}")
    rows = (("reader alone", best["reader"], best["reader2"]), ("pyrometer trace", whole, whole2))
    for label, one, two in rows:
        print(f"  {label + ', 1 core':<36}{speed(size, one):>12}  {ratio(one, simdjson)} simdjson")
        print(f"  {label + ', 2 cores':<36}{speed(size, two):>12}  {ratio(two, one)} one core")
    apart = best["apart"]
    if apart and whole:
        gain = 2 * whole.seconds / apart.seconds
        print(f"  {'two of them at once, a core each':<36}{'':>12}  {gain:.2f}x one core")
    if whole2:
        peak = f"{whole2.peak_bytes / MB:,.0f} MB"
        print(f"  {'peak memory':<36}{peak:>12}  {whole2.peak_bytes / size:.2f} of the file")
    return (path.name, count_events(tool, name), whole.seconds) if whole else None


def print_linearity(results: list) -> None:
    """Time an event at each size, on one core: the same where the work is linear."""
    print("\nns an event, 1 core:")
    for name, events, seconds in results:
        print(f"  {name:<36}{seconds * 1e9 / events:>9,.0f} ns  {events:,} events")


def bench_packed(programs: dict, tool: str, path: pathlib.Path, runs: int) -> None:
    """The same file packed: what the reader keeps of the unpacker's own speed."""
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        with open(path, "rb") as plain, gzip.open(packed, "wb", 6) as file:
            shutil.copyfileobj(plain, file, 1 << 20)
    size = path.stat().st_size
    command = [tool, "trace", str(packed), "--format", "json", "-q"]
    peers = {"whole": [pin(command, "0-1")]}
    if programs["inflate"]:
        peers["zlib"] = [pin([programs["inflate"], str(packed)], "0")]
    best = best_in_turns(programs["measure"], peers, 2 * runs)
    zlib, whole = best.get("zlib"), best["whole"]
    print(f"\n{packed.name}, {size / MB:,.0f} MB unpacked")
    print(f"  zlib unpacks, 1 core                {speed(size, zlib):>12}")
    share = f"{100 * zlib.seconds / whole.seconds:.0f}% of zlib's speed" if zlib and whole else ""
    print(f"  pyrometer trace, 2 cores            {speed(size, whole):>12}  {share}")


def hta_python() -> str | None:
    """An interpreter that has HTA, which pins old packages: an environment of its own."""
    python = ROOT / ".venv-hta" / "bin" / "python"
    if not python.exists():
        print(f"    into .venv-hta will be downloaded: {', '.join(HTA)} and what they need, 150 MB")
        subprocess.run([sys.executable, "-m", "venv", str(ROOT / ".venv-hta")], check=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *HTA]
    finished = subprocess.run(pip, capture_output=True, text=True, check=False)
    if finished.returncode:
        print(f"    HTA: not installed: {finished.stderr.strip().splitlines()[-1]}")
        return None
    return str(python)


def bench_hta(programs: dict, tool: str, path: pathlib.Path, runs: int) -> None:
    """Loading and two analyses by HTA, once because it takes a minute, beside all of ours."""
    python = hta_python()
    if not python:
        return
    peer = [python, str(BENCH / "peers" / "hta_trace.py"), str(path)]
    finished = subprocess.run([programs["measure"], *peer], capture_output=True, text=True)
    fields = finished.stdout.split()
    if len(fields) != 3 or fields[2] != "0":
        print(f"    HTA failed: {(finished.stderr.strip().splitlines() or ['no message'])[-1]}")
        return
    hta = Best(int(fields[0]) * 1e-9, int(fields[1]) * 1024)
    ours = best_of(programs["measure"], [tool, "trace", str(path), "-q"], runs, 2)
    size = path.stat().st_size
    print(f"\n{path.name}, {size / MB:,.0f} MB")
    memory = f"{hta.peak_bytes / size:.1f} of the file in memory"
    print(f"  HTA, load and two analyses          {hta.seconds:>10.1f} s  {memory}")
    if ours:
        print(
            f"  pyrometer trace, all analyses       {ours.seconds:>10.3f} s  {ratio(ours, hta)} HTA"
        )


def bench_small(programs: dict, tool: str, runs: int) -> None:
    """What a small file costs with everything that is not reading."""
    path = make_file("1mb", MB)
    whole = best_of(programs["measure"], [tool, "trace", str(path), "-q"], 2 * runs, 2)
    if whole:
        print(f"\n{path.stat().st_size / MB:.1f} MB: {whole.seconds * 1e3:.1f} ms")


def make_file(name: str, size: int) -> pathlib.Path:
    """A trace of about this size, kept from run to run. The smallest is one whole copy."""
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
    parser.add_argument("--quick", action="store_true", help="only 100 MB, fewer runs")
    parser.add_argument("--large", action="store_true", help="1.5 GB as well")
    arguments = parser.parse_args()
    runs = 3 if arguments.quick else 9
    FOLDER.mkdir(parents=True, exist_ok=True)
    library = [f"-I{ROOT / 'include'}", str(ROOT / "build" / "libpyrometer.a")]
    programs = {
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
        sizes["500mb"] = 500 * MB
    if arguments.large:
        sizes["1500mb"] = 1500 * MB
    bench_small(programs, arguments.tool, runs)
    results = [
        bench_plain(programs, arguments.tool, make_file(name, size), runs)
        for name, size in sizes.items()
    ]
    print_linearity([result for result in results if result])
    bench_packed(programs, arguments.tool, make_file("100mb", 100 * MB), runs)
    bench_hta(programs, arguments.tool, make_file("100mb", 100 * MB), runs)


if __name__ == "__main__":
    main()
