"""Configurations of a few families: the graph without Python equals the export of transformers."""

import os
import pathlib
import sys

import pytest

pytest.importorskip("transformers")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "formats"))

import compare_folders

TOOL = os.environ.get("PYRO_TOOL", "build/pyrometer")


# One of each kind; `make verify-formats` compares all families three times.
@pytest.mark.parametrize("family", ["gemma3_text", "gpt_oss", "deepseek_v3", "bert", "vit", "t5"])
def test_family(family, tmp_path):
    if not pathlib.Path(TOOL).exists():
        pytest.skip(f"{TOOL} is not built")
    assert compare_folders.compare(TOOL, family, 0, tmp_path) == []


def test_a_difference_is_found(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\necho \'{"params": 1, "total_macs": 2}\'\n')
    tool.chmod(0o755)
    (parameters, macs) = compare_folders.compare(str(tool), "vit", 0, tmp_path)
    assert parameters.startswith("parameters 1 not ")
    assert macs.startswith("MACs 2 not ")
