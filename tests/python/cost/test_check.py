"""pyrometer check against the real fvcore and torch's counter."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", "build/pyrometer"))


def check(*arguments: str, python: str = sys.executable) -> tuple[int, dict]:
    run = subprocess.run(
        [TOOL, "check", *arguments, "--format", "json", "--python", python],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout, run.stderr
    return run.returncode, json.loads(run.stdout)


needs_torchvision = pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is None, reason="torchvision is not installed"
)
needs_fvcore = pytest.mark.skipif(
    importlib.util.find_spec("fvcore") is None, reason="fvcore is not installed"
)


@needs_torchvision
@needs_fvcore
def test_fvcore(warm_python):
    code, document = check("--models", "resnet18,vit_b_16", python=warm_python)
    resnet, vit = document["rows"]
    assert code == 0
    assert resnet["our_flops"] == 2 * 1_814_073_344
    assert resnet["their_flops"] == 2 * 1_819_065_856
    assert {reason["op"] for reason in resnet["reasons"]} == {"batch_norm", "adaptive_avg_pool2d"}
    attention = next(r for r in vit["reasons"] if r["op"] == "scaled_dot_product_attention")
    assert attention["flops"] == 2 * 715_327_488
    assert attention["text"].startswith(
        "fvcore does not count scaled_dot_product_attention: 1.43 G"
    )
    for row in document["rows"]:
        # The reasons account for the whole difference.
        assert sum(reason["flops"] for reason in row["reasons"]) == row["difference"]


@needs_fvcore
def test_fvcore_on_language_models(warm_python):
    """Models that return their own classes, and that have two inputs by name."""
    pytest.importorskip("transformers")
    code, document = check("--models", "gpt2,flan_t5_small", python=warm_python)
    assert code == 0, document
    for row in document["rows"]:
        assert sum(reason["flops"] for reason in row["reasons"]) == row["difference"]
    gpt2 = document["rows"][0]
    assert "scaled_dot_product_attention" in {reason["op"] for reason in gpt2["reasons"]}


@needs_torchvision
def test_torch_at_another_size():
    code, document = check("resnet18", "--against", "torch", "--input-shape", "3,3,160,192")
    assert code == 0
    assert document["rows"][0]["difference"] == 0


@needs_torchvision
@needs_fvcore
def test_tolerance(warm_python):
    code, document = check("resnet18", "--tolerance", "0.1%", python=warm_python)
    assert code == 1
    assert document["rows"][0]["within_tolerance"] is False


def test_every_published_row():
    """All numbers that torchvision publishes agree to three decimals, or a reason is given."""
    listing = subprocess.run(
        [TOOL, "models", "--format", "csv"], capture_output=True, text=True, check=True
    )
    names = [
        line.partition(",")[0]
        for line in listing.stdout.splitlines()[1:]
        if ",torchvision," in line
    ]
    _, document = check("--models", ",".join(names), "--against", "torchvision")
    published = [row for row in document["rows"] if row["weights"]]
    assert len(published) > 100
    for row in published:
        assert row["error"] is None, row
        assert abs(row["difference"]) <= 1_000_000, row
        assert not any(reason["op"] == "parameters" for reason in row["reasons"]), row
