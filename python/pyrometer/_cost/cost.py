"""pyrometer.cost() and what it returns. All numbers come from the C library."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrometer import _core, _display
from pyrometer._cost import open_model
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
) -> Cost:
    """What a model should cost, without running it.

    Args:
        model_or_path: an nn.Module (exported in memory: nothing is written, no weight is copied
            and the module is left as it is), a torch.export.ExportedProgram, the path of a .pt2
            file, "path:name" for one of several models in it, the name of a model that
            pyrometer.models() lists, an id of Hugging Face or timm of one of these
            ("meta-llama/Llama-3.1-8B"; nothing is downloaded), a folder with a config.json of
            transformers or timm, or "file.py:function" ("package.module:function"), which is run
            and returns an nn.Module or the module and its inputs.
        inputs: for a module: what to call it with, a tensor, a tuple or list of positional
            arguments, or a dict of keyword arguments. Fake and meta tensors do.
        kwargs: for a module: keyword arguments beside `inputs`.
        convention: what is called FLOPs: "full", "torch", "fvcore" or "torchvision". MACs are
            the same in all of them.
        dtype: price floating point tensors as this type, "float16" for one.
        batch: the size of dim 0 where the model leaves it open.
        input_shape: sizes of the first input, where the model leaves them open.
        input_shapes: sizes of inputs by name.
        sizes: sizes by symbol, for those that depend on data ("u0") or stand for a dim ("s0").
        seq: the length of the sequence, where the model leaves it open; of a language model, the
            prompt.
        decode: price the making of one new token by a built-in language model, over a cache.
        past: with `decode`: how many tokens are in the cache.
        depth: layers deeper than this are rolled up into their ancestor; negative: none are.
        ridge: FLOPs a byte above which a layer is called compute-bound.
        rules: how to price operators: a callable, or a dict of them by operator ("my::op",
            "my.op" or "my.op.default"). A rule is given an Operator and returns its MACs, or
            (MACs, other FLOPs), or None to leave it to the library.
        dynamic_shapes: for a module: handed to torch.export.export().
        strict: for a module: handed to torch.export.export().

    Raises:
        Error: the model cannot be exported, read or priced.
        FileNotFoundError: there is no such file or built-in model.
        ValueError: an argument makes no sense, or the model does not allow it.
    """
    uncalled_modules: frozenset[str] = frozenset()
    if isinstance(model_or_path, (str, os.PathLike)):
        if inputs is not None or kwargs is not None or dynamic_shapes is not None:
            raise ValueError(
                "inputs, kwargs and dynamic_shapes are for exporting a module; for a file give "
                "batch, input_shape or input_shapes"
            )
        model = (
            _core.open_decode(str(model_or_path))
            if decode
            else open_model.open_model(model_or_path, input_shape)
        )
    elif decode:
        raise ValueError("decode is for built-in models; export a module of yours with its cache")
    elif archive.is_live(model_or_path):
        live = archive.read_live(model_or_path, inputs, kwargs, dynamic_shapes, strict)
        model = _core.open_memory(live.archive, live.label)
        uncalled_modules = live.uncalled_modules
    else:
        raise TypeError(
            f"a path, an nn.Module or an ExportedProgram is wanted, not {type(model_or_path)!r}"
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
            raise ValueError("past goes with decode=True")
        model.set_kind("past", past)
    dtype_name = None if dtype is None else str(dtype).removeprefix("torch.")
    settings = (convention, dtype_name, float(ridge), depth, as_one_rule(rules))
    return Cost(model, settings, uncalled_modules)


def as_one_rule(rules: Rule | Mapping[str, Rule] | None) -> Callable[..., Any] | None:
    """One function as the extension calls it: of plain tuples, returning None or a pair."""
    if rules is None:
        return None
    if callable(rules):
        by_name = None
    elif isinstance(rules, Mapping) and all(callable(rule) for rule in rules.values()):
        by_name = {name.replace("::", "."): rule for name, rule in rules.items()}
    else:
        raise ValueError("rules is a callable or a dict of callables by operator")

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
    """What a model should cost. Every number is for one forward pass at the sizes in force."""

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
        """What is called FLOPs here."""
        return self._data["convention"]

    @property
    def total_flops(self) -> int:
        """FLOPs in the convention that was asked for."""
        return self._data["total_flops"]

    @property
    def total_macs(self) -> int:
        """Multiply-accumulates of contractions; the same in every convention."""
        return self._data["total_macs"]

    @property
    def total_memory(self) -> int:
        """Traffic: bytes read and written. What is held at once is `footprint`."""
        return self._data["total_memory"]

    @property
    def footprint(self) -> dict[str, int | None]:
        """Bytes that are held at once: weights, and the KV cache of all sequences where it is
        known; activations are not part of it."""
        return dict(self._data["footprint"])

    @property
    def params(self) -> int:
        """Parameters, those that are shared once."""
        return self._data["params"]

    @property
    def coverage(self) -> float:
        """Share of the operators that a rule priced, 0 to 1; see unsupported_ops()."""
        return self._data["coverage"]["share"]

    def total(self, metric: str = "flops") -> int:
        """The whole model's amount of a metric: one of METRICS."""
        return sum(row[known(metric)] for row in self._data["layers"])

    def by_module(self, metric: str = "flops") -> Counter[str]:
        """Per dotted path of a module, with all that is below it; "" is the model."""
        known(metric)
        rows = self._data["modules"]
        inner = {row["name"]: row[metric] for row in rows if row["depth"] > 0}
        return Counter({"": self.total(metric), **inner})

    def by_operator(self, metric: str = "flops") -> Counter[str]:
        """Per type of operator ("Conv2D")."""
        known(metric)
        return Counter({row["name"]: row[metric] for row in self._data["operators_by_type"]})

    def by_module_and_operator(self, metric: str = "flops") -> dict[str, Counter[str]]:
        """Per module, with all that is below it, per type of operator."""
        if known(metric) in ("params", "operators"):
            raise ValueError(f"{metric} is not counted by operator and module")
        result = {name: Counter[str]() for name in self.by_module(metric)}
        for node in self._data["nodes"]:
            for module in enclosing(node["layer"]):
                if module in result:
                    result[module][node["type"]] += node[metric]
        return result

    def unsupported_ops(self) -> Counter[str]:
        """Operators that no rule could price, and how many there are: they count as 0."""
        result: Counter[str] = Counter()
        for row in self._data["coverage"]["uncounted"]:
            result[row["op"]] += row["count"]
        return result

    def uncalled_modules(self) -> set[str]:
        """Modules with a forward() that was never called. A file does not tell: then none."""
        return set(self._uncalled_modules)

    def table(self, max_depth: int | None = None) -> str:
        """Text as `pyrometer cost` prints it, every layer down to `max_depth`."""
        convention, dtype, ridge, depth, rule = self._settings
        if max_depth is not None:
            depth = max_depth
        return self._model.report(False, convention, dtype, ridge, depth, rule, -1)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `pyrometer cost -v --format json` writes it."""
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
            raise ValueError(f"{what!r}: there are {', '.join(keys)}")
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
        raise ValueError(f"{metric!r}: the metrics are {', '.join(METRICS)}")
    return metric


def enclosing(path: str) -> list[str]:
    """A module's path and those of all modules around it, the model's "" first."""
    parts = path.split(".") if path not in ("", "(model)") else []
    return [".".join(parts[:length]) for length in range(len(parts) + 1)]


def scaled(amount: int) -> str:
    """Three digits and a decimal prefix, with a space before the unit to come: "1.81 G"."""
    for prefix, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if amount >= size:
            return f"{amount / size:.3g} {prefix}"
    return f"{amount} "
