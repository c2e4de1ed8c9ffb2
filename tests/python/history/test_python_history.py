"""pyrometer.history() does what the command does: alerts, plans, gc, bisect, exports, order."""

import json
import subprocess

import pytest
from test_bisect import COMMITS, make_repository
from test_history import FILES, START_S, commit, document, tool

pyrometer = pytest.importorskip("pyrometer")


@pytest.fixture
def history(tmp_path):
    history = pyrometer.history(tmp_path / "h.db")
    history.add(FILES / "line.json")
    return history


def run_json(*words, db, cwd=None):
    done = tool(*words, "--db", db, "--format", "json", cwd=cwd)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout)


def test_alert(history, tmp_path):
    rules = ("regression > 3%", "p99 > 3600s")
    files = {name: tmp_path / f"py-{name}" for name in ("junit", "markdown", "webhook")}
    found = history.alert(*rules, **files)
    assert found.fired and found[0]["state"] == "fired"
    words = [word for rule in rules for word in ("--rule", rule)]
    mine = {name: tmp_path / f"c-{name}" for name in files}
    for name, path in mine.items():
        words += [f"--{name}", path]
    assert run_json("alert", *words, db=tmp_path / "h.db")["alerts"] == list(found)
    for name, path in files.items():
        assert path.read_text() == mine[name].read_text()
    assert not history.alert("regression > 90%").fired
    assert history.alert("p99 > 1ms", benchmark="nothing*").cannot_tell
    with pytest.raises(ValueError, match="nonsense"):
        history.alert("nonsense")
    with pytest.raises(TypeError, match="needs a rule"):
        history.alert()


def test_acknowledge(history):
    [change] = history.changes()
    assert history.changes(min_change=0.5) == []
    assert history.acknowledge("no such id") == 0
    assert history.acknowledge(change["id"][:8], "known") == 1
    [change] = history.changes()
    assert change["acknowledged"] and change["note"] == "known"
    assert not history.alert("regression > 3%").fired


def test_plan(tmp_path):
    db = tmp_path / "h.db"
    history = pyrometer.history(db)
    samples = [10 + (i % 10) / 10 for i in range(200)]
    history.add(document(benchmark="resnet50 batch_size=1", samples=samples))
    words = ["--model", "resnet50", "--rate", "500/s", "--p99", "120ms", "--price", "2.5"]
    expected = run_json("plan", *words, db=db)["plan"]
    assert history.plan("resnet50", rate="500/s", p99="120ms", price=2.5) == expected
    assert history.plan("resnet50", rate=500, p99="120ms", price=2.5) == expected
    assert expected["rows"][0]["replicas"] >= 5
    with pytest.raises(ValueError, match="--p99 120: expected a time"):
        history.plan("resnet50", rate=500, p99="120")


def test_gc(history, tmp_path):
    counted = history.gc(dry_run=True)
    assert counted["only_counted"] and counted["samples"] > 0
    assert run_json("gc", "--dry-run", db=tmp_path / "h.db")["collected"] == counted
    assert history.gc(keep_samples="forever", keep_all="forever")["samples"] == 0
    assert history.gc()["samples"] == counted["samples"]
    assert history.gc(dry_run=True)["samples"] == 0
    with pytest.raises(ValueError, match="--keep-all soon: expected a duration"):
        history.gc(keep_all="soon")


def test_export(history, tmp_path):
    exported = history.export(prometheus=tmp_path / "a.prom", github=tmp_path / "a.json")
    assert len(exported["runs"]) == 60
    done = tool("export", "--db", tmp_path / "h.db", "--prometheus", tmp_path / "b.prom",
                "--github", tmp_path / "b.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    for kind in ("prom", "json"):
        assert (tmp_path / f"a.{kind}").read_text() == (tmp_path / f"b.{kind}").read_text()
    copy = pyrometer.history(tmp_path / "copy.db")
    assert copy.add(exported) == 60 and copy.add(exported) == 0


def test_order_of_commits(tmp_path, monkeypatch):
    """As the command: by ancestry, whatever the clocks say."""
    repository = tmp_path / "r"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=repository, check=True)
    commits = [commit(repository, str(number)) for number in range(4)]
    history = pyrometer.history(tmp_path / "h.db")
    for number, one in enumerate(commits):
        history.add(document(-number, commit=one))
    monkeypatch.chdir(repository)
    [line] = history.lines()
    assert [point["commit"] for point in line["points"]] == commits
    [line] = history.lines(by_time=True, until=START_S + 10**6, statistic="p95")
    assert [point["commit"] for point in line["points"]] == commits[::-1]
    assert line["points"][0]["value"] > history.lines(by_time=True)[0]["points"][0]["value"]
    with pytest.raises(ValueError, match="unknown statistic"):
        history.lines(statistic="mode")


def test_bisect_reports_what_the_tool_says(tmp_path, monkeypatch):
    commits = make_repository(tmp_path / "r", COMMITS + 1, 5)
    monkeypatch.chdir(tmp_path / "r")
    with pytest.raises(pyrometer.Error, match="no ancestor"):
        pyrometer.history().bisect("sh work", good=commits[-1], bad=commits[0])
    with pytest.raises(pyrometer.Error, match="needs --change, or --good"):
        pyrometer.history().bisect("sh work")


def test_bisect_honours_tmpdir(tmp_path):
    """The work tree is in $TMPDIR: a folder that does not exist is named in the error."""
    commits = make_repository(tmp_path / "r", COMMITS + 1, 5)
    done = tool("bisect", "--good", commits[0], "sh work", cwd=tmp_path / "r",
                env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "missing")})  # fmt: skip
    assert done.returncode == 2
    assert f"cannot create a folder in {tmp_path / 'missing'}" in done.stderr
