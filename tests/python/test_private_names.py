"""Tests and benchmarks use public names, or those of pyrometer._testing."""

import ast
import pathlib

import pytest

ROOT = next(path for path in pathlib.Path(__file__).parents if (path / "CMakeLists.txt").exists())
FOLDERS = ("tests", "bench", "examples")


def imported_names(path):
    """The dotted names that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_private(name):
    package, _, rest = name.partition(".")
    first = rest.partition(".")[0]
    return package == "pyrometer" and first.startswith("_") and first != "_testing"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_private_module_is_imported(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = {
        str(path.relative_to(ROOT)): [name for name in imported_names(path) if is_private(name)]
        for path in files
    }
    assert not {path: names for path, names in found.items() if names}


def test_every_name_of_testing_is_there():
    pytest.importorskip("torch")
    from pyrometer import _testing

    for name in dir(_testing):
        assert getattr(_testing, name) is not None
    with pytest.raises(AttributeError):
        _testing.nothing_of_that_name  # noqa: B018
