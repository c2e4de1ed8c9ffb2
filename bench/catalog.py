"""Times built-in models: one in a cold process, with fvcore for comparison; all in one process.

Also prints the size of the catalog. All ratios come from one run; it never fails on a time.

usage: python bench/catalog.py [--tool build/pyrometer] [--quick]
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

from cost import PEER_RUNS, PEERS, RESULTS, ROOT, begin, measure, print_row

# Targets; printed next to the results, never enforced.
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
    """ResNet-50 by name and with fvcore, each in a cold process."""
    ours = measure(program, [tool, "cost", "resnet50"], runs)
    print_row("resnet50 by name: pyrometer cost", ours)
    if importlib.util.find_spec("fvcore") is None:
        print("    fvcore: skipped, not installed")
        return
    theirs = measure(
        program, [sys.executable, str(PEERS / "fvcore_resnet50.py")], min(runs, PEER_RUNS)
    )
    beside = ""
    if ours and theirs:
        times = theirs.median / ours.median
        beside = f"{times:,.0f} times our time (target: at least {ASKED_TIMES_FASTER})"
    print_row("resnet50: fvcore", theirs, beside)


def bench_all(program: str, tool: str, runs: int) -> None:
    """All models in one process, and `pyrometer models`."""
    names = names_of(tool)
    command = [tool, "cost", "--model", ",".join(names), "--format", "csv"]
    result = measure(program, command, min(runs, 5))
    print_row(f"all {len(names)} models in one process", result, f"(target: under {ASKED_ALL_S} s)")
    print_row("list of all models: pyrometer models", measure(program, [tool, "models"], runs))


def print_sizes(tool: str) -> None:
    """Sizes of the library with the catalog, of the tool, and of the catalog."""
    skeletons = sum(path.stat().st_size for path in (ROOT / "catalog/skeletons").glob("*.pt2"))
    library = pathlib.Path(tool).parent / "libpyrometer.so"
    if library.exists():
        size = library.resolve().stat().st_size
        target = f"(target: under {ASKED_LIBRARY_BYTES / 2**20:.0f} MiB)"
        print(f"{'libpyrometer.so with the catalog':<46}{size / 2**20:>8.2f} MiB  {target}")
    print(f"{'tool with the library':<46}{os.path.getsize(tool) / 2**20:>8.2f} MiB")
    print(f"{'skeletons in the catalog':<46}{skeletons / 2**20:>8.2f} MiB")


def main() -> int:
    program, tool, runs = begin(__doc__)
    bench_one(program, tool, runs)
    bench_all(program, tool, runs)
    print_sizes(tool)
    RESULTS.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
