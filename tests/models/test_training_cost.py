"""Predicted training steps against real ones on the CPU: FLOPs to the FLOP, memory within 10%."""

import pathlib

import pytest

pytest.importorskip("torch")

import compare_training
import training_models

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = str(ROOT / "build" / "pyrometer")

if not pathlib.Path(TOOL).exists():
    pytest.skip(f"{TOOL} is not built", allow_module_level=True)

FLOPS = ("decoder_tied", "experts", "lstm", "gru", "autoencoder", "two_towers", "encoder", "unet")
MEMORY = ("unet", "experts")


@pytest.mark.parametrize("name", FLOPS)
def test_flops_equal_those_of_a_real_backward(name):
    predicted, real = compare_training.compare_flops(TOOL, name)
    assert predicted == real


def test_grouped_convolutions_are_counted_right():
    pytest.importorskip("torchvision")
    predicted, real = compare_training.compare_flops(TOOL, "mobilenet_v3_small")
    assert predicted == real


@pytest.mark.parametrize("name", MEMORY)
def test_peaks_are_those_of_a_real_step(name):
    found = compare_training.compare_memory(TOOL, name)
    for what in ("step", "blocks"):
        predicted, real = found[what]
        assert abs(predicted / real - 1) <= 0.1, (what, predicted, real)
    assert found["blocks"][0] < found["step"][0]


@pytest.mark.parametrize("name", MEMORY)
def test_activations_of_fit_are_those_of_a_real_step(name):
    predicted, real = compare_training.compare_fit(TOOL, name)
    assert abs(predicted / real - 1) <= 0.1, (predicted, real)


def test_python_returns_what_the_tool_prints(tmp_path):
    pyrometer = pytest.importorskip("pyrometer")
    module, inputs = training_models.BY_NAME["decoder"].make()
    _program, path = compare_training.export(module, inputs, tmp_path)
    cost = pyrometer.cost(path, train=True, optimizer="lion", checkpoint="blocks", lora="4:qkv")
    options = ("--optimizer", "lion", "--checkpoint", "blocks", "--lora", "4:qkv")
    assert cost.to_dict() == compare_training.predict(TOOL, path, *options)
    assert cost.lora_params == 4 * 4 * (64 + 192)
    assert cost.part("recompute")["macs"] > 0
    assert max(point["bytes"] for point in cost.curve) == cost.peak_memory["total_bytes"]
    assert "TRAINING STEP" in str(cost)


def test_options_need_training():
    pyrometer = pytest.importorskip("pyrometer")
    with pytest.raises(ValueError, match="requires train=True"):
        pyrometer.cost("resnet18", optimizer="sgd")
    with pytest.raises(ValueError, match="unknown optimizer"):
        pyrometer.cost("resnet18", train=True, optimizer="adamx")
    with pytest.raises(ValueError, match="not a regular expression"):
        pyrometer.cost("resnet18", train=True, freeze="[")
