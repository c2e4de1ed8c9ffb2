"""Capacity: the simulated queue beside closed forms, and the plan of stored results."""

import json
import math

import pytest
from test_history import document, tool

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
