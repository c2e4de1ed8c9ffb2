"""
Exports models as .pt2, and as ONNX by both exporters of torch, and compares parameters and FLOPs
with torch.

    compare_onnx.py TOOL [--models NAME,...] [--older]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from onnx_models import LARGE, SMALL
from torch.utils.flop_counter import FlopCounterMode


def torch_flops(model: torch.nn.Module, inputs: tuple) -> int:
    """FLOPs by torch's counter, without the fast paths that hide work from it."""
    counter = FlopCounterMode(display=False)
    with (
        torch.no_grad(),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
        counter,
    ):
        model(*inputs)
    return counter.get_total_flops()


def export(
    model: torch.nn.Module, inputs: tuple, stem: pathlib.Path, older: bool
) -> list[pathlib.Path]:
    """Writes the model by one of the exporters; returns the files to price."""
    path = stem.with_suffix(".onnx")
    if older:
        torch.onnx.export(model, inputs, path, dynamo=False)
        return [path]
    exported = torch.export.export(model, inputs)
    torch.export.save(exported, stem.with_suffix(".pt2"))
    program = torch.onnx.export(model, inputs, dynamo=True, optimize=False, verbose=False)
    program.save(path)
    return [path, stem.with_suffix(".pt2")]


def price(tool: str, path: pathlib.Path) -> dict:
    """The cost of a file."""
    command = [tool, "cost", str(path), "--convention", "torch", "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr.strip())
    return json.loads(result.stdout)


def compare(tool: str, name: str, older: bool, folder: pathlib.Path) -> list[str]:
    """The differences of one model."""
    torch.manual_seed(0)
    model, inputs = (SMALL | LARGE)[name]()
    model.eval()
    flops = torch_flops(model, inputs)
    parameters = sum(value.numel() for value in model.parameters())
    found = []
    for path in export(model, inputs, folder / "model", older):
        cost = price(tool, path)
        if cost["total_flops"] != flops:
            found.append(f"{path.suffix}: FLOPs {cost['total_flops']} not {flops}")
        if not older and cost["params"] != parameters:
            found.append(f"{path.suffix}: parameters {cost['params']} not {parameters}")
        if cost["coverage"]["uncounted"]:
            found.append(f"{path.suffix}: uncounted {cost['coverage']['uncounted']}")
        path.unlink()
    return found


def main() -> int:
    """Compares all models; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--models", default=",".join(SMALL | LARGE))
    parser.add_argument("--older", action="store_true", help="the exporter before dynamo")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.backends.mha.set_fastpath_enabled(False)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            try:
                found = compare(options.tool, name, options.older, pathlib.Path(folder))
            except Exception as error:
                found = [f"{type(error).__name__}: {str(error)[:200]}"]
            failed += bool(found)
            print(name, "; ".join(found) or "equal", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
