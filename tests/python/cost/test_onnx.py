"""Costs of ONNX files: a sample of onnx's node tests, and exports of torch (tests/formats)."""

import os
import pathlib
import subprocess
import sys

import pytest

FORMATS = pathlib.Path(__file__).resolve().parents[2] / "formats"


def run(script: str, *options: str) -> str:
    tool = os.environ.get("PYRO_TOOL", str(FORMATS.parents[1] / "build" / "pyrometer"))
    command = [sys.executable, str(FORMATS / script), tool, *options]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_sample_of_node_tests():
    pytest.importorskip("onnx")
    assert "answered" in run("node_tests.py", "--every", "25")


def test_exports_have_the_flops_of_torch():
    pytest.importorskip("onnx")
    printed = run("compare_onnx.py", "--older", "--models", "attention,lstm,unet,resampled,norms")
    assert printed.count("equal") == 5
