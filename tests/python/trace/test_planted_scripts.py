"""Scripts with one planted problem each, recorded on the CPU by torch.profiler and by Pyrometer:
the problem is the first finding, at its line, and gone from the fixed script."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")

SCRIPTS = pathlib.Path(__file__).parents[2] / "planted_scripts"
NAMES = (
    "slow_loader",
    "items",
    "float64",
    "single_tensor_updates",
    "leak",
    "needless_copies",
    "tiny_ops",
    "attention",
    "small_collectives",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What is wrong, by script, recorder and kind; one process records all of them."""
    folder = tmp_path_factory.mktemp("planted")
    command = [sys.executable, str(SCRIPTS / "check.py"), "--device", "cpu", "-o", str(folder)]
    command += ["--again", "3"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--json", str(folder / "results.json"), *NAMES],
        capture_output=True,
        text=True,
        timeout=1800,
        env=environment,
    )
    assert done.returncode in (0, 1), done.stderr
    print(done.stdout)
    rows = json.loads((folder / "results.json").read_text())
    return {(name, recorder, kind): wrong for name, recorder, kind, wrong in rows}


@pytest.mark.parametrize("recorder", ["torch", "pyrometer"])
@pytest.mark.parametrize("name", NAMES)
def test_planted_problem_is_the_first_finding(results, name, recorder):
    assert results[name, recorder, "planted"] == ""


@pytest.mark.parametrize("recorder", ["torch", "pyrometer"])
@pytest.mark.parametrize("name", NAMES)
def test_fixed_script_has_no_new_finding(results, name, recorder):
    assert results[name, recorder, "fixed"] == ""
