"""Steps, overlap, idle time and kernel totals equal those of HolisticTraceAnalysis."""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OURS = sorted((ROOT / "tests/files/trace").glob("h200_*.json.gz"))
OTHERS = pathlib.Path(os.environ.get("PYRO_TRACES", ROOT.parent / "shared" / "traces"))
NOTHING_TO_COMPARE = 77


@pytest.mark.parametrize(
    "path", [*OURS, *sorted(OTHERS.glob("*.json.gz"))], ids=lambda path: path.name
)
def test_numbers_are_those_of_hta(path, hta, tool):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [hta, HERE / "compare_with_hta.py", "--tool", tool, path],
        capture_output=True,
        text=True,
        env=environment,
    )
    print(done.stdout, done.stderr)
    if done.returncode == NOTHING_TO_COMPARE and path not in OURS:
        pytest.skip(done.stdout.splitlines()[1].strip())
    assert done.returncode == 0 and "1 of 1 traces compared" in done.stdout
