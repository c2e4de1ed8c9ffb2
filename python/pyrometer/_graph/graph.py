"""Graphs of models that the library built, as Python objects."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pyrometer._error import Error
from pyrometer._output_files import refuse_inputs

_GRANULARITIES = ("module", "layer", "op")
_LEVELS = ("high", "aten")
_FORMATS = ("text", "dot", "json", "graphml")
_STATS_ONLY = -1
_MOST_SECONDS = 120  # time limit of dot
EXTENSIONS = {"text": "txt", "dot": "dot", "json": "json", "graphml": "graphml", "svg": "svg"}


def choose(what: str, value: str, choices: tuple[str, ...]) -> int:
    """The index of a choice; raises ValueError with the valid choices."""
    if value not in choices:
        raise ValueError(f"invalid {what} {value!r}; valid: {', '.join(choices)}")
    return choices.index(value)


def check_granularity(value: str) -> str:
    """Checks the granularity of a Profiler; operators are in its detail graph."""
    choose("granularity", value, _GRANULARITIES[:2])
    return value


@dataclasses.dataclass(frozen=True)
class GraphTensor:
    """A tensor on an edge; sizes that depend on data are None. `assumed`: the analysis could not
    decide whether the reader reads any byte of it (docs/reference/graph-format.md)."""

    dtype: str
    shape: tuple[int | None, ...]
    bytes: int | None
    assumed: bool = False


@dataclasses.dataclass(frozen=True)
class Node:
    """A module, an operator or an input. Unknown values are None."""

    id: int
    name: str
    kind: str
    path: str
    type: str
    operators: int
    parameters: int
    parameter_bytes: int
    passes: int
    median_ns: int | None
    p95_ns: int | None
    total_ns: int | None
    device_ns: int | None
    flops: int | None
    moved_bytes: int | None
    output_bytes: int | None


@dataclasses.dataclass(frozen=True)
class Edge:
    """Tensors that go from one node to another; `assumed` if all of them are."""

    source: Node
    target: Node
    tensors: tuple[GraphTensor, ...]
    bytes: int | None
    assumed: bool = False


def _edge(nodes: list[Node], row: dict[str, Any]) -> Edge:
    tensors = tuple(
        GraphTensor(tensor["dtype"], tuple(tensor["shape"]), tensor["bytes"], tensor["assumed"])
        for tensor in row["tensors"]
    )
    return Edge(nodes[row["from"]], nodes[row["to"]], tensors, row["bytes"], row["assumed"])


class Graph:
    """A model as nodes and edges; iteration yields the nodes in the order in which they ran."""

    __module__ = "pyrometer"

    def __init__(
        self, program: Any, granularity: str, level: str = "high", inputs: tuple[str, ...] = ()
    ) -> None:
        self._program = program
        self._inputs = inputs  # files that it was made from; save() never overwrites them
        self._choice = (
            choose("granularity", granularity, _GRANULARITIES),
            choose("level", level, _LEVELS),
        )
        self.granularity = granularity
        self.level = level
        self.name: str = program.name

    def _write(
        self,
        format: int,
        edges: bool = True,
        stats: bool = True,
        parts: int = 0,
        limit: int = 0,
        depth: int = 0,
        for_picture: bool = False,
    ) -> str:
        return self._program.write(
            *self._choice, format, edges, stats, parts, limit, depth, for_picture
        )

    @cached_property
    def _data(self) -> dict[str, Any]:
        return json.loads(self._write(_FORMATS.index("json")))

    @cached_property
    def nodes(self) -> list[Node]:
        return [Node(**row) for row in self._data["nodes"]]

    @cached_property
    def edges(self) -> list[Edge]:
        return [_edge(self.nodes, row) for row in self._data["edges"]]

    @property
    def notes(self) -> list[str]:
        """Omissions and assumptions of these numbers."""
        return self._data["notes"]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def stats(self) -> dict[str, Any]:
        """Prints and returns the totals."""
        print(self._write(_STATS_ONLY), end="")
        return dict(self._data["stats"])

    def cuts(self, parts: int, memory_limit: int = 0) -> dict[str, Any]:
        """Returns every cut between two nodes, and the best split into consecutive parts.

        The best split has the fastest slowest part; of several such splits it is the most even
        one. Times of fewer than five passes are too cold to split by and cause a warning
        (profile_passes measures more).

        Args:
            parts: number of parts.
            memory_limit: most bytes that a part may need; 0: no limit.

        Raises:
            ValueError: no split satisfies the limit.
        """
        data = json.loads(self._write(_FORMATS.index("json"), False, False, parts, memory_limit))
        for warning in data["warnings"]:
            warnings.warn(warning, stacklevel=2)
        return {key: data[key] for key in ("amount", "cuts", "parts", "warnings")}

    def text(
        self, format: str = "text", *, edges: bool = True, stats: bool = True, depth: int = 0
    ) -> str:
        """Renders the graph as text, dot, json, graphml, or svg (drawn by Graphviz).

        Pictures (dot, svg) show repeated identical blocks once, with their count; `depth` draws
        them separately where the path of their module has at most this many names.

        Raises:
            Error: Graphviz is missing, or the picture would be too large to draw.
        """
        if format == "svg":
            dot = _FORMATS.index("dot")
            return _draw(self._write(dot, edges, stats, depth=depth, for_picture=True))
        return self._write(choose("format", format, (*_FORMATS, "svg")), edges, stats, depth=depth)

    def save(
        self,
        path: str | os.PathLike[str],
        format: str = "text",
        *,
        edges: bool = True,
        stats: bool = True,
        depth: int = 0,
    ) -> None:
        """Writes text() to a file atomically.

        Raises:
            ValueError: `path` is the recording that the graph was made from, or source code.
        """
        refuse_inputs(path, *self._inputs)
        replace(os.fspath(path), self.text(format, edges=edges, stats=stats, depth=depth))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<pyrometer.Graph of {self.name}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def _repr_svg_(self) -> str | None:
        try:
            return self.text("svg")
        except Error:
            return None


def _draw(text: str) -> str:
    try:
        done = subprocess.run(
            ["dot", "-Tsvg"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            timeout=_MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Error(
            f"dot did not draw the graph within {_MOST_SECONDS} s; save it with format dot and "
            "draw it with another program"
        ) from None
    except FileNotFoundError:
        raise Error(
            "svg requires Graphviz, which is not installed (Debian: graphviz); "
            "the format dot works without it"
        ) from None
    except subprocess.CalledProcessError as error:
        raise Error(f"dot failed to draw the graph: {error.stderr[:200]}") from None
    return done.stdout


def replace(path: str, text: str) -> None:
    """Replaces a file atomically; keeps its mode, or uses the default mode for a new file."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".pyrometer-", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
