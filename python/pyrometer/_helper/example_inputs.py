"""Inputs of a model: given by the user, or made from the model's own signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._error import Error

SEQUENCE_LENGTH = 128  # of generated inputs, unless the model defines it
AUDIO_SAMPLES = 16000  # one second at the usual sampling rate of speech models


@dataclass
class Inputs:
    """Arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    origin: str = "given"

    def map(self, change: Callable[[Any], Any]) -> Inputs:
        """A copy with every tensor changed."""
        args = tuple(_map(value, change) for value in self.args)
        kwargs = {name: _map(value, change) for name, value in self.kwargs.items()}
        return Inputs(args, kwargs, self.origin)

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """Every tensor, with the name or the index of its argument."""
        for index, value in enumerate(self.args):
            yield from _tensors(str(index), value)
        for name, value in self.kwargs.items():
            yield from _tensors(name, value)

    def describe(self) -> str:
        """ "0: int64[32, 128]", for results."""
        parts = [
            f"{name}: {str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
            for name, tensor in self.tensors()
        ]
        return ", ".join(parts) or "no tensors"

    def batch_size(self) -> int:
        """Dim 0 of the first tensor that has dims; otherwise 1."""
        for _, tensor in self.tensors():
            if len(tensor.shape) > 0:
                return int(tensor.shape[0])
        return 1

    def resized(self, batch_size: int) -> Inputs:
        """A copy in which every tensor with the batch in dim 0 is repeated or cut."""
        before = self.batch_size()

        def resize(tensor: Any) -> Any:
            if len(tensor.shape) == 0 or tensor.shape[0] != before or before == batch_size:
                return tensor
            if before == 0:
                raise ValueError("cannot resize an input whose dim 0 is 0")
            times = -(-batch_size // before)
            if hasattr(tensor, "repeat") and hasattr(tensor, "contiguous"):
                repeated = tensor.repeat(times, *[1] * (tensor.dim() - 1))
                return repeated[:batch_size].contiguous()
            import numpy

            return numpy.concatenate([tensor] * times)[:batch_size]

        resized = self.map(resize)
        resized.origin = self.origin
        return resized


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if _is_tensor(value):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(item, change) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(_map(item, change) for item in value)
    return value


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if _is_tensor(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _tensors(f"{name}.{key}" if name.isdigit() is False else str(key), item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _tensors(f"{name}.{index}", item)


def as_inputs(given: Any) -> Inputs:
    """A tensor, a tuple of positional arguments, or a mapping of keyword arguments."""
    if isinstance(given, Inputs):
        return given
    if isinstance(given, Mapping):
        return Inputs((), dict(given))
    if isinstance(given, tuple) and not hasattr(given, "_fields"):
        if len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], Mapping):
            return Inputs(given[0], dict(given[1]))
        return Inputs(given)
    return Inputs((given,))


def as_arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs as positional and keyword arguments."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


@dataclass(frozen=True)
class Size:
    """A size that a file fixes or bounds, for one dim of one input."""

    name: str
    axis: int
    low: int
    high: int | None


def check_sizes(where: str, inputs: Inputs, sizes: list[Size]) -> None:
    """Raises a clear error for inputs that do not fit the file."""
    given = dict(inputs.tensors())
    for size in sizes:
        tensor = given.get(size.name)
        if tensor is None:
            continue
        if size.axis >= len(tensor.shape):
            raise Error(
                f"{where}: input {size.name} has {len(tensor.shape)} dims; the file requires more",
                "argument",
            )
        actual = int(tensor.shape[size.axis])
        if actual >= size.low and (size.high is None or actual <= size.high):
            continue
        what = "batch" if size.axis == 0 else f"dim {size.axis} of input {size.name}"
        allowed = f"fixed at {size.low}" if size.low == size.high else f"from {size.low}"
        if size.low != size.high and size.high is not None:
            allowed += f" to {size.high}"
        raise Error(
            f"{where}: the {what} is {allowed} in this file, but {actual} was requested; use "
            f"{size.low}, or export it with a dynamic size there",
            "argument",
        )


def sizes_of(program: Any, inputs: Inputs) -> list[Size]:
    """The sizes that an exported program supports, with the names that `inputs` gives its tensors;
    empty if they cannot be matched."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    wanted = [nodes.get(name) for name in program.graph_signature.user_inputs]
    given = [name for name, _ in inputs.tensors()]
    if len(wanted) != len(given) or None in wanted:
        return []
    if inputs.kwargs:  # by name, in any order
        by_name = {node.name: node for node in wanted}
        wanted = [by_name.get(name, node) for name, node in zip(given, wanted, strict=True)]
    sizes = []
    for name, node in zip(given, wanted, strict=True):
        for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
            low, high = _bounds(program, size)
            if low is not None:
                sizes.append(Size(name, axis, low, high))
    return sizes


def _bounds(program: Any, size: Any) -> tuple[int | None, int | None]:
    if isinstance(size, int):
        return size, size
    expression = getattr(getattr(size, "node", None), "expr", None)
    limits = program.range_constraints.get(expression)
    if limits is None:
        return None, None
    low = int(limits.lower)
    try:
        high = int(limits.upper)
    except (TypeError, ValueError, OverflowError):
        high = None
    return low, high


def like(made: Inputs, described: str, only_batch: bool = False) -> Inputs | None:
    """Inputs with the shapes of a description ("0: int64[32, 128]") and the values of `made`; None
    if their kinds differ, or with `only_batch` if another dim than the first differs."""
    import torch

    wanted = parse_description(described)
    tensors = [tensor for _, tensor in made.tensors()]
    if len(wanted) != len(tensors) or not all(isinstance(t, torch.Tensor) for t in tensors):
        return None
    shapes = {}
    for (_, dtype, shape), tensor in zip(wanted, tensors, strict=True):
        same = dtype == tensor.dtype or (dtype.is_floating_point and tensor.dtype.is_floating_point)
        if not same or len(shape) != tensor.dim() or 0 in (*shape, *tensor.shape):
            return None
        if only_batch and shape[1:] != tuple(tensor.shape[1:]):
            return None
        shapes[id(tensor)] = shape

    def change(tensor: Any) -> Any:
        shape = shapes[id(tensor)]
        times = [-(-new // old) for new, old in zip(shape, tensor.shape, strict=True)]
        repeated = tensor.repeat(times) if times else tensor
        return repeated[tuple(slice(0, size) for size in shape)].contiguous()

    return made.map(change)


def described(text: str) -> Inputs | None:
    """Random tensors by a description, for a model that does not describe its inputs."""
    wanted = parse_description(text)
    if not wanted:
        return None
    args = tuple(_random(shape, dtype, 2) for name, dtype, shape in wanted if name.isdigit())
    kwargs = {n: _random(shape, dtype, 2) for n, dtype, shape in wanted if not n.isdigit()}
    return Inputs(args, kwargs)


def parse_description(text: str) -> list[tuple[str, Any, tuple[int, ...]]]:
    """Names, types and shapes in a text of Inputs.describe(); empty for any other text."""
    import re

    import torch

    found = []
    for name, kind, shape in re.findall(r"([^:,\s]+): (\w+)\[([\d, ]*)\]", text):
        dtype = getattr(torch, kind, None)
        if not isinstance(dtype, torch.dtype):
            return []
        found.append((name, dtype, tuple(int(size) for size in shape.split(",") if size.strip())))
    return found


def parse_shape(text: str) -> tuple[int, ...]:
    """ "1,3,224,224", "1x3x224x224" or "(1, 3, 224, 224)" as numbers."""
    inner = text.strip().strip("()[]").strip().removesuffix(",")
    return tuple(int(part) for part in re.split(r"\s*[x,]\s*|\s+", inner))


def from_shapes(shapes: list[tuple[int, ...]], engine: Any) -> Inputs:
    """Random tensors of the shapes of --input-shape, with the types of the model's inputs."""
    import torch

    try:
        types = [tensor.dtype for _, tensor in engine.make_inputs(None).tensors()]
    except Error:
        types = []
    values = []
    for index, shape in enumerate(shapes):
        dtype = types[index] if index < len(types) else torch.float32
        values.append(_random(shape, dtype if isinstance(dtype, torch.dtype) else torch.float32))
    return Inputs(tuple(values), origin="random, of the shapes given")


def _random(shape: tuple[int, ...], dtype: Any, bound: int = 100) -> Any:
    import torch

    generator = torch.Generator().manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, generator=generator).to(dtype)
    if dtype is torch.bool:
        return torch.ones(shape, dtype=dtype)
    return torch.randint(0, max(bound, 1), shape, generator=generator).to(dtype)


