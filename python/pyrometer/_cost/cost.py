"""pyrometer.cost() and its result, Cost. All numbers come from the C library."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from pyrometer import _core, _display
from pyrometer._cost import open_model
from pyrometer._cost.train import TrainCost
from pyrometer._helper import archive

if TYPE_CHECKING:
    import pandas
    import torch

METRICS = (
    "flops",
    "macs",
    "memory",
    "params",
    "operators",
    "activation_read_bytes",
    "weight_read_bytes",
    "written_bytes",
)


class Tensor(NamedTuple):
    """A tensor as a custom rule sees it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_weight: bool


class Operator(NamedTuple):
    """An operator as a custom rule sees it."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


Rule = Callable[[Operator], "int | tuple[int, int] | None"]


@overload
def cost(
    model_or_path: Any, inputs: Any = None, *, train: Literal[True], **options: Any
) -> TrainCost: ...
@overload
def cost(
    model_or_path: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram,
    inputs: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    convention: str = "full",
    dtype: str | torch.dtype | None = None,
    batch: int | None = None,
    input_shape: Sequence[int] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    sizes: Mapping[str, int] | None = None,
    seq: int | None = None,
    decode: bool = False,
    past: int | None = None,
    depth: int = -1,
    ridge: float = 50,
    rules: Rule | Mapping[str, Rule] | None = None,
    dynamic_shapes: Any = None,
    strict: bool = False,
    train: Literal[False] = False,
) -> Cost: ...
def cost(
    model_or_path: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram,
    inputs: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    convention: str = "full",
    dtype: str | torch.dtype | None = None,
    batch: int | None = None,
    input_shape: Sequence[int] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    sizes: Mapping[str, int] | None = None,
    seq: int | None = None,
    decode: bool = False,
    past: int | None = None,
    depth: int = -1,
    ridge: float = 50,
    rules: Rule | Mapping[str, Rule] | None = None,
    dynamic_shapes: Any = None,
    strict: bool = False,
    train: bool = False,
    optimizer: str | None = None,
    checkpoint: str | None = None,
    precision: str | None = None,
    freeze: str | None = None,
    lora: str | None = None,
) -> Cost | TrainCost:
    """Predicts what a model costs, without running it.

    Args:
        model_or_path: an nn.Module (exported in memory: nothing is written, no weight is copied
            and the module stays unchanged), a torch.export.ExportedProgram, the path of a .pt2
            or ONNX file, "path:name" for one of several models in it, the name of a model that
            pyrometer.models() lists, the Hugging Face or timm id of such a model
            ("meta-llama/Llama-3.1-8B"; nothing is downloaded), a folder with a config.json of
            transformers or timm, or "file.py:function" ("package.module:function"). Such a
            function is called and returns an nn.Module, or a module and its inputs.
        inputs: for a module: its example inputs: a tensor, a tuple or list of positional
            arguments, or a dict of keyword arguments. Fake and meta tensors are accepted.
        kwargs: for a module: keyword arguments in addition to `inputs`.
        convention: how FLOPs are counted: "full", "torch", "fvcore" or "torchvision". MACs are
            the same in all of them.
        dtype: price floating point tensors as this type, for example "float16".
        batch: the batch size (dim 0), where the model leaves it open.
        input_shape: the shape of the first input, where the model leaves sizes open.
        input_shapes: shapes of inputs by name.
        sizes: sizes by symbol, for sizes that depend on data ("u0") or stand for a dim ("s0").
        seq: the sequence length, where the model leaves it open; for a language model, the prompt
            length.
        decode: price one decoding step of a built-in language model, with a KV cache.
        past: with `decode`: the number of tokens in the cache.
        depth: roll layers deeper than this up into their ancestor; negative: keep all layers.
        ridge: FLOPs per byte above which a layer is compute-bound.
        rules: custom prices of operators: a callable, or a dict of callables by operator
            ("my::op", "my.op" or "my.op.default"). A rule takes an Operator and returns its MACs,
            or (MACs, other FLOPs), or None to leave the operator to the library.
        dynamic_shapes: for a module: passed to torch.export.export().
        strict: for a module: passed to torch.export.export().
        train: price a training step and return a TrainCost.
        optimizer: with `train`: "sgd", "adam", "adamw" (default), "adafactor", "lion" or
            "adam8bit".
        checkpoint: with `train`: activation checkpointing of repeated "blocks", of everything
            ("full"), or "none" (default).
        precision: with `train`: "fp32", "bf16-mixed", "bf16" or "fp8"; None: as in the model.
        freeze: with `train`: a regular expression; parameters whose path matches do not learn.
        lora: with `train`: "RANK:REGEX": only adapters beside the linear layers whose weight's
            path matches learn.

    Raises:
        Error: the model cannot be exported, read or priced.
        FileNotFoundError: no such file or built-in model.
        ValueError: an argument is invalid, or the model does not support it.
    """
    uncalled_modules: frozenset[str] = frozenset()
    if isinstance(model_or_path, (str, os.PathLike)):
        if inputs is not None or kwargs is not None or dynamic_shapes is not None:
            raise ValueError(
                "inputs, kwargs and dynamic_shapes apply only to modules; for a file use "
                "batch, input_shape or input_shapes"
            )
        model = (
            _core.open_decode(str(model_or_path))
            if decode
            else open_model.open_model(model_or_path, input_shape)
        )
    elif decode:
        raise ValueError("decode requires a built-in model; export your own with its cache")
    elif archive.is_live(model_or_path):
        live = archive.read_live(model_or_path, inputs, kwargs, dynamic_shapes, strict)
        model = _core.open_memory(live.archive, live.label)
        uncalled_modules = live.uncalled_modules
    else:
        raise TypeError(
            f"expected a path, an nn.Module or an ExportedProgram, not {type(model_or_path)!r}"
        )

    if input_shape is not None:
        model.set_shape(None, input_shape)
    for name, shape in (input_shapes or {}).items():
        model.set_shape(name, shape)
    if batch is not None:
        model.set_batch(batch)
    for symbol, size in (sizes or {}).items():
        model.set_size(symbol, size)
    if seq is not None:
        model.set_kind("sequence", seq)
    if past is not None:
        if not decode:
            raise ValueError("past requires decode=True")
        model.set_kind("past", past)
    dtype_name = None if dtype is None else str(dtype).removeprefix("torch.")
    settings = (convention, dtype_name, float(ridge), depth, as_one_rule(rules))
    if train:
        if decode:
            raise ValueError("train prices a step over whole sequences: not decode")
        training = (optimizer or "adamw", checkpoint or "none", precision, freeze, lora)
        return TrainCost(model, settings, training)
    given = {"optimizer": optimizer, "checkpoint": checkpoint, "precision": precision}
    for name, value in {**given, "freeze": freeze, "lora": lora}.items():
        if value is not None:
            raise ValueError(f"{name} requires train=True")
    return Cost(model, settings, uncalled_modules)


def as_one_rule(rules: Rule | Mapping[str, Rule] | None) -> Callable[..., Any] | None:
    """Merges the rules into the function that the extension calls with plain tuples."""
    if rules is None:
        return None
    if callable(rules):
        by_name = None
    elif isinstance(rules, Mapping) and all(callable(rule) for rule in rules.values()):
        by_name = {name.replace("::", "."): rule for name, rule in rules.items()}
    else:
        raise ValueError("rules must be a callable or a dict of callables by operator")

    def ask(name: str, inputs: Any, outputs: Any) -> tuple[int, int] | None:
        rule = rules if by_name is None else by_name.get(name)
        if rule is None:
            rule = by_name.get(name.rpartition(".")[0])
        if rule is None:
            return None
        tensors = (tuple(Tensor(*tensor) for tensor in group) for group in (inputs, outputs))
        answer = rule(Operator(name, *tensors))
        if answer is None or isinstance(answer, tuple):
            return answer
        return answer, 0

    return ask


class Cost:
    """The predicted cost of a model. Every number is for one forward pass at the given sizes."""

    def __init__(
        self, model: _core.Model, settings: tuple[Any, ...], uncalled_modules: frozenset[str]
    ) -> None:
        self._model = model
        self._settings = settings
        self._uncalled_modules = uncalled_modules
        self._data: dict[str, Any] = json.loads(model.report(True, *settings, -1))

    @property
    def model(self) -> str:
        """The model's name."""
        return self._data["model"]

    @property
    def convention(self) -> str:
        """The convention that counts the FLOPs."""
        return self._data["convention"]

    @property
    def total_flops(self) -> int:
        """FLOPs in the requested convention."""
        return self._data["total_flops"]

    @property
    def total_macs(self) -> int:
        """Multiply-accumulates of contractions; the same in every convention."""
        return self._data["total_macs"]

    @property
    def total_memory(self) -> int:
        """Traffic: bytes read and written. `footprint` has the bytes held at once."""
        return self._data["total_memory"]

    @property
    def footprint(self) -> dict[str, int | None]:
        """Bytes held at once: weights, and the KV cache of all sequences where its size is
        known. Activations are not included."""
        return dict(self._data["footprint"])

    @property
    def peak_memory(self) -> dict[str, int | str]:
        """Bytes held at once when operators run one by one and tensors are freed behind their last
        reader: weights, inputs and activations; and the node and layer where that is. The scratch
        memory of kernels is not included."""
        return dict(self._data["peak_memory"])

    @property
    def memory_curve(self) -> list[int]:
        """Bytes of activations alive at every node of the graph, in its order."""
        return list(self._data["memory_curve"])

    @property
    def alive_at_peak(self) -> list[dict[str, Any]]:
        """The activations that are alive at the peak, largest first."""
        return [dict(item) for item in self._data["alive_at_peak"]]

    @property
    def params(self) -> int:
        """Number of parameters; shared ones count once."""
        return self._data["params"]

    @property
    def coverage(self) -> float:
        """Share of the operators that a rule priced, 0 to 1; see unsupported_ops()."""
        return self._data["coverage"]["share"]

    def total(self, metric: str = "flops") -> int:
        """The total of a metric over the whole model; `metric` is one of METRICS."""
        return sum(row[known(metric)] for row in self._data["layers"])

    def by_module(self, metric: str = "flops") -> Counter[str]:
        """A metric per dotted module path, submodules included; "" is the model."""
        known(metric)
        rows = self._data["modules"]
        inner = {row["name"]: row[metric] for row in rows if row["depth"] > 0}
        return Counter({"": self.total(metric), **inner})

    def by_operator(self, metric: str = "flops") -> Counter[str]:
        """A metric per type of operator ("Conv2D")."""
        known(metric)
        return Counter({row["name"]: row[metric] for row in self._data["operators_by_type"]})

    def by_module_and_operator(self, metric: str = "flops") -> dict[str, Counter[str]]:
        """A metric per module, submodules included, and per type of operator."""
        if known(metric) in ("params", "operators"):
            raise ValueError(f"{metric} is not available by module and operator")
        result = {name: Counter[str]() for name in self.by_module(metric)}
        for node in self._data["nodes"]:
            for module in enclosing(node["layer"]):
                if module in result:
                    result[module][node["type"]] += node[metric]
        return result

    def unsupported_ops(self) -> Counter[str]:
        """Operators without a matching rule, with their counts. Their cost is taken as 0."""
        result: Counter[str] = Counter()
        for row in self._data["coverage"]["uncounted"]:
            result[row["op"]] += row["count"]
        return result

    def uncalled_modules(self) -> set[str]:
        """Modules whose forward() was never called; empty for a model read from a file."""
        return set(self._uncalled_modules)

    def table(self, max_depth: int | None = None) -> str:
        """The text that `pyrometer cost` prints, with every layer down to `max_depth`."""
        convention, dtype, ridge, depth, rule = self._settings
        if max_depth is not None:
            depth = max_depth
        return self._model.report(False, convention, dtype, ridge, depth, rule, -1)

    def to_dict(self) -> dict[str, Any]:
        """All data, as `pyrometer cost -v --format json` writes it."""
        return json.loads(json.dumps(self._data))

    def to_pandas(self, what: str = "layers") -> pandas.DataFrame:
        """A DataFrame of the "layers", "modules", "operators" or "nodes"."""
        keys = {
            "layers": "layers",
            "modules": "modules",
            "operators": "operators_by_type",
            "nodes": "nodes",
        }
        if what not in keys:
            raise ValueError(f"invalid table {what!r}; valid: {', '.join(keys)}")
        return _display.frame(self._data[keys[what]])

    def __str__(self) -> str:
        return self.table()

    def _summary(self) -> str:
        return (
            f"{_display.clean(self.model)}: {scaled(self.params).strip()} params, "
            f"{scaled(self.total_macs)}MACs, {scaled(self.total_flops)}FLOPs "
            f"({self.convention}), {scaled(self.total_memory)}B moved"
        )

    def _repr_html_(self) -> str:
        return _display.notebook(
            self.model,
            lambda: _core.page_of_model(self.model, self._model, self._settings),
            self._table,
        )

    def _table(self) -> str:
        return _display.table(
            self._summary(),
            {
                "Layer": lambda row: row["name"],
                "Class": lambda row: row["class"],
                "Params": lambda row: row["params"],
                "MACs": lambda row: row["macs"],
                "FLOPs": lambda row: row["flops"],
                "Bytes": lambda row: row["memory"],
                "FLOPs per byte": lambda row: row["arithmetic_intensity"],
            },
            sorted(self._data["layers"], key=lambda row: -row["flops"]),
        )

    def __repr__(self) -> str:
        return f"<pyrometer.Cost {self._summary()}>"


def known(metric: str) -> str:
    if metric not in METRICS:
        raise ValueError(f"invalid metric {metric!r}; valid: {', '.join(METRICS)}")
    return metric


def enclosing(path: str) -> list[str]:
    """The paths of a module and of all enclosing modules, the model's "" first."""
    parts = path.split(".") if path not in ("", "(model)") else []
    return [".".join(parts[:length]) for length in range(len(parts) + 1)]


def scaled(amount: int) -> str:
    """Three digits and a decimal prefix, with a space before the unit: "1.81 G"."""
    for prefix, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if amount >= size:
            return f"{amount / size:.3g} {prefix}"
    return f"{amount} "
