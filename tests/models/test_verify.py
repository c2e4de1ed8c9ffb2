"""Selected models of the zoo: our counts equal those of other counters exactly."""

import json
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


def test_a_wrong_count_is_found(tmp_path):
    tool = tmp_path / "tool"
    answer = json.dumps({"params": 2640, "total_flops": 15_360, "total_macs": 7681})
    tool.write_text(f"#!/bin/sh\necho '{answer}'\n")
    tool.chmod(0o755)
    options = verify.parse_options(["--dir", str(tmp_path), "--tool", str(tool), "--no-fvcore"])
    outcome = verify.verify("scan", options)
    wrong = {check.what for check in outcome.checks if not check.passed()}
    assert not outcome.error
    assert wrong == {"params", "macs (default)"}


def test_a_failing_tool_is_told(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 'pyrometer: out of luck' >&2\nexit 2\n")
    tool.chmod(0o755)
    options = verify.parse_options(["--dir", str(tmp_path), "--tool", str(tool)])
    assert verify.verify("scan", options).error == "ToolError: exit 2: pyrometer: out of luck"
