"""
Prices every node test of onnx: answers must have the shapes that the tests declare.

    node_tests.py TOOL [--every N]

The descriptions of outputs are removed first, and small integer inputs become constants, so that
every shape has to be derived.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
from onnx.backend.test.case.node import collect_testcases

# Shapes of these depend on data, or their outputs are no tensors.
OPEN = {"NonZero", "Unique", "Compress", "NonMaxSuppression", "If", "Loop", "Scan"}


def prepare(case) -> tuple[onnx.ModelProto, list]:
    """The model with constants in place of small integers and without declared outputs."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    values = case.data_sets[0][0] if case.data_sets else []
    for given, value in list(zip(list(model.graph.input), values, strict=False)):
        small = isinstance(value, numpy.ndarray) and value.size <= 64
        if small and value.dtype in (numpy.int64, numpy.int32, numpy.float32, numpy.bool_):
            if value.ndim <= 1 and model.ir_version >= 4:
                model.graph.initializer.append(onnx.numpy_helper.from_array(value, given.name))
                model.graph.input.remove(given)
    expected = []
    for output in model.graph.output:
        kind = output.type.tensor_type if output.type.HasField("tensor_type") else None
        has_shape = kind is not None and kind.HasField("shape")
        expected.append([dim.dim_value for dim in kind.shape.dim] if has_shape else None)
        if kind is not None:
            kind.ClearField("shape")
    del model.graph.value_info[:]
    return model, expected


def check(tool: str, case, folder: pathlib.Path) -> str:
    """One word for the result; a sentence if it is wrong."""
    model, expected = prepare(case)
    path = folder / "node.onnx"
    path.write_bytes(model.SerializeToString())
    command = [tool, "cost", str(path), "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if result.returncode == 2:
        return "refused: " + result.stderr.strip().split(": ", 2)[-1][:100]
    if result.returncode:
        return f"WRONG: {case.name}: exit status {result.returncode}"
    cost = json.loads(result.stdout)
    if cost["coverage"]["uncounted"]:
        return "uncounted: " + cost["coverage"]["uncounted"][0]["op"]
    node = model.graph.node[0]
    if len(model.graph.node) != 1 or node.op_type in OPEN or not cost["nodes"]:
        return "answered"
    if not node.output[0] or expected[0] is None or node.output[0] != model.graph.output[0].name:
        return "answered"
    wanted = "x".join(map(str, expected[0]))
    if cost["nodes"][0]["shape"] != wanted:
        return f"WRONG: {case.name}: shape {cost['nodes'][0]['shape']} not {wanted}"
    return "answered"


def main() -> int:
    """Prints how often each result occurred; 1 if any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--every", type=int, default=1, help="check every Nth test")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        cases = [case for case in collect_testcases(None) if case.model is not None]
        for case in cases[:: options.every]:
            results[check(options.tool, case, pathlib.Path(folder))] += 1
    for result, count in results.most_common():
        print(count, result)
    return any(result.startswith("WRONG") for result in results)


if __name__ == "__main__":
    sys.exit(main())
