"""pyrometer.trace(), its result, and parse_model_trace(). All numbers come from the library."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from pyrometer import _core, _display
from pyrometer._cost import open_model
from pyrometer._error import Error

if TYPE_CHECKING:
    import pandas

NO_PARENT = 2**32 - 1  # in the column `parent`, which is unsigned
# Called with the path of a file before it is read: a pass may still be writing the file.
before_opening: list[Callable[[str], None]] = []


def trace(
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    layers_from: str | None = None,
    steps_from: str | None = None,
    step: int | None = None,
    phase: str | None = None,
    filter: str | None = None,
    threads: int = 0,
    ignore: Sequence[str] = (),
    provenance: str | os.PathLike[str] | None = None,
) -> Trace:
    """Reports what a run cost, from a trace of torch.profiler.

    Args:
        path: Kineto or Chrome JSON, plain, gzip or zstd; "-" is standard input.
        model: the model that ran, as for cost(); it provides the dotted names of layers where the
            trace has only classes.
        layers_from: read layers from user annotations: a POSIX extended regular expression whose
            first group is the layer's path, for example r"fwd\\|(.*)".
        steps_from: take steps from annotations (else ops, else Python frames) whose name matches
            this regular expression, for example r"iteration ([0-9]+)"; digits in the first group
            are the step's number. By default steps are the profiler's, or inferred.
        step: only the step with this number.
        phase: only the device work of "forward", "backward" or "optimizer".
        filter: only ops, kernels and layers whose name matches this regular expression.
        threads: number of reading threads; 0: one per core.
        ignore: ids of findings to leave out, for example ["zero-grad"].
        provenance: folder or file that says where kernels of torch.compile come from, written by
            TORCH_TRACE or a debug trace of Inductor. By default such files beside the trace.

    For a damaged file, the result covers what could be read; `warnings` lists what is missing.

    Raises:
        FileNotFoundError: no such file.
        Error: nothing could be read.
        ValueError: a regular expression, phase, step or id is invalid.
    """
    _wait_for(path)
    opened = None if model is None else open_model.open_model(model)
    if step is not None and step < 0:
        raise ValueError(f"invalid step {step}: steps are numbered from 0")
    core = _core.open_trace(
        path,
        opened,
        layers_from,
        steps_from,
        -1 if step is None else step,
        phase,
        filter,
        threads,
        tuple(ignore),
        None if provenance is None else os.fspath(provenance),
    )
    return Trace(core)


def _wait_for(path: str | os.PathLike[str]) -> None:
    """Waits for a pass of this process that is still being written in the background."""
    for wait in before_opening:
        wait(os.path.abspath(os.fspath(path)))


class Table(Sequence):
    """Rows of a trace, as columns: `table["calls"]` or `table.calls`.

    A column of numbers is a memoryview of the library's memory, which np.asarray() wraps without
    a copy; a column of text is a list. `table[0]` is a row as a dict. Unknown values are -1 in
    columns, None in rows, and NA in to_pandas().
    """

    __module__ = "pyrometer"

    def __init__(self, core: _core.Trace, name: str, columns: dict[str, bool]) -> None:
        self._core = core
        self._name = name
        self._optional = columns
        self._kept: dict[str, memoryview | list[str]] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._optional)

    @overload
    def __getitem__(self, key: str) -> memoryview | list[str]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, key):
        if isinstance(key, slice):
            return [self[index] for index in range(*key.indices(len(self)))]
        if isinstance(key, str):
            if key not in self._optional:
                raise KeyError(f"{self._name} has no column {key!r}: {', '.join(self.columns)}")
            if key not in self._kept:
                self._kept[key] = self._core.column(self._name, key)
            return self._kept[key]
        return {name: self._value(name, key) for name in self._optional}

    def _value(self, name: str, index: int) -> Any:
        value = self[name][index]
        unknown = self._unknown(name)
        return None if unknown is not None and value == unknown else value

    def __getattr__(self, name: str) -> memoryview | list[str]:
        if name.startswith("_") or name not in self._optional:
            raise AttributeError(f"{type(self).__name__} has no column {name!r}")
        return self[name]

    def __len__(self) -> int:
        return len(self[next(iter(self._optional))])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame; unknown values are NA."""
        pandas = _display.import_pandas()
        return pandas.DataFrame(
            {
                name: self[name]
                if isinstance(self[name], list)
                else _display.column(self[name], self._unknown(name))
                for name in self._optional
            }
        )

    def _unknown(self, name: str) -> int | None:
        """The number that means "unknown" in a column; None if all values are known."""
        if not self._optional[name]:
            return None
        return NO_PARENT if name == "parent" else -1

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists; unknown values are None."""
        return {
            name: [self._value(name, index) for index in range(len(self))]
            for name in self._optional
        }

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._optional]

    def __repr__(self) -> str:
        return f"<pyrometer.Table {self._name}: {len(self)} rows, {', '.join(self.columns)}>"


OP_COLUMNS = {
    "Op": lambda row: row["name"],
    "Calls": lambda row: row["calls"],
    "Host, own (ms)": _display.ms("host_self_ns"),
    "Device, own (ms)": _display.ms("device_self_ns"),
}


class Trace:
    """What a run cost. Times are in nanoseconds, memory in bytes.

    Every table that `pyrometer trace --format json` writes is an attribute with the same name and
    columns: `steps`, `layers`, `ops`, `kernels` and so on; docs/reference/trace.md defines them.
    """

    __module__ = "pyrometer"

    # For completion in editors. The library decides which tables exist.
    steps: Table
    training: Table
    serving: Table
    layers: Table
    ops: Table
    ops_by_shape: Table
    kernels: Table
    gaps: Table
    causes: Table
    cause_places: Table
    synchronizations: Table
    copies: Table
    collectives: Table
    counters: Table
    power: Table
    memory: Table
    defects: Table
    findings: Table
    finding_parts: Table
    stacks: Table

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Table: ...

    def __init__(self, core: _core.Trace) -> None:
        self._core = core
        self._tables = {name: Table(core, name, columns) for name, columns in core.tables().items()}
        for name, table in self._tables.items():
            setattr(self, name, table)

    @cached_property
    def _data(self) -> dict[str, Any]:
        return json.loads(self._core.report(True))

    @property
    def file(self) -> str:
        return self._data["file"]

    @property
    def events(self) -> int:
        return self._data["events"]

    @property
    def warnings(self) -> list[str]:
        """Problems of the file, and how much of it was lost."""
        return list(self._data["warnings"])

    @property
    def notes(self) -> list[str]:
        return list(self._data["notes"])

    @property
    def trigger(self) -> str | None:
        """What made the flight recorder save this file: "slow-step", "oom", ...; else None."""
        return self._data["trigger"]

    @property
    def trigger_text(self) -> str | None:
        """A line that says what happened: which step was slow, which exception was raised."""
        return self._data["trigger_text"]

    @property
    def device(self) -> str | None:
        return self._data["device"]

    @property
    def span_ns(self) -> int:
        return self._data["span_ns"]

    @property
    def device_total_ns(self) -> int:
        """Sum of the durations of kernels, copies and memsets."""
        return self._data["device_total_ns"]

    @property
    def device_busy_ns(self) -> int:
        """Time during which at least one kernel, copy or memset ran."""
        return self._data["device_busy_ns"]

    @property
    def unattributed(self) -> dict[str, int]:
        """Device time that belongs to no layer, by reason."""
        return dict(self._data["unattributed"])

    @property
    def step_source(self) -> str:
        """Where the steps come from: "marks", "option", "serving", "optimizer", "data_loader",
        "module", "annotation" or "kernels"; "none": one row for the whole trace."""
        return self._data["step_source"]

    @property
    def steps_inferred(self) -> bool:
        """Whether the trace marks no steps, and `steps` are inferred from what repeats."""
        return self._data["steps_inferred"]

    @property
    def steps_on_device(self) -> bool:
        """Whether the host runs ahead of the device, so that `steps` start and end where their work
        does on the device."""
        return self._data["steps_on_device"]

    @property
    def startup(self) -> dict[str, int]:
        """Time of the host before the first step, in parts."""
        return dict(self._data["startup"])

    @property
    def profiler_cost(self) -> dict[str, Any]:
        """What recording added to the steps, and how long a step takes without it: an estimate."""
        return dict(self._data["profiler_cost"])

    @property
    def least_time(self) -> dict[str, int]:
        """What the chip needs at least of the time of ops whose work is known, and the rest."""
        return dict(self._data["least_time"])

    @property
    def serving_summary(self) -> dict[str, Any]:
        """Engine, sizes of attention and rates in the steady state, of a serving engine's trace."""
        return dict(self._data["serving_summary"])

    @property
    def power_summary(self) -> dict[str, Any]:
        """Power and energy over all steps, with the sensor's limits; `samples` 0: not sampled."""
        return dict(self._data["power_summary"])

    @property
    def launch(self) -> dict[str, Any]:
        return dict(self._data["launch"])

    @property
    def data_loading(self) -> dict[str, Any]:
        return dict(self._data["data_loading"])

    def to_dict(self) -> dict[str, Any]:
        """All data, as `pyrometer trace --format json` writes it."""
        return json.loads(self._core.report(True))

    def to_pandas(self, what: str = "layers") -> pandas.DataFrame:
        """A DataFrame of one of the tables."""
        if what not in self._tables:
            raise ValueError(f"invalid table {what!r}; valid: {', '.join(self._tables)}")
        return self._tables[what].to_pandas()

    def __str__(self) -> str:
        return self._core.report(False)

    def _repr_html_(self) -> str:
        return _display.notebook(
            os.path.basename(self.file),
            lambda: _core.page_of_trace(self._core, _display.MOST_EVENTS, False),
            self._table,
        )

    def _table(self) -> str:
        on_host = self.device_total_ns == 0
        where = "" if on_host else f", {self.device_total_ns / 1e6:,.3f} ms on devices"
        title = (
            f"{os.path.basename(self.file)}: {self.events:,} events, {self.span_ns / 1e6:,.3f} ms"
        )
        place = "host" if on_host else "device"
        own = [f"{phase}_{place}_self_ns" for phase in ("forward", "backward")]
        rows = sorted(self.layers, key=lambda row: -sum(row[name] for name in own))
        if not rows:
            return _display.table(title + where, OP_COLUMNS, list(self.ops))
        return _display.table(
            title + where,
            {
                "Layer": lambda row: row["path"] or "(model)",
                "Class": lambda row: row["class"],
                "Calls": lambda row: row["calls"],
                f"Forward, {place} (ms)": _display.ms(f"forward_{place}_ns"),
                f"Backward, {place} (ms)": _display.ms(f"backward_{place}_ns"),
                f"Own, {place} (ms)": lambda row: sum(row[name] for name in own) / 1e6,
                "Shapes": lambda row: row["shapes"],
            },
            rows,
        )

    def __repr__(self) -> str:
        return (
            f"<pyrometer.Trace {_display.clean(self.file)}: {self.events} events, "
            f"{len(self.layers)} layers, "
            f"{len(self.kernels)} kernels by name, {self.device_total_ns / 1e6:.3g} ms on devices>"
        )


