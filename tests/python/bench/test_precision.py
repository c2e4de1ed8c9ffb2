"""The reported precision is the one that runs, whatever was requested."""

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from pyrometer import Error, ModelProfiler  # noqa: E402
from pyrometer._testing import precisions  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def ran(model, data, **settings):
    profiler = ModelProfiler(model, device="cpu", **settings)
    results = profiler.profile(data, num_runs=5, warmup_runs=1, only_times=True)
    return results["precision"]["ran"], results, profiler


def test_int8_of_a_bare_linear_layer_runs_in_int8():
    torch.manual_seed(0)
    layer, data = nn.Linear(64, 64), torch.randn(4, 64)
    kind, results, profiler = ran(layer, data, precision="int8")
    assert kind == "int8" and results["precision"]["asked"] == "int8"
    assert "of 1 linear and recurrent layer to int8" in results["precision"]["how"]
    assert "quantized" in type(profiler._engine.module).__module__
    assert type(layer) is nn.Linear and layer.weight.dtype == torch.float32
    with torch.no_grad():
        error = (profiler._engine.module(data) - layer(data)).abs().max()
    assert 0 < error < 0.1  # exactly 0: that was float32
    assert profiler._engine.weight_bytes() < 64 * 64 * 4 / 2


@pytest.mark.parametrize("layer", [nn.LSTM(16, 16), nn.GRU(16, 16)], ids=["LSTM", "GRU"])
def test_int8_of_a_bare_recurrent_layer(layer):
    assert ran(layer, torch.randn(3, 2, 16), precision="int8")[0] == "int8"


class Half(nn.Module):
    """Its linear layers are quantized, its own matrix products are not."""

    def __init__(self, products):
        super().__init__()
        self.layer = nn.Linear(16, 16)
        self.weight = nn.Parameter(torch.randn(16, 16))
        self.products = products

    def forward(self, x):
        x = self.layer(x)
        for _ in range(self.products):
            x = x @ self.weight
        return x


def test_a_part_in_int8_is_told_as_a_part():
    kind, results, _ = ran(Half(1), torch.randn(2, 16), precision="int8")
    assert kind == "int8 in 1 of 2 products, float32 in 1"
    assert not any("precision" in text for text in results["warnings"])
    kind, results, _ = ran(Half(3), torch.randn(2, 16), precision="int8")
    assert kind == "float32 in 3 of 4 products, int8 in 1"
    assert any("precision int8: float32 in 3 of 4 products" in w for w in results["warnings"])


class Stubborn(nn.Module):
    """Computes in float32, whatever the type of its weights."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            weight = self.layer.weight.float()
            return nn.functional.linear(x.float(), weight)


@pytest.mark.parametrize("settings", [{}, {"autocast": True}], ids=["cast", "autocast"])
def test_a_precision_that_does_not_run_is_refused(settings):
    with pytest.raises(Error, match=r"bf16.*but the model runs in float32"):
        ran(Stubborn(), torch.randn(2, 16), precision="bf16", **settings)
    assert ran(Stubborn(), torch.randn(2, 16))[0] == "float32"


def test_refused_precisions_end_one_configuration():
    profiler = ModelProfiler(Stubborn(), device="cpu")
    configurations = [{"precision": "fp32"}, {"precision": "bf16"}]
    results = profiler.benchmark(configurations, torch.randn(2, 16), num_runs=5)
    assert [result["status"] for result in results] == ["ok", "failed"]
    assert "the model runs in float32" in results[1]["message"]


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("autocast", [False, True])
def test_16_bits_run_in_16_bits(precision, autocast):
    net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    kind, _, _ = ran(net, torch.randn(2, 16), precision=precision, autocast=autocast)
    assert kind == {"fp16": "float16", "bf16": "bfloat16"}[precision]


def test_a_callable_without_torch_has_no_precision():
    with pytest.raises(Error, match="no operator of torch"):
        ran(lambda: sum(range(10)), None, precision="bf16")
    assert ran(lambda: sum(range(10)), None)[0].startswith("not verified")


def test_a_file_in_another_type_is_told(tmp_path):
    program = torch.export.export(nn.Linear(8, 8).bfloat16(), (torch.randn(2, 8).bfloat16(),))
    torch.export.save(program, tmp_path / "net.pt2")
    assert ran(tmp_path / "net.pt2", None)[0] == "bfloat16"


def test_what_is_compiled_is_not_compiled_to_be_looked_at():
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    net = torch.compile(nn.Linear(8, 8), backend=backend)
    kind, _, _ = ran(net, torch.randn(2, 8))
    assert kind == "float32" and len(compiled) == 1


def test_an_engine_that_is_listed_and_does_not_work(monkeypatch):
    """Like fbgemm on AArch64: torch lists it, but it does not support the processor."""
    before = torch.backends.quantized.engine
    probe, tried = precisions._probe, []

    def fail_at_first():
        tried.append(torch.backends.quantized.engine)
        if len(tried) == 1:
            raise RuntimeError("unknown architecure")
        probe()

    monkeypatch.setattr(precisions, "_probe", fail_at_first)
    kind, results, _ = ran(nn.Linear(16, 16), torch.randn(2, 16), precision="int8")
    assert kind == "int8" and len(tried) == 2 and tried[0] == before != tried[1]
    assert f"({tried[1]})" in results["precision"]["how"]
    assert torch.backends.quantized.engine == before
    monkeypatch.setattr(precisions, "_probe", lambda: 1 / 0)
    with pytest.raises(ValueError, match="no engine for quantised layers"):
        ModelProfiler(nn.Linear(16, 16), device="cpu", precision="int8")
    assert torch.backends.quantized.engine == before
