"""Times models by name: one cold, beside a cold fvcore; all of them in one process; the size.

It prints ratios measured in one run on one machine, and never fails on a time.

usage: python bench/catalog.py [--tool build/pyrometer] [--quick]
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

from cost import PEER_RUNS, PEERS, ROOT, begin, measure, print_row

# What is asked of the catalog; said beside the measurement, never enforced.
ASKED_TIMES_FASTER = 200
ASKED_ALL_S = 3
ASKED_LIBRARY_BYTES = 8 << 20


def names_of(tool: str) -> list[str]:
    """Every built-in model."""
    listing = subprocess.run(
        [tool, "models", "--format", "csv"], capture_output=True, text=True, check=True
    )
    return [line.partition(",")[0] for line in listing.stdout.splitlines()[1:]]


def bench_one(program: str, tool: str, runs: int) -> None:
    """ResNet-50 by name, cold, beside fvcore, cold."""
    ours = measure(program, [tool, "cost", "resnet50"], runs)
    print_row("resnet50 by name: pyrometer cost", ours)
    if importlib.util.find_spec("fvcore") is None:
        print("    fvcore is not installed: not compared")
        return
    theirs = measure(
        program, [sys.executable, str(PEERS / "fvcore_resnet50.py")], min(runs, PEER_RUNS)
    )
    beside = ""
    if ours and theirs:
        times = theirs.median / ours.median
        beside = f"{times:,.0f} times our time (asked: {ASKED_TIMES_FASTER} or more)"
    print_row("resnet50: fvcore", theirs, beside)


def bench_all(program: str, tool: str, runs: int) -> None:
    """Every model in one process, and the list of all."""
    names = names_of(tool)
    command = [tool, "cost", "--model", ",".join(names), "--format", "csv"]
    result = measure(program, command, min(runs, 5))
    print_row(f"all {len(names)} models in one process", result, f"(asked: under {ASKED_ALL_S} s)")
    print_row("the list of all: pyrometer models", measure(program, [tool, "models"], runs))


def print_sizes(tool: str) -> None:
    """Bytes of the library with the catalog inside, of the tool, and of the catalog itself."""
    skeletons = sum(path.stat().st_size for path in (ROOT / "catalog/skeletons").glob("*.pt2"))
    library = pathlib.Path(tool).parent / "libpyrometer.so"
    if library.exists():
        size = library.resolve().stat().st_size
        asked = f"(asked: under {ASKED_LIBRARY_BYTES / 2**20:.0f} MiB)"
        print(f"{'libpyrometer.so with the catalog':<46}{size / 2**20:>8.2f} MiB  {asked}")
    print(f"{'the tool, with the library inside':<46}{os.path.getsize(tool) / 2**20:>8.2f} MiB")
    print(f"{'skeletons in the catalog':<46}{skeletons / 2**20:>8.2f} MiB")


def main() -> int:
    program, tool, runs = begin(__doc__)
    bench_one(program, tool, runs)
    bench_all(program, tool, runs)
    print_sizes(tool)
    return 0


if __name__ == "__main__":
    sys.exit(main())
