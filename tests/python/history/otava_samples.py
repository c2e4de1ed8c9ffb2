"""The sample series of Otava's own repository, read where its source is: PYRO_OTAVA names it, or
`make peers` has downloaded it.

The files are theirs, so that only hashes of the series and the change points are stored here.
"""

import csv
import hashlib
import os
import pathlib

FILES = ("tests/resources", "examples/csv/data")
VARIABLE = "PYRO_OTAVA"


DOWNLOADED = pathlib.Path(__file__).resolve().parents[3] / "build" / "peers" / "otava-source"


def folder():
    """The source, or None."""
    path = pathlib.Path(os.environ.get(VARIABLE) or DOWNLOADED)
    return path if path.is_dir() else None


def key(values):
    return hashlib.sha256(repr(list(values)).encode()).hexdigest()[:16]


def _numbers(column):
    try:
        return [float(cell) for cell in column]
    except ValueError:
        return None


def read(checkout):
    """Every column of numbers of every CSV file: {"sample.csv metric1": values}."""
    series = {}
    for path in sorted(path for part in FILES for path in (checkout / part).glob("*.csv")):
        text = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
        rows = list(csv.reader(text, delimiter=";" if ";" in text[0] else ","))
        width = len(rows[0])
        columns = zip(*(row for row in rows[1:] if len(row) == width), strict=True)
        for name, column in zip(rows[0], columns, strict=False):
            values = _numbers(column)
            if values and name.strip('"') != "time":
                series[f"{path.name} {name.strip()}"] = values
    return series
