"""Every rule of the recommendations triggers at its threshold and not just below it."""

import dataclasses
import itertools
import pathlib
import time

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from pyrometer import ModelProfiler  # noqa: E402
from pyrometer._testing import Evidence, as_inputs, evidence, recommendations, variants  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

GIB = 2**30
BF16 = ("bf16", "this processor has amx_bf16")


def ops(**shares):
    return [(f"aten::{name}", share, 10) for name, share in shares.items()]


# subject: (evidence that triggers it, changes that make it a near miss)
CASES = {
    "batch size": ({"batch_ms": {1: 10, 2: 18}}, {"batch_ms": {1: 10, 2: 18.3}}),
    "dynamic batching": (
        {"batch_ms": {4: 10, 8: 12}, "batch_size": 4},
        {"batch_ms": {5: 10, 10: 12}, "batch_size": 5},
    ),
    "GPU use": ({"on_gpu": True, "gpu_percent": 69.0}, {"gpu_percent": 71.0}),
    "precision": (
        {"half_type": BF16, "ops": ops(addmm=0.31, copy_=0.69)},
        {"ops": ops(addmm=0.29, copy_=0.71)},
    ),
    "quantisation": (
        {"ops": ops(addmm=0.51, relu=0.49), "weight_bytes": GIB},
        {"ops": ops(addmm=0.49, relu=0.51)},
    ),
    "weights in memory": (
        {"weight_bytes": 6 * GIB, "device_bytes": 10 * GIB}, {"weight_bytes": 4 * GIB},
    ),
    "pruning": ({"zero_share": 0.51, "weight_bytes": GIB}, {"zero_share": 0.49}),
    "operator fusion": (
        {"ops": ops(gelu=0.11, addmm=0.89)}, {"ops": ops(gelu=0.09, addmm=0.91)},
    ),
    "dispatch": ({"outside": 0.31}, {"outside": 0.29}),
    "waiting": ({"waiting": 0.31}, {"waiting": 0.29}),
    "norm folding": (
        {"classes": frozenset({"Conv2d"}), "ops": ops(native_batch_norm=0.04)},
        {"ops": ops(native_batch_norm=0.02)},
    ),
    "memory layout": (
        {"classes": frozenset({"Conv2d"}), "ops": ops(mkldnn_convolution=0.9)},
        {"channels_last": True},
    ),
    "attention": (
        {"attention": "eager", "ops": ops(_softmax=0.06, bmm=0.06)}, {"attention": "sdpa"},
    ),
    "key-value cache": (
        {"caches": False, "first_token_ms": 10.0, "token_ms": 2.0}, {"caches": True},
    ),
    "size of the cache": (
        {"cache_bytes": 2 * GIB, "weight_bytes": GIB}, {"cache_bytes": GIB - 1},
    ),
    "threads": ({"threads": 1, "usable": 2}, {"threads": 2}),
    "idle threads": (
        {"threads": 4, "usable": 4, "cpu_percent": 190.0}, {"cpu_percent": 210.0},
    ),
    "memory bound": (
        {"flops": 9_000, "moved_bytes": 1_000}, {"flops": 11_000},
    ),
    "compute bound": (
        {"flops": 51_000, "moved_bytes": 1_000, "call_ms": 1.0, "ops": ops(addmm=0.9)},
        {"flops": 49_000},
    ),
    "preprocessing": (
        {"stages_ms": {"end_to_end": 100.0, "preprocess": 5.1}},
        {"stages_ms": {"end_to_end": 100.0, "preprocess": 4.9}},
    ),
    "postprocessing": (
        {"stages_ms": {"end_to_end": 100.0, "postprocess": 5.1}},
        {"stages_ms": {"end_to_end": 100.0, "postprocess": 4.9}},
    ),
    "reading from disk": (
        {"disk_read_bytes": 7_000_000, "calls_timed": 100}, {"disk_read_bytes": 6_000_000},
    ),
    "gradient checkpointing": (
        {"activation_bytes": GIB + 1, "weight_bytes": GIB}, {"activation_bytes": GIB - 1},
    ),
    "model sharding": (
        {"weight_bytes": 8 * GIB, "activation_bytes": 2 * GIB, "device_bytes": 11 * GIB},
        {"activation_bytes": GIB},
    ),
    "memory pooling": (
        {"activation_bytes": 100, "allocated_bytes": 1001, "allocations": 100},
        {"allocations": 99},
    ),
    "fragmentation": (
        {"fragmentation": 0.21, "peak_bytes": GIB}, {"fragmentation": 0.19},
    ),
}  # fmt: skip


