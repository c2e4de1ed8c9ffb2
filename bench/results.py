"""Keeps what a benchmark measured in build/bench/results/NAME.json, which `pyrometer history add`
takes: one line per row of its table, over the commits that were measured."""

import json
import os
import pathlib
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "bench" / "results"


def machine_class() -> str:
    """The processor and its number of cores: results of other machines are other lines."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    keys = ("model name", "CPU part", "Model")
    models = [line.partition(":")[2].strip() for line in lines if line.startswith(keys)]
    return f"{models[0] if models else os.uname().machine}, {os.cpu_count()} cores"


class Results:
    """The rows of one script. Commit and branch are added by `history add`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metrics: list[dict] = []

    def add(self, what: str, samples, *, metric: str = "wall", unit: str = "ms") -> None:
        row = {
            "benchmark": f"{self.name}: {what}",
            "metric": metric,
            "unit": unit,
            "better": "lower",
            "method": f"bench/{self.name}.py",
            "samples": [float(one) for one in samples],
        }
        self.metrics.append(row)

    def write(self) -> None:
        """Replaces the file of the last run, and says what to do with it."""
        if not self.metrics:
            return
        run = {
            "kind": "bench",
            "time_ns": str(time.time_ns()),
            "machine_class": machine_class(),
            "metrics": self.metrics,
        }
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{self.name}.json"
        text = json.dumps({"schema": "pyrometer.history/1", "runs": [run]}, indent=1)
        path.write_text(text + "\n")
        print(f"pyrometer history add {path.relative_to(ROOT)}  # keeps these results")