def parse_model_trace(trace_file: str, model_name: str = "Unknown") -> dict[str, Any] | None:
    """Returns time, calls, shapes and operations of every layer's forward in one trace.

    Returns a dict of `model_name`, `trace_file`, `layer_stats`, `total_time_us` (wall time of the
    forward: the sum of the layers, unless threads overlap) and `shapes_from` ("layers" or
    "operators", see below). `layer_stats` has an entry per called layer, children before parents;
    the model itself is "(model)":

    - `total_time_us`: wall time of its calls on the host, without the layers that it called;
    - `op_time_us`: the part of that time spent inside operators;
    - `call_count`: number of calls;
    - `shapes`: shapes of its first tensor argument, as tuples;
    - `operations`: names of the operators that it ran itself; may be empty.

    Traces of torch.profiler do not contain the arguments of layers. There `shapes_from` is
    "operators": a shape is that of the first operator's input, which may differ from the layer's.
    Wall times in such traces include the profiler's overhead.

    Returns None, with a warning, when the trace cannot be read.
    """
    try:
        result = trace(trace_file)
        rows, layers, wall_ns, from_ops = result._core.layer_ops()
    except (Error, OSError, ValueError) as error:
        warnings.warn(f"cannot read the trace: {error}", stacklevel=2)
        return None
    operations: dict[str, set[str]] = {}
    for path, operation, *_ in rows:
        operations.setdefault(path, set()).add(operation)
    layer_stats = {
        path or "(model)": {
            "total_time_us": round(layer_ns / 1000),
            "op_time_us": round(op_ns / 1000),
            "call_count": calls,
            "shapes": _shapes(shapes),
            "operations": operations.get(path, set()),
        }
        for path, calls, layer_ns, op_ns, shapes in layers
    }
    if not operations:
        warnings.warn(f"{trace_file}: {_why_no_ops(result)}", stacklevel=2)
    return {
        "model_name": model_name,
        "trace_file": trace_file,
        "layer_stats": layer_stats,
        "total_time_us": round(wall_ns / 1000),
        "shapes_from": "operators" if from_ops else "layers",
    }


def _why_no_ops(result: Trace) -> str:
    missing = [note for note in result.notes if note.startswith("not recorded: ")]
    if missing:
        return f"its layers have no ops; {missing[0]}"
    if len(result.layers):
        return "no op ran inside its layers"
    return "no layers in this trace; record it with torch.profiler.profile(with_stack=True)"


def _shapes(text: str) -> set[tuple[int, ...]]:
    """ "[[32, 100], []]" as a set of tuples; invalid entries of a damaged file are left out."""
    try:
        shapes = json.loads(text or "[]")
    except ValueError:
        return set()
    return {tuple(shape) for shape in shapes if all(isinstance(size, int) for size in shape)}
