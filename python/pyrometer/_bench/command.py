"""`pyrometer bench --model-path`: measures a model as requested and returns results, which the tool
evaluates and writes."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import Any

from pyrometer import _env
from pyrometer._helper.example_inputs import from_shapes, parse_shape

MIN_RUNS, MAX_SECONDS = 30, 10.0
PERCENTILES = {"p95": 0.95, "p99": 0.99, "p99.9": 0.999}


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Returns results, or {"unusable": reason}."""
    try:
        return _measure(request)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        return {"unusable": f"{name} is missing; pip install {name}"}
    except Exception as error:
        if _env.is_debugging():
            traceback.print_exc()
        lines = str(error).strip().splitlines() or [type(error).__name__]
        path = request["model_path"]
        text = lines[0] if lines[0].startswith(path) else f"{path}: {lines[0]}"
        return {"unusable": text}


def stop_once() -> None:
    """Makes the first signal end the measurement, whose results are still reported. Later signals
    are ignored: a terminal sends its signal to us as well as to the tool."""

    def stop(number: int, frame: Any) -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_IGN)
        raise KeyboardInterrupt

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)


def _enter(request: dict[str, Any]) -> None:
    """Changes to the folder in which the model's code runs. If that is a copy of a checkout,
    modules are imported from the copy too, also those found through PYTHONPATH or an editable
    installation of the checkout."""
    source, copy = request["checkout_from"], request["checkout_to"]
    if source and copy:
        copy = os.path.abspath(copy)
        for index, path in enumerate(sys.path):
            inside = os.path.relpath(os.path.realpath(path), os.path.realpath(source))
            there = os.path.normpath(os.path.join(copy, inside))
            if not inside.startswith("..") and os.path.isdir(there):
                sys.path[index] = there
    if request["folder"]:
        os.chdir(request["folder"])


def _measure(request: dict[str, Any]) -> dict[str, Any]:
    _enter(request)
    from pyrometer._bench.model_profiler import ModelProfiler

    precisions = _words(request["precision"]) or ["fp32"]
    sizes = [int(word) for word in _words(request["batch_size"])]
    profiler = ModelProfiler(
        request["model_path"], request["device"], precisions[0], autocast=request["autocast"]
    )
    inputs = None
    if request["input_shape"]:
        shapes = [parse_shape(shape) for shape in request["input_shape"].split(";")]
        inputs = from_shapes(shapes, profiler._engine)
    try:
        _run(profiler, request, inputs, sizes, precisions)
    except KeyboardInterrupt:
        if not profiler._rescue():
            raise
    return json.loads(profiler._bench.report("json"))


def _run(
    profiler: Any, request: dict[str, Any], inputs: Any, sizes: list[int], precisions: list[str]
) -> None:
    loop = _loop_settings(request)
    if len(sizes) > 1 or len(precisions) > 1:
        configurations = [
            {"precision": precision, **({"batch_size": size} if size else {})}
            for precision in precisions
            for size in sizes or [0]
        ]
        profiler.benchmark(configurations, inputs, **loop)
    else:
        profiler.profile(
            inputs,
            detailed_analysis=request["detailed"] or request["try"],
            try_variants=request["try"],
            only_times=request["only_times"],
            batch_size=sizes[0] if sizes else None,
            **loop,
        )


def _loop_settings(request: dict[str, Any]) -> dict[str, Any]:
    """The requested number of runs; otherwise until the interval is narrow, with enough runs for
    the deepest percentile that has a threshold."""
    asked = [text.partition(":")[0] for text in request["thresholds"]]
    runs = request["runs"] if request["runs"] > 0 else None
    limit_s = request["max_time_s"] if request["max_time_s"] > 0 else None
    least = MIN_RUNS if limit_s is None else 0  # a given time limit overrides our minimum
    if limit_s is None and runs is None:
        limit_s = MAX_SECONDS
    return {
        "num_runs": runs,
        "warmup_runs": request["warmup"] if request["warmup"] >= 0 else None,
        "min_runs": request["min_runs"] if request["min_runs"] > 0 else least,
        "max_runs": max(request["max_runs"], 0),
        "max_time_s": limit_s,
        "cold_cache": request["cold_cache"],
        "deepest_percentile": max((PERCENTILES.get(name, 0.0) for name in asked), default=0.0),
    }


def _words(text: str | None) -> list[str]:
    return [word for word in (text or "").split(",") if word]
