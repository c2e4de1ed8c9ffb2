"""Profiling results as dictionaries, baselines from files, and the comparison of two results."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

from pyrometer import _core, _display
from pyrometer._error import Error
from pyrometer._helper import example_inputs

SCHEMA = "pyrometer.bench/"


def _mean(metric: dict[str, Any]) -> Any:
    return metric.get("value", metric.get("mean"))


METRIC_COLUMNS: dict[str, Any] = {
    "Metric": lambda metric: metric["name"],
    "Value": _mean,
    "Unit": lambda metric: metric.get("unit") or "",
    "Samples": lambda metric: metric.get("n"),
    "Minimum": lambda metric: metric.get("min"),
    "Maximum": lambda metric: metric.get("max"),
}
RESULT_COLUMNS: dict[str, Any] = {
    "Name": lambda result: result["name"],
    "Status": lambda result: result["status"],
    "Mean (ms)": lambda result: result["latency"]["mean"],
    "p50 (ms)": lambda result: result["latency"].get("p50"),
    "p95 (ms)": lambda result: result["latency"].get("p95"),
    "Samples per second": lambda result: result["throughput"]["samples_per_second"],
    "Peak memory (bytes)": lambda result: result["memory"]["peak"],
}


class Results(dict[str, Any]):
    """Measurements by subject: latency, throughput, memory, compute, use, inputs, ...

    `document` holds the same data, with every sample, in the format of `pyrometer diff` and
    `pyrometer bench`.
    """

    def __init__(self, document: dict[str, Any], index: int = 0) -> None:
        self.document = document
        self._benchmark: dict[str, Any] = document["benchmarks"][index]
        super().__init__(_by_subject(document, self._benchmark))

    def to_json(self) -> dict[str, Any]:
        """Subjects and document in one dict, for load_baseline() and `pyrometer diff`."""
        return {**self.document, **self}

    def _repr_html_(self) -> str:
        document = {**self.document, "benchmarks": [self._benchmark]}
        return _display.notebook(
            self["name"], lambda: _core.page_of_json("bench", json.dumps(document)), self._table
        )

    def _table(self) -> str:
        title = f"{self['name']}: {self['status']}"
        return _display.table(title, METRIC_COLUMNS, self._benchmark["metrics"])


def _by_subject(document: dict[str, Any], of: dict[str, Any]) -> dict[str, Any]:
    metrics = {metric["name"]: metric for metric in of["metrics"]}
    facts = dict(of.get("facts", {}))

    def value(name: str) -> Any:
        metric = metrics.get(name)
        return None if metric is None else metric.get("value", metric.get("mean"))

    def whole(name: str) -> int | None:
        number = value(name)
        return None if number is None else round(number)

    results: dict[str, Any] = {
        "name": of["name"],
        "engine": of["engine"],
        "status": of["status"],
        "message": of["message"],
        "device": facts.get("device"),
        "precision": {
            "asked": facts.get("precision"),
            "how": facts.get("precision is"),
            "ran": facts.get("precision ran"),
        },
        "inputs": {"tensors": facts.get("inputs"), "origin": facts.get("inputs are")},
        "parameters": dict(of["parameters"]),
        "latency": {**_timing(metrics.get("latency")), "discarded": of.get("discarded", 0)},
        "throughput": _throughput(of, metrics, value),
        "memory": {
            "peak": whole("memory"),
            "average": whole("memory_average"),
            "per_sample": value("memory_per_sample"),
            "per_sample_is": facts.get("memory per sample is", facts.get("no memory per sample")),
            "fragmentation": value("memory_fragmentation"),
            "activations": whole("activation_memory"),
            "weights": whole("weights"),
            "what": facts.get("memory is"),
            "unit": "bytes",
        },
        "compute": {
            "flops": whole("flops"),
            "flops_reason": facts.get("no flops"),
            "macs": whole("macs"),
            "flops_per_second": value("flop_rate"),
            "params": whole("params"),
            "size_on_disk": whole("size_on_disk"),
            "size_is": facts.get("size is"),
        },
        "use": {
            "cpu_percent": value("cpu"),
            "gpu_percent": value("gpu"),
            "gpu_reason": facts.get("no gpu use"),
            "disk_read_bytes": whole("disk_read"),
            "disk_written_bytes": whole("disk_written"),
            "network_received_bytes": whole("network_received"),
            "network_sent_bytes": whole("network_sent"),
            "network_is": facts.get("network is"),
        },
        "gpu": of.get("gpu"),
        "environment": document["environment"],
        "warnings": list(document["warnings"]),
    }
    stages = {name: _timing(metrics.get(name)) for name in STAGES if name in metrics}
    if stages:
        results["end_to_end"] = stages
    if "time_to_first_token" in metrics:
        results["language"] = {
            "prefill": _timing(metrics["time_to_first_token"]),
            "time_to_first_token": value("time_to_first_token"),
            "decode": _timing(metrics["time_per_token"]),
            "time_per_token": value("time_per_token"),
            "tokens_per_second": value("decode_tokens_per_second"),
            "prefill_tokens_per_second": value("prefill_tokens_per_second"),
            "sequences": facts.get("decoding"),
        }
    for table in of.get("tables", ()):
        key = table["title"].lower().replace(" ", "_")
        results[key] = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return results


STAGES = ("preprocess", "postprocess", "end_to_end")


def _timing(metric: dict[str, Any] | None) -> dict[str, Any]:
    """Times in milliseconds; lists percentiles with too few samples as uncertain."""
    if metric is None or not metric.get("n"):
        return {"n": 0, "mean": None, "p50": None, "p95": None, "p99": None, "max": None}
    found: dict[str, Any] = {
        "unit": metric["unit"],
        "n": metric["n"],
        "mean": metric["mean"],
        "interval": metric["mean_interval"],
        "confidence": metric["confidence"],
        "std": metric["stddev"],
        "min": metric["min"],
        "max": metric["max"],
    }
    notes, uncertain = [], []
    for name, percentile in metric["percentiles"].items():
        found[name] = percentile["value"]
        found[f"{name}_interval"] = percentile["interval"]
        if not percentile["enough"]:
            uncertain.append(name)
            notes.append(f"{name} is uncertain: {metric['n']} of {percentile['needs']} runs")
    found["uncertain"], found["notes"] = uncertain, notes
    return found


def _throughput(of: dict[str, Any], metrics: dict[str, Any], value: Any) -> dict[str, Any]:
    throughput = metrics.get("throughput", {})
    return {
        "samples_per_second": value("throughput"),
        "interval": throughput.get("interval"),
        "tokens_per_second": value("tokens_per_second"),
        "images_per_second": value("images_per_second"),
        "requests_per_second": of.get("calls_per_second"),
        "batch_size": of["items"],
    }


class BenchmarkResults(list[Results]):
    """One Results per configuration, in order."""

    def __init__(self, document: dict[str, Any], knee: dict[str, Any] | None) -> None:
        self.document = document
        self.knee = knee
        super().__init__(Results(document, index) for index in range(len(document["benchmarks"])))

    def to_json(self) -> dict[str, Any]:
        return {**self.document, "knee": self.knee}

    def _repr_html_(self) -> str:
        return _display.notebook(
            f"{len(self)} configurations",
            lambda: _core.page_of_json("bench", json.dumps(self.to_json())),
            lambda: _display.table(f"{len(self)} configurations", RESULT_COLUMNS, self),
        )


class Regressions(list[dict[str, Any]]):
    """Metrics that got worse; empty, and so false, when none did.

    Each has metric, benchmark, effect (0.05: 5% worse), interval and text. `verdict` covers all
    metrics; `cannot_tell` and `improved` list the metrics with that verdict.
    """

    def __init__(self, verdict: dict[str, Any]) -> None:
        rows = verdict["metrics"]
        super().__init__(_entry(row) for row in rows if row["verdict"] == "regressed")
        self.verdict: str = verdict["verdict"]
        self.notes: list[str] = verdict["notes"]
        self.cannot_tell = [_entry(row) for row in rows if row["verdict"] == "cannot tell"]
        self.improved = [_entry(row) for row in rows if row["verdict"] == "improved"]


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    entry = {
        "metric": row["metric"],
        "benchmark": row["benchmark"],
        "effect": row["change"],
        "interval": row["interval"],
        "base": row["base"],
        "current": row["current"],
        "unit": row["unit"],
        "reason": row["reason"],
    }
    low, high = row["interval"] or (None, None)
    if row["change"] is not None and low is not None and high is not None:
        entry["text"] = (
            f"{row['benchmark']}: {row['metric']} {row['change']:+.1%} ({low:+.1%} to {high:+.1%})"
        )
    else:
        entry["text"] = f"{row['benchmark']}: {row['metric']}: {row['reason']}"
    return entry


_loaded: list[tuple[str, str]] = []  # name and inputs of the last loaded baseline


def as_in_baseline(engine: Any) -> Any:
    """Makes inputs for this engine with the shapes of the last loaded baseline, so that the next
    measurement is comparable; None without a baseline or if the shapes do not fit. From a baseline
    of another model it uses only the batch size."""
    if not _loaded:
        return None
    name, tensors = _loaded[0]
    same = name == engine.name
    try:
        made = example_inputs.like(engine.make_inputs(None), tensors, only_batch=not same)
    except Error:  # the model does not describe its inputs, but its baseline does
        made = example_inputs.described(tensors) if same else None
    if made is None:
        return None
    made.origin = f"shapes as in the baseline that was loaded last; {made.origin}"
    return made


def load_baseline(path: str | os.PathLike[str]) -> Results:
    """Loads earlier results, written by export_json() or `pyrometer bench --output-dir`. The next
    model that is profiled without inputs gets inputs of the same shapes.

    Raises:
        Error: the file is damaged (code "format"), or of another schema ("unsupported").
        FileNotFoundError: no such file.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        bench = _core.parse_bench(data)
    except Error as error:
        raise Error(f"{os.fspath(path)}: {error}", error.code, os.fspath(path)) from None
    document = json.loads(bench.report("json"))
    if not document["benchmarks"]:
        raise Error(f"{os.fspath(path)}: contains no results", "format", os.fspath(path))
    _loaded.clear()
    if len(document["benchmarks"]) > 1:
        return BenchmarkResults(document, json.loads(data).get("knee"))  # type: ignore[return-value]
    (only,) = document["benchmarks"]
    if "inputs" in only.get("facts", {}):
        _loaded.append((only["name"], only["facts"]["inputs"]))
    return Results(document)


