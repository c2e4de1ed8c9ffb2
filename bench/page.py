"""Measures the page of a large trace: its size, how it is made, and how smoothly it draws.

Makes a trace of about a million events from a real one, writes its page with the tool, and opens
it in Chromium without a GPU. Needs `make web` and Chromium (Debian: chromium).

usage: python bench/page.py [EVENTS]
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "tests/files/trace/h200_resnet18_train.json.gz"
LIMITS = {"first_paint_ms": 1500, "median_ms": 33, "p95_ms": 50}


def events_in(tool: pathlib.Path, path: pathlib.Path) -> int:
    done = subprocess.run(
        [tool, "trace", path, "--format", "json", "-q"], capture_output=True, check=True
    )
    return json.loads(done.stdout)["events"]


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    tool = ROOT / "build/pyrometer"
    with tempfile.TemporaryDirectory() as folder:
        trace, page = pathlib.Path(folder, "large.json"), pathlib.Path(folder, "page.html")
        plain = subprocess.run(["gzip", "-dc", SOURCE], capture_output=True, check=True).stdout
        # A fifth of a trace's events are no slices of its timeline.
        size = int(len(plain) * wanted * 1.25 / events_in(tool, SOURCE))
        subprocess.run(
            [sys.executable, ROOT / "bench/gen_trace.py", SOURCE, trace, str(size)], check=True
        )
        begin = time.monotonic()
        subprocess.run(
            [tool, "report", trace, "--events", str(2 * wanted), "-q", "-o", page],
            check=True,
        )
        seconds = time.monotonic() - begin
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(f"trace: {trace.stat().st_size / 1e6:.0f} MB")
        made = f"{page.stat().st_size / 1e6:.2f} MB in {seconds:.1f} s"
        print(f"page: {made}, {peak / 1e6:.0f} MB of memory at the peak")
        done = subprocess.run(
            ["node", "tools/frames.mjs", page], cwd=ROOT / "web", capture_output=True, check=True
        )
    # Beside other programs the clock says little: see the load, and the processor time per frame.
    for name, value in json.loads(done.stdout).items():
        limit = LIMITS.get(name)
        print(f"{name}: {value}" + (f" (at most {limit})" if limit else ""))


if __name__ == "__main__":
    main()
