"""Writes Apache Otava's change points of the test series to otava.json and otava_unseen.json, and
those of the samples in its source (PYRO_OTAVA) to otava_samples.json; `make peers` runs it.

Runs in an environment with apache-otava (requirements/peers-otava.txt) and without Pyrometer.
"""

import json
import pathlib
import sys

import otava_samples
import series as generated
import unseen
from otava.analysis import compute_change_points

HERE = pathlib.Path(__file__).resolve().parent


def answer(values):
    points, _ = compute_change_points(list(values), window_len=50, max_pvalue=0.001)
    return [
        {
            "index": int(point.index),
            "p": float(point.stats.pvalue),
            "mean_before": float(point.stats.mean_1),
            "mean_after": float(point.stats.mean_2),
        }
        for point in points
    ]


def write(name, rows):
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    (HERE / name).write_text("{\n" + lines + "\n}\n")
    found = sum(len(row["changes"]) for row in rows.values())
    print(f"{name}: {len(rows)} series, {found} change points")


def main():
    for name, source in (("otava.json", generated), ("otava_unseen.json", unseen)):
        rows = {
            one.name: {"key": one.key(), "changes": answer(one.values)}
            for one in source.all_series()
        }
        write(name, rows)
    checkout = otava_samples.folder()
    if checkout is not None:
        rows = {
            name: {"key": otava_samples.key(values), "changes": answer(values)}
            for name, values in otava_samples.read(checkout).items()
        }
        write("otava_samples.json", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