def rows(**settings):
    return {row[0]: row for row in recommendations.recommend(Evidence(**settings))}


def test_every_rule_has_a_case():
    assert {rule.subject for rule in recommendations.RULES} == CASES.keys()


def test_the_documentation_lists_every_rule():
    folder = pathlib.Path(__file__).resolve().parents[3] / "docs"
    (lines,) = (
        text.splitlines()
        for text in (path.read_text() for path in folder.rglob("*.md"))
        if "| tried as |" in text
    )
    first = next(at for at, line in enumerate(lines) if line.endswith("| tried as |")) + 2
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first:])
    listed = [subject for row in rows for subject in row.split("|")[1].strip().split(", ")]
    assert sorted(listed) == sorted({rule.subject for rule in recommendations.RULES})


def test_nothing_known_is_nothing_to_say():
    assert recommendations.recommend(Evidence()) == []


@pytest.mark.parametrize("subject", CASES)
def test_a_rule_and_its_near_miss(subject):
    settings, missing = CASES[subject]
    row = rows(**settings)[subject]
    assert len(row) == len(recommendations.COLUMNS) and all(row[:4])
    assert any(mark in row[3] for mark in ("(estimate)", "(measured)", "not estimated"))
    assert subject not in rows(**{**settings, **missing})


def test_fields_of_the_cases_exist():
    known = {entry.name for entry in dataclasses.fields(Evidence)}
    assert all(set(part) <= known for case in CASES.values() for part in case)


def test_a_host_that_holds_the_gpu_up():
    busy = rows(on_gpu=True, gpu_percent=9.0, cpu_percent=95.0)["GPU use"]
    assert "the host delays the GPU" in busy[1]
    assert "the host" not in rows(on_gpu=True, gpu_percent=11.0, cpu_percent=95.0)["GPU use"][1]


def test_findings_of_the_recording_follow_unless_a_rule_said_it():
    findings = [
        {"id": name, "title": name, "advice": "a", "evidence": "e", "gain_ns": gain}
        for name, gain in (("fusible-chains", 1), ("bias-before-norm", None))
    ]
    assert rows(findings=findings).keys() == {"fusible-chains", "bias-before-norm"}
    said = rows(findings=findings, ops=ops(gelu=0.5))
    assert said.keys() == {"operator fusion", "bias-before-norm"}
    assert said["bias-before-norm"][3] == "not estimated"


def test_a_gain_says_how_sure_it_is():
    clear = variants.tell([4.0] * 6, [2.0, 2.1, 1.9, 2.0, 2.0, 2.0], 1)
    assert (
        clear.startswith("+100% throughput (+90% to +111%; run here: 4 ms") and "told" not in clear
    )
    assert "unclear whether" in variants.tell([4.0] * 6, [2, 5, 4, 3, 4, 4], 1)
    assert variants.tell([4.0] * 6, [4.0] * 6, 2).startswith("+100%")


def advised(monkeypatch, times, **settings):
    """Recommendations after trying variants, whose times are these multiples of the current one."""
    runs = []

    def in_turn(first, second, wait=None):
        runs.append(second)
        return [10.0] * 6, [10.0 * time for time in times]

    monkeypatch.setattr(variants, "in_turn", in_turn)
    monkeypatch.setattr(variants, "_compiled", lambda engine, inputs: engine.bind(inputs))
    module = nn.Sequential(nn.Linear(8, 8), nn.GELU())
    engine = ModelProfiler(module, device="cpu")._engine
    told = recommendations.recommend(Evidence(**settings))
    tried = variants.try_all(engine, module, as_inputs(torch.randn(2, 8)), told)
    return [dict(zip(recommendations.COLUMNS, row, strict=True)) for row in tried], runs


