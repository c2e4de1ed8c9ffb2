"""ModelProfiler: what it measures, and how it reports it."""

import json
import pathlib
import runpy
import statistics
import sys
import time

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from bench_models import Net, quick, saved  # noqa: E402
from page_data import read_parts  # noqa: E402

import pyrometer  # noqa: E402
from pyrometer import ModelProfiler, load_baseline  # noqa: E402
from pyrometer._testing import as_inputs, core, metrics, variants  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_example_session_runs_as_written(bert, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["model_profiling.py", bert, str(tmp_path / "base.json")])
    found = runpy.run_path(str(EXAMPLES / "model_profiling.py"))
    results, out = found["results"], capsys.readouterr().out
    assert f"Average Latency: {results['latency']['mean']:.2f}ms" in out
    assert results["latency"]["n"] == 100
    assert results["inputs"]["tensors"] == "0: int64[32, 128]"
    assert results["throughput"]["samples_per_second"] == pytest.approx(
        32e3 / results["latency"]["mean"]
    )
    assert results["throughput"]["tokens_per_second"] == pytest.approx(
        128 * results["throughput"]["samples_per_second"]
    )
    assert results["memory"]["peak"] > results["memory"]["weights"] > 0
    assert results["compute"]["params"] == sum(
        p.numel() for p in found["profiler"]._engine.module.parameters()
    )
    assert results["layers"] and results["operators"] and "recommendations" in results
    # Two products of the attention (32 x 2 heads x 128 x 128 x 16) and the linear layers.
    linear = 32 * 128 * (4 * 32 * 32 + 2 * 32 * 64) * 2 + 32 * 32 * 32
    assert results["compute"]["macs"] == linear + 2 * 2 * (32 * 2 * 128 * 128 * 16)
    # profile(model_path) ran the same model on the last inputs.
    assert found["current_results"]["inputs"] == results["inputs"]
    page = (tmp_path / "bert_profiling_report.html").read_text()
    [(part, result)] = read_parts(page)
    assert part["kind"] == "bench" and "encoder.layer.0" in json.dumps(result["benchmarks"])
    assert 'src="http' not in page and 'href="http' not in page.split("<body", 1)[0]


def test_results_say_what_the_samples_bear(net):
    results = quick(ModelProfiler(net, device="cpu"), torch.randn(8, 64))
    latency = results["latency"]
    assert latency["min"] <= latency["p50"] <= latency["p95"] <= latency["max"]
    assert latency["interval"][0] <= latency["mean"] <= latency["interval"][1]
    assert "p99 is uncertain: 20 of 299 runs" in latency["notes"]
    assert results["throughput"]["requests_per_second"] == pytest.approx(1e3 / latency["mean"])
    assert results["use"]["cpu_percent"] > 0 and results["use"]["gpu_percent"] is None
    assert results["compute"]["flops"] == pyrometer.cost(Net(), torch.randn(8, 64)).total_flops
    assert results["compute"]["size_on_disk"] is None
    # The two tensors after the input are alive at once: 8 x 256 before and after the ReLU.
    assert results["memory"]["activations"] == 2 * 8 * 256 * 4


def test_latency_is_what_the_callable_took():
    own = []
    pauses = [0.001, 0.002, 0.004]

    def call():
        start = time.perf_counter_ns()
        time.sleep(pauses[len(own) % 3])
        own.append((time.perf_counter_ns() - start) / 1e6)

    results = ModelProfiler(call, device="cpu").profile(num_runs=90, warmup_runs=6)
    samples, true = results.document["benchmarks"][0]["metrics"][0]["samples"], own[6:96]
    assert len(samples) == 90 and results["latency"]["mean"] == pytest.approx(sum(samples) / 90)
    # A sample includes the overhead around the callable, far less than the shortest pause.
    around = [sample - inside for sample, inside in zip(samples, true, strict=True)]
    assert min(around) >= 0 and statistics.median(around) < 1e3 * min(pauses)
    assert results["compute"]["flops_reason"] == "a callable has no graph"
    assert results["inputs"]["origin"] == "called with nothing"


def test_the_loop_calls_as_often_as_it_is_told():
    calls = []
    loop = core.Loop(warmup_runs=7, min_runs=200, max_runs=200)
    loop.run(lambda: calls.append(len(calls)))
    assert calls == list(range(207)) and len(loop.latency_ms()) == 200


def test_rate_mode_counts_the_wait():
    profiler = ModelProfiler(lambda: time.sleep(0.004), device="cpu")
    results = profiler.profile(num_runs=25, warmup_runs=1, rate_per_s=500)
    # Each call takes at least 4 ms and should have begun 2 ms after the one before.
    assert results["latency"]["max"] > 24 * 2
    assert results["throughput"]["samples_per_second"] is None


def test_exceptions_of_the_model_come_out(net):
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        ModelProfiler(net, device="cpu").profile(torch.randn(8, 63))


