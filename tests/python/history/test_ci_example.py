"""Runs the shell steps of the workflow for GitHub Actions."""

import os
import pathlib
import subprocess

import pytest
from test_history import ROOT, TOOL, commit

yaml = pytest.importorskip("yaml")


def test_workflow(tmp_path):
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "history.yml").read_text())
    repository = tmp_path / "repository"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=repository, check=True)
    (repository / "benchmark.sh").write_text("exit 0\n")
    head = commit(repository, "first")
    summary = tmp_path / "summary.md"
    environment = {
        **os.environ,
        "PATH": f"{pathlib.Path(TOOL).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_REF_NAME": "main",
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    steps = [one for one in workflow["jobs"]["history"]["steps"] if "run" in one]
    assert [one["name"] for one in steps] == ["Install", "Measure", "Show the line", "Alert"]
    for step in steps[1:]:
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=repository,
            env={**environment, **step.get("env", {})},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (step["name"], done.stderr)
        if step["name"] == "Show the line":
            assert "sh benchmark.sh latency" in done.stdout and head[:10] in done.stdout
    assert "History: 0 alerts" in summary.read_text()
    assert (repository / "alerts.xml").exists()
