"""Compares the tool's results on traces with reviewed numbers in goldens.json, and its first
screens with reviewed ones in screens/.

Traces of tests/files/trace are always read; other people's, which are not part of the
project, if available. A screen belongs to the trace with the hash in its first line.
`python tests/trace/test_goldens.py` rewrites numbers and screens of available traces: review the
difference, and judgement.md with it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = os.environ.get("PYROMETER", str(ROOT / "build" / "pyrometer"))
OURS = ROOT / "tests" / "files" / "trace"
FOLDER = pathlib.Path(os.environ.get("PYRO_TRACES", ROOT.parent / "shared" / "traces"))
GOLDENS = pathlib.Path(__file__).with_name("goldens.json")
SCREENS = pathlib.Path(__file__).with_name("screens")
WIDTH = 100
TOTALS = (
    "events",
    "warnings",
    "device",
    "span_ns",
    "device_total_ns",
    "device_busy_ns",
    "kernel_count",
    "unattributed",
)
LEADING_ROWS = 3


def leading(rows: list[dict], *keys: str) -> list[list]:
    """The first rows of a table as lists of the chosen columns."""
    return [[row[key] for key in keys] for row in rows[:LEADING_ROWS]]


def facts_of(path: pathlib.Path) -> dict:
    """The part of a trace's results in goldens.json: totals, first rows, and sums of tables."""
    command = [TOOL, "trace", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    answer = json.loads(done.stdout)
    facts = {key: answer[key] for key in TOTALS}
    facts["steps"] = [
        [step["name"], step["span_ns"], step["compute_ns"], step["idle_ns"]]
        for step in answer["steps"]
    ]
    layers = answer["layers"]
    facts["layer_count"] = len(layers)
    facts["layer_calls"] = sum(row["calls"] for row in layers)
    for key in ("forward_device_self_ns", "backward_device_self_ns", "forward_host_self_ns"):
        facts[key] = sum(row[key] for row in layers)
    facts["ops"] = leading(answer["ops"], "name", "calls", "host_total_ns", "device_total_ns")
    facts["kernels"] = leading(answer["kernels"], "short_name", "calls", "total_ns")
    facts["copies"] = leading(answer["copies"], "kind", "calls", "bytes", "total_ns")
    facts["collectives"] = leading(answer["collectives"], "kind", "calls", "total_ns", "exposed_ns")
    facts["findings"] = [finding["id"] for finding in answer["findings"]]
    return facts


def hash_of(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def traces() -> dict[str, pathlib.Path]:
    """All available traces with a name of their own, by hash."""
    paths = [*FOLDER.glob("*.json.gz"), *OURS.glob("h200_*.json.gz")]
    return {hash_of(path): path for path in paths}


def screen_of(path: pathlib.Path, name: str) -> str:
    """The first screen, at a fixed width and without color; no path of this machine is in it."""
    environment = {key: value for key, value in os.environ.items() if key != "CLICOLOR_FORCE"}
    environment |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / name).symlink_to(path)
        command = [os.path.abspath(TOOL), "trace", name]
        done = subprocess.run(
            command, capture_output=True, check=True, text=True, cwd=folder, env=environment
        )
    return done.stdout


def judgements() -> dict[str, tuple[str, str]]:
    """The table of judgement.md: trace -> (its first finding, our file with the same cause)."""
    text = pathlib.Path(__file__).with_name("judgement.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {row[0]: (row[1], row[3]) for row in rows if len(row) == 4 and row[0] != "trace"}


def goldens() -> dict[str, dict]:
    return json.loads(GOLDENS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(goldens()) if GOLDENS.exists() else [])
def test_golden(name: str) -> None:
    path = next((found for found in (OURS / name, FOLDER / name) if found.exists()), None)
    if path is None:
        pytest.skip("a trace of other people, not available")
    assert facts_of(path) == goldens()[name]


@pytest.mark.parametrize("name", sorted(path.stem for path in SCREENS.glob("*.txt")))
def test_first_screen(name: str) -> None:
    wanted = (SCREENS / f"{name}.txt").read_text(encoding="utf-8")
    head, _, screen = wanted.partition("\n")
    path = traces().get(head.removeprefix("sha256 "))
    if path is None:
        pytest.skip("a trace of other people, not available")
    assert screen_of(path, f"{name}.json.gz") == screen
    assert max(map(len, screen.splitlines())) <= WIDTH
    assert str(ROOT) not in screen and str(FOLDER) not in screen


def test_every_trace_has_a_screen_and_a_judgement() -> None:
    names = {path.name.removesuffix(".json.gz") for path in traces().values()}
    assert names <= {path.stem for path in SCREENS.glob("*.txt")}
    assert names <= set(judgements())


@pytest.mark.parametrize("name", sorted(set(judgements()) - {"---"}))
def test_first_finding_is_judged(name: str) -> None:
    first, ours = judgements()[name]
    findings = goldens()[f"{name}.json.gz"]["findings"]
    assert (findings or ["none"])[0] == first
    path = pathlib.Path(__file__).parent / (ours if "/" in ours else f"planted/{ours}")
    command = [TOOL, "trace", f"{path}.json", "--format", "json"]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    if first == "none":
        assert not answer["findings"]
    else:
        rows = answer["findings"] + answer["finding_parts"]
        assert first in {row["id"] for row in rows}


if __name__ == "__main__":
    paths = [*FOLDER.glob("*.json.gz"), *OURS.glob("good-*.json*"), *OURS.glob("h200_*.json.gz")]
    found = goldens() | {path.name: facts_of(path) for path in paths}
    found = dict(sorted(found.items()))
    lines = [f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in found.items()]
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    SCREENS.mkdir(exist_ok=True)
    for known, path in traces().items():
        text = f"sha256 {known}\n{screen_of(path, path.name)}"
        name = path.name.removesuffix(".json.gz")
        (SCREENS / f"{name}.txt").write_text(text, encoding="utf-8")
