"""pyrometer.map(): the same numbers as `pyrometer map`, sums of layers, refused names."""

import pytest

import pyrometer


def test_chips_and_layers():
    prediction = pyrometer.map("resnet18", on=["h100", "b200"], batch=8)
    assert [chip["chip"] for chip in prediction.chips] == ["H100 SXM", "B200"]
    assert prediction.best_by_time == "B200"
    for chip in prediction.chips:
        total = chip["total"]
        assert total["low_ns"] < total["time_ns"] < total["high_ns"]
        layers = sum(layer["time_ns"] for layer in chip["layers"])
        assert layers == pytest.approx(chip["device_ns"])
    assert "H100 SXM" in repr(prediction) and "Layers on H100 SXM" in str(prediction)
    assert prediction.to_dict()["schema"] == "pyrometer.map/1"


def test_training_takes_longer_and_bfloat16_less():
    forward = pyrometer.map("resnet18", batch=64).chips[0]["total"]["time_ns"]
    assert pyrometer.map("resnet18", batch=64, train=True).chips[0]["total"]["time_ns"] > forward
    half = pyrometer.map("resnet18", batch=64, dtype="bfloat16").chips[0]["total"]["time_ns"]
    assert half < forward


def test_refused():
    with pytest.raises(ValueError, match="unknown chip"):
        pyrometer.map("resnet18", on="h1")
    with pytest.raises(ValueError, match="1 to 64"):
        pyrometer.map("resnet18", on=[])
