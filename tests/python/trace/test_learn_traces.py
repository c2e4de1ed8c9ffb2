"""`pyrometer learn` over real traces: each is learnt, or rejected with a reason."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build" / "pyrometer"))
FOLDER = pathlib.Path(os.environ.get("PYRO_TRACES", ROOT.parent / "shared" / "traces"))
# What each trace shows: a chip, or words of the reason.
EXPECTED = {
    "alexnet_sync": "no shapes",
    "b200_eager": "B200",
    "cpu_only": "does not name the processor",
    "cuda_graph_decode": "MI300X",
    "diff_control": "A100 40GB SXM",
    "diff_test": "V100 SXM2",
    "h100_qwen05b": "H100 SXM",
    "h200_gpt_reduce_overhead": "no op has known work",
    "h200_resnet18_train": "H200 SXM",
    "mi250_train": "in no table of chips",
    "mi300_resnet_ddp_train": "MI300X",
    "ranks2_rank0": "does not name its device",
    "schema2021_resnet50_workers0": "V100 32GB SXM2",
    "triton": "no op has known work",
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of traces")


def test_every_trace_is_learnt_or_rejected(tmp_path):
    paths = sorted(FOLDER.glob("*.json.gz"))
    done = subprocess.run(
        [TOOL, "learn", *paths, "--table", tmp_path / "table.json", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout)["files"]
    assert len(files) == len(paths)
    for file in files:
        name = pathlib.Path(file["file"]).name.removesuffix(".json.gz")
        found = file["rejected"] or file["chip"]
        assert file["rejected"] or (file["samples"] > 0 and file["library"]), name
        if name in EXPECTED:
            assert EXPECTED[name] in found, name
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert rows and all(row["least_ns"] <= row["most_ns"] for row in rows)