def _first(config: Any, *names: str) -> Any:
    """The first of these attributes in a configuration or in its text and vision parts."""
    parts = [config] + [
        part
        for name in ("text_config", "vision_config", "encoder", "decoder")
        if (part := getattr(config, name, None)) is not None and not isinstance(part, dict)
    ]
    for part in parts:
        for name in names:
            value = getattr(part, name, None)
            if isinstance(value, int | list | tuple) and not isinstance(value, bool) and value:
                return value
    return None


def from_config(model: Any, batch_size: int) -> Inputs:
    """For a model of transformers: inputs by its config.json."""
    import torch

    config = model.config
    name = getattr(model, "main_input_name", "input_ids")
    vocabulary = _first(config, "vocab_size")
    longest = _first(config, "max_position_embeddings", "n_positions") or SEQUENCE_LENGTH
    length = min(SEQUENCE_LENGTH, int(longest))
    values: dict[str, Any] = {}
    if name == "pixel_values":
        size = _first(config, "image_size") or 224
        size = list(size) if isinstance(size, list | tuple) else [size, size]
        channels = _first(config, "num_channels") or 3
        values[name] = _random((batch_size, channels, *size), torch.float32)
    elif name == "input_values":
        values[name] = _random((batch_size, AUDIO_SAMPLES), torch.float32)
    elif name == "input_features":
        bins = _first(config, "num_mel_bins") or 80
        frames = 2 * (_first(config, "max_source_positions") or 1500)
        values[name] = _random((batch_size, bins, frames), torch.float32)
    elif vocabulary is None:
        raise Error(
            f"config.json does not describe the inputs ({name}); pass input_data", "argument"
        )
    if name == "input_ids" or "input_ids" in inspect.signature(model.forward).parameters:
        if vocabulary is not None:
            values["input_ids"] = _random((batch_size, length), torch.int64, int(vocabulary))
    if getattr(config, "is_encoder_decoder", False) and vocabulary is not None:
        values["decoder_input_ids"] = _random((batch_size, 1), torch.int64, int(vocabulary))
    return Inputs((), values, "made from config.json")


