"""Compares steps, overlap, idle time and kernel totals with HolisticTraceAnalysis: test_hta.py runs
it with the interpreter that has HTA.

    build/peers/hta/bin/python tests/peers/compare_with_hta.py --tool build/pyrometer TRACE...

HTA rounds times to whole microseconds, drops device work whose launch it does not find, and takes
device-side waits and annotations for kernels. So the comparison uses what HTA sees: its table
of device events is written as a trace and passed to pyrometer, whose result must then be equal to
the microsecond. Also prints how far HTA's view is from the file, and where the two do not
agree on which kernels communicate.
"""

import argparse
import contextlib
import gzip
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

# HTA selects an installed parser; this one reads every file that HTA can read.
os.environ.setdefault("HTA_PARSER_BACKEND", "json")
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402
from hta.utils.utils import get_kernel_type  # noqa: E402

NOTHING_TO_COMPARE = 77
WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def analyze(tool, path):
    run = subprocess.run(
        [tool, "trace", path, "--format", "json"], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise SystemExit(f"{path}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def load_in_hta(path, folder):
    """HTA's table of a trace; times that its rounding made negative are set to 0."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        analyzer = TraceAnalysis(
            trace_files={0: path}, trace_dir=folder, include_last_profiler_step=True
        )
    table = analyzer.t.traces[0]
    turned = int((table["stream"].ne(-1) & (table["dur"] < 0)).sum())
    table.loc[table["dur"] < 0, "dur"] = 0
    if "end" in table:
        table["end"] = table["ts"] + table["dur"]
    return analyzer, table, turned


def device_rows(analyzer, table):
    names = analyzer.t.symbol_table.get_sym_table()
    rows = table[table["stream"].ne(-1)]
    for index, row in rows.iterrows():
        launch = row.get("index_correlation", -1)
        yield {
            "name": names[int(row["name"])],
            "category": names[int(row["cat"])],
            "start": float(row["ts"]),
            "duration": float(row["dur"]),
            "stream": int(row["stream"]),
            "launch": float(table.loc[launch, "ts"]) if launch in table.index else None,
            "index": index,
        }


def as_event(row, kind, device, stream, correlation):
    """An event of HTA's kind, with a name that pyrometer classifies the same way."""
    names = {"COMPUTATION": "compute", "COMMUNICATION": "ncclKernel_AllReduce"}
    return {
        "ph": "X",
        "cat": "kernel" if kind in names else "gpu_memcpy",
        "name": names.get(kind, "copy"),
        "pid": device,
        "tid": stream,
        "ts": row["start"] + 1000,
        "dur": row["duration"],
        "args": {"device": device, "stream": stream, "correlation": correlation},
    }


def write_view(path, rows, by_stream):
    """HTA's device events as a trace; by stream, each stream becomes a device with launches."""
    events = []
    for correlation, row in enumerate(rows, 1):
        if by_stream and row["category"] not in WORK:
            continue
        device = row["stream"] if by_stream else 0
        kind = get_kernel_type(row["name"])
        events.append(as_event(row, kind, device, row["stream"], correlation))
        if by_stream and row["launch"] is not None:
            events.append(
                {
                    "ph": "X",
                    "cat": "cuda_runtime",
                    "name": "cudaLaunchKernel",
                    "pid": 99999,
                    "tid": 1,
                    "ts": row["launch"] + 1000,
                    "dur": 0,
                    "args": {"correlation": correlation},
                }
            )
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)


def check_breakdown(tool, analyzer, rows, path):
    """Pairs (what, HTA's number, ours), in microseconds or percent."""
    write_view(path, rows, by_stream=False)
    ours = analyze(tool, path)
    step = ours["steps"][0]
    hta = analyzer.get_temporal_breakdown(visualize=False).iloc[0]
    exposed = step["communication_exposed_ns"] + step["copy_exposed_ns"]
    yield "span", float(hta["kernel_time(us)"]), step["span_ns"] / 1000
    yield "idle", float(hta["idle_time(us)"]), step["idle_ns"] / 1000
    yield "compute", float(hta["compute_time(us)"]), step["compute_ns"] / 1000
    yield "not compute", float(hta["non_compute_time(us)"]), exposed / 1000
    total = sum(row["duration"] for row in rows)
    yield "device total", total, ours["device_total_ns"] / 1000
    if step["communication_ns"]:
        overlap = analyzer.get_comm_comp_overlap(visualize=False).iloc[0]
        covered = step["communication_ns"] - step["communication_exposed_ns"]
        share = round(100 * covered / step["communication_ns"], 2)
        yield "overlap %", float(overlap["comp_comm_overlap_pctg"]), share


def check_idle(tool, analyzer, rows, path):
    """Idle time per stream caused by the host. HTA splits its other kinds by a threshold."""
    write_view(path, rows, by_stream=True)
    ours = analyze(tool, path)["gap_totals"]
    hta, _ = analyzer.get_idle_time_breakdown(ranks=[0], visualize=False)
    late = hta[hta["idle_category"] == "host_wait"]["idle_time"].sum()
    yield "host wait", float(late), ours["host_wait_ns"] / 1000


def describe_view(tool, path, rows, turned):
    """What HTA omits from the file, adds, loses by rounding, and takes for compute."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        trace = json.loads(file.read().decode("utf-8", "replace"), strict=False)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    work = [event for event in events if event.get("cat") in WORK and "dur" in event]
    exact = sum(event["dur"] for event in work)
    seen = [row for row in rows if row["category"] in WORK]
    extra = len(rows) - len(seen)
    shown = sum(row["duration"] for row in seen)
    share = 100 * (shown - exact) / exact if exact else 0
    text = f"HTA sees {len(seen)} of {len(work)} device events, {share:+.2f}% of their time"
    if extra:
        text += f"; takes {extra} waits and annotations for kernels"
    theirs = sum(get_kernel_type(event["name"]) == "COMMUNICATION" for event in work)
    ours = sum(row["calls"] for row in analyze(tool, path)["collectives"])
    if ours != theirs:
        text += f"; knows {theirs} of {ours} collectives"
    if turned:
        text += f"; rounding gave {turned} events a negative time"
    return text


def check_file(tool, path):
    """Number of differences; None if HTA cannot read the file."""
    print(os.path.basename(path))
    with tempfile.TemporaryDirectory() as folder:
        view = os.path.join(folder, "view.json")
        try:
            analyzer, table, turned = load_in_hta(path, folder)
            rows = list(device_rows(analyzer, table))
        except Exception as error:  # HTA fails in many ways
            print(f"  HTA cannot read it: {type(error).__name__}: {str(error)[:100]}")
            return None
        if not rows:
            print("  no device work")
            return None
        print("  " + describe_view(tool, path, rows, turned))
        different = 0
        for check in (check_breakdown, check_idle):
            try:
                for what, theirs, ours in check(tool, analyzer, rows, view):
                    is_equal = abs(theirs - ours) < 0.0051
                    different += not is_equal
                    mark = "equal" if is_equal else "DIFFERENT"
                    print(f"  {what:13} HTA {theirs:16.3f}  pyrometer {ours:16.3f}  {mark}")
            except SystemExit:
                raise
            except Exception as error:
                print(f"  HTA fails in its analysis: {type(error).__name__}: {str(error)[:100]}")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tool", default="build/pyrometer")
    parser.add_argument("traces", nargs="+")
    options = parser.parse_args()
    results = [check_file(options.tool, path) for path in options.traces]
    checked = [result for result in results if result is not None]
    print(f"{len(checked)} of {len(results)} traces compared, {sum(checked)} numbers differ")
    if sum(checked):
        return 1
    return 0 if checked else NOTHING_TO_COMPARE


if __name__ == "__main__":
    sys.exit(main())
