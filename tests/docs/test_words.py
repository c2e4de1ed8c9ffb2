"""Tests of scripts/check-words.py: it finds the listed words in the right places, and no others."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/check-words.py"


@pytest.fixture
def check(tmp_path):
    """Hits of a text in a file of that name: [(line, found)]."""

    def run(name: str, text: str) -> list[tuple[int, str]]:
        path = tmp_path / name
        path.write_text(text)
        result = subprocess.run(
            [sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True
        )
        assert result.returncode == (1 if result.stdout else 0), result.stderr
        rows = [line[len(str(path)) + 1 :].split(": ") for line in result.stdout.splitlines()]
        return [(int(row[0]), row[1].strip('"')) for row in rows]

    return run


def test_prose_is_checked_and_code_in_it_is_not(check):
    assert check("a.md", "How to mend it.\n") == [(1, "mend")]
    assert check("a.md", "`mend` it\n\n```sh\nmend\n```\n") == []


def test_a_construction_over_two_lines_is_found(check):
    assert check("a.md", "one\ntwo that is\nnone\n") == [(2, "that is none")]


def test_an_exempt_line_has_a_reason(check):
    assert check("a.md", "mend <!-- words: ok, a quotation -->\n") == []
    assert check("a.md", "<!-- words: ok, a quotation -->\nmend\n") == []
    assert check("a.md", "mend <!-- words: ok -->\n") == [(1, "mend")]


def test_strings_and_comments_of_c_are_checked_and_names_are_not(check):
    text = '/* Holds\n * what there is. */\nint keeper = \'"\'; // a door\nputs("a"\n  "mend");\n'
    assert check("a.c", text) == [(2, "what there is"), (3, "door"), (5, "mend")]


def test_help_of_an_option_stands_alone(check):
    assert check("a.c", 'help("Of the random order.");\n') == [(1, "Of the")]
    assert check("a.c", 'help("The end of the order.");\n') == []
    assert check("a.md", "Of the many words.\n") == []


def test_strings_and_comments_of_python_are_checked_and_names_are_not(check):
    text = 'keeper = "x"  # the door\nprint(f"{keeper} is let go")\n"""The\nkeeper."""\n'
    assert check("a.py", text) == [(1, "door"), (2, "is let go"), (4, "keeper")]


def test_a_step_is_not_per_step(check):
    assert check("a.md", "Wait a step, then record a layer and a file.\n") == []
    assert check("a.md", "One file a rank, 12 ns an event.\n") == [
        (1, "file a rank"),
        (1, "ns an event"),
    ]
