#!/usr/bin/env python3
"""Checks our texts against the word list scripts/words.txt.

    scripts/check-words.py                 Markdown files of the repository
    scripts/check-words.py --code          also strings and comments of C and Python
    scripts/check-words.py --code --count  hits per folder
    scripts/check-words.py FILE...         these files

A line is exempt if it, or the line above it, contains `words: ok, REASON` (in Markdown inside an
HTML comment). Code blocks and inline code of Markdown are not checked. Exits with 1 on a hit.
"""

import argparse
import collections
import dataclasses
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIST = ROOT / "scripts/words.txt"
MARKDOWN = {".md"}
C = {".c", ".h", ".def", ".cpp", ".hpp"}
PYTHON = {".py", ".pyi"}
# Test inputs, the history, and the list itself contain such words on purpose.
SKIPPED = re.compile(
    r"^(CHANGELOG\.md|scripts/words\.txt|tests/docs/test_words\.py|tests/files/(?!README)|fuzz/corpus/)"
)
EXEMPT = re.compile(r"words: ok, \S+")

C_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<include>^[ \t]*\#[ \t]*include[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)
      | '(?:\\.|[^'\\\n])+'""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclasses.dataclass(frozen=True)
class Rule:
    pattern: re.Pattern[str]
    better: str
    where: str


@dataclasses.dataclass(frozen=True)
class Piece:
    """Text to check: where it begins, what it is (prose, comment, string), and its lines."""

    line: int
    kind: str
    text: str


def read_rules(path: pathlib.Path) -> list[Rule]:
    rules = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        where = parts[2] if len(parts) > 2 else "all"
        if len(parts) < 2 or where not in ("all", "code", "help", "prose"):
            raise SystemExit(f"{path}:{number}: not PATTERN | BETTER | WHERE")
        flags = re.MULTILINE if where == "help" else re.IGNORECASE | re.MULTILINE
        # A construction may be broken over two lines.
        rules.append(Rule(re.compile(parts[0].replace(" ", r"\s+"), flags), parts[1], where))
    return rules


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def markdown_pieces(text: str) -> list[Piece]:
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", blank, text)
    return [Piece(1, "prose", text)]


def unquote(literal: str) -> str:
    """Adjacent C string literals as one text, with as many newlines as the source has."""
    parts = re.findall(r'"((?:\\.|[^"\\\n])*)"(\s*)', literal)
    text = "".join(part + "\n" * gap.count("\n") for part, gap in parts)
    return re.sub(r"\\[nt]", " ", text).replace('\\"', '"')


def c_pieces(text: str) -> list[Piece]:
    pieces = []
    for match in C_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"]:
            pieces.append(Piece(line, "comment", re.sub(r"^\s*/?\*+", "", match[0], flags=re.M)))
        elif match["string"]:
            pieces.append(Piece(line, "string", unquote(match["string"])))
    return pieces


def python_text(literal: str) -> str:
    """A string without its quotes; before Python 3.12 an f-string contains its expressions."""
    prefix = re.match(r"[rbfuRBFU]*(?=['\"])", literal)
    if prefix and "f" in prefix[0].lower():
        literal = re.sub(r"\{[^{}]*\}", blank, literal)
    return literal[len(prefix[0]) :].strip("\"'") if prefix else literal


def python_pieces(text: str) -> list[Piece]:
    pieces = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                pieces.append(Piece(token.start[0], "comment", token.string.lstrip("# ")))
            elif token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                pieces.append(Piece(token.start[0], "string", python_text(token.string)))
    except (tokenize.TokenError, IndentationError) as error:
        raise SystemExit(f"check-words: not Python: {error}") from None
    return pieces


def pieces_of(path: pathlib.Path, text: str) -> list[Piece]:
    if path.suffix in MARKDOWN:
        return markdown_pieces(text)
    return c_pieces(text) if path.suffix in C else python_pieces(text)


def applies(rule: Rule, piece: Piece, path: pathlib.Path) -> bool:
    if rule.where == "help":
        return piece.kind == "string" and path.suffix in C
    if rule.where == "prose":
        return piece.kind == "prose"
    return rule.where == "all" or piece.kind != "prose"


def hits(path: pathlib.Path, rules: list[Rule]) -> list[tuple[int, str, str]]:
    """(line, found, better) of every hit in a file."""
    text = path.read_text(encoding="utf-8")
    lines = ["", *text.splitlines(), ""]
    found = set()
    # Nearly all pieces have no hit: one search for all rules is much faster than one per rule.
    any_rule = re.compile(
        "|".join(f"(?:{rule.pattern.pattern})" for rule in rules), re.IGNORECASE | re.MULTILINE
    )
    for piece in pieces_of(path, text):
        if not any_rule.search(piece.text):
            continue
        for rule in rules:
            if not applies(rule, piece, path):
                continue
            for match in rule.pattern.finditer(piece.text):
                line = min(piece.line + piece.text.count("\n", 0, match.start()), len(lines) - 2)
                if not EXEMPT.search(lines[line]) and not EXEMPT.search(lines[line - 1]):
                    found.add((line, re.sub(r"\s+", " ", match[0]), rule.better))
    return sorted(found)


def tracked(code: bool) -> list[pathlib.Path]:
    wanted = MARKDOWN | (C | PYTHON if code else set())
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        raise SystemExit(f"check-words: git: {listed.stderr.strip()}; name the files to check")
    names = listed.stdout.splitlines()
    paths = [ROOT / name for name in names if not SKIPPED.match(name)]
    return [path for path in paths if path.suffix in wanted and path.is_file()]


def folder_of(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: min(2, len(parts) - 1)]) or "."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--code", action="store_true", help="also check strings and comments")
    parser.add_argument("--count", action="store_true", help="print hits per folder only")
    parser.add_argument("--list", type=pathlib.Path, default=LIST, help="the word list")
    args = parser.parse_args()
    rules = read_rules(args.list)
    counts: collections.Counter[str] = collections.Counter()
    for path in [file.resolve() for file in args.files] or tracked(args.code):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, found, better in hits(path, rules):
            counts[folder_of(path) if path.is_relative_to(ROOT) else "."] += 1
            if not args.count:
                print(f'{name}:{line}: "{found}": {better}')
    if args.count:
        for folder, count in sorted(counts.items()):
            print(f"{count:6}  {folder}")
    if counts:
        print(f"check-words: {counts.total()} hits; see scripts/words.txt", file=sys.stderr)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
