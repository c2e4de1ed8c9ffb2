"""Notebooks and DataFrames: NA for unknown values, escaped tables, public names only."""

from __future__ import annotations

import html.parser
import json
import pathlib
import re
import subprocess
import sys

import pytest
from page_data import read_parts

import pyrometer

FILES = pathlib.Path(__file__).parents[1] / "files"
NASTY = "<script>alert('x')</script>\u202eevil\u200b\x1b[31m&"


class Checker(html.parser.HTMLParser):
    """Checks that only our tags occur, and that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        assert tag in ("p", "table", "thead", "tbody", "tr", "th", "td"), tag
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + "|"


@pytest.fixture
def without_page(monkeypatch):
    monkeypatch.setattr(pyrometer._core, "page_is_available", lambda: False)


class Frame(html.parser.HTMLParser):
    """Reads the one frame that a notebook shows."""

    def __init__(self) -> None:
        super().__init__()
        self.page = ""

    def handle_starttag(self, tag, attrs):
        assert tag == "iframe" and not self.page
        self.page = dict(attrs)["srcdoc"]


def page_in_frame(result) -> list[tuple[str, dict]]:
    """Kind and JSON of the parts of the page that a notebook shows."""
    if not pyrometer._core.page_is_available():
        pytest.skip("this build has no page")
    frame = Frame()
    frame.feed(result._repr_html_())
    return [(part["kind"], result) for part, result in read_parts(frame.page)]


def check_html(result) -> str:
    checker = Checker()
    checker.feed(result._repr_html_())
    checker.close()
    assert not checker.open
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", checker.text)
    return checker.text


@pytest.fixture
def nasty_trace(tmp_path):
    events = [
        {
            "ph": "X",
            "cat": "python_function",
            "name": f"nn.Module: {NASTY}_0",
            "pid": 1,
            "tid": 1,
            "ts": 1000,
            "dur": 100,
        },
        {"ph": "X", "cat": "cpu_op", "name": NASTY, "pid": 1, "tid": 1, "ts": 1010, "dur": 5},
    ]
    path = tmp_path / "nasty.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def unknown_numbers(frame):
    """Numbers that mean "unknown" in the library's columns."""
    return [
        (name, value)
        for name in frame
        for value in frame[name].dropna()
        if not isinstance(value, (str, bool)) and value in (-1, 2**32 - 1)
    ]


def test_pandas_has_na_for_what_is_not_known():
    pandas = pytest.importorskip("pandas")
    result = pyrometer.trace(FILES / "trace" / "good-3-cpu-only.json")
    for name, table in result._tables.items():
        frame = result.to_pandas(name)
        assert not unknown_numbers(frame), name
        for column in table.columns:
            values = [row[column] for row in table]
            assert [None if pandas.isna(one) else one for one in frame[column]] == values
    layers = result.to_pandas("layers")
    assert layers["parent"].isna().sum() == sum(row["parent"] is None for row in result.layers) > 0
    assert str(layers["parent"].dtype) == "Int64"
    assert str(layers["peak_share"].dtype) == "Float64"
    assert str(layers["calls"].dtype) == "int64"


def test_pandas_of_ranks_and_cost_has_na():
    pandas = pytest.importorskip("pandas")
    with pytest.warns(RuntimeWarning):
        ranks = pyrometer.ranks(FILES / "ranks")
    frame = ranks.to_pandas()
    assert frame["memory_peak_bytes"].isna().all()
    assert frame["memory_peak_bytes"][0] is pandas.NA
    assert not unknown_numbers(frame)
    assert str(frame["step_ns"].dtype) == "int64"
    cost = pyrometer.cost("resnet18")
    for what in ("layers", "modules", "operators", "nodes"):
        assert not unknown_numbers(cost.to_pandas(what))
    assert cost.to_pandas()["macs"].sum() == cost.total_macs


def test_columns_of_rows_keep_their_kind():
    pytest.importorskip("pandas")
    from pyrometer._testing import frame

    rows = [
        {"a": 2**60 + 1, "b": None, "c": 1.5, "d": True, "e": "x"},
        {"a": None, "b": None, "c": None, "d": None, "e": None},
    ]
    made = frame(rows)
    assert made["a"][0] == 2**60 + 1
    assert [str(made[name].dtype) for name in "acd"] == ["Int64", "Float64", "boolean"]
    assert made.isna().sum().to_dict() == {"a": 1, "b": 2, "c": 1, "d": 1, "e": 1}


def test_results_are_pages_in_notebooks(nasty_trace):
    cost = pyrometer.cost("resnet18")
    [(kind, shown)] = page_in_frame(cost)
    assert kind == "cost" and shown["total_flops"] == cost.total_flops
    result = pyrometer.trace(nasty_trace)
    [(kind, shown)] = page_in_frame(result)
    assert kind == "trace" and shown["ops"][0]["name"] == next(iter(result.ops))["name"]
    assert "<script>alert" not in result._repr_html_()
    with pytest.warns(RuntimeWarning):
        ranks = pyrometer.ranks(FILES / "ranks")
    assert page_in_frame(ranks) == [("ranks", ranks.to_dict())]


def test_results_are_tables_without_the_page(nasty_trace, without_page):
    text = check_html(pyrometer.cost("resnet18"))
    assert "resnet18" in text and "layer1.0.conv1|" in text
    with pytest.warns(RuntimeWarning):
        text = check_html(pyrometer.ranks(FILES / "ranks"))
    assert "3 ranks, stragglers: 1" in text and "trace_rank_2.json" in text
    text = check_html(pyrometer.trace(FILES / "trace" / "good-3-cpu-only.json"))
    assert "good-3-cpu-only.json" in text and "Own, host (ms)" in text
    text = check_html(pyrometer.trace(nasty_trace))
    assert "<script>alert('x')</script>?evil??[31m&" in text


def test_results_of_bench_are_tables_without_the_page(without_page):
    document = {
        "schema": "pyrometer.bench/1",
        "environment": {},
        "warnings": [],
        "benchmarks": [
            {
                "name": NASTY,
                "engine": "x",
                "status": "ok",
                "message": None,
                "parameters": {},
                "items": 1,
                "metrics": [
                    {"name": "memory", "unit": "bytes", "value": 123456.0},
                    {"name": NASTY, "unit": None, "value": None},
                ],
            }
        ],
    }
    text = check_html(pyrometer.Results(document))
    assert "memory|" in text and "1.235e+05|bytes|" in text
    text = check_html(pyrometer.BenchmarkResults(document, None))
    assert "1 configurations" in text


def test_many_rows_are_cut():
    from pyrometer._testing import MOST_ROWS, table

    text = table("t", {"n": lambda row: row}, list(range(MOST_ROWS + 1234)))
    assert text.count("<tr>") == MOST_ROWS + 1
    assert "1,234 more rows" in text


def test_dir_lists_public_names_only():
    assert dir(pyrometer) == sorted(pyrometer.__all__)
    assert all(hasattr(pyrometer, name) for name in dir(pyrometer) if "rofiler" not in name)


@pytest.mark.parametrize("call", ["capture()", "ModelProfiler", "Profiler"])
def test_without_torch_one_clear_line(call):
    program = f"import sys; sys.modules['torch'] = None; import pyrometer; pyrometer.{call}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        f"ModuleNotFoundError: pyrometer.{call} requires torch, which is not installed: "
        "pip install torch"
    )
    assert "During handling" not in done.stderr
