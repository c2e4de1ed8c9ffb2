"""pyrometer.history(): stores results over commits and reads lines and change points back."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer import _core, _display
from pyrometer._error import Error
from pyrometer._tool import find_tool

_NANOSECONDS = 1_000_000_000
STATISTICS = ("median", "mean", "min", "p95", "p99")

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
        """Lines of one metric over time, each with its `points`, as `history trend` shows them.

        Filters are project, benchmark, metric, machine, branch, commit and tag (glob patterns),
        `since` and `until` (seconds since 1970), `statistic` ("median", "mean", "min", "p95",
        "p99"), `across_machines` and `by_time`. In a git repository points are in the order of
        commits unless `by_time`.
        """
        return Lines(self._report("trend", filters))

    def changes(self, *, min_change: float = 0, **filters: Any) -> list[dict[str, Any]]:
        """The change points of the lines that lines() would return; those of at least `min_change`,
        a share."""
        return self._report("changes", filters, min_change)["changes"]

    def acknowledge(self, change: str, note: str | None = None, **filters: Any) -> int:
        """Keeps changes quiet whose id begins with `change`; returns how many there are."""
        return _core.history_acknowledge(self._filters(filters), change, note)

    def alert(
        self,
        *rules: str,
        junit: str | os.PathLike[str] | None = None,
        markdown: str | os.PathLike[str] | None = None,
        webhook: str | os.PathLike[str] | None = None,
        **filters: Any,
    ) -> Alerts:
        """Applies rules such as "regression > 3%", "p99 > 120ms" and "no data for 7d".

        The result lists every rule with every line it looks at; `fired` and `cannot_tell` sum it
        up. The paths are files to write.
        """
        if not rules:
            raise TypeError("alert() needs a rule, such as 'regression > 3%'")
        document, *texts, fired, cannot_tell = _core.history_alert(self._filters(filters), rules)
        for path, text in zip((junit, markdown, webhook), texts, strict=True):
            _write(path, text)
        return Alerts(json.loads(document)["alerts"], fired, cannot_tell)

    def plan(
        self,
        model: str | None = None,
        *,
        rate: str | float,
        p99: str,
        utilisation: float = 0.7,
        price: float = 0,
        on: Sequence[str] = (),
        measured_on: str | None = None,
        graph: str | None = None,
        **filters: Any,
    ) -> dict[str, Any]:
        """How many replicas a rate of requests and a limit of latency need.

        `rate` is a number per second or a text ("500/s", "30000/min"), `p99` a time ("120ms"),
        `price` that of one replica per hour. `model` is a benchmark; its batch sizes are rows.
        `on` names other chips: `chips` then has what map() predicts for them, from the chip that
        was measured (`measured_on`, by default the GPU of the machine) and the model `graph` (by
        default the benchmark's name). It runs `pyrometer history plan`.
        """
        text = rate if isinstance(rate, str) else f"{rate:.17g}"
        if on:
            options = {
                "--model": model, "--rate": text, "--p99": p99, "--price": f"{price:.17g}",
                "--utilisation": f"{utilisation:.17g}", "--on": ",".join(on),
                "--measured-on": measured_on, "--graph": graph,
            }  # fmt: skip
            return self._run_tool("plan", {**options, **_as_options(filters)})["plan"]
        document = _core.history_plan(self._filters(filters), model, text, p99, utilisation, price)
        return json.loads(document)["plan"]

    def gc(
        self,
        *,
        keep_samples: str | None = None,
        keep_all: str | None = None,
        keep_weekly: str | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Removes old samples and results; returns what was removed.

        Texts are durations ("90d", "1y") or "forever". By default samples stay for 90 days, all
        results for a year, and then one result per line and week. `dry_run` only counts.
        """
        document = _core.history_collect(self._db, keep_samples, keep_all, keep_weekly, dry_run)
        return json.loads(document)["collected"]

    def bisect(
        self,
        *commands: str,
        good: str | None = None,
        bad: str | None = None,
        change: str | None = None,
        setup: str | None = None,
    ) -> dict[str, Any]:
        """Finds the commit that made a command slower, between `good` and `bad` or in the range of
        a stored `change`. Runs `pyrometer history bisect` in the current repository.

        Raises Error if there is nothing to search or a step fails; `certain` is False where a
        step could not tell.
        """
        options = {"--good": good, "--bad": bad, "--change": change, "--setup": setup}
        return self._run_tool("bisect", options, commands, with_db=change is not None)["bisect"]

    def _run_tool(
        self,
        verb: str,
        options: Mapping[str, str | None],
        operands: Sequence[str] = (),
        with_db: bool = True,
    ) -> dict[str, Any]:
        tool = find_tool()
        if tool is None:
            raise Error("the tool pyrometer is missing; pip install pyrometer installs it")
        db, environment = _without_password(self._db if with_db else None)
        words = [tool, "history", verb, "--format", "json", "-q"]
        for name, value in {**options, "--db": db}.items():
            words += [f"{name}={value}"] if value is not None else []
        done = subprocess.run(
            [*words, "--", *operands],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **environment},
        )
        if not done.stdout:
            raise Error(done.stderr.strip().removeprefix("pyrometer: ") or f"{verb} failed")
        return json.loads(done.stdout)

    def export(
        self,
        *,
        prometheus: str | os.PathLike[str] | None = None,
        github: str | os.PathLike[str] | None = None,
        **filters: Any,
    ) -> dict[str, Any]:
        """All results with their samples, for add() elsewhere.

        The paths are files for the newest results: Prometheus' textfile collector, and
        github-action-benchmark.
        """
        for path, for_github in ((prometheus, False), (github, True)):
            if path is not None:
                _write(path, _core.history_newest(self._filters(filters), for_github))
        return self._report("export", filters)

    def _report(self, view: str, filters: dict[str, Any], min_change: float = 0) -> dict[str, Any]:
        return json.loads(_core.history_report(self._filters(filters, min_change), view))

    def _filters(self, filters: dict[str, Any], min_change: float = 0) -> tuple[Any, ...]:
        names = ("project", "benchmark", "metric", "machine", "branch", "commit", "tag")
        others = ("since", "until", "statistic", "across_machines", "by_time")
        unknown = set(filters) - {*names, *others}
        if unknown:
            known = ", ".join((*names, *others))
            raise TypeError(f"unknown filter {min(unknown)!r}; filters: {known}")
        statistic = filters.get("statistic", STATISTICS[0])
        if statistic not in STATISTICS:
            raise ValueError(f"unknown statistic {statistic!r} (one of: {', '.join(STATISTICS)})")
        return (
            self._db,
            *(filters.get(name) for name in names),
            int(filters.get("since", 0) * _NANOSECONDS),
            int(filters.get("until", 0) * _NANOSECONDS),
            STATISTICS.index(statistic),
            bool(filters.get("across_machines", False)),
            bool(filters.get("by_time", False)),
            min_change,
        )


