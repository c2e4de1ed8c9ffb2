"""pyrometer run --metrics: a program's counters, as Prometheus reads them."""

import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus
from test_launch import ENVIRONMENT, TOOL, run, run_tool

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
BATCH, INPUTS, OUTPUTS, STEPS = 16, 64, 8, 5

PROGRAM = f"""
import os, sys, torch
model = torch.nn.Linear({INPUTS}, {OUTPUTS})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range({STEPS}):
    optimizer.zero_grad()
    model(torch.ones({BATCH}, {INPUTS})).sum().backward()
    optimizer.step()
kept = torch.ones(1 << 20)
child = os.fork()
if child == 0:
    model(torch.ones({BATCH}, {INPUTS}))
    os._exit(0)
os.waitpid(child, 0)
print("ready", flush=True)
sys.stdin.readline()
sys.exit(7)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a program that has done its steps, and its exit code in the end."""
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "train.py").write_text(PROGRAM)
    program = subprocess.Popen(
        [TOOL, "run", "--python", sys.executable, "--metrics", "127.0.0.1:0", "train.py"],
        cwd=folder, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    line = program.stderr.readline()
    address = re.fullmatch(r"pyrometer: metrics at (http://127\.0\.0\.1:\d+)/metrics\n", line)
    assert address, line + program.stderr.read()
    assert program.stdout.readline() == "ready\n"
    yield address[1]
    _, rest = program.communicate("\n", timeout=600)
    assert program.returncode == 7 and rest == ""
    assert [path.name for path in folder.iterdir()] == ["train.py"]  # metrics alone leave no file


def scrape(address, accept="", path="/metrics", method="GET"):
    request = urllib.request.Request(address + path, headers={"Accept": accept}, method=method)
    with urllib.request.urlopen(request, timeout=600) as response:
        return response.headers["Content-Type"], response.read().decode()


def samples(families):
    return {(one.name, *sorted(one.labels.items())): one.value
            for family in families for one in family.samples}  # fmt: skip


def test_openmetrics(served):
    kind, text = scrape(served, OPENMETRICS)
    assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    families = {family.name: family for family in parse_openmetrics(text)}
    assert families["pyrometer_step_seconds"].type == "histogram"
    assert families["pyrometer_step_seconds"].unit == "seconds"
    assert families["pyrometer_flops"].type == families["pyrometer_bytes"].type == "counter"
    assert families["pyrometer_memory_bytes"].type == "gauge"
    assert families["pyrometer_build"].type == "info"
    found = samples(families.values())
    step = ("kind", "optimizer")
    # The first step has no beginning.
    assert found["pyrometer_step_seconds_count", step] == STEPS - 1
    buckets = [value for key, value in found.items()
               if key[0] == "pyrometer_step_seconds_bucket" and step in key]  # fmt: skip
    assert buckets == sorted(buckets) and buckets[-1] == STEPS - 1
    assert found["pyrometer_step_seconds_sum", step] > 0
    cpu = ("device", "cpu")
    flops = found["pyrometer_flops_total", cpu, ("dtype", "fp32")]
    product = 2 * BATCH * INPUTS * OUTPUTS
    assert flops >= STEPS * 2 * product  # forward, and the weight's gradient
    assert found["pyrometer_bytes_total", cpu, ("dtype", "fp32")] > 0
    assert found["pyrometer_memory_bytes", cpu, ("state", "allocated")] >= 4 << 20
    assert found["pyrometer_process_cpu_seconds_total",] > 0
    assert found["pyrometer_lost_records_total",] == 0


def test_the_same_in_both_formats(served):
    kind, text = scrape(served, "text/plain")
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    plain = samples(parse_prometheus(text))
    opened = samples(parse_openmetrics(scrape(served, OPENMETRICS)[1]))
    assert set(plain) == set(opened)
    steady = [key for key in plain if not key[0].startswith("pyrometer_process")]
    assert all(plain[key] == opened[key] for key in steady)


def test_flops_are_those_of_the_trace(served, tmp_path):
    """The same program recorded: a trace has the same FLOPs and bytes."""
    import pyrometer

    (tmp_path / "train.py").write_text(PROGRAM.replace("os.fork()", "0 or None").replace(
        "os.waitpid(child, 0)", "pass"))  # fmt: skip
    done = run_tool("run", "-q", "train.py", folder=tmp_path)
    assert done.returncode == 7, done.stderr
    totals = pyrometer.trace(tmp_path / "train.pyro").ops
    found = samples(parse_openmetrics(scrape(served, OPENMETRICS)[1]))
    counted = sum(value for key, value in found.items() if key[0] == "pyrometer_flops_total")
    assert counted == sum(row["flops"] for row in totals if row["flops"] and row["flops"] > 0)


@pytest.mark.parametrize("method, path, status", [("POST", "/metrics", 405), ("GET", "/x", 404)])
def test_rejected(served, method, path, status):
    with pytest.raises(urllib.error.HTTPError) as caught:
        scrape(served, path=path, method=method)
    assert caught.value.code == status


def test_port_in_use(tmp_path):
    (tmp_path / "program.py").write_text("import sys\nprint('mine')\nsys.exit(4)\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_tool("run", "--metrics", port, "program.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (4, "mine\n")
    assert done.stderr == (
        f"pyrometer: --metrics: 127.0.0.1:{port} is in use; the program runs without metrics\n"
    )


def test_bad_address(tmp_path):
    done = run(TOOL, "run", "--metrics", "host.example:80", "x.py", folder=tmp_path)
    assert done.returncode == 2
    assert '--metrics: "host.example:80" is not an address' in done.stderr


def test_beside_a_recording(tmp_path):
    (tmp_path / "add.py").write_text("import torch\ntorch.ones(2, 3) + 1\n")
    done = run_tool("run", "-q", "--metrics", "0", "-o", "a.pyro", "add.py", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.pyro", "add.py"]
