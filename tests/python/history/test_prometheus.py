"""The newest results for Prometheus, read by its own parsers."""

import json
import re

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics
from test_history import FILES, HOSTILE, document, tool

pyrometer = pytest.importorskip("pyrometer")

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\S+)')


def export(db, tmp_path):
    path = tmp_path / "pyrometer.prom"
    done = tool("export", "--db", db, "--prometheus", path, "--github", tmp_path / "github.json")
    assert done.returncode == 0, done.stderr
    return path.read_text()


def test_families(tmp_path):
    db = tmp_path / "h.db"
    history = pyrometer.history(db)
    history.add(FILES / "line.json")
    history.add(FILES / "asv.json")
    history.add(FILES / "github-action-benchmark.js")
    text = export(db, tmp_path)
    assert text.endswith("# EOF\n")
    name = '{project="demo",benchmark="resnet18 batch_size=8",metric="latency",machine="ci"'
    assert f'pyrometer_result_seconds{name},statistic="median"}} 0.1098' in text
    assert f'pyrometer_changes{name},class="regression"}} 1\n' in text
    # Every family is announced once, before its samples, and not interrupted.
    families = [re.match(r"(?:# TYPE )?(\w+)", line).group(1)
                for line in text.splitlines() if not line.startswith(("# HELP", "# UNIT", "# EOF"))
                ]  # fmt: skip
    runs = [one for index, one in enumerate(families) if index == 0 or one != families[index - 1]]
    assert len(runs) == len(set(runs))
    entries = json.loads((tmp_path / "github.json").read_text())
    assert {"name": "resnet18 batch_size=8: latency", "unit": "ms", "value": 109.8} in entries


def test_hostile_names(tmp_path):
    db = tmp_path / "h.db"
    runs = []
    for number, text in enumerate(HOSTILE[:-1]):
        one = document(number, benchmark=text, project=text, machine_class=text)
        one["runs"][0]["metrics"][0].update(metric=text, unit=text if number % 2 else "ms")
        runs += one["runs"]
    pyrometer.history(db).add({"schema": "pyrometer.history/1", "runs": runs})
    text = export(db, tmp_path)
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples)
    for parse in (parser.text_string_to_metric_families,
                  openmetrics.text_string_to_metric_families):  # fmt: skip
        names = {sample.labels["benchmark"] for family in parse(text) for sample in family.samples}
        assert names == set(HOSTILE[:-1])