class Alerts(list[dict[str, Any]]):
    """What rules found, one dict per rule and line."""

    def __init__(self, alerts: list[dict[str, Any]], fired: bool, cannot_tell: bool) -> None:
        super().__init__(alerts)
        self.fired = fired  # some rule is broken
        self.cannot_tell = cannot_tell  # some rule has too little data


class Lines(list[dict[str, Any]]):
    """Lines of results; a notebook draws them and marks their changes."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document["lines"])
        self._document = document

    def _repr_html_(self) -> str:
        return _display.notebook(
            "History",
            lambda: _core.page_of_json("history", json.dumps(self._document)),
            lambda: _display.table("History", LINE_COLUMNS, list(self)),
        )


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


def _as_options(filters: Mapping[str, Any]) -> dict[str, str]:
    """The filters of a plan as options of the tool."""
    known = ("project", "benchmark", "machine", "branch", "commit", "tag")
    unknown = set(filters) - set(known)
    if unknown:
        raise TypeError(f"no filter of a plan with `on`: {min(unknown)!r}; {', '.join(known)}")
    return {f"--{name}": value for name, value in filters.items() if value is not None}


def _without_password(db: str | None) -> tuple[str | None, dict[str, str]]:
    """An address for a command line, which other users can read; the password is a variable."""
    found = re.match(r"(postgres(?:ql)?://[^:/@]*):([^/@]*)(@.*)", db or "", re.DOTALL)
    if not found:
        return db, {}
    return found[1] + found[3], {"PGPASSWORD": urllib.parse.unquote(found[2])}


def _write(path: str | os.PathLike[str] | None, text: str) -> None:
    """Replaces the file as a whole: Prometheus' collector may read it at any time."""
    if path is None:
        return
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
