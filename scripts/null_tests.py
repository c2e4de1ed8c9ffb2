#!/usr/bin/env python3
"""Checks how C files test pointers: `!p` and `p`, not `p == NULL` and `p != NULL`.

`p != NULL` is allowed where the truth value is stored, returned or passed on. `null_tests.py
FILE...` lists violations and exits with 1; `null_tests.py --fix FILE...` rewrites them.
"""

import pathlib
import re
import sys
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<space>\s+|\\\n)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d[\w.]*(?:[eEpP][+-]\w+)?)
      | (?P<sign>->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||\.\.\.|\#\#|.)""",
    re.VERBOSE | re.DOTALL,
)
CLOSERS = {")": "(", "]": "["}
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "else", "do", "case"}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Edit(NamedTuple):
    """Puts `prefix` before the operand and removes from the operand's end to `end`."""

    start: int
    operand_end: int
    end: int
    prefix: str


def tokenize(source: str) -> list[Token]:
    found = (
        Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in TOKEN.finditer(source)
    )
    return [token for token in found if token.kind not in ("space", "comment")]


def opening(tokens: list[Token], closer: int) -> int:
    """Index of the opening bracket of a closing one."""
    depth = 0
    for i in range(closer, -1, -1):
        if tokens[i].text in CLOSERS:
            depth += 1
        elif tokens[i].text in CLOSERS.values():
            depth -= 1
        if depth == 0:
            return i
    return 0


def closing(tokens: list[Token], opener: int) -> int:
    depth = 0
    for i in range(opener, len(tokens)):
        if tokens[i].text in CLOSERS.values():
            depth += 1
        elif tokens[i].text in CLOSERS:
            depth -= 1
        if depth == 0:
            return i
    return len(tokens) - 1


def ends_operand(token: Token) -> bool:
    return (
        token.text in CLOSERS
        or token.kind in ("number", "text")
        or (token.kind == "word" and token.text not in KEYWORDS)
    )


def operand_start(tokens: list[Token], last: int) -> int:
    """Index of the first token of the unary expression that ends at `last`."""
    i = last
    while True:
        if tokens[i].text in CLOSERS:
            i = opening(tokens, i)
            before = tokens[i - 1]
            if before.text in CLOSERS or (before.kind == "word" and before.text not in KEYWORDS):
                i -= 1  # a call or an index
                continue
        if tokens[i - 1].text in ("->", "."):
            i -= 2
            continue
        break
    while i > 0:
        before = tokens[i - 1]
        if before.text in ("*", "&", "-", "!", "~") and not ends_operand(tokens[i - 2]):
            i -= 1
        elif before.text == ")" and tokens[opening(tokens, i - 1) - 1].text not in KEYWORDS:
            i = opening(tokens, i - 1)  # a cast
        else:
            break
    return i


def is_condition(tokens: list[Token], before: int, after: int) -> bool:
    """Whether the expression between the two tokens is used only as a condition."""
    left, right = tokens[before].text, tokens[after].text
    if left in ("&&", "||") or right in ("&&", "||", "?"):
        return True
    if left == "(" and right == ")" and tokens[before - 1].text in ("if", "while"):
        return closing(tokens, before) == after
    return left == right == ";" and is_loop_header(tokens, before)


def is_loop_header(tokens: list[Token], semicolon: int) -> bool:
    depth = 0
    for i in range(semicolon, 0, -1):
        depth += (tokens[i].text == ")") - (tokens[i].text == "(")
        if depth < 0:
            return tokens[i - 1].text == "for"
        if tokens[i].text in "{}":
            return False
    return False


def find_edits(source: str) -> list[Edit]:
    tokens = tokenize(source)
    edits = []
    for i in range(2, len(tokens) - 1):
        sign, null = tokens[i - 1].text, tokens[i]
        if null.text != "NULL" or sign not in ("==", "!="):
            continue
        first = operand_start(tokens, i - 2)
        if sign == "!=" and not is_condition(tokens, first - 1, i + 1):
            continue
        prefix = "!" if sign == "==" else ""
        edits.append(Edit(tokens[first].start, tokens[i - 2].end, null.end, prefix))
    return edits


def rewrite(source: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, reverse=True):
        operand = source[edit.start : edit.operand_end]
        source = source[: edit.start] + edit.prefix + operand + source[edit.end :]
    return source


def main(arguments: list[str]) -> int:
    fixes = arguments[:1] == ["--fix"]
    failed = False
    for path in map(pathlib.Path, arguments[1 if fixes else 0 :]):
        source = path.read_text()
        edits = find_edits(source)
        if fixes:
            while edits:
                source = rewrite(source, edits[-1:])
                edits = find_edits(source)
                path.write_text(source)
            continue
        for edit in edits:
            line = source.count("\n", 0, edit.start) + 1
            operand = " ".join(source[edit.start : edit.operand_end].split())
            print(f"{path}:{line}: test this pointer as `{edit.prefix}{operand}`")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
