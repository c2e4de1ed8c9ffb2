"""`pyrometer serve`: token, nothing outside of the folder, growing recordings, hostile requests."""

import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse

import pytest
import serve_load

jsonschema = pytest.importorskip("jsonschema")

ROOT = pathlib.Path(__file__).parents[3]
TOOL = os.environ.get("PYRO_TOOL", "")
SAMPLE = pathlib.Path(TOOL).with_name("record_sample")

pytestmark = pytest.mark.skipif(not TOOL, reason="PYRO_TOOL is not set")


@pytest.fixture(scope="module", autouse=True)
def the_page_is_built():
    done = subprocess.run([TOOL, "serve", "/nowhere"], capture_output=True, text=True)
    if "has no page" in done.stderr:
        pytest.skip("the page is not built")


class Site(serve_load.Server):
    def get(self, path, method="GET", token=True, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}"} if token else {}
        connection.request(method, path, headers=headers | fields)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body, response

    def json(self, path):
        status, body, _ = self.get(path)
        assert status == 200, body
        return json.loads(body)

    def wait_for(self, path, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition(answer := self.json(path)):
            assert time.monotonic() < end, answer
            time.sleep(0.2)
        return answer


@contextlib.contextmanager
def serving(path):
    site = Site(TOOL, path)
    try:
        yield site
    finally:
        code, errors = site.stop()
    assert (code, errors) == (0, "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    base = tmp_path_factory.mktemp("site")
    folder, outside = serve_load.make_folder(base)
    with serving(folder) as site:
        site.folder, site.outside = folder, outside
        yield site


def _schema(name):
    return json.loads((ROOT / f"schemas/{name}-1.json").read_text())


def test_index_lists_what_can_be_shown(site):
    listed = site.json("/api/files")
    jsonschema.validate(listed, _schema("folder"))
    assert listed["folder"] == str(site.folder.resolve())
    paths = {file["path"]: file["kind"] for file in listed["files"]}
    assert paths.pop("trace.json") == "trace" and paths["sub/bad.json"] == "trace"
    assert not any(name in path for path in paths for name in ("link", "fifo", "hidden"))


def test_page_equals_that_of_report(site, tmp_path):
    state = site.wait_for("/api/page?file=trace.json", lambda state: state["state"] == "ready")
    jsonschema.validate(state, _schema("serve"))
    assert state["is_current"] and not state["is_growing"]
    status, body, response = site.get("/page?file=trace.json")
    assert status == 200 and b"pyrometer.page/" in body
    assert response.getheader("Content-Security-Policy") == "frame-ancestors 'self'"
    subprocess.run(
        [
            TOOL, "report", site.folder / "trace.json", "--title", "trace.json", "-q",
            "-o", "page.html",
        ],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    assert len(body) == (tmp_path / "page.html").stat().st_size
    status, body, response = site.get("/page?file=trace.json", method="HEAD")
    assert status == 200 and not body and int(response.getheader("Content-Length")) > 100_000


def test_perfetto_trace_equals_that_of_the_tool(site, tmp_path):
    site.wait_for("/api/perfetto?file=trace.json", lambda state: state["state"] == "ready")
    _, body, _ = site.get("/perfetto?file=trace.json")
    command = [
        TOOL,
        "trace",
        site.folder / "trace.json",
        "-q",
        "--perfetto",
        tmp_path / "x.pftrace",
    ]
    subprocess.run([*command, "-o", tmp_path / "r.json"], check=True)
    assert body == (tmp_path / "x.pftrace").read_bytes()


def test_a_file_that_cannot_be_read_says_why(site):
    (site.folder / "broken.json").write_text('{"traceEvents": [')
    state = site.wait_for("/api/page?file=broken.json", lambda state: state["state"] != "building")
    jsonschema.validate(state, _schema("serve"))
    assert state["state"] == "failed"
    assert state["message"] and str(site.folder) not in state["message"]
    assert site.get("/page?file=broken.json")[0] == 404


def test_data_needs_the_token(site):
    for path in ["/api/files", "/api/page?file=trace.json", "/page?file=trace.json", "/other"]:
        assert site.get(path, token=False)[0] == 403
        assert (
            site.get(f"{path}{'&' if '?' in path else '?'}token={'0' * 32}", token=False)[0] == 403
        )
    assert site.get(f"/api/files?token={site.token}", token=False)[0] == 200
    assert site.get("/other")[0] == 404
    for path in ["/", "/view?file=x", "/serve.js", "/serve.css"]:  # no data in them
        status, body, response = site.get(path, token=False)
        assert status == 200 and site.token.encode() not in body
        assert "default-src 'none'" in response.getheader("Content-Security-Policy")


def test_only_names_of_loopback_are_hosts(site):
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost@evil", "", "127.0.0.1:x"]:
        assert site.get("/", Host=host)[0] == 421
    for host in ["localhost:1", "127.0.0.1", "[::1]:9440"]:  # another port: a tunnel
        assert site.get("/", Host=host)[0] == 200


def test_nothing_outside_of_the_folder(site):
    for name in serve_load.PATHS:
        name = name.format(outside=site.outside)
        for quoted in {name, urllib.parse.quote(name, safe="")}:
            if not quoted.isascii():
                continue
            for route in serve_load.ROUTES:
                status, body, _ = site.get(f"{route}?file={quoted}")
                assert status in (400, 404), (route, quoted)
                assert serve_load.SECRET not in body
    (site.folder / "trace.json2").write_text("x")
    os.replace(site.folder / "trace.json2", site.folder / "plain.txt")
    assert site.get("/api/page?file=plain.txt")[0] == 404


def test_one_file(tmp_path):
    for name in ("one.json", "other.json"):
        (tmp_path / name).write_bytes((ROOT / "tests/files/kineto/good-1-kineto.json").read_bytes())
    with serving(tmp_path / "one.json") as site:
        assert [file["path"] for file in site.json("/api/files")["files"]] == ["one.json"]
        assert site.get("/api/page?file=other.json")[0] == 404
        assert site.get("/api/page?file=one.json")[0] == 200


def test_page_follows_a_growing_recording(tmp_path):
    if not SAMPLE.exists():
        pytest.skip("record_sample is not built")
    with serving(tmp_path) as site, subprocess.Popen([SAMPLE, tmp_path, "600"]) as recorder:
        path = "/api/page?file=sample.pyro"
        site.wait_for(
            "/api/files", lambda listed: any(f.get("is_growing") for f in listed["files"])
        )
        first = site.wait_for(path, lambda state: state["state"] == "ready" and state["is_growing"])
        later = site.wait_for(path, lambda state: state["revision"] > first["revision"])
        assert later["duration_ns"] > first["duration_ns"]
        recorder.kill()  # its program is gone: the page shows what is there, and stops to follow
        recorder.wait()
        state = site.wait_for(path, lambda state: not state["is_growing"] and state["is_current"])
        assert site.get(path.replace("/api", ""))[0] == 200 and state["state"] == "ready"


def test_load():
    done = subprocess.run(
        [
            sys.executable, ROOT / "tests/python/live/serve_load.py", "--tool", TOOL, "--json",
            "--connections", "200", "--seconds", "3",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["requests"] > 200 and result["outcomes"]["good 200"] > 20


def test_errors(tmp_path):
    def fails(*arguments):
        done = subprocess.run([TOOL, "serve", *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        return done.stderr

    assert "No such file" in fails(tmp_path / "missing")
    assert "neither a folder nor a regular file" in fails("/dev/null")
    assert "one folder or file" in fails(tmp_path, tmp_path)
    with serving(tmp_path) as site:
        assert "in use" in fails(tmp_path, "--port", str(site.port))
