"""Keeps of traces what predictions need: hardware/gpu.py calls it with its raw traces."""

import gzip
import json
import pathlib
import sys

LAYER = "layer: "
ARGS = (
    *("External id", "Input Dims", "Input type", "Concrete Inputs", "Sequence number"),
    *("Fwd thread id", "correlation", "device", "stream", "Ev Idx"),
)


def trim(path, out):
    """Keeps what predictions need, and turns ranges of layers into frames of modules."""
    with open(path) as file:
        trace = json.load(file)
    numbers, events = {}, []
    for event in trace["traceEvents"]:
        category = event.get("cat")
        if category == "user_annotation":
            if not event["name"].startswith(LAYER):
                continue
            layer = event["name"].removeprefix(LAYER)
            number = numbers.setdefault(layer, len(numbers))
            event["cat"] = "python_function"
            event["name"] = f"nn.Module: {layer.replace('.', '/')}_{number}"
            event["args"] = {"Python module id": number}
        elif category in (
            "cpu_op",
            "kernel",
            "gpu_memcpy",
            "gpu_memset",
            "cuda_runtime",
            "cuda_driver",
        ):
            args = event.get("args", {})
            event["args"] = {key: args[key] for key in ARGS if key in args}
        elif category != "fwdbwd" and event.get("ph") != "M":
            continue
        events.append(event)
    trace["traceEvents"] = events
    with gzip.open(out, "wt", compresslevel=6) as file:
        json.dump(trace, file, separators=(",", ":"))
    pathlib.Path(path).unlink()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        trim(name, name.removesuffix(".raw") + ".json.gz")
