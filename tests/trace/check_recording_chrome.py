"""Checks a recording's Chrome JSON: its keys, and that it agrees with the recording.

check_recording_chrome.py --tool pyrometer --sample record_sample
tests/peers/test_recording_chrome.py reads such files with other tools.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def check_keys(path: Path, calls: int) -> None:
    document = json.loads(path.read_text())
    assert document["schemaVersion"] == 1 and document["displayTimeUnit"] == "ms"
    assert isinstance(document["deviceProperties"], list)
    events = document["traceEvents"]
    ops = [event for event in events if event.get("cat") == "cpu_op"]
    assert len(ops) == calls, len(ops)
    for event in ops:
        args = event["args"]
        assert args["Input Dims"][1] == [50, 100] and args["Input type"] == ["float", "float"]
        assert args["Output Dims"] == [[args["Input Dims"][0][0], 50]]
        assert args["External id"] > 0 and args["Sequence number"] >= 0
        assert event["dur"] >= 0 and event["pid"] > 0 and event["tid"] > 0
    layers = {event["args"]["Module path"] for event in events if event.get("cat") == "layer"}
    assert layers == {"", "linear1", "linear2"}, layers
    memory = [event for event in events if event["name"] == "[memory]"]
    assert len(memory) == calls
    assert all({"Addr", "Bytes", "Total Allocated"} <= event["args"].keys() for event in memory)
    named = {event["name"] for event in events if event["ph"] == "M"}
    assert {"process_name", "thread_name"} <= named, named


def layers_of(tool: str, path: Path) -> list[tuple]:
    report = json.loads(
        subprocess.run(
            [tool, "trace", "--format", "json", str(path)], check=True, capture_output=True
        ).stdout
    )
    return [(row["path"], row["class"], row["calls"], row["flops"]) for row in report["layers"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--sample", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.sample, folder], check=True)
        whole, recording = Path(folder) / "sample.json", Path(folder) / "sample.pyro"
        subprocess.run(
            [options.tool, "trace", "-q", str(recording), "--chrome", str(whole)],
            check=True,
            capture_output=True,
        )
        passes = sorted(Path(folder).glob("MLP_forward_*.json"))
        assert len(passes) == 3
        for path, calls in [(whole, 6), *((path, 2) for path in passes)]:
            check_keys(path, calls)
        assert layers_of(options.tool, whole) == layers_of(options.tool, recording)
        summary = subprocess.run(
            [options.tool, "trace", "--format", "json", *map(str, passes)],
            check=True,
            capture_output=True,
        ).stdout
        rows = {row["path"]: row for row in json.loads(summary)["layers"]}
        assert rows["linear1"]["shape_sets"] == 3 and rows["linear1"]["changed"]
        assert not rows["linear2"]["changed"] and rows["linear2"]["p95_ns"] is None
    return 0


if __name__ == "__main__":
    sys.exit(main())
