"""Comparison with an earlier run: verdicts, and what cannot be compared."""

import json

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from bench_models import Net, quick  # noqa: E402

import pyrometer  # noqa: E402
from pyrometer import Error, ModelProfiler, detect_regressions, load_baseline  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def scaled(results, factor):
    """Fixed samples times a factor, as from an idle machine: load cannot change the verdict."""
    document = json.loads(json.dumps(results.document))
    document["environment"].update(load_1m_before=0, load_1m_after=0, other_cpus=0)
    for metric in document["benchmarks"][0]["metrics"]:
        if metric["name"] == "latency":
            count = len(metric["samples"])
            metric["samples"] = [(5 + 0.001 * number) * factor for number in range(count)]
    return pyrometer.Results(document)


def test_regressions(net):
    results = quick(ModelProfiler(net, device="cpu"), torch.randn(8, 64), num_runs=60)
    base, slower = scaled(results, 1), scaled(results, 1.5)
    found = detect_regressions(base, slower)
    assert found and found.verdict == "regressed"
    assert found[0]["metric"] == "latency" and found[0]["effect"] == pytest.approx(0.5, abs=0.01)
    assert 0.48 < found[0]["interval"][0] <= found[0]["interval"][1] < 0.52
    assert "latency +50.0%" in found[0]["text"]
    assert not detect_regressions(slower, base) and detect_regressions(slower, base).improved
    same = detect_regressions(base, scaled(results, 1.001))
    assert not same and same.verdict == "no change"


def test_baselines_that_cannot_be_compared(net, tmp_path):
    profiler = ModelProfiler(net, device="cpu")
    current = quick(profiler, torch.randn(8, 64))
    whole = profiler.export_json(tmp_path / "base.json")
    text = (tmp_path / "base.json").read_text()
    assert load_baseline(tmp_path / "base.json")["latency"] == current["latency"]

    def refused(data, match):
        (tmp_path / "bad.json").write_text(data)
        with pytest.raises(Error, match=match) as raised:
            detect_regressions(load_baseline(tmp_path / "bad.json"), current)
        return raised.value.code

    assert refused(text[: len(text) // 2], "bad.json") == "format"
    sample = json.dumps(whole["benchmarks"][0]["metrics"][0]["samples"][0])
    assert refused(text.replace(sample, "NaN"), "bad.json") == "format"
    assert (
        refused(text.replace("pyrometer.bench/1", "pyrometer.bench/9"), "schema") == "unsupported"
    )
    other = text.replace(json.dumps(whole["environment"]["cpu_model"]), '"Another"')
    refused(other, "cannot tell: the machines differ")
    (tmp_path / "bad.json").write_text(other)
    assert detect_regressions(tmp_path / "bad.json", current, any_machine=True).verdict
    with pytest.raises(Error, match="other settings"):
        detect_regressions(current, quick(profiler, torch.randn(4, 64)))
    few = quick(profiler, torch.randn(8, 64), num_runs=5)
    with pytest.raises(Error, match="too few"):
        detect_regressions(few, few)
    with pytest.raises(FileNotFoundError):
        load_baseline(tmp_path / "none.json")


def test_a_fresh_profiler_is_compared_with_a_baseline(bert, tmp_path):
    """As in a CI job: the baseline has a number of tokens, the new run has none."""
    tokens = torch.randint(0, 1000, (4, 64))
    profiler = ModelProfiler(bert, device="cpu")
    quick(profiler, tokens, only_times=True)
    profiler.export_json(tmp_path / "baseline_profiling.json")

    profiler = ModelProfiler(bert, device="cpu")
    baseline_results = load_baseline(tmp_path / "baseline_profiling.json")
    current_results = profiler.profile(bert, num_runs=20, only_times=True)
    assert current_results["inputs"]["tensors"] == "input_ids: int64[4, 64]"
    assert current_results["inputs"]["origin"].startswith("shapes as in the baseline")
    baseline_results = scaled(baseline_results, 1)
    assert detect_regressions(baseline_results, scaled(current_results, 1)).verdict == "no change"
    # The same model under another name, and inputs by name or by position.
    moved = json.loads(json.dumps(scaled(current_results, 1).document))
    moved["benchmarks"][0]["name"] = "bert-of-today"
    assert not detect_regressions(baseline_results, pyrometer.Results(moved))
    named = quick(ModelProfiler(bert, device="cpu"), {"input_ids": tokens}, only_times=True)
    assert not detect_regressions(baseline_results, scaled(named, 1))
    shorter = quick(ModelProfiler(bert, device="cpu"), tokens[:, :32], only_times=True)
    with pytest.raises(Error, match="other settings: inputs"):
        detect_regressions(baseline_results, shorter)


def test_another_model_does_not_get_the_shapes_of_a_baseline(net, bert, tmp_path):
    profiler = ModelProfiler(net, device="cpu")
    quick(profiler, torch.randn(6, 64), only_times=True)
    profiler.export_json(tmp_path / "base.json")
    load_baseline(tmp_path / "base.json")

    def tensors(model):
        return quick(ModelProfiler(model, device="cpu"), only_times=True)["inputs"]["tensors"]

    assert tensors(Net()) == "0: float32[6, 64]"
    assert tensors(nn.Sequential(nn.Linear(64, 4))) == "0: float32[6, 64]"
    assert tensors(nn.Sequential(nn.Linear(63, 4))) == "0: float32[1, 63]"
    assert tensors(bert) == "input_ids: int64[1, 128]"
