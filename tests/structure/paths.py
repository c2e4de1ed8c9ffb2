"""Paths that documents name, and the mirror of the sources in tests/unit.

A path is an inline code span with a slash or with the suffix of a file of code. `<name>` stands for
any text. The section "Plan" of ARCHITECTURE.md names what does not exist yet.
"""

import pathlib
import re

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
SUFFIXES = (
    ".c", ".h", ".def", ".cpp", ".hpp", ".py", ".pyi", ".sh", ".S", ".cmake", ".md", ".t", ".toml",
    ".txt", ".json", ".in",
)  # fmt: skip
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PLACEHOLDER = re.compile(r"<[^>]*>")
MADE_BY_BUILDS = re.compile(r"build[\w-]*/")
BASES = ("", "src/", "include/", "python/")  # where a path may start


def named_paths(text):
    """The paths that a document names, as patterns of pathlib."""
    found = set()
    text = FENCED.sub("", text.split("\n## Plan\n")[0])
    for span in SPAN.findall(text):
        for word in PLACEHOLDER.sub("*", span).split():
            word = word.rstrip(".,;:)")
            if word.startswith(("/", "$", "-", "~", "{", "@")) or MADE_BY_BUILDS.match(word):
                continue
            is_name = "/" not in word and word.endswith(SUFFIXES)
            is_path = "/" in word and (word.endswith("/") or word.endswith(SUFFIXES))
            if (is_name or is_path) and re.fullmatch(r"[\w./*-]+", word):
                found.add(word)
    return found


def check_documents(root, files):
    """Messages about paths that match no file. `files`: all files, relative to the root."""
    names = {pathlib.PurePath(file).name for file in files}
    folders = {str(parent) for file in files for parent in pathlib.PurePath(file).parents}
    messages = []
    for document in DOCUMENTS:
        for path in sorted(named_paths((root / document).read_text())):
            if not _exists(path, files, names, folders):
                messages.append(f"{document} names {path}, which does not exist")
    return messages


def _exists(path, files, names, folders):
    if "/" not in path:
        return _matches(path, names)
    if path.endswith("/"):
        path = path.rstrip("/")
        if "/" not in path:  # a row of a table names folders below its own
            return any(folder.split("/")[-1] == path for folder in folders)
        return any(_matches(base + path, folders) for base in BASES)
    return any(_matches(base + path, files) for base in BASES)


def _matches(pattern, names):
    if "*" not in pattern:
        return pattern in names
    parts = (re.escape(part) for part in pattern.split("*"))
    expression = re.compile("[^/]*".join(parts))
    return any(expression.fullmatch(name) for name in names)


def check_unit_tests(root, listed):
    """Messages about unit tests without a source of their name, and about stale exceptions.

    tests/unit/ROOM/test_X.c tests src/ROOM/X.c (tests/unit/cli: cli/X.c), or the folder X.
    """
    messages = []
    reasons = {entry["path"] for entry in listed}
    without = set()
    for path in sorted((root / "tests/unit").rglob("test_*.c")):
        place = path.relative_to(root / "tests/unit").parent
        source = root / place if place.parts[0] == "cli" else root / "src" / place
        name = path.stem.removeprefix("test_")
        if not (source / f"{name}.c").exists() and not (source.is_dir() and source.name == name):
            without.add(str(path.relative_to(root)))
    for path in sorted(without - reasons):
        messages.append(f"{path} mirrors no source; name it after one, or list it in allowed.toml")
    for path in sorted(reasons - without):
        messages.append(f"allowed.toml lists {path}, which has a source or does not exist")
    return messages
