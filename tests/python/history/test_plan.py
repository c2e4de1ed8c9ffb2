"""Capacity: the simulated queue beside closed forms, and the plan of stored results."""

import json
import math
import subprocess

import pytest
from test_history import TOOL, document, tool

pyrometer = pytest.importorskip("pyrometer")
core = pytest.importorskip("pyrometer._testing").core

EXPONENTIAL = [-math.log(1 - (i + 0.5) / 20000) for i in range(20000)]  # mean 1 ms
REQUESTS = 1_000_000


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_equal_to_closed_forms(load):
    """M/M/1: latency is exponential with rate 1 - load. M/D/1: the mean wait is half of M/M/1's."""
    rate_per_s = load * 1000
    mean, p50, p95, p99, busy = core.simulate_queue(EXPONENTIAL, 1, 1, rate_per_s, REQUESTS, 1)
    assert math.isclose(busy, load, rel_tol=0.01)
    assert math.isclose(mean, 1 / (1 - load), rel_tol=0.03)
    assert math.isclose(p50, math.log(2) / (1 - load), rel_tol=0.03)
    assert math.isclose(p95, math.log(20) / (1 - load), rel_tol=0.03)
    assert math.isclose(p99, math.log(100) / (1 - load), rel_tol=0.04)
    mean, *_ = core.simulate_queue([1.0], 1, 1, rate_per_s, REQUESTS, 1)
    assert math.isclose(mean, 1 + load / (2 * (1 - load)), rel_tol=0.03)


