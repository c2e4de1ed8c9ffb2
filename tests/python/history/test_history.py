"""Storing results: many writers, kills, full disks, other schemas, hostile names, git's order."""

import json
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import tempfile
import time

import pytest

pyrometer = pytest.importorskip("pyrometer")

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ROOT / "tests" / "files" / "history"
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build" / "pyrometer"))
START_S = 1767225600

HOSTILE = [
    "'; DROP TABLE runs; --",
    'a"b',
    "%s%n%x",
    "$1",
    "x\\' OR 1=1",
    "\u202egnp.exe",
    "name\nwith\tcontrol\x07",
    "=cmd|' /C calc'!A0",
    "ünïcödé 🔥",
    "a" * 10000,
]


def document(number=0, *, benchmark="b", samples=(1.0, 1.1, 1.2), commit="", **labels):
    run = {
        "kind": "bench",
        "project": "p",
        "commit": commit,
        "branch": "main",
        "time_ns": str((START_S + number) * 10**9),
        "machine_class": "ci",
        "fingerprint": "f",
        **labels,
    }
    metric = {"benchmark": benchmark, "metric": "latency", "unit": "ms", "better": "lower"}
    run["metrics"] = [{**metric, "method": labels.get("method", "m"), "samples": list(samples)}]
    return {"schema": "pyrometer.history/1", "runs": [run]}


def tool(*words, **options):
    return subprocess.run(
        [TOOL, "history", *map(str, words)], capture_output=True, text=True, **options
    )


@pytest.fixture
def db(tmp_path):
    return tmp_path / "history.db"


def test_the_same_result_is_stored_once(db):
    history = pyrometer.history(db)
    assert history.add(document()) == 1
    assert history.add(document()) == 0
    assert history.add(json.dumps(document(), indent=8).encode()) == 0
    assert history.add(document(samples=(1.0, 1.1, 1.3))) == 1
    assert len(history.list()) == 2


