"""Every finding is documented under its id and title, every defect and cause under its id."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANALYZE = ROOT / "src" / "analyze"
DOCUMENT = (ROOT / "docs" / "reference" / "trace.md").read_text(encoding="utf-8")


def rows(path: str, macro: str) -> list[str]:
    """The texts between the parentheses of the rows of a table."""
    text = re.sub(r"/\*.*?\*/", "", (ANALYZE / path).read_text(encoding="utf-8"), flags=re.S)
    return re.findall(macro + r"\(((?:\"(?:[^\"\\]|\\.)*\"|[^\")])*)\)", text)


@pytest.mark.parametrize("row", rows("findings/findings.def", "FINDING"))
def test_findings(row: str) -> None:
    finding, title, *_ = re.findall(r'"((?:[^"\\]|\\.)*)"', row)
    assert f"| `{finding}` | {title} |" in DOCUMENT


@pytest.mark.parametrize("row", rows("defects/defects.def", "DEFECT"))
def test_defects(row: str) -> None:
    assert f"| `{re.findall(chr(34) + '([a-z-]+)', row)[0]}` |" in DOCUMENT


def test_causes() -> None:
    text = (ANALYZE / "device" / "lost_time.c").read_text(encoding="utf-8")
    names = re.findall(r'\[PYRO_CAUSE_\w+\] = "(\w+)"', text)
    assert len(names) > 10
    assert [name for name in names if f"`{name}`" not in DOCUMENT] == []