def test_a_language_model_in_two_phases(tmp_path):
    path = saved(
        tmp_path / "gpt", "GPT2", vocab_size=90, n_embd=32, n_layer=2, n_head=2, n_positions=64
    )
    language = quick(ModelProfiler(path, device="cpu"), batch_size=2)["language"]
    assert language["prefill"]["n"] == 5 and language["decode"]["n"] == 5 * 16
    assert language["sequences"] == "2 sequences of 48 tokens, 16 new"  # of 64 positions
    assert language["time_to_first_token"] > 0
    assert language["tokens_per_second"] == pytest.approx(2e3 / language["time_per_token"])


def test_stages_are_apart(net):
    results = quick(
        ModelProfiler(net, device="cpu"),
        torch.randn(4, 64),
        preprocess=lambda: (time.sleep(0.004), torch.randn(4, 64))[1],
        postprocess=lambda output: time.sleep(0.002),
    )
    stages = results["end_to_end"]
    assert stages["preprocess"]["min"] >= 4 and stages["postprocess"]["min"] >= 2
    assert stages["end_to_end"]["min"] >= 6 > results["latency"]["p50"]


class Hungry(nn.Module):
    """Allocates more memory than any machine has, from batch 4 on."""

    def forward(self, x):
        return torch.empty(2**46 if x.shape[0] >= 4 else 16)


def test_running_out_of_memory_ends_one_configuration():
    profiler = ModelProfiler(Hungry(), device="cpu")
    sizes = ({"batch_size": size} for size in (1, 4, 2))
    results = profiler.benchmark(list(sizes), torch.randn(1, 8), num_runs=20)
    assert [result["status"] for result in results] == ["ok", "failed", "ok"]
    assert "out of memory" in results[1]["message"] and "a batch below 4" in results[1]["message"]
    assert results[1]["latency"]["mean"] is None
    assert results.knee["fp32 cpu"]["throughput"].keys() == {1, 2}


def test_configurations(net, tmp_path):
    profiler = ModelProfiler(net, device="cpu")
    results = profiler.benchmark(
        [
            {"batch_size": 1, "precision": "fp32"},
            {"batch_size": 4, "precision": "bf16"},
            {"batch_size": 4, "precision": "fp32", "device": "cuda"},
        ],
        torch.randn(2, 64),
        num_runs=20,
    )
    assert results[0]["inputs"]["tensors"] == "0: float32[1, 64]"
    assert results[1]["inputs"]["tensors"] == "0: bfloat16[4, 64]"
    assert results[1]["precision"]["asked"] == "bf16"
    if not torch.cuda.is_available():
        assert results[2]["status"] == "failed" and 'device="cpu"' in results[2]["message"]
    whole = profiler.export_json(tmp_path / "sweep.json")
    assert len(whole["benchmarks"]) == 3 and len(load_baseline(tmp_path / "sweep.json")) == 3
    with pytest.raises(ValueError, match="batchsize"):
        profiler.benchmark([{"batchsize": 1}])


def test_the_knee():
    """Doubling the batch costs nothing up to 4, then nearly doubles the time."""
    rates = {1: 100, 2: 200, 4: 400, 16: 440, 8: 420}
    results = [
        {
            "throughput": {"samples_per_second": rate},
            "parameters": {"batch_size": str(size)},
            "precision": {"asked": "fp32"},
            "device": "cpu",
        }
        for size, rate in rates.items()
    ]
    knee = metrics.find_knee(results)["fp32 cpu"]
    assert knee["reached"] and knee["batch_size"] == 4
    assert not metrics.find_knee(results[:3])["fp32 cpu"]["reached"]
    assert metrics.find_knee(results[:1]) is None


def test_layers_by_name(net):
    profiler = ModelProfiler(net, device="cpu")
    found = profiler.profile_layers(torch.randn(8, 64), ["embedding", "MLP", "nn", "attention"])
    assert [layer["path"] for layer in found["embedding"]["layers"]] == ["embedding_in"]
    assert [layer["path"] for layer in found["MLP"]["layers"]] == ["mlp_out"]
    assert found["MLP"]["calls"] == 10 and 0 < found["MLP"]["share"] < 1
    assert (
        found["MLP"]["layers"][0]["flops"]
        == pyrometer.cost(net, torch.randn(8, 64)).by_module()["mlp_out"]
    )
    assert found["attention"]["layers"] == [] and "ReLU" in found["attention"]["note"]


def test_memory_profile(net):
    profiler = ModelProfiler(net, device="cpu")
    found = profiler.memory_profile(input_data=torch.randn(8, 64))
    cpu = found["devices"]["cpu"]
    assert found["peak"] == 2 * 8 * 256 * 4
    assert cpu["allocations"] == cpu["deallocations"] == 3
    assert cpu["allocated_bytes"] == 2 * 8 * 256 * 4 + 8 * 64 * 4
    assert max(point["allocated_bytes"] for point in cpu["snapshots"]) == found["peak"]
    less = profiler.memory_profile(False, False, False)["devices"]["cpu"]
    assert not {"allocations", "deallocations", "snapshots"} & less.keys()


