"""The same history in PostgreSQL: a real server, started by an ordinary user."""

import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import pytest
from test_history import FILES, HOSTILE, TOOL, document, start_writer, tool

pyrometer = pytest.importorskip("pyrometer")


def programs():
    """Debian keeps the server's programs out of PATH."""
    found = shutil.which("initdb")
    if found:
        return pathlib.Path(found).resolve().parent
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


def ordinary_user():
    """Options of subprocess: the server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid}
    return None


@pytest.fixture(scope="module")
def server():
    """A server that only listens on a socket file: no test chooses a port."""
    folder, user = programs(), ordinary_user()
    if not folder or user is None:
        pytest.skip("no PostgreSQL server (Debian: postgresql)")
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(name)
        if user:
            os.chown(home, user["user"], user["group"])
        home.chmod(0o755)
        common = {"cwd": name, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **user}
        data = home / "data"
        subprocess.run(
            [folder / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-N"],
            check=True, **common,
        )  # fmt: skip
        words = [folder / "pg_ctl", "-D", data, "-w", "-l", home / "log"]
        options = f"-c listen_addresses= -k {name} -c fsync=off"
        subprocess.run([*words, "-o", options, "start"], check=True, **common)
        try:
            yield f"postgresql://tester:hidden@/postgres?host={name}&sslmode=prefer", home, words
        finally:
            subprocess.run([*words, "-m", "immediate", "stop"], check=False, **common)


@pytest.fixture
def url(server):
    """An empty schema per test."""
    address, home, _ = server
    psql = programs() / "psql"
    if not psql.exists():
        psql = "psql"
    statement = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
    subprocess.run(
        [psql, "-q", "-h", home, "-U", "tester", "-c", statement, "postgres"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return address


def test_equal_to_sqlite(url, tmp_path):
    """Both databases give the same exports and changes for the same results."""
    found = []
    for db in (url, tmp_path / "h.db"):
        history = pyrometer.history(db)
        assert history.add(FILES / "line.json") == 60
        assert history.add(FILES / "line.json") == 0
        found.append((history.export(), history.changes(), history.list()))
    assert found[0] == found[1]
    assert tool("gc", "--db", url, "--keep-samples", "1d", "--keep-all", "1d").stdout.startswith(
        "removed 9 sets of samples, 51 metrics"
    )


def test_acknowledged_changes_stay_quiet(url):
    pyrometer.history(url).add(FILES / "line.json")
    [change] = pyrometer.history(url).changes()
    done = tool("changes", "--db", url, "--acknowledge", change["id"], "--note", "known")
    assert done.returncode == 0, done.stderr
    [change] = pyrometer.history(url).changes()
    assert change["acknowledged"] and change["note"] == "known"


def test_hostile_names(url):
    history = pyrometer.history(url)
    for text in HOSTILE:
        one = document(benchmark=text, commit=text, project=text, branch=text, tool=text, tags=text)
        assert history.add(one) == 1 and history.add(one) == 0
    stored = {run["metrics"][0]["benchmark"] for run in history.export()["runs"]}
    assert stored == {text[:4096] for text in HOSTILE}


def test_sixteen_writers_lose_nothing(url, tmp_path):
    writers = [start_writer(url, tmp_path, writer, 20) for writer in range(16)]
    for writer in writers[::5]:
        writer.send_signal(signal.SIGKILL)
    for writer in writers:
        assert writer.wait(600) in (0, -signal.SIGKILL)
    stored = {}
    for run in pyrometer.history(url).export()["runs"]:
        name = run["metrics"][0]["benchmark"]
        stored[name] = stored.get(name, 0) + 1
    for number, writer in enumerate(writers):
        expected = (20,) if writer.returncode == 0 else (0, 20)
        assert stored.get(f"w{number}", 0) in expected


def test_no_password_in_messages_or_process_lists(url, tmp_path):
    wrong = url.replace("@/postgres", "@/missing")
    done = tool("list", "--db", wrong)
    assert done.returncode == 2 and "missing" in done.stderr
    assert "hidden" not in done.stderr and "hidden" not in done.stdout
    # The tool waits for its input, so its words can be read from the outside.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    option = url.replace(":hidden", "") + "&password=hidden"
    for number, address in enumerate((url, option)):
        process = subprocess.Popen([TOOL, "history", "add", fifo, "--db", address])
        with open(fifo, "w") as writer:
            words = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert b"history" in words and b"hidden" not in words
            json.dump(document(number), writer)
        assert process.wait(600) == 0
    assert len(pyrometer.history(url).list()) == 2


def test_bisect_from_python_hides_the_password():
    from pyrometer._testing import without_password

    assert without_password("postgresql://u:a%40b@h/d?x=y") == (
        "postgresql://u@h/d?x=y",
        {"PGPASSWORD": "a@b"},
    )
    assert without_password("postgresql://h:5432/d") == ("postgresql://h:5432/d", {})
    assert without_password("h.db") == ("h.db", {}) and without_password(None) == (None, {})


def test_a_server_that_goes_away(server, tmp_path):
    """The last test: the server stops, and bench keeps its result and its exit code."""
    address, _, words = server
    user = ordinary_user()
    subprocess.run([*words, "-m", "immediate", "stop"], check=True, cwd="/",
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)  # fmt: skip
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        [TOOL, "bench", "-N", "true", "--runs", "2", "-q", "--history", "--db", address],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0 and "not in the history" in done.stderr
    assert "hidden" not in done.stderr
    assert len(list((tmp_path / "pyrometer" / "pending").iterdir())) == 1
