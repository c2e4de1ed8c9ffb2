"""`map MODEL --against RUN`: predictions beside the times of a real run, layer by layer."""

import json
import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
pyrometer = pytest.importorskip("pyrometer")

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build" / "pyrometer"))
CALLS = 3


def run_map(*words):
    done = subprocess.run(
        [TOOL, "map", *map(str, words)], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def model(one_thread):
    network = torchvision.models.resnet18(weights=None).eval()
    x = torch.randn(1, 3, 224, 224)

    def run():
        with torch.no_grad():
            for _ in range(CALLS):
                network(x)

    run()
    return run


def check(recording):
    """Layers of the model have times of one call, which add up."""
    words = ("resnet18", "--against", recording, "--on", "h100", "--no-calibration")
    code, text, errors = run_map(*words, "--format", "json")
    assert code == 0, errors
    (chip,) = json.loads(text)["maps"][0]["chips"]
    layers = {row["name"]: row for row in chip["layers"]}
    measured = sum(row["measured_ns"] or 0 for row in layers.values())
    assert measured == pytest.approx(chip["total"]["measured_ns"], rel=1e-6)
    for name in ("conv1", "layer1.0.conv1", "layer4.1.conv2", "fc", "maxpool"):
        assert layers[name]["measured_ns"] > 0 and layers[name]["time_ns"] > 0
    # A convolution of a network takes longer than an activation.
    assert layers["layer3.0.conv2"]["measured_ns"] > layers["layer3.0.relu"]["measured_ns"]
    code, text, _ = run_map(*words)
    assert code == 0 and "Measured" in text and "faster" in text  # it ran on a processor
    return text


def test_our_recording(model, tmp_path, observer):
    with pyrometer.capture(tmp_path / "run.pyro"):
        model()
    assert "measured on" in check(tmp_path / "run.pyro")


def test_recording_of_torch_profiler(model, tmp_path):
    with torch.profiler.profile(record_shapes=True, with_stack=True) as profile:
        model()
    profile.export_chrome_trace(str(tmp_path / "run.json"))
    check(tmp_path / "run.json")


def test_a_run_without_layers_is_refused(model, tmp_path):
    with torch.profiler.profile(record_shapes=True) as profile:
        model()
    profile.export_chrome_trace(str(tmp_path / "run.json"))
    code, _, errors = run_map("resnet18", "--against", tmp_path / "run.json")
    assert code == 2 and "no layers" in errors and "with_stack=True" in errors