def test_recommendations_stand_on_measurements():
    class Waiting(nn.Module):
        """A larger batch costs nothing."""

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            time.sleep(0.01)
            return x * self.weight

    profiler = ModelProfiler(Waiting(), device="cpu")
    results = quick(profiler, torch.randn(2, 8), detailed_analysis=True)
    rows = {row["subject"]: row for row in results["recommendations"]}
    assert rows.keys() >= {"batch size", "dynamic batching"}
    # Runs at least batches of 4, 8 and 16, and larger ones while they gain.
    assert int(rows["batch size"]["try"].removeprefix("batch=")) >= 16
    assert "batch 2: " in rows["batch size"]["evidence"]
    assert "batch 16: " in rows["batch size"]["evidence"]
    inputs = as_inputs(torch.randn(2, 8))
    tried = variants.attempt(profiler._engine, None, inputs, "batch=16")
    assert "run here" in tried.gain and tried.gain.startswith("+")
    assert tried.outcome == "confirmed"
    tried = variants.attempt(profiler._engine, nn.ReLU(), inputs, "precision=int8")
    assert "could not be run here: ValueError" in tried.gain
    assert tried.outcome == "could not be run"
    assert profiler.recommendations() == results["recommendations"]


def test_reports(net, tmp_path):
    profiler = ModelProfiler(net, device="cpu")
    with pytest.raises(RuntimeError, match="profile"):
        profiler.generate_html_report(tmp_path / "no.html")
    quick(profiler, torch.randn(8, 64))
    profiler.generate_html_report(tmp_path / "a.html", include_graphs=False)
    [(part, result)] = read_parts((tmp_path / "a.html").read_text())
    assert part["without_drawings"] and "without_details" not in part
    assert "float32[8, 64]" in json.dumps(result)
    profiler.generate_html_report(tmp_path / "b.html", include_details=False)
    [(part, _)] = read_parts((tmp_path / "b.html").read_text())
    assert part["without_details"] and "without_drawings" not in part
    whole = profiler.export_json(tmp_path / "r.json")
    assert whole == json.loads((tmp_path / "r.json").read_text())
    assert whole["latency"]["mean"] == profiler.results["latency"]["mean"]
    profiler.export_csv(tmp_path / "r.csv")
    assert "latency" in (tmp_path / "r.csv").read_text()


def test_a_limit_of_time_ends_fixed_runs():
    profiler = ModelProfiler(lambda: time.sleep(0.01), device="cpu")
    start = time.perf_counter()
    results = profiler.profile(num_runs=100000, warmup_runs=100000, max_time_s=0.3)
    assert time.perf_counter() - start < 30
    assert 1 <= results["latency"]["n"] <= 30 and results["status"] == "noisy"
    assert any(f"after {results['latency']['n']} of 100000 runs" in w for w in results["warnings"])
    # Without a limit, all requested runs happen.
    assert quick(profiler)["latency"]["n"] == 20
    with pytest.raises(ValueError, match="max_time_s"):
        profiler.profile(max_time_s=0)


def test_p99_of_100_runs_is_told_as_uncertain(net):
    profiler = ModelProfiler(net, device="cpu")
    latency = quick(profiler, torch.randn(8, 64), num_runs=100, only_times=True)["latency"]
    assert latency["p95"] <= latency["p99"] <= latency["max"]
    assert latency["uncertain"] == ["p99", "p99.9"]
    assert "p99 is uncertain: 100 of 299 runs" in latency["notes"]
    text = profiler._bench.report("text")
    assert "(uncertain: 100 of 299 runs)" in text and "p99 " in text
    assert "(uncertain)" in profiler._bench.report("markdown")
    [(_, result)] = read_parts(profiler._bench.report("html"))
    assert '"enough": false, "needs": 299' in json.dumps(result["benchmarks"][0])
    assert ",p99 p99.9" in profiler._bench.report("csv")


@pytest.mark.parametrize("batch", [1, 2, 32])
def test_memory_per_sample_is_what_one_more_takes(net, batch):
    """64 values in, 256 before and after the ReLU, per sample and without the weights."""
    results = quick(ModelProfiler(net, device="cpu"), torch.randn(batch, 64))
    assert results["memory"]["per_sample"] == (64 + 2 * 256) * 4
    assert results["memory"]["per_sample_is"].startswith("the slope from a batch of")


def test_a_model_that_sleeps_waits():
    class Waiting(nn.Module):
        def forward(self, x):
            time.sleep(0.004)
            return x + 1

    results = quick(
        ModelProfiler(Waiting(), device="cpu"), torch.randn(2, 8), detailed_analysis=True
    )
    subjects = {row["subject"] for row in results["recommendations"]}
    assert "waiting" in subjects and "dispatch" not in subjects
