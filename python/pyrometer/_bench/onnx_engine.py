"""Runs .onnx files in onnxruntime."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer._bench import precisions
from pyrometer._bench.engine import Engine, need
from pyrometer._error import Error
from pyrometer._helper import example_inputs
from pyrometer._helper.example_inputs import Inputs


class OnnxEngine(Engine):
    """An .onnx file in onnxruntime."""

    kind = "onnx"

    def __init__(self, path: str, device: str, precision: str, autocast: bool) -> None:
        super().__init__(pathlib.Path(path).stem, device, precision)
        runtime = need("onnxruntime", "an .onnx file")
        providers = ["CPUExecutionProvider"]
        if device != "cpu":
            if "CUDAExecutionProvider" not in runtime.get_available_providers():
                raise Error(
                    'this onnxruntime lacks CUDA; pip install onnxruntime-gpu, or use device="cpu"'
                )
            providers.insert(0, "CUDAExecutionProvider")
        self.path = path
        self.how = "as in the file"
        self.files = contextlib.ExitStack()
        if precision == "int8":
            path = self._quantised(path)
        elif precision != "fp32":
            raise ValueError(f'the types of an .onnx file are fixed; convert it to "{precision}"')
        self.runs = path
        self.session = runtime.InferenceSession(path, providers=providers)

    def _quantised(self, path: str) -> str:
        import tempfile

        need("onnx", 'precision "int8" of an .onnx file')
        quantization = importlib.import_module("onnxruntime.quantization")
        folder = self.files.enter_context(tempfile.TemporaryDirectory())
        out = os.path.join(folder, "int8.onnx")
        quantization.quantize_dynamic(path, out)
        self.how = "dynamic quantisation by onnxruntime"
        return out

    def make_inputs(self, batch_size: int | None) -> Inputs:
        return example_inputs.from_onnx(self.session, batch_size)

    def place(self, inputs: Inputs) -> Inputs:
        """Arrays by the names of the inputs in the file."""

        def as_array(value: Any) -> Any:
            return value.detach().cpu().numpy() if hasattr(value, "detach") else value

        arrays = inputs.map(as_array)
        names = [entry.name for entry in self.session.get_inputs()]
        feed = dict(zip(names, arrays.args, strict=False)) | arrays.kwargs
        placed = Inputs((), feed, inputs.origin)
        sizes = [
            example_inputs.Size(name, axis, size, size)
            for name, shape in ((entry.name, entry.shape) for entry in self.session.get_inputs())
            for axis, size in enumerate(shape)
            if isinstance(size, int) and size > 0
        ]
        example_inputs.check_sizes(self.path, placed, sizes)
        return placed

    def bind(self, inputs: Inputs) -> Callable[[], Any]:
        session, feed = self.session, inputs.kwargs
        return lambda: session.run(None, feed)

    def synchronize(self) -> None:
        return None  # run() returns when its outputs are on the host

    def _observe(self, placed: Inputs) -> precisions.Types:
        """Reads the types from the nodes of the file, in which onnxruntime computes."""
        seen = precisions.Types()
        if importlib.util.find_spec("onnx") is None:
            raise Error("reading the types in the file requires the package onnx")
        import onnx

        graph = onnx.load(self.runs, load_external_data=False).graph
        types = {tensor.name: tensor.data_type for tensor in graph.initializer}
        kinds = {1: "torch.float32", 10: "torch.float16", 16: "torch.bfloat16", 11: "torch.float64"}
        for node in graph.node:
            name = node.op_type
            if name.endswith("Integer") or name.startswith(("QLinear", "DynamicQuantizeLSTM")):
                seen.see("onnx.matmul", ["torch.int8"])
            elif name in ("MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "Attention"):
                held = [kinds[types[x]] for x in node.input if types.get(x) in kinds]
                seen.see("onnx.matmul", held or ["torch.float32"])
        return seen

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        yield

    def parameters(self) -> int | None:
        if importlib.util.find_spec("onnx") is None:
            return None
        import math

        import onnx

        graph = onnx.load(self.path, load_external_data=False).graph
        return sum(math.prod(tensor.dims) for tensor in graph.initializer)