def test_python_interface(db):
    history = pyrometer.history(db)
    with pytest.raises(FileNotFoundError, match="no history here"):
        history.list()
    assert history.add(FILES / "line.json") == 60
    [line] = history.lines(benchmark="resnet18*")
    assert len(line["points"]) == 60 and line["unit"] == "ms"
    [change] = history.changes()
    assert change["class"] == "regression" and change["commit"].startswith("38")
    assert 0.095 < change["interval"][0] < change["change"] < change["interval"][1] < 0.105
    assert len(history.export(since=START_S + 50 * 86400)["runs"]) == 10
    shown = history.lines()._repr_html_()
    assert shown.startswith("<iframe ") or "resnet18" in shown
    with pytest.raises(TypeError, match="unknown filter 'benchmarks'"):
        history.lines(benchmarks="x")
    with pytest.raises(TypeError, match="add"):
        history.add(3)
    assert "secret" not in repr(pyrometer.history("postgresql://u:secret@h/d"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_in_every_field(db, text):
    history = pyrometer.history(db)
    labels = dict.fromkeys(
        ("kind", "project", "branch", "tool", "tags", "machine_class", "fingerprint", "machine",
         "method"), text
    )  # fmt: skip
    one = document(benchmark=text, commit=text, **labels)
    one["runs"][0]["metrics"][0].update(metric=text, unit=text)
    assert history.add(one) == 1 and history.add(one) == 0
    [run] = history.export()["runs"]
    stored = text[:4096]
    assert run["project"] == run["commit"] == run["branch"] == stored
    assert run["metrics"][0]["benchmark"] == stored
    if len(text) < 1000:
        for verb in ("list", "trend", "changes", "export"):
            done = tool(verb, "--db", db, "--format", "text", "--project", "*")
            assert done.returncode == 0, done.stderr
            assert "\x07" not in done.stdout and "\u202e" not in done.stdout
        assert tool("list", "--db", db, "--benchmark", text).returncode == 0
    with sqlite3.connect(db) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def start_writer(db, folder, writer, results):
    path = folder / f"{writer}.json"
    runs = [document(n, benchmark=f"w{writer}", commit=f"{n}")["runs"][0] for n in range(results)]
    path.write_text(json.dumps({"schema": "pyrometer.history/1", "runs": runs}))
    return subprocess.Popen([TOOL, "history", "add", "-q", path, "--db", db])


def test_sixteen_writers_lose_nothing(db, tmp_path):
    """All start on a missing file, so that they also race to create it; some are killed."""
    writers = [start_writer(db, tmp_path, writer, 40) for writer in range(16)]
    killed = writers[::5]
    for writer in killed:
        time.sleep(0.02)
        writer.send_signal(signal.SIGKILL)
    for writer in writers:
        assert writer.wait(600) in ((0, -signal.SIGKILL) if writer in killed else (0,))
    stored = {}
    for run in pyrometer.history(db).export()["runs"]:
        name = run["metrics"][0]["benchmark"]
        assert run["metrics"][0]["samples"] == [1.0, 1.1, 1.2]
        stored[name] = stored.get(name, 0) + 1
    for number, writer in enumerate(writers):
        # One file is one transaction: all of a killed writer's results, or none.
        allowed = (0, 40) if writer in killed else (40,)
        assert stored.get(f"w{number}", 0) in allowed
    with sqlite3.connect(db) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def limit_file_size():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def test_full_disk(db, tmp_path):
    big = tmp_path / "big.json"
    big.write_text(json.dumps(document(samples=[float(n) for n in range(40000)])))
    assert pyrometer.history(db).add(document()) == 1
    done = tool("add", big, "--db", db, preexec_fn=limit_file_size)
    assert done.returncode == 2 and str(db) in done.stderr
    history = pyrometer.history(db)
    assert len(history.list()) == 1
    assert history.add(big) == 1


def test_bench_keeps_its_exit_code_and_the_result(tmp_path):
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
    words = [TOOL, "bench", "-N", "true", "--runs", "2", "-q", "--history"]
    done = subprocess.run(
        [*words, "--db", tmp_path / "missing" / "h.db", "--threshold", "latency:1ns"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode in (1, 3) and "not in the history" in done.stderr
    [kept] = (tmp_path / "data" / "pyrometer" / "pending").iterdir()
    assert str(kept) in done.stderr
    # It is added elsewhere, and keeps the labels of the folder in which it was measured.
    assert tool("add", "--pending", env=environment, cwd=tmp_path).returncode == 0
    assert not kept.exists()
    subprocess.run(words, capture_output=True, env=environment, check=True)
    results = json.loads(tool("list", "--format", "json", env=environment).stdout)["results"]
    assert [result["kind"] for result in results] == ["bench", "bench"]
    for label in ("project", "commit", "branch", "machine_class", "fingerprint", "tool"):
        assert results[0][label] == results[1][label]


def test_newer_schema_is_refused(db):
    pyrometer.history(db).add(document())
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE settings SET value = '99' WHERE name = 'schema'")
    for words in (["list"], ["add", FILES / "hyperfine.json"]):
        done = tool(*words, "--db", db)
        assert done.returncode == 2
        assert "newer Pyrometer" in done.stderr and "schema 99" in done.stderr


def test_older_schema_is_upgraded(db):
    pyrometer.history(db).add(document())
    with sqlite3.connect(db) as connection:
        connection.execute("DROP TABLE acknowledgements")
        connection.execute("UPDATE settings SET value = '1' WHERE name = 'schema'")
    assert len(json.loads(tool("list", "--db", db, "--format", "json").stdout)["results"]) == 1
    with sqlite3.connect(db) as connection:
        assert connection.execute("SELECT value FROM settings").fetchall() == [("2",)]
        assert connection.execute("SELECT count(*) FROM acknowledgements").fetchone() == (0,)


def test_read_only_file():
    """Root may write everything, so root does this as another user."""
    as_nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        db = folder / "history.db"
        pyrometer.history(db).add(document())
        result = folder / "result.json"
        result.write_text(json.dumps(document(1)))
        db.chmod(0o444)
        folder.chmod(0o555)
        if as_nobody and any(not os.stat(one).st_mode & 0o005 for one in (TOOL, *folder.parents)):
            pytest.skip("another user cannot reach the tool")
        try:
            listed = tool("list", "--db", db, **as_nobody, cwd="/")
            added = tool("add", result, "--db", db, **as_nobody, cwd="/")
        finally:
            folder.chmod(0o755)
        assert listed.returncode == 0, listed.stderr
        assert added.returncode == 2 and str(db) in added.stderr
        assert len(pyrometer.history(db).list()) == 1


def commit(folder, message):
    environment = {
        **os.environ,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip
    subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", message], cwd=folder, check=True,
        env=environment,
    )  # fmt: skip
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True).stdout.strip()


def test_order_of_commits(db, tmp_path):
    """Git's order wins over clocks; vanished commits stay, commits of other branches do not."""
    repository = tmp_path / "repository"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=repository, check=True)
    commits = [commit(repository, str(n)) for n in range(6)]
    subprocess.run(["git", "checkout", "-q", "-b", "side"], cwd=repository, check=True)
    elsewhere = commit(repository, "elsewhere")
    subprocess.run(["git", "checkout", "-q", "main"], cwd=repository, check=True)
    history = pyrometer.history(db)
    times = [0, 1, 5, 2, 3, 4]  # the clock of the third machine is ahead
    for at, one in zip(times, commits, strict=True):
        history.add(document(at, commit=one, samples=[10.0 + at]))
    history.add(document(2, commit="f" * 40, samples=[77.0]))  # removed by a rebase
    history.add(document(3, commit=elsewhere, samples=[99.0], branch="side"))
    words = ["trend", "--db", db, "--format", "json"]
    [line] = json.loads(tool(*words, cwd=repository).stdout)["lines"]
    shown = [(point["commit"], point["vanished"]) for point in line["points"]]
    assert [one for one, vanished in shown if not vanished] == commits
    assert ("f" * 40, True) in shown and elsewhere not in dict(shown)
    [line] = json.loads(tool(*words, "--branch", "side", cwd=repository).stdout)["lines"]
    assert line["points"][-1]["commit"] == elsewhere
    [line] = json.loads(tool(*words, "--by-time", cwd=repository).stdout)["lines"]
    assert len(line["points"]) == 8


def test_merged_branch(db, tmp_path):
    """Commits of a merged branch stay together, before the merge and after the main branch's own,
    although they were measured in turns with it; before the merge they are not in the line."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git = ["git", "-C", repository]
    environment = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                   "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
    subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True)
    runs, clock = [], iter(range(1000))

    def measure(message, branch, slow):
        one = commit(repository, message)
        at = next(clock)
        value = 100 + at * 7 % 5 / 10 + 20 * slow
        runs.extend(document(at, commit=one, branch=branch, samples=[value])["runs"])
        return one

    def trend():
        words = ["trend", "--db", db, "--branch", "main", "--format", "json"]
        pyrometer.history(db).add({"schema": "pyrometer.history/1", "runs": runs})
        document = json.loads(tool(*words, cwd=repository).stdout)
        [line] = document["lines"]
        return [point["commit"] for point in line["points"]], document["changes"]

    main = [measure(f"main {n}", "main", False) for n in range(10)]
    subprocess.run([*git, "branch", "side"], check=True)
    side = []
    for number in range(6):  # the branch is slow from its first commit on
        subprocess.run([*git, "checkout", "-q", "side"], check=True)
        side.append(measure(f"side {number}", "side", True))
        subprocess.run([*git, "checkout", "-q", "main"], check=True)
        main.append(measure(f"main {10 + number}", "main", False))
    assert trend() == (main, [])
    words = ["merge", "-q", "--no-ff", "-m", "merge", "side"]
    subprocess.run([*git, *words], check=True, env=environment)
    after = [measure(f"after {n}", "main", True) for n in range(8)]
    commits, changes = trend()
    assert commits == main + side + after
    [change] = changes
    assert change["class"] == "regression" and change["commit"] == side[0]
    assert change["commit_before"] == main[-1]


def test_classes_of_changes(db):
    """The same step is a regression, another machine, or another method, by its labels."""
    runs = []
    for number in range(40):
        slow = number >= 25
        noise = (number * 7 % 11) / 10
        spread = (noise - 0.5) * (12 if slow else 1)
        for benchmark, value, labels in (
            ("code", 100 + noise + 20 * slow, {}),
            ("machine", 100 + noise + 20 * slow, {"fingerprint": f"f{slow}"}),
            ("method", 100 + noise + 20 * slow, {"method": f"v{slow}"}),
            ("noise", 100 + spread, {}),
        ):
            one = document(
                number, benchmark=benchmark, samples=[value], commit=f"{number:040x}", **labels
            )
            runs += one["runs"]
    history = pyrometer.history(db)
    assert history.add({"schema": "pyrometer.history/1", "runs": runs}) == 160
    classes = {one["benchmark"]: one["class"] for one in history.changes()}
    assert classes == {
        "code": "regression",
        "machine": "machine changed",
        "method": "method changed",
        "noise": "noise grew",
    }


def test_schema(db):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "schemas" / "history-1.json").read_text())

    def strict(node):
        if isinstance(node, list):
            return [strict(one) for one in node]
        if not isinstance(node, dict):
            return node
        closed = {"additionalProperties": False} if "properties" in node else {}
        return {**{key: strict(value) for key, value in node.items()}, **closed}

    pyrometer.history(db).add(FILES / "line.json")
    webhook = db.parent / "webhook.json"
    rule = ["--rule", "regression > 1%", "--webhook", webhook]
    for words in (
        ["list"], ["show", "3"], ["export"], ["trend"], ["changes"], ["gc", "--dry-run"],
        ["alert", *rule], ["plan", "--rate", "20/s", "--p99", "1s"],
        ["plan", "--rate", "20/s", "--p99", "1s", "--on", "l40s", "--measured-on", "h100"],
        ["plan", "--rate", "20/s", "--p99", "1s", "--on", "l40s"],
    ):  # fmt: skip
        done = tool(*words, "--db", db, "--format", "json")
        jsonschema.Draft202012Validator(strict(schema)).validate(json.loads(done.stdout))
    jsonschema.Draft202012Validator(strict(schema)).validate(json.loads(webhook.read_text()))
