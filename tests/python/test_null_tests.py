"""scripts/null_tests.py: which pointer tests it finds, and how it rewrites them."""

import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "null_tests.py"
spec = importlib.util.spec_from_file_location("null_tests", SCRIPT)
assert spec and spec.loader
null_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(null_tests)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if (p == NULL)", "if (!p)"),
        ("if (a->b[i].c != NULL && x)", "if (a->b[i].c && x)"),
        ("return f(x, y) == NULL ? 1 : g(NULL);", "return !f(x, y) ? 1 : g(NULL);"),
        ("bool none = *p == NULL;", "bool none = !*p;"),
        ("while ((e = next(d)) != NULL) {}", "while ((e = next(d))) {}"),
        ("for (n = a; n != NULL; n = n->next)", "for (n = a; n; n = n->next)"),
        ("x = (const char *)p == NULL || q;", "x = !(const char *)p || q;"),
    ],
)
def test_rewritten(before: str, after: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "file.c"
    file.write_text(before)
    assert null_tests.main([str(file)]) == 1
    assert null_tests.main(["--fix", str(file)]) == 0
    assert file.read_text() == after
    assert null_tests.main([str(file)]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "return p != NULL;",
        "count += p != NULL;",
        "f(p != NULL, NULL);",
        "bool found = at != NULL;",
        '/* p == NULL */ char text[] = "p == NULL";',
        "if (!p && q)",
    ],
)
def test_left_alone(text: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "file.c"
    file.write_text(text)
    assert null_tests.main(["--fix", str(file)]) == 0
    assert file.read_text() == text
    assert null_tests.main([str(file)]) == 0
