"""Records with a stub of NVML in a process that believes to use CUDA; prints what it found as JSON.

gpu_samples_driver.py STUB FOLDER"""

import contextlib
import io
import json
import os
import pathlib
import sys
import time

import torch

import pyrometer
from pyrometer._testing import core

STUB, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
MODEL = torch.nn.Linear(8, 8)


def record(name, samples=0, **options):
    """Calls the model until that many samples were taken; (the block, its messages)."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), pyrometer.capture(FOLDER / name, **options) as block:
        MODEL(torch.ones(2, 8))
        while core.gpu_sampling_status()["samples"] < samples:
            time.sleep(0.002)
        MODEL(torch.ones(2, 8))
    return block, said.getvalue()


def missing():
    os.environ["PYRO_NVML"] = "/nowhere/libnvidia-ml.so.1"
    block, said = record("missing.pyro")
    again, said_again = record("missing.pyro")
    return {
        "counters": len(block.trace().counters),
        "layers": len(again.trace().layers),
        "said": [line for line in (said + said_again).splitlines() if "power" in line],
    }


def sampled():
    os.environ |= {"PYRO_NVML": STUB, "PYRO_STUB_GPU": "1755:0x20", "PYRO_STUB_GPM": "1"}
    block, said = record("run.pyro", samples=5, gpu_sampling=0.02)
    trace = block.trace()
    block.export_chrome_trace(FOLDER / "run.json")
    events = json.loads((FOLDER / "run.json").read_text())["traceEvents"]
    again = pyrometer.trace(FOLDER / "run.json")
    return {
        "counters": {f"{r['name']}/{r['series']}": r["max"] for r in trace.counters},
        "summary": trace.power_summary,
        "rows": len(trace.power),
        "text": str(trace),
        "said": said,
        "status": core.gpu_sampling_status(),
        "chrome": sum(e["ph"] == "C" and e["name"] == "GPU power" for e in events),
        "places": sorted({e["pid"] for e in events if e.get("name") == "GPU power"}),
        "again": again.power_summary["samples"],
        "findings": list(trace.findings["id"]),
    }


def off():
    block, _ = record("off.pyro", gpu_sampling=0)
    os.environ["PYROMETER_GPU_SAMPLING"] = "off"
    by_variable, _ = record("off.pyro")
    del os.environ["PYROMETER_GPU_SAMPLING"]
    without_gpu, _ = record("off.pyro", gpu="none")
    return [len(one.trace().counters) for one in (block, by_variable, without_gpu)]


def main():
    torch.cuda.is_initialized = lambda: True
    print(json.dumps({"missing": missing(), "sampled": sampled(), "off": off()}))


if __name__ == "__main__":
    main()
