"""The program that the tool runs in the user's Python, which may lack Pyrometer.

It exports models and runs other counters; it counts nothing itself.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
from typing import Any

from .example_inputs import parse_shape
from .export import export_spec
from .export_errors import Broken
from .requirements import Missing, Unusable, declare_operators


def bench(request: str) -> dict[str, Any]:
    """Measures a model with the installed package."""
    # Imported by name: the package is a separate installation, which may be missing.
    command = importlib.import_module("pyrometer._bench.command")
    command.stop_once()
    declare_operators()
    with open(request) as file:
        return command.measure(json.load(file))


def answer(options: argparse.Namespace) -> dict[str, Any]:
    """The requested result, or the reason why it is missing."""
    try:
        if options.verb == "bench":
            return bench(options.spec)
        if options.verb == "export":
            return export_spec(options.spec, options.input_shape, options.archive)
        from .counters import count  # imported late: its own imports are slow

        with open(options.spec) as file:
            return count(json.load(file))
    except Missing as error:
        return {"missing": error.packages}
    except Unusable as error:
        return {"unusable": str(error)}
    except Broken as error:
        return {"broken": error.report()}
    except KeyboardInterrupt:
        return {"unusable": "interrupted"}


def main() -> int:
    """Writes the result to a file, since the model's code may print to standard output."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("export", "count", "bench"))
    parser.add_argument("spec")
    parser.add_argument("--result", required=True)
    parser.add_argument("--archive")
    parser.add_argument("--input-shape", type=parse_shape)
    options = parser.parse_args()
    result = answer(options)
    pathlib.Path(options.result).write_text(json.dumps(result))
    return 0