def test_a_recommendation_that_did_not_help_is_refuted(monkeypatch):
    settings = {"ops": ops(addmm=0.6, gelu=0.4), "half_type": BF16, "zero_share": 0.6}
    found, _ = advised(monkeypatch, [1.2, 1.1, 1.3, 1.2, 1.2, 1.2], **settings)
    outcomes = {row["subject"]: row["outcome"] for row in found}
    assert outcomes["precision"] == outcomes["quantisation"] == "refuted"
    assert outcomes["pruning"] == ""  # nothing to try
    refuted = [row for row in found if row["outcome"] == "refuted"]
    assert found[-len(refuted) :] == refuted  # after all others
    assert all(row["gain"].startswith("refuted: -17% throughput") for row in refuted)
    assert "weights take" in next(r for r in refuted if r["subject"] == "quantisation")["gain"]
    found, _ = advised(monkeypatch, [0.5] * 6, **settings)
    assert {row["outcome"] for row in found} == {"confirmed", ""}


def test_what_trying_says():
    def outcome(after, frees=False):
        return variants.judge([10.0] * 6, after, 1, frees)

    assert outcome([9.0] * 6) == "confirmed"
    assert outcome([10.0] * 6) == outcome([9.9] * 5 + [10.1]) == "refuted"  # gains under 2%
    assert outcome([9, 9, 9, 9, 11, 11]) == "not confirmed"
    assert outcome([11, 11, 11, 11, 9, 9]) == "refuted"
    assert outcome([10.5] * 6, frees=True) == "confirmed"
    assert outcome([12.0] * 6, frees=True) == "refuted"


def test_a_variant_is_tried_once(monkeypatch):
    found, runs = advised(monkeypatch, [2.0] * 6, ops=ops(gelu=0.5), outside=0.5)
    both = {row["subject"]: row for row in found}
    assert len(runs) == 1
    assert [both[name]["try"] for name in ("operator fusion", "dispatch")] == ["compile"] * 2
    assert {row["outcome"] for row in found} == {"refuted"}  # whichever row contains it


def test_a_model_that_waits_is_not_small():
    waits = rows(outside=0.95, cpu_percent=6.0, threads=4, usable=4)
    assert waits.keys() == {"waiting"} and "small" not in waits["waiting"][1]
    # On a busy machine a thread gets little CPU time although it does not wait.
    assert rows(outside=0.95, cpu_percent=30.0, waiting=0.01).keys() == {"dispatch"}
    assert rows(outside=0.95, waiting=0.9).keys() == {"waiting"}
    assert rows(outside=0.95, waiting=0.5).keys() == {"waiting", "dispatch"}


def test_batches_beyond_one_doubling():
    """Doubling the batch gains nothing, eight times the batch does."""
    far = rows(batch_size=8, batch_ms={8: 10.0, 16: 19.8, 32: 39.0, 64: 20.0, 128: 39.0})
    assert far["batch size"][4] == "batch=64"
    assert far["batch size"][3] == "300% throughput (measured)"
    assert "from 8 to 64" in far["batch size"][1] and "batch 128: 39 ms" in far["batch size"][2]
    past = rows(batch_size=8, batch_ms={8: 10.0, 16: 19.5, 32: 38.0, 64: 75.0})
    assert "batch size" not in past


