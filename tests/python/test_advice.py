"""Every rule of the recommendations fires on what it is about and is quiet just below it."""

import dataclasses
import time

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from pyrometer import ModelProfiler, _advice, _evidence, _variants  # noqa: E402
from pyrometer._advice import Evidence  # noqa: E402
from pyrometer._inputs import as_inputs  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

GIB = 2**30
BF16 = ("bf16", "this processor has amx_bf16")


def ops(**shares):
    return [(f"aten::{name}", share, 10) for name, share in shares.items()]


# subject: (evidence that triggers it, what of that to change for a near miss)
CASES = {
    "batch size": ({"call_ms": 10, "doubled_ms": 18}, {"doubled_ms": 18.3}),
    "dynamic batching": (
        {"call_ms": 10, "doubled_ms": 12, "batch_size": 4}, {"batch_size": 5},
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
        {"fragmentation": 0.21, "unused_bytes": GIB}, {"fragmentation": 0.19},
    ),
}  # fmt: skip


def rows(**settings):
    return {row[0]: row for row in _advice.recommend(Evidence(**settings))}


def test_every_rule_has_a_case():
    assert {rule.subject for rule in _advice.RULES} == CASES.keys()


def test_nothing_known_is_nothing_to_say():
    assert _advice.recommend(Evidence()) == []


@pytest.mark.parametrize("subject", CASES)
def test_a_rule_and_its_near_miss(subject):
    settings, missing = CASES[subject]
    row = rows(**settings)[subject]
    assert len(row) == len(_advice.COLUMNS) and all(row[:4])
    assert any(mark in row[3] for mark in ("(estimate)", "(measured)", "not estimated"))
    assert subject not in rows(**{**settings, **missing})


def test_fields_of_the_cases_exist():
    known = {entry.name for entry in dataclasses.fields(Evidence)}
    assert all(set(part) <= known for case in CASES.values() for part in case)


def test_a_host_that_holds_the_gpu_up():
    busy = rows(on_gpu=True, gpu_percent=9.0, cpu_percent=95.0)["GPU use"]
    assert "the host holds the GPU up" in busy[1]
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
    clear = _variants.tell([4.0] * 6, [2.0, 2.1, 1.9, 2.0, 2.0, 2.0], 1)
    assert (
        clear.startswith("+100% throughput (+90% to +111%; run here: 4 ms") and "told" not in clear
    )
    assert "cannot be told" in _variants.tell([4.0] * 6, [2, 5, 4, 3, 4, 4], 1)
    assert _variants.tell([4.0] * 6, [4.0] * 6, 2).startswith("+100%")


def test_a_variant_is_tried_once():
    both = rows(ops=ops(gelu=0.5), outside=0.5)
    assert [both[name][-1] for name in ("operator fusion", "dispatch")] == ["compile", ""]


def evidence_of(module, data, **settings):
    """What a real run gives."""
    profiler = ModelProfiler(module, device="cpu")
    found = []
    gather = _evidence.gather
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_evidence, "gather", lambda *all: found.append(gather(*all)) or found[-1])
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
    found, said, profiler = evidence_of(Pictures(), torch.randn(2, 3, 64, 64))
    assert "Conv2d" in found.classes and not found.channels_last
    assert said["memory layout"]["try"] == "channels_last"
    assert said["norm folding"]["try"] == "fold"
    assert found.flops and found.moved_bytes and found.activation_bytes
    assert found.calls_timed == 20 and found.cpu_percent > 0
    for variant in ("fold", "channels_last"):
        inputs = profiler._engine.place(as_inputs(torch.randn(2, 3, 64, 64)))
        gain = _variants.gain(profiler._engine, profiler._model, inputs, variant)
        assert "run here" in gain, gain
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
    from catalog import torchvision_ops

    torchvision_ops.declare()
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
    gain = _variants.gain(profiler._engine, model, as_inputs(tokens), "attention=sdpa")
    assert "run here" in gain, gain
    assert model.config._attn_implementation == "eager"
