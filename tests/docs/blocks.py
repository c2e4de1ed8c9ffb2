"""Reads the fenced blocks, marks, links and headings of our Markdown files.

A mark is an HTML comment on the line above a block. CONTRIBUTING.md describes the marks.
"""

import pathlib
import re
import shlex
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).parents[2]
RUNNABLE = {"python", "sh", "console"}
LANGUAGES = RUNNABLE | {"text"}
FENCE = re.compile(r"^```(\S*)\s*$")
MARK = re.compile(r"^<!--\s*(not run|run)\s*(?::\s*(.*?))?\s*-->$")
LINK = re.compile(r"(?<!!)\[[^\]\[]*\]\(([^)\s]+)\)")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def documents() -> list[pathlib.Path]:
    """Every Markdown file that users and contributors read, CHANGELOG.md apart."""
    files = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    files += [ROOT / "bench/README.md", ROOT / "tests/files/README.md"]
    return files + sorted((ROOT / "docs").rglob("*.md"))


@dataclass
class Block:
    """A fenced block: its language, its text, and its mark's settings."""

    path: pathlib.Path
    line: int  # of the opening fence, from 1
    language: str
    text: str
    problem: str = ""  # of the mark
    run: bool = False
    reason: str = ""  # why it is not run
    setups: list[str] = field(default_factory=list)
    numbers_vary: bool = False
    output_varies: bool = False
    exits: tuple[int, ...] = (0,)
    lines: list[tuple[int, int]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"

    def apply_mark(self, line: str) -> None:
        match = MARK.match(line)
        if match is None:
            self.problem = "no mark: write <!-- run --> or <!-- not run: REASON --> above the block"
            return
        self.run = match[1] == "run"
        if not self.run:
            self.reason = match[2] or ""
            self.problem = "" if self.reason else "'not run' needs a reason"
            return
        for option in filter(None, re.split(r"\s*;\s*", match[2] or "")):
            self._apply(option)

    def _apply(self, option: str) -> None:
        word, _, value = option.partition(" ")
        if option == "numbers vary":
            self.numbers_vary = True
        elif option == "output varies":
            self.output_varies = True
        elif word == "after":
            self.setups += re.split(r",\s*", value)
        elif word == "exit":
            self.exits = tuple(int(code) for code in value.split(" or "))
        elif word == "lines":
            for part in re.split(r",\s*", value):
                first, _, last = part.partition("-")
                self.lines.append((int(first), int(last or first)))
        else:
            self.problem = f"unknown option of a mark: {option}"

    def commands(self) -> list[tuple[str, str | None]]:
        """Shell commands with the output shown for them; None if the block shows no output."""
        if self.language == "sh":
            lines = self.text.replace("\\\n", " ").splitlines()
            return [(line, None) for line in lines if line.strip() and not line.startswith("#")]
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return [(command, "\n".join(output)) for command, output in found]


def blocks(path: pathlib.Path) -> list[Block]:
    found: list[Block] = []
    opened: Block | None = None
    previous = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if opened is not None:
            if line == "```":
                found.append(opened)
                opened = None
            else:
                opened.text += line + "\n"
        elif fence:
            opened = Block(path, number, fence[1], "")
            if fence[1] not in LANGUAGES:
                opened.problem = f"language '{fence[1]}' is not one of {sorted(LANGUAGES)}"
            elif fence[1] in RUNNABLE:
                opened.apply_mark(previous)
        previous = line
    return found


def without_fences(text: str) -> str:
    """The text with code replaced by spaces, so that line numbers stay the same."""
    keep, inside = [], False
    for line in text.splitlines():
        is_fence = line.startswith("```")
        keep.append("" if inside or is_fence else line)
        inside ^= is_fence
    return "\n".join(keep)


def slug(heading: str) -> str:
    """The anchor that GitHub and MkDocs give a heading."""
    plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"[\s]+", "-", plain)


def anchors(path: pathlib.Path) -> set[str]:
    text = without_fences(path.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def broken_links(path: pathlib.Path) -> list[str]:
    """Relative links of a document whose file or heading is missing."""
    broken = []
    text = without_fences(path.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(re.sub(r"`[^`]*`(?!\])", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                broken.append(f"{path.relative_to(ROOT)}:{number}: {target}: no such file")
            elif anchor and anchor not in anchors(file):
                broken.append(f"{path.relative_to(ROOT)}:{number}: {target}: no such heading")
    return broken


def command_lines(path: pathlib.Path) -> list[tuple[str, str]]:
    """(place, line) of every `pyrometer ...` in inline code and in shell blocks."""
    place = str(path.relative_to(ROOT))
    text = re.sub(r"(?<=\S)\n(?=\S)", " ", without_fences(path.read_text(encoding="utf-8")))
    found = [(place, code) for code in INLINE.findall(text) if code.startswith("pyrometer ")]
    for block in blocks(path):
        if block.language in ("sh", "console"):
            found += [
                (block.place, line) for line, _ in block.commands() if line.startswith("pyrometer ")
            ]
    return found


def options_of(line: str) -> tuple[str, list[str]]:
    """The command of a `pyrometer` line and its long options."""
    words = shlex.split(re.split(r"\s[|>]\s?", line)[0], comments=True)[1:]
    command = words[0] if words else ""
    options = []
    for word in words[1:]:
        if command in ("run", "python") and word.endswith(".py"):
            break
        if word.startswith("--"):
            options.append(word[2:].partition("=")[0])
    return command, options