def test_batches_are_run_until_nothing_is_gained(monkeypatch):
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            ran.append(len(x))
            return x * self.weight

    def time_as_if(first, second, *plan):
        """10 ms per 16 samples, rounded up; a real pause would be longer on a busy machine."""
        times = []
        for run in (first, second):
            run()
            times.append([10.0 * -(-ran[-1] // 16)] * variants.ROUNDS)
        return tuple(times)

    ran = []
    monkeypatch.setattr(variants, "in_turn", time_as_if)
    engine = ModelProfiler(Steps(), device="cpu")._engine
    found = variants.larger_batches(engine, as_inputs(torch.randn(1, 4)))
    assert list(found) == [1, 2, 4, 8, 16, 32]
    assert set(ran) == set(found) and found[16] == found[1] == 10 and found[32] == 20
    fixed = ModelProfiler(lambda x: x.reshape(1, 4), device="cpu")._engine
    assert variants.larger_batches(fixed, as_inputs(torch.randn(1, 4))) == {}


def evidence_of(module, data, **settings):
    """The evidence of a real run."""
    profiler = ModelProfiler(module, device="cpu")
    found = []
    gather = evidence.gather
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "gather", lambda *all: found.append(gather(*all)) or found[-1])
        results = profiler.profile(
            data, num_runs=20, warmup_runs=2, detailed_analysis=True, **settings
        )
    return found[0], {row["subject"]: row for row in results["recommendations"]}, profiler


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 32, 3, bias=False)
        self.norm = nn.BatchNorm2d(32)

    def forward(self, x):
        return self.norm(self.conv(x))


def test_evidence_of_pictures():
    """The advice depends on the speed of this machine's kernels; the evidence does not."""
    found, _, profiler = evidence_of(Pictures(), torch.randn(2, 3, 64, 64))
    assert "Conv2d" in found.classes and not found.channels_last
    names = {name for name, _, calls in found.ops if calls >= 1}
    assert any("conv" in name for name in names) and any("batch_norm" in name for name in names)
    slow = dataclasses.replace(found, ops=ops(_slow_conv2d_forward=0.9, native_batch_norm=0.1))
    said = {row[0]: row for row in recommendations.recommend(slow)}
    assert said["memory layout"][4] == "channels_last"
    assert said["norm folding"][4] == "fold"
    assert found.flops and found.moved_bytes and found.activation_bytes
    assert found.calls_timed == 20 and found.cpu_percent > 0
    for variant in ("fold", "channels_last"):
        inputs = profiler._engine.place(as_inputs(torch.randn(2, 3, 64, 64)))
        tried = variants.attempt(profiler._engine, profiler._model, inputs, variant)
        assert "run here" in tried.gain, tried.gain
    last = Pictures().to(memory_format=torch.channels_last)
    found, said, _ = evidence_of(last, torch.randn(2, 3, 64, 64))
    assert found.channels_last and "memory layout" not in said


def test_evidence_of_sparse_weights_and_slow_preprocessing():
    net = nn.Sequential(nn.Linear(256, 256), nn.Linear(256, 256))
    with torch.no_grad():
        net[0].weight.zero_()
        net[1].weight[:64] = 0

    def slow():
        time.sleep(0.005)
        return torch.randn(4, 256)

    found, said, _ = evidence_of(net, torch.randn(4, 256), preprocess=slow)
    assert found.zero_share == pytest.approx(0.625)
    assert said.keys() >= {"pruning", "preprocessing"} and "postprocessing" not in said
    assert found.stages_ms["preprocess"] >= 5


def test_attention_that_is_computed_step_by_step():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=90, n_embd=64, n_layer=2, n_head=2, n_positions=64)
    config.use_cache = False
    model = transformers.GPT2LMHeadModel(config).eval()
    model.set_attn_implementation("eager")
    tokens = {"input_ids": torch.randint(0, 90, (2, 48))}
    found, _, profiler = evidence_of(model, tokens)
    assert found.attention == "eager" and found.caches is False
    assert found.cache_bytes == 2 * 2 * 64 * 96 * 4  # keys and values, layers, width, tokens
    assert found.first_token_ms > 0 and found.token_ms > 0
    tried = variants.attempt(profiler._engine, model, as_inputs(tokens), "attention=sdpa")
    assert "run here" in tried.gain, tried.gain
    assert model.config._attn_implementation == "eager"
