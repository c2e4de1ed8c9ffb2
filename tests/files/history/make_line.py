"""Writes line.json: 60 results of one benchmark, of which the last 20 are 10% slower.

The fingerprint of the machine changes at result 20 without a change of the level, and the last
result was measured by another version.
"""

import json
import pathlib


def run(number):
    # A fixed pattern instead of random numbers.
    noise = [0.0, 0.6, -0.4, 0.3, -0.7, 0.1, 0.5, -0.2][number * 5 % 8]
    level = 100.0 if number < 40 else 110.0
    samples = [round(level + noise + step, 3) for step in (-0.5, 0.0, 0.5)]
    metric = {
        "benchmark": "resnet18 batch_size=8",
        "metric": "latency",
        "unit": "ms",
        "method": "pyrometer 0.1.0; module; closed; per process",
        "better": "lower",
        "samples": samples,
    }
    start_s = 1767225600  # 2026-01-01
    return {
        "kind": "bench",
        "project": "demo",
        "commit": f"{number + 16:02x}" * 20,
        "branch": "main",
        "time_ns": str((start_s + 86400 * number) * 10**9),
        "tool": "pyrometer 0.1.0",
        "tags": "nightly",
        "machine_class": "ci",
        "fingerprint": "driver-1" if number < 20 else "driver-2",
        "machine": "ci runner",
        "metrics": [metric],
    }


here = pathlib.Path(__file__).resolve().parent
runs = ",\n".join("    " + json.dumps(run(number)) for number in range(60))
(here / "line.json").write_text(
    '{\n  "schema": "pyrometer.history/1",\n  "runs": [\n' + runs + "\n  ]\n}\n"
)
