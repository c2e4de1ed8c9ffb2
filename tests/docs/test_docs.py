"""README and docs: every block runs or says why not, shown output is real, links are valid."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from blocks import ROOT, Block, broken_links, command_lines, documents, options_of
from run_blocks import mask, select

TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build/pyrometer"))
DOCUMENTS = [str(path.relative_to(ROOT)) for path in documents()]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    path = folder / "results.json"
    script = pathlib.Path(__file__).with_name("run_blocks.py")
    pytest.importorskip("torch")
    ran = subprocess.run(
        [sys.executable, str(script), TOOL, str(folder / "blocks"), str(path)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert path.exists(), ran.stdout + ran.stderr
    return json.loads(path.read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_runs_or_says_why_not(results, document):
    assert not results[document]["problems"], "\n\n".join(results[document]["problems"])


def test_blocks_did_run(results):
    assert sum(result["ran"] for result in results.values()) > 25


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_a_file_and_a_heading(document):
    assert not broken_links(ROOT / document)


@pytest.fixture(scope="module")
def options():
    """Long options of every command, from its help."""
    known: dict[str, set[str]] = {}

    def of(command: str) -> set[str]:
        if command not in known:
            help_text = subprocess.run(
                [TOOL, command, "--help"], capture_output=True, text=True, check=True
            ).stdout
            known[command] = set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", help_text, re.MULTILINE))
        return known[command]

    return of


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_option_exists(document, options):
    for place, line in command_lines(ROOT / document):
        command, given = options_of(line)
        if not re.fullmatch(r"[a-z]+", command) or command == "help":
            continue
        unknown = [option for option in given if option not in options(command)]
        assert not unknown, f"{place}: {line}"


def marked(line: str) -> Block:
    block = Block(ROOT / "README.md", 1, "console", "$ true\n")
    block.apply_mark(line)
    return block


def test_a_block_without_a_mark_or_a_reason_is_a_problem():
    assert marked("Some text.").problem
    assert marked("<!-- not run -->").problem
    assert marked("<!-- run: soon -->").problem
    assert not marked("<!-- not run: needs a GPU -->").problem
    block = marked("<!-- run: after torch, traces; numbers vary; exit 0 or 3; lines 2-4, 9 -->")
    assert (block.run, block.setups, block.numbers_vary) == (True, ["torch", "traces"], True)
    assert (block.exits, block.lines) == ((0, 3), [(2, 4), (9, 9)])


def test_masked_output_still_differs_in_words():
    assert mask("step  12.5 ms\n------") == mask("step 7.125 us\n---")
    assert mask("step 12.5 ms") != mask("stop 12.5 ms")


def test_lines_that_are_left_out_are_marked():
    text = "a\nb\nc\nd\n"
    assert select(text, [(2, 3)]) == "...\nb\nc\n..."
    assert select(text, [(1, 1), (4, 4)]) == "a\n...\nd"
    assert select(text, []) == "a\nb\nc\nd"