def from_first_layer(module: Any, batch_size: int) -> Inputs:
    """For a plain module: inputs of its first layer with weights; the last resort."""
    from torch import float32, int64, nn

    for path, layer in module.named_modules():
        origin = f"made for the first layer, {path or 'the module itself'}"
        if isinstance(layer, nn.Linear):
            return Inputs((_random((batch_size, layer.in_features), float32),), {}, origin)
        if isinstance(layer, nn.Embedding):
            shape = (batch_size, SEQUENCE_LENGTH)
            return Inputs((_random(shape, int64, layer.num_embeddings),), {}, origin)
        if isinstance(layer, nn.modules.conv._ConvNd):
            dims = len(layer.kernel_size)
            size = {1: 1024, 2: 224, 3: 32}[dims]
            shape = (batch_size, layer.in_channels, *[size] * dims)
            return Inputs((_random(shape, float32),), {}, origin)
    raise Error("the module does not describe its inputs; pass input_data", "argument")


def from_program(program: Any, batch_size: int | None) -> Inputs:
    """For a .pt2: the example stored in it, else the shapes and types of its graph."""
    import torch

    if program.example_inputs is not None:
        args, kwargs = program.example_inputs
        inputs = Inputs(tuple(args), dict(kwargs), "the example in the file")
    else:
        wanted = set(program.graph_signature.user_inputs)
        values = [
            node.meta["val"]
            for node in program.graph.nodes
            if node.op == "placeholder" and node.name in wanted
        ]
        if not all(isinstance(value, torch.Tensor) for value in values):
            raise Error("the file has inputs that are not tensors; pass input_data", "argument")
        made = tuple(_random(tuple(_hint(size) for size in v.shape), v.dtype) for v in values)
        inputs = Inputs(made, {}, "made from the graph in the file")
    return inputs if batch_size is None else inputs.resized(batch_size)


def _hint(size: Any) -> int:
    try:
        return int(size)
    except Exception:
        node = getattr(size, "node", None)
        hint = getattr(node, "hint", None)
        return int(hint) if hint is not None else 2


def from_onnx(session: Any, batch_size: int | None) -> Inputs:
    """For an .onnx: names, types and shapes of its inputs; open sizes become 1, or 128 for a
    sequence."""
    import numpy

    types = {
        "tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16",
        "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(int8)": "int8",
        "tensor(uint8)": "uint8", "tensor(bool)": "bool",
    }  # fmt: skip
    generator = numpy.random.default_rng(0)
    values = {}
    for entry in session.get_inputs():
        if entry.type not in types:
            raise Error(f"{entry.name}: unsupported type {entry.type}; pass input_data", "argument")
        shape = []
        for axis, size in enumerate(entry.shape):
            if isinstance(size, int) and size > 0:
                shape.append(size)
            elif axis == 0:
                shape.append(batch_size or 1)
            else:
                shape.append(SEQUENCE_LENGTH if "seq" in str(size).lower() else 1)
        dtype = types[entry.type]
        if dtype.startswith("float"):
            values[entry.name] = generator.standard_normal(shape).astype(dtype)
        else:
            values[entry.name] = generator.integers(0, 2, shape).astype(dtype)
    return Inputs((), values, "made from the inputs the file names")
