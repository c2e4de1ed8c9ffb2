"""Engines: modules, .pt2, TorchScript, .onnx; which inputs they accept and reject."""

import importlib.util

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from bench_models import quick  # noqa: E402

from pyrometer import Error, ModelProfiler  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_module_is_left_as_it_was(net):
    net.train()
    net.act.eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    for precision in ("bf16", "int8"):
        results = quick(ModelProfiler(net, device="cpu", precision=precision), torch.randn(2, 64))
        assert results["precision"]["asked"] == precision
    quick(ModelProfiler(net, device="cpu"), torch.randn(2, 64))
    assert net.training and net.mlp_out.training and not net.act.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert net.mlp_out.weight.dtype == torch.float32


def test_how_a_precision_is_had(net):
    def how(**settings):
        profiler = ModelProfiler(net, device="cpu", **settings)
        return quick(profiler, torch.randn(2, 64))["precision"]["how"]

    assert how(precision="bf16") == "weights and inputs cast to bfloat16"
    assert how(precision="bf16", autocast=True) == "autocast to bfloat16"
    assert how(precision="int8").startswith("dynamic quantisation")
    assert how() == "weights are float32"
    with pytest.raises(ValueError, match="fp32, fp16, bf16, int8"):
        ModelProfiler(net, device="cpu", precision="fp8")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu(net):
    with pytest.raises(Error, match='device="cpu"'):
        ModelProfiler(net, device="cuda")
    profiler = ModelProfiler(net)
    assert profiler.device == "cpu"
    with pytest.raises(Error, match="requires a GPU"):
        profiler.gpu_profile(track_kernels=True, track_memory_transfers=True, profile_nvtx=True)


def test_an_exported_program(net, tmp_path):
    path = tmp_path / "net.pt2"
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(net.eval(), (torch.randn(4, 64),), dynamic_shapes=({0: batch},))
    torch.export.save(program, path)
    results = quick(ModelProfiler(path, device="cpu"), batch_size=8)
    assert results["engine"] == "pt2" and results["inputs"]["tensors"] == "0: float32[8, 64]"
    assert results["compute"]["macs"] == 8 * 2 * 64 * 256
    assert results["compute"]["size_on_disk"] == path.stat().st_size
    assert (
        "autocast" in quick(ModelProfiler(path, device="cpu", precision="bf16"))["precision"]["how"]
    )


def test_torchscript(net, tmp_path):
    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.trace(net.eval(), torch.randn(4, 64)), path)
    profiler = ModelProfiler(path, device="cpu")
    with pytest.raises(Error, match="pass input_data"):
        profiler.profile()
    results = quick(profiler, torch.randn(4, 64))
    assert results["engine"] == "torchscript"
    assert results["compute"]["flops"] is None
    assert "TorchScript" in results["compute"]["flops_reason"]
    assert results["compute"]["params"] == sum(p.numel() for p in net.parameters())


def test_weights_alone_are_no_model(net, tmp_path):
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    with pytest.raises(Error, match=r"torch\.export\.save"):
        ModelProfiler(tmp_path / "weights.pt", device="cpu")
    (tmp_path / "text.pt").write_text("no archive")
    with pytest.raises(Error, match=r"not a \.pt2"):
        ModelProfiler(tmp_path / "text.pt", device="cpu")
    with pytest.raises(FileNotFoundError, match="nothing"):
        ModelProfiler(tmp_path / "nothing", device="cpu")


def test_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    weight = helper.make_tensor("w", TensorProto.FLOAT, [64, 32], [0.5] * 64 * 32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 32])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    results = quick(ModelProfiler(tmp_path / "m.onnx", device="cpu"), batch_size=4)
    assert results["engine"] == "onnx" and results["inputs"]["tensors"] == "x: float32[4, 64]"
    assert results["compute"]["flops"] == 2 * 4 * 64 * 32
    assert results["compute"]["params"] == 64 * 32
    assert results["throughput"]["batch_size"] == 4
    given = quick(ModelProfiler(tmp_path / "m.onnx", device="cpu"), torch.randn(2, 64))
    assert given["inputs"]["tensors"] == "x: float32[2, 64]"
    assert given["compute"]["flops"] == 2 * 2 * 64 * 32
    small = quick(ModelProfiler(tmp_path / "m.onnx", device="cpu", precision="int8"))
    assert small["precision"]["how"] == "dynamic quantisation by onnxruntime"
    with pytest.raises(ValueError, match="are fixed; convert it"):
        ModelProfiler(tmp_path / "m.onnx", device="cpu", precision="bf16")
    with pytest.raises(Error, match="onnxruntime"):
        ModelProfiler(tmp_path / "m.onnx", device="cpu").memory_profile()
    advised = quick(ModelProfiler(tmp_path / "m.onnx", device="cpu"), detailed_analysis=True)
    assert "recommendations" in advised and "layers" not in advised


@pytest.mark.parametrize("package", ["onnxruntime", "transformers"])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    if package == "transformers":
        path = tmp_path / "folder"
        path.mkdir()
        (path / "config.json").write_text("{}")
    find = importlib.util.find_spec
    hide = lambda name, *rest: None if name == package else find(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", hide)
    with pytest.raises(Error, match=f"pip install {package}"):
        ModelProfiler(path, device="cpu")


def test_inputs_from_the_model_itself(bert):
    results = quick(ModelProfiler(bert, device="cpu"), batch_size=2)
    assert results["inputs"] == {
        "tensors": "input_ids: int64[2, 128]",
        "origin": "made from config.json",
    }
    results = quick(ModelProfiler(nn.Sequential(nn.Conv2d(3, 4, 3)), device="cpu"), batch_size=2)
    assert results["inputs"]["tensors"] == "0: float32[2, 3, 224, 224]"
    assert results["throughput"]["images_per_second"] == pytest.approx(
        results["throughput"]["samples_per_second"]
    )


@pytest.mark.parametrize("batch", [1, 8])
def test_a_fixed_batch_is_a_sentence(net, tmp_path, batch):
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net.eval(), (torch.randn(4, 64),)), path)
    profiler = ModelProfiler(path, device="cpu")
    with pytest.raises(Error, match=rf"batch is fixed at 4 in this file, but {batch} was"):
        profiler.profile(batch_size=batch)
    with pytest.raises(Error, match="dim 1 of input 0 is fixed at 64 in this file, but 65"):
        profiler.profile(torch.randn(4, 65))
    results = profiler.benchmark([{"batch_size": 4}, {"batch_size": batch}], torch.randn(4, 64))
    assert [result["status"] for result in results] == ["ok", "failed"]
    assert "Guard failed" not in results[1]["message"]


def test_a_bounded_batch_is_a_sentence(net, tmp_path):
    path = tmp_path / "net.pt2"
    sizes = ({0: torch.export.Dim("batch", min=2, max=16)},)
    program = torch.export.export(net.eval(), (torch.randn(4, 64),), dynamic_shapes=sizes)
    torch.export.save(program, path)
    with pytest.raises(Error, match="batch is from 2 to 16 in this file, but 32 was requested"):
        ModelProfiler(path, device="cpu").profile(batch_size=32)
    assert quick(ModelProfiler(path, device="cpu"), batch_size=16, only_times=True)["status"]