def test_several_servers():
    """M/M/k: Erlang's formula gives the probability to wait, and so the mean latency."""
    servers, load = 4, 3.0
    terms = [load**n / math.factorial(n) for n in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    waits = last / (sum(terms) + last)
    mean, *_ = core.simulate_queue(EXPONENTIAL, 1, servers, load * 1000, REQUESTS, 2)
    assert math.isclose(mean, 1 + waits / (servers - load), rel_tol=0.03)


def test_batches_and_arguments():
    """100 requests per ms in batches of up to 200: two batches per 2 ms suffice."""
    mean, *_, busy = core.simulate_queue([1.0], 200, 1, 100_000, 100_000, 1)
    assert 1 < mean < 2.1 and 0.9 < busy <= 1.01
    first = core.simulate_queue([1.0, 2.0], 1, 1, 100, 1000, 5)
    assert first == core.simulate_queue([1.0, 2.0], 1, 1, 100, 1000, 5)
    for samples, batch, servers, rate in (([], 1, 1, 1), ([1.0], 0, 1, 1), ([1.0], 1, 0, 1),
                                          ([1.0], 1, 1, 0), ([-1.0], 1, 1, 1)):  # fmt: skip
        with pytest.raises(ValueError):
            core.simulate_queue(samples, batch, servers, rate, 10, 1)


def test_plan_of_stored_results(tmp_path):
    db = tmp_path / "h.db"
    history = pyrometer.history(db)
    for batch, milliseconds in ((1, 10.0), (8, 20.0)):
        samples = [milliseconds + (i % 10) / 10 for i in range(200)]
        for machine, factor in (("ci", 1), ("fast", 0.5)):
            one = document(
                benchmark=f"resnet50 batch_size={batch}",
                samples=[sample * factor for sample in samples],
                machine_class=machine,
            )
            history.add(one)
    history.add(document(benchmark="resnet50_v2 batch_size=1", samples=[1.0]))
    words = ["plan", "--db", db, "--model", "resnet50", "--rate", "500/s", "--p99", "120ms"]
    done = tool(*words, "--price", "2.5", "--format", "json")
    plan = json.loads(done.stdout)["plan"]
    rows = plan["rows"]  # another model whose name begins alike is not among them
    assert [row["machine_class"] for row in rows] == ["ci", "fast"] * 2
    one, eight = rows[0], rows[2]
    assert rows[one["next_batch_row"]] is eight and eight["next_batch_row"] is None
    assert rows[one["other_machine_row"]] is rows[1] and rows[1]["other_machine_row"] is None
    assert all(row["load"] <= 0.7 for row in rows)
    # 500/s of 10.45 ms keep 5.2 servers busy, 7.5 at 70%.
    assert one["replicas"] == 8 and eight["replicas"] in (2, 3)
    assert one["utilisation"] < 0.7 and one["p99_ms"] <= 120 and one["price_per_hour"] == 20
    assert plan["assumptions"]
    text = tool(*words).stdout
    assert "Assumptions" in text and "batch 8 instead of 1 on ci: " in text
    assert "fast instead of ci: 4 replicas" in text
    done = tool("plan", "--db", db, "--model", "resnet50", "--rate", "500/s", "--p99", "5ms")
    assert "too slow" in done.stdout
    for extra in (["--rate", "many"], ["--p99", "3GiB"], ["--model", "nothing"]):
        assert tool(*words, *extra).returncode == 2


SHAPED = "resnet50 device=cuda:0 precision=bf16 inputs=0: float32[{}, 3, 224, 224] cache=warm"
H100 = "x86_64, AMD EPYC 9554 64-Core Processor, 16 CPUs, NVIDIA H100 80GB HBM3"


def plan_of(db, *words):
    done = tool("plan", "--db", db, "--rate", "500/s", "--p99", "1s", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["plan"]


def test_batches_of_model_profiler(tmp_path):
    """profile() stores the shapes of its inputs, not a batch size."""
    history = pyrometer.history(tmp_path / "h.db")
    for batch in (1, 8):
        history.add(document(benchmark=SHAPED.format(batch), samples=[5.0 + batch] * 30))
    rows = plan_of(tmp_path / "h.db", "--model", "resnet50")["rows"]
    assert [row["batch"] for row in rows] == [1, 8]
    assert [row["next_batch_row"] for row in rows] == [1, None]


def test_other_chips(tmp_path):
    """Service times are multiplied by what map predicts for both chips, batch by batch."""
    db = tmp_path / "h.db"
    history = pyrometer.history(db)
    for batch, milliseconds in ((1, 8.0), (32, 40.0)):
        samples = [milliseconds + (i % 10) / 10 for i in range(100)]
        benchmark = SHAPED.format(batch)
        history.add(document(benchmark=benchmark, samples=samples, machine_class=H100))
    plan = plan_of(db, "--model", "resnet50", "--on", "a100-80gb,h100", "--price", "3")
    assert [(one["row"], one["chip"]) for one in plan["chips"]] == [
        (row, chip) for row in (0, 1) for chip in ("A100 80GB SXM", "H100 SXM")
    ]
    mapped = {}
    for batch in (1, 32):
        words = ["map", "resnet50", "--on", "a100-80gb,h100", "--dtype", "bfloat16", "--batch"]
        done = subprocess.run([TOOL, *words, str(batch), "--format", "json"], capture_output=True)
        [model] = json.loads(done.stdout)["maps"]
        mapped[batch] = [chip["total"]["time_ns"] for chip in model["chips"]]
    for one in plan["chips"]:
        row = plan["rows"][one["row"]]
        a100_ns, h100_ns = mapped[row["batch"]]
        wanted = a100_ns / h100_ns if one["chip"] == "A100 80GB SXM" else 1
        assert math.isclose(one["ratio"], wanted, rel_tol=1e-9)
        assert one["ratio_low"] < one["ratio"] < one["ratio_high"]
        assert one["measured_on"] == "H100 SXM" and one["why_not"] == ""
        assert one["replicas_low"] <= one["replicas"] <= one["replicas_high"]
        if one["chip"] == "H100 SXM":  # the same chip changes nothing
            assert (one["replicas"], one["p99_ms"]) == (row["replicas"], row["p99_ms"])
    # Batches of 32 in 40.45 ms: 500/s keep 0.63 replicas busy; 70% is the limit.
    slower = plan["chips"][2]
    assert slower["ratio"] > 1
    assert slower["replicas"] == math.ceil(500 / 32 * 0.04045 * slower["ratio"] / 0.7)
    text = tool("plan", "--db", db, "--rate", "500/s", "--p99", "1s", "--on", "a100-80gb").stdout
    assert "predicted by pyrometer map, not measured" in text
    assert "A100 80GB SXM instead of H100 SXM: " in " ".join(text.split())


@pytest.mark.parametrize(
    ("benchmark", "machine", "words", "reason"),
    [
        ("resnet50 batch_size=8", "ci", [], "names no chip that map knows; --measured-on"),
        ("resnet50 device=cpu", H100, [], "it ran on a processor; --measured-on host"),
        ("resnet50 precision=int8", H100, [], "does not predict its precision int8"),
        ("resnet50 inputs=0: float32[]", H100, [], "not tensors with dims"),
        ("resnet50 inputs=0: float32[8, 4, 224, 224]", H100, [], "dim 1 is fixed at 3"),
        ("./infer --fast", H100, [], "not that of a model; --graph names"),
        ("os:system", H100, [], "not that of a model"),
        ("nothing", H100, [], "no such file or model"),
        ("./infer batch_size=4", "ci", ["--graph", "resnet50", "--measured-on", "h100"], ""),
        ("llama3_70b precision=bf16", H100, [], "does not fit"),
    ],
)
def test_why_not(tmp_path, benchmark, machine, words, reason):
    db = tmp_path / "h.db"
    pyrometer.history(db).add(document(benchmark=benchmark, machine_class=machine))
    [one] = plan_of(db, "--on", "l40s", *words)["chips"]
    options = {"graph": "resnet50", "measured_on": "h100"} if words else {}
    again = pyrometer.history(db).plan(rate="500/s", p99="1s", on=["l40s"], **options)
    assert again["chips"] == [one]
    assert reason in one["why_not"] and bool(one["why_not"]) == bool(reason)
    assert (one["ratio"] is None) == bool(reason) or "fit" in reason
    assert (one["replicas"] == 0) == bool(reason)


def test_unknown_chip(tmp_path):
    db = tmp_path / "h.db"
    pyrometer.history(db).add(document(benchmark="resnet50", machine_class=H100))
    done = tool("plan", "--db", db, "--rate", "5/s", "--p99", "1s", "--on", "h1000")
    assert done.returncode == 2 and "unknown chip" in done.stderr and "h1000" in done.stderr
    with pytest.raises(pyrometer.Error, match='unknown chip "h1000"'):
        pyrometer.history(db).plan(rate=5, p99="1s", on=["h1000"])
