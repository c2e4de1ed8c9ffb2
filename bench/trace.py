"""Times `pyrometer trace` on large traces beside simdjson, every run a process of its own.

Generates traces from a real one, and prints speeds, their ratio to simdjson merely adding up the
durations, how much a second core helps, and memory. The best of a few runs counts: what disturbs
a run only makes it slower. It never fails on a time.

usage: python bench/trace.py [--tool build/pyrometer] [--quick] [--large]
"""

import argparse
import gzip
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


def best_of(measure: str, command: list[str], runs: int, cores: int) -> Best | None:
    """Runs a command on so many cores, once to warm the page cache and then as often as asked."""
    pinned = ["taskset", "-c", f"0-{cores - 1}" if cores > 1 else "0", *command]
    best = None
    for run in range(runs + 1):
        finished = subprocess.run([measure, *pinned], capture_output=True, text=True, check=False)
        fields = finished.stdout.split()
        if finished.returncode or len(fields) != 3 or fields[2] != "0":
            print(f"    failed: {' '.join(command)}: {finished.stderr.strip()}")
            return None
        seconds, peak = int(fields[0]) * 1e-9, int(fields[1]) * 1024
        if run and (best is None or seconds < best.seconds):
            best = Best(seconds, peak)
    return best


def speed(size: int, best: Best | None) -> str:
    """Megabytes of the file a second."""
    return f"{size / MB / best.seconds:,.0f} MB/s" if best else "-"


def ratio(value: Best | None, than: Best | None) -> str:
    """How many times faster one is than the other."""
    return f"{than.seconds / value.seconds:.2f}x" if value and than else "-"


def bench_plain(programs: dict, tool: str, path: pathlib.Path, runs: int) -> None:
    """One plain file: the reader alone and the whole command, on one core and on two."""
    measure, size, name = programs["measure"], path.stat().st_size, str(path)
    simdjson = None
    if programs["simdjson"]:
        simdjson = best_of(measure, [programs["simdjson"], name], runs, 1)
    command = [tool, "trace", name, "--format", "json", "-q"]
    reader = best_of(measure, [programs["read"], "1", name], runs, 1)
    reader2 = best_of(measure, [programs["read"], "2", name], runs, 2)
    whole = best_of(measure, command, runs, 1)
    whole2 = best_of(measure, command, runs, 2)
    print(f"\n{path.name}, {size / MB:,.0f} MB")
    print(f"  simdjson adds up durations, 1 core  {speed(size, simdjson):>12}")
    for label, one, two in (("reader alone", reader, reader2), ("pyrometer trace", whole, whole2)):
        print(f"  {label + ', 1 core':<36}{speed(size, one):>12}  {ratio(one, simdjson)} simdjson")
        print(f"  {label + ', 2 cores':<36}{speed(size, two):>12}  {ratio(two, one)} one core")
    if whole2:
        peak = f"{whole2.peak_bytes / MB:,.0f} MB"
        print(f"  {'peak memory':<36}{peak:>12}  {whole2.peak_bytes / size:.2f} of the file")


def bench_packed(programs: dict, tool: str, path: pathlib.Path, runs: int) -> None:
    """The same file packed: what the reader keeps of the unpacker's own speed."""
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        with open(path, "rb") as plain, gzip.open(packed, "wb", 6) as file:
            shutil.copyfileobj(plain, file, 1 << 20)
    size, measure = path.stat().st_size, programs["measure"]
    zlib = None
    if programs["inflate"]:
        zlib = best_of(measure, [programs["inflate"], str(packed)], runs, 1)
    whole = best_of(measure, [tool, "trace", str(packed), "--format", "json", "-q"], runs, 2)
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
    runs = 2 if arguments.quick else 5
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
    for name, size in sizes.items():
        bench_plain(programs, arguments.tool, make_file(name, size), runs)
    bench_packed(programs, arguments.tool, make_file("100mb", 100 * MB), runs)
    bench_hta(programs, arguments.tool, make_file("100mb", 100 * MB), runs)


if __name__ == "__main__":
    main()
