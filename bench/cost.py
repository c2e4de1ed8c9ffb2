"""Times `pyrometer cost`, fvcore and FlopCounterMode, each run in a cold process.

All ratios come from one run on one machine; it never fails on a time.

usage: python bench/cost.py [--tool build/pyrometer] [--quick]
"""

import argparse
import dataclasses
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import generate
from results import Results

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "bench"
PEERS = pathlib.Path(__file__).with_name("peers")

RUNS = 20
PEER_RUNS = 3  # each takes seconds, most of them for imports
LARGEST_RUNS = 5
RESULTS = Results(pathlib.Path(sys.argv[0]).stem)  # catalog.py prints such rows too


@dataclasses.dataclass
class Measurement:
    """Repeated cold runs of one command."""

    seconds: list[float]
    peak_bytes: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def build_measure() -> str:
    """Compiles the small program that runs the commands."""
    source = pathlib.Path(__file__).with_name("measure.c")
    program = FOLDER / "measure"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True)
    return str(program)


def measure(program: str, command: list[str], runs: int) -> Measurement | None:
    """Runs a command once to warm the page cache, then `runs` times; None if it fails."""
    seconds, peaks = [], []
    for run in range(runs + 1):
        finished = subprocess.run([program, *command], capture_output=True, text=True, check=False)
        fields = finished.stdout.split()
        if finished.returncode or len(fields) != 3 or fields[2] != "0":
            lines = finished.stderr.strip().splitlines()
            print(f"    failed: {' '.join(command)}: {lines[-1] if lines else 'no message'}")
            return None
        if run:
            seconds.append(int(fields[0]) / 1e9)
            peaks.append(int(fields[1]) * 1024)
    return Measurement(seconds, max(peaks))


def exported(name: str) -> pathlib.Path | None:
    """A model of the zoo as a file; exported once, then kept."""
    path = FOLDER / f"{name}.pt2"
    if not path.exists():
        print(f"exporting {name} (once; kept in {FOLDER.relative_to(ROOT)})", flush=True)
        command = [sys.executable, "-m", "zoo.export", "--pt2", name, "--dir", str(FOLDER)]
        path_of_zoo = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "models")))
        environment = os.environ | {"PYTHONPATH": path_of_zoo}
        finished = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if finished.returncode:
            lines = finished.stderr.strip().splitlines()
            print(f"    failed: {lines[-1] if lines else 'no message'}")
            return None
    return path


def chain(nodes: int) -> pathlib.Path:
    """A generated graph of that many nodes; written once, then kept."""
    path = FOLDER / f"chain-{nodes}.pt2"
    if not path.exists():
        print(f"writing a graph of {nodes:,} nodes", flush=True)
        temporary = path.with_suffix(".part")
        generate.write_chain(str(temporary), nodes)
        temporary.rename(path)
    return path


def _line_of(path: str, key: str) -> str:
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(key):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"


def print_machine(tool: str) -> None:
    """Prints the machine, the tool and the number of runs."""
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    processor = _line_of("/proc/cpuinfo", "model name")
    if processor == "unknown":
        implementer, part = (_line_of("/proc/cpuinfo", f"CPU {key}") for key in ("imp", "part"))
        processor = f"implementer {implementer}, part {part}"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"machine: {platform.machine()}, {processor}, {os.cpu_count()} cores, load {load:.1f}")
    print(f"         {_line_of('/proc/meminfo', 'MemTotal')} memory, {platform.platform()}")
    print(f"tool:    {version.stdout.strip() or tool}; Python {platform.python_version()}")
    print(f"runs:    cold processes, median of {RUNS}; Python tools of {PEER_RUNS}; ", end="")
    print(f"a million nodes of {LARGEST_RUNS}; after one warm-up run each")
    print()


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


def print_row(what: str, result: Measurement | None, beside: str = "") -> None:
    """One line of a table."""
    if result is None:
        print(f"{what:<46}{'failed':>12}")
        return
    RESULTS.add(what, (one * 1e3 for one in result.seconds))
    spread = f"{_time(min(result.seconds))} .. {_time(max(result.seconds))}"
    memory = f"{result.peak_bytes / 2**20:.1f} MiB"
    print(f"{what:<46}{_time(result.median):>12}{spread:>26}{memory:>14}  {beside}")
    sys.stdout.flush()


def cost_command(tool: str, path: pathlib.Path) -> list[str]:
    return [tool, "cost", str(path)]


def bench_peers(program: str, tool: str, runs: int) -> None:
    """ResNet-50 with our tool and with common counters."""
    path = exported("resnet50")
    if path is None:
        return
    ours = measure(program, cost_command(tool, path), runs)
    print_row("resnet50: pyrometer cost", ours)
    whole = measure(program, [*cost_command(tool, path), "--format", "json"], runs)
    print_row("resnet50: pyrometer cost, every node as JSON", whole)
    for title, script in (
        ("resnet50: fvcore", "fvcore_resnet50.py"),
        ("resnet50: FlopCounterMode", "flop_counter_resnet50.py"),
        ("(import torch alone)", "import_torch.py"),
    ):
        theirs = measure(program, [sys.executable, str(PEERS / script)], min(runs, PEER_RUNS))
        beside = ""
        if ours and theirs:
            times = theirs.median / ours.median
            less = theirs.peak_bytes / ours.peak_bytes
            beside = f"{times:,.0f} times our time, {less:,.0f} times our memory"
        print_row(title, theirs, beside)


def bench_large_model(program: str, tool: str, runs: int) -> None:
    """A model of 70 billion parameters."""
    path = exported("llama3_70b")
    if path is not None:
        result = measure(program, cost_command(tool, path), runs)
        print_row("llama3_70b, 80 layers: pyrometer cost", result)


def bench_growth(program: str, tool: str, runs: int) -> None:
    """How the time grows with the nodes."""
    previous = None
    for nodes in (10_000, 100_000, 1_000_000):
        count = min(runs, LARGEST_RUNS) if nodes == 1_000_000 else runs
        result = measure(program, cost_command(tool, chain(nodes)), count)
        beside = ""
        if previous and result:
            beside = f"{result.median / previous.median:.1f} times for 10 times the nodes"
        print_row(f"{nodes:,} nodes: pyrometer cost", result, beside)
        previous = result


def begin(description: str) -> tuple[str, str, int]:
    """Reads the command line and prints the machine, the tool, the runs and the table's head.

    Exits with 2 where there is no tool.
    """
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--tool", default=tool, help="path of the tool (default: build/pyrometer)")
    parser.add_argument("--quick", action="store_true", help="run each command three times")
    options = parser.parse_args()
    if not os.access(options.tool, os.X_OK):
        print(f"{options.tool}: no such program; build it first", file=sys.stderr)
        sys.exit(2)
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = build_measure()
    print_machine(options.tool)
    print(f"{'':<46}{'median':>12}{'least .. most':>26}{'peak memory':>14}")
    return program, options.tool, 3 if options.quick else RUNS


def main() -> int:
    program, tool, runs = begin(__doc__)
    bench_peers(program, tool, runs)
    bench_large_model(program, tool, runs)
    bench_growth(program, tool, runs)
    RESULTS.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
