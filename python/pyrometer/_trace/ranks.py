"""pyrometer.ranks(): many ranks of one run in one report. All numbers come from the library."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _display
from pyrometer._cost import open_model
from pyrometer._error import Error

if TYPE_CHECKING:
    import pandas


def ranks(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    model: str | os.PathLike[str] | None = None,
    layers_from: str | None = None,
    steps_from: str | None = None,
    step: int | None = None,
    late: float | str = 0.05,
    threads: int = 0,
) -> Ranks:
    """Finds the stragglers of a distributed run, from the traces of its ranks.

    Args:
        paths: folders and files: traces of torch.profiler and pyrometer's recordings.
        model: the model that ran, as for cost(); it provides the dotted names of layers.
        layers_from: read layers from user annotations, as for trace().
        steps_from: take steps from ranges whose name matches, as for trace().
        step: only the profiler step with this number.
        late: report ranks that are late by at least this share of a step: 0.05 or "5%".
        threads: number of reading threads, each with one trace in memory; 0: one per core.

    A file that cannot be read causes a RuntimeWarning; the report covers the others.

    Raises:
        Error: nothing could be read.
        ValueError: a number is out of range.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if step is not None and step < 0:
        raise ValueError(f"invalid step {step}: steps are numbered from 0")
    share = _core.share(late)
    if not 0 < share <= 1:
        raise ValueError(f"invalid late {late}: must be a share above 0 and at most 100%")
    opened = None if model is None else open_model.open_model(model)
    text, failures = _core.ranks(
        list(paths), opened, layers_from, steps_from, -1 if step is None else step, share, threads
    )
    answer = json.loads(text)
    if not answer["ranks"]:
        reason = f": {failures[0][0]}: {failures[0][1]}" if failures else ""
        raise Error(f"no trace of any rank could be read{reason}")
    for file, message, _ in failures:
        warnings.warn(f"{file}: {message}", RuntimeWarning, stacklevel=2)
    return Ranks(answer)


class Ranks:
    """The report: tables as lists of rows (docs/reference/ranks.md); unknown values are None."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    @property
    def ranks(self) -> list[dict[str, Any]]:
        return self._answer["ranks"]

    @property
    def steps(self) -> list[dict[str, Any]]:
        return self._answer["steps"]

    @property
    def groups(self) -> list[dict[str, Any]]:
        return self._answer["groups"]

    @property
    def stragglers(self) -> list[dict[str, Any]]:
        return self._answer["stragglers"]

    @property
    def notes(self) -> list[str]:
        return self._answer["notes"]

    def to_dict(self) -> dict[str, Any]:
        """All data, as `pyrometer ranks --format json` writes it."""
        return self._answer

    def to_pandas(self, table: str = "ranks") -> pandas.DataFrame:
        """A DataFrame of the table "ranks", "steps", "cells", "groups" or "stragglers"."""
        if table not in ("ranks", "steps", "cells", "groups", "stragglers"):
            raise ValueError(
                f"invalid table {table!r}; valid: ranks, steps, cells, groups, stragglers"
            )
        return _display.frame(self._answer[table])

    def _repr_html_(self) -> str:
        return _display.notebook(
            "Ranks", lambda: _core.page_of_json("ranks", json.dumps(self._answer)), self._table
        )

    def _table(self) -> str:
        named = ", ".join(str(row["rank"]) for row in self.stragglers) or "nobody"
        columns: dict[str, Any] = {
            "Rank": lambda row: row["rank"],
            "Step (ms)": _display.ms("step_ns"),
            "Compute (ms)": _display.ms("compute_ns"),
            "Communication (ms)": _display.ms("communication_ns"),
            "Idle (ms)": _display.ms("idle_ns"),
            "Waits (ms)": _display.ms("wait_ns"),
            "Late (ms)": _display.ms("late_ns"),
            "File": lambda row: os.path.basename(row["file"] or ""),
        }
        return _display.table(f"{len(self.ranks)} ranks, stragglers: {named}", columns, self.ranks)

    def __repr__(self) -> str:
        named = [row["rank"] for row in self.stragglers]
        return f"<Ranks: {len(self.ranks)} ranks, stragglers: {named or 'none'}>"