def detect_regressions(
    baseline: Any,
    current: Any,
    *,
    delta: float | str = 0.02,
    floor_ms: float = 0,
    noise: float | str = 0,
    any_machine: bool = False,
) -> Regressions:
    """Finds what got worse between two results, by the procedure of docs/reference/statistics.md.

    Args:
        baseline: the result of load_baseline() or profile(), or a path.
        current: the same, for the new run.
        delta: the smallest relevant change, as a share: 0.02 or "2%".
        floor_ms: time differences up to this are never relevant.
        noise: variation between equal runs on this machine, as a share: 0.01 or "1%".
        any_machine: compare results of different machines.

    Returns a list that is empty, and so false, when nothing got worse. Undecided metrics cause a
    warning and are in its `cannot_tell`.

    Raises:
        Error: the results are not comparable: another machine, other benchmarks, too few samples.
    """
    sides = [
        load_baseline(side) if isinstance(side, str | os.PathLike) else side
        for side in (baseline, current)
    ]
    documents = [getattr(side, "document", side) for side in sides]
    if not all(isinstance(each, dict) and "benchmarks" in each for each in documents):
        raise TypeError("expected results of profile(), benchmark() or load_baseline()")
    documents[1] = _named_alike(*documents)
    benches = [_core.parse_bench(json.dumps(document).encode()) for document in documents]
    shares = (_core.share(delta), floor_ms, _core.share(noise))
    verdict = json.loads(_core.compare_bench(*benches, *shares, any_machine))
    rows = verdict["metrics"]
    if not any(_is_comparable(row) for row in rows):
        reasons = {row["reason"] for row in rows if row["reason"]} or set(verdict["notes"])
        raise Error(f"cannot tell: {'; '.join(sorted(reasons))}", "unsupported")
    found = Regressions(verdict)
    if found.cannot_tell and not found:
        texts = "; ".join(entry["text"] for entry in found.cannot_tell)
        warnings.warn(f"cannot tell whether this got worse: {texts}", stacklevel=2)
    return found


def _named_alike(base: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Gives both sides the same name if each has one model, whose folder may have been renamed."""
    if len(base["benchmarks"]) != 1 or len(current["benchmarks"]) != 1:
        return current
    (named,), (other,) = base["benchmarks"], current["benchmarks"]
    return {**current, "benchmarks": [{**other, "name": named["name"]}]}


def _is_comparable(row: dict[str, Any]) -> bool:
    """Whether the samples could be compared, regardless of the outcome."""
    return row["verdict"] != "cannot tell" or (row["reason"] or "").endswith("measure more")
