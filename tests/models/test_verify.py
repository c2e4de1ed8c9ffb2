"""The chosen models of the zoo: our counts equal those of other counters, exactly."""

import pathlib

import pytest

pytest.importorskip("torch")

import verify


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    arguments = verify.parse_options(["--dir", str(tmp_path_factory.mktemp("models"))])
    if not pathlib.Path(arguments.tool).exists():
        pytest.skip(f"{arguments.tool} is not built")
    return arguments


@pytest.mark.parametrize("name", verify.CHOSEN)
def test_model(name, options):
    outcome = verify.verify(name, options)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    wrong = [check for check in outcome.checks if not check.passed()]
    assert not outcome.error and not wrong, (outcome.error, wrong)
