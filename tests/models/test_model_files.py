"""The model files of tests/files: valid ones are priced, all others rejected with one line."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "files"
TOOL = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))

pytestmark = pytest.mark.skipif(not pathlib.Path(TOOL).exists(), reason=f"{TOOL} is not built")

# MACs and parameters of each, computed by hand.
GOOD = {
    "good-1-flat-layout.pt2": (2 * 16 * 8 * 8 * 27, 8 * 27),
    "good-2-infix-expressions.pt2": (2 * 16 * 8 * 8 * 27, 8 * 27),
    "good-3-short-expressions.pt2": (2 * 16 * 8 * 8 * 27, 8 * 27),
    "good-4-two-models.pt2:encoder": (2 * (8 * 16 + 16 * 4), 9 * 16 + 17 * 4),
    "good-4-two-models.pt2:decoder": (2 * (12 * 16 + 16 * 4), 13 * 16 + 17 * 4),
    "good-5-root-folder.pt2": (2 * (8 * 16 + 16 * 4), 9 * 16 + 17 * 4),
    "good-6-tied-on-meta.pt2": (10 * 16 * 40, 40 * 16),
    "good-7-tied-by-note.pt2": (10 * 16 * 40, 40 * 16),
    "good-8-cond.pt2": (4 * 16 * 16, 17 * 16),
    "good-9-wrong-extension.onnx": (2 * (8 * 16 + 16 * 4), 9 * 16 + 17 * 4),
    "good-10-static.pt2": (2 * (8 * 16 + 16 * 4), 9 * 16 + 17 * 4),
}
REFUSED = sorted(path.name for kind in ("bad-*", "other-*") for path in FILES.glob(kind))


def run(*arguments):
    command = [TOOL, "cost", *arguments, "--format", "json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("name", GOOD)
def test_good(name):
    finished = run(str(FILES / name))
    assert finished.returncode == 0, finished.stderr
    cost = json.loads(finished.stdout)
    assert (cost["total_macs"], cost["params"]) == GOOD[name]


@pytest.mark.parametrize("name", list(GOOD)[:3])
def test_symbolic_sizes_follow(name):
    cost = json.loads(run(str(FILES / name), "--input-shape", "5,3,33,16").stdout)
    assert cost["total_macs"] == 5 * 17 * 8 * 8 * 27


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    finished = run(str(FILES / name))
    assert finished.returncode == 2
    assert finished.stdout == ""
    lines = finished.stderr.splitlines()
    assert len(lines) == 1 and name in lines[0]


def test_a_fixed_size_is_kept():
    finished = run(str(FILES / "good-10-static.pt2"), "--batch", "3")
    assert finished.returncode == 2
    assert "'x'" in finished.stderr and "fixed at 2" in finished.stderr
