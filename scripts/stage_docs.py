#!/usr/bin/env python3
"""Makes the input of MkDocs: docs/, the generated command pages and the Python reference.

    scripts/stage_docs.py COMMAND_PAGES OUTPUT

Links that leave docs/ lead to copies of the files. Run by scripts/build-docs.sh.
"""

import ast
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROJECT_PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
LINK = re.compile(r"(\[[^\]\[]*\])\(([^)\s]+)\)")


def staged_path(source: pathlib.Path) -> pathlib.PurePosixPath | None:
    """Path in the site of a file of the repository; None for folders, which have no page."""
    name = source.relative_to(ROOT).as_posix()
    if name.startswith("docs/"):
        return pathlib.PurePosixPath(name[len("docs/") :])
    if name in PROJECT_PAGES:
        return pathlib.PurePosixPath("project", name)
    if source.is_dir():
        return None
    # MkDocs renders pages and copies other files unchanged.
    return pathlib.PurePosixPath("files", name + (".txt" if name.endswith(".md") else ""))


def relative(target: pathlib.PurePosixPath, page: pathlib.PurePosixPath) -> str:
    return "../" * (len(page.parts) - 1) + target.as_posix()


def stage_page(source: pathlib.Path, output: pathlib.Path) -> None:
    page = staged_path(source)
    assert page is not None

    def rewrite(match: re.Match[str]) -> str:
        text, link = match[1], match[2]
        name, _, anchor = link.partition("#")
        if not name or re.match(r"[a-z]+:", name):
            return match[0]
        file = (source.parent / name).resolve()
        target = staged_path(file)
        if target is None:
            return text[1:-1]
        if target.parts[0] == "files":
            copy = output / target
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        return f"{text}({relative(target, page)}{'#' + anchor if anchor else ''})"

    copy = output / page
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(LINK.sub(rewrite, source.read_text(encoding="utf-8")), encoding="utf-8")


def public_names() -> list[str]:
    """The names in __all__ of the package, read without importing it."""
    tree = ast.parse((ROOT / "python/pyrometer/__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return sorted(ast.literal_eval(node.value), key=str.lower)
    raise SystemExit("stage_docs: python/pyrometer/__init__.py has no __all__")


def python_page() -> str:
    lines = ["# Python reference", "", "Every public name of the package, from its docstrings.", ""]
    for name in public_names():
        if not name.startswith("__"):
            lines += [f"::: pyrometer.{name}", ""]
    return "\n".join(lines)


def main() -> None:
    commands, output = (pathlib.Path(word) for word in sys.argv[1:3])
    shutil.rmtree(output, ignore_errors=True)
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in PROJECT_PAGES)]
    for source in pages:
        stage_page(source, output)
    shutil.copytree(commands, output / "reference/commands")
    (output / "reference/python.md").write_text(python_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
