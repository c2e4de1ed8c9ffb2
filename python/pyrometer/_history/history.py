"""pyrometer.history(): stores results over commits and reads lines and change points back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer import _core, _display

_NANOSECONDS = 1_000_000_000

LINE_COLUMNS: dict[str, Any] = {
    "Benchmark": lambda line: line["benchmark"],
    "Metric": lambda line: line["metric"],
    "Machine": lambda line: line["machine_class"],
    "Results": lambda line: len(line["points"]),
    "Newest": lambda line: line["points"][-1]["value"] if line["points"] else None,
}


def history(db: str | os.PathLike[str] | None = None) -> History:
    """Opens a history of results.

    `db` is a file of SQLite, `postgresql://...`, or None for $XDG_DATA_HOME/pyrometer/history.db.
    The first add() creates it.

    >>> h = pyrometer.history("history.db")
    >>> h.add(pyrometer.ModelProfiler(model, device="cpu").profile(x))
    >>> h.changes(benchmark="resnet18")
    """
    return History(db)


class History:
    """Results over commits in one database. Reading methods return lists of plain dicts."""

    def __init__(self, db: str | os.PathLike[str] | None = None) -> None:
        self._db = None if db is None else os.fspath(db)

    def __repr__(self) -> str:
        # A URL may contain a password.
        is_file = self._db is None or "://" not in self._db
        return f"pyrometer.history({self._db!r})" if is_file else "pyrometer.history(<server>)"

    def add(
        self,
        result: Any,
        *,
        project: str | None = None,
        commit: str | None = None,
        branch: str | None = None,
        machine: str | None = None,
        tags: Sequence[str] = (),
        time: float | None = None,
    ) -> int:
        """Stores a result and returns how many were new: 0 if it is stored already.

        `result` is what ModelProfiler.profile() or load_baseline() returns, a path of a JSON file
        (of pyrometer bench, trace, cost or history, hyperfine, pytest-benchmark, Google Benchmark,
        asv, github-action-benchmark), or such JSON as a dict or bytes. Labels that are not given
        come from the result, from the variables of CI, and from the git work tree.
        """
        time_ns = 0 if time is None else int(time * _NANOSECONDS)
        return _core.history_add(
            self._db,
            _as_json(result),
            project,
            commit,
            branch,
            machine,
            ",".join(tags) or None,
            time_ns,
        )

    def list(self, **filters: Any) -> list[dict[str, Any]]:
        """The stored results, newest first. Filters: project, benchmark, machine, branch, ..."""
        return self._report("list", filters)["results"]

    def lines(self, **filters: Any) -> Lines:
        """Lines of one metric over time, each with its `points`.

        Filters are project, benchmark, metric, machine, branch, commit and tag (glob patterns),
        `since` (seconds since 1970) and `across_machines`.
        """
        return Lines(self._report("trend", filters)["lines"])

    def changes(self, **filters: Any) -> list[dict[str, Any]]:
        """The change points of the lines that lines() would return."""
        return self._report("changes", filters)["changes"]

    def export(self, **filters: Any) -> dict[str, Any]:
        """All results with their samples, for add() elsewhere."""
        return self._report("export", filters)

    def _report(self, view: str, filters: dict[str, Any]) -> dict[str, Any]:
        names = ("project", "benchmark", "metric", "machine", "branch", "commit", "tag")
        unknown = set(filters) - {*names, "since", "across_machines"}
        if unknown:
            raise TypeError(f"unknown filter {min(unknown)!r}; filters: {', '.join(names)}, since")
        since_ns = int(filters.get("since", 0) * _NANOSECONDS)
        values = [filters.get(name) for name in names]
        across = bool(filters.get("across_machines", False))
        return json.loads(_core.history_report(self._db, view, *values, since_ns, across))


class Lines(list[dict[str, Any]]):
    """Lines of results; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return _display.table("History", LINE_COLUMNS, list(self))


def _as_json(result: Any) -> bytes:
    """The JSON of anything that add() takes."""
    if isinstance(result, bytes | bytearray):
        return bytes(result)
    if isinstance(result, str | os.PathLike):
        with open(result, "rb") as file:
            return file.read()
    document = getattr(result, "document", result)
    if not isinstance(document, Mapping):
        raise TypeError(
            f"add() takes results, a path, a dict or bytes, not {type(result).__name__}"
        )
    return json.dumps(document).encode()
