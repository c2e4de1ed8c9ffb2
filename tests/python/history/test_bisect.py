"""history bisect finds planted regressions in a git repository, to the commit."""

import json
import subprocess

import pytest
from test_history import commit, tool

# Commits of a small repository: which one makes `./work` slower, and by how much.
PLANTED = [(1, 30), (2, 40), (3, 30), (4, 50), (5, 30), (6, 40), (7, 30), (3, 60), (5, 50), (6, 30)]
COMMITS = 8


def make_repository(folder, slow, milliseconds):
    """A script that sleeps for 5 ms, and from commit `slow` on for longer."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    commits = []
    for number in range(COMMITS):
        duration = milliseconds if number >= slow else 5
        (folder / "work").write_text(f"# version {number}\nsleep 0.{duration:03d}\n")
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        commits.append(commit(folder, f"commit {number}"))
    return commits


def bisect(folder, commits, *words):
    done = tool(
        "bisect", "--good", commits[0], "-q", "--format", "json", *words, "sh work",
        cwd=folder, timeout=600,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr  # 3: a busy machine left doubts
    return json.loads(done.stdout)["bisect"]


@pytest.mark.parametrize("slow, milliseconds", PLANTED[1:2])
def test_planted_regression(tmp_path, slow, milliseconds):
    """bench/history.py does all ten; this runs in the time that tests have."""
    commits = make_repository(tmp_path / "r", slow, milliseconds)
    found = bisect(tmp_path / "r", commits)
    assert found["first"] == commits[slow] and found["good"] == commits[slow - 1]
    assert found["subject"] == f"commit {slow}"
    words = ["git", "worktree", "list"]
    listed = subprocess.run(words, cwd=tmp_path / "r", capture_output=True, text=True).stdout
    assert len(listed.splitlines()) == 1


def test_nothing_to_find(tmp_path):
    commits = make_repository(tmp_path / "r", COMMITS + 1, 5)
    folder = tmp_path / "r"
    done = tool("bisect", "--good", "nonsense", "sh work", cwd=folder)
    assert done.returncode == 2 and "no such commit" in done.stderr
    done = tool("bisect", "--good", commits[-1], "--bad", commits[0], "sh work", cwd=folder)
    assert done.returncode == 2 and "no ancestor" in done.stderr
    assert tool("bisect", "sh work", cwd=folder).returncode == 2
    assert tool("bisect", "--good", commits[0], cwd=folder).returncode == 2
