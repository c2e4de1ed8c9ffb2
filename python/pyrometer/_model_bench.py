"""`pyrometer bench --model-path`: measures as the command asks, and answers with results that the
tool judges and writes."""

from __future__ import annotations

import json
import traceback
from typing import Any

from pyrometer import _switch
from pyrometer._inputs import from_shapes

MIN_RUNS = 30
PERCENTILES = {"p95": 0.95, "p99": 0.99, "p99.9": 0.999}


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Results, or {"unusable": what stood in the way}."""
    try:
        return _measure(request)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        return {"unusable": f"{name} is missing; pip install {name}"}
    except Exception as error:
        if _switch.is_debugging():
            traceback.print_exc()
        lines = str(error).strip().splitlines() or [type(error).__name__]
        path = request["model_path"]
        text = lines[0] if lines[0].startswith(path) else f"{path}: {lines[0]}"
        return {"unusable": text}


def _measure(request: dict[str, Any]) -> dict[str, Any]:
    from pyrometer._model_profiler import ModelProfiler

    precisions = _words(request["precision"]) or ["fp32"]
    sizes = [int(word) for word in _words(request["batch_size"])]
    profiler = ModelProfiler(
        request["model_path"], request["device"], precisions[0], autocast=request["autocast"]
    )
    inputs = None
    if request["input_shape"]:
        shapes = [
            tuple(int(size) for size in shape.replace("x", ",").split(","))
            for shape in request["input_shape"].split(";")
        ]
        inputs = from_shapes(shapes, profiler._engine)
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
    return json.loads(profiler._bench.report("json"))


def _loop_settings(request: dict[str, Any]) -> dict[str, Any]:
    """As many runs as were asked for; else until the interval is narrow, and enough for the deepest
    percentile that has a threshold."""
    asked = [text.partition(":")[0] for text in request["thresholds"]]
    return {
        "num_runs": request["runs"] if request["runs"] > 0 else None,
        "warmup_runs": request["warmup"] if request["warmup"] >= 0 else None,
        "min_runs": request["min_runs"] if request["min_runs"] > 0 else MIN_RUNS,
        "max_runs": max(request["max_runs"], 0),
        "max_time_s": request["max_time_s"],
        "deepest_percentile": max((PERCENTILES.get(name, 0.0) for name in asked), default=0.0),
    }


def _words(text: str | None) -> list[str]:
    return [word for word in (text or "").split(",") if word]
