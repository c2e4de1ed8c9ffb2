"""Runs the blocks of documents in order. test_docs.py calls it once, so that torch loads once.

python run_blocks.py TOOL FOLDER RESULTS.json [--update] [DOCUMENT...]

Each document has its own folder and Python namespace. --update writes the actual output into
the documents.
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from blocks import ROOT, Block, blocks, documents

SETUPS = pathlib.Path(__file__).parent / "setups"
LIMIT_S = 600
UNITS = r"(?:\s?(?:ns|us|ms|s|B|KiB|MiB|GiB|k|M|G|T)\b)?"


def mask(text: str) -> list[str]:
    """The lines with numbers, units, spaces and rules normalized."""
    text = re.sub(r"<?[-+]?\d[\d,.]*" + UNITS + "%?", "#", text)
    text = re.sub(r"(?<!\S)-(?!\S)", "#", text)  # an unknown number in this run
    text = re.sub(r"[-#─]{2,}", "--", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def is_same(shown: str, real: str, numbers_vary: bool) -> bool:
    """If numbers vary, ignores row order and line breaks, which depend on them."""
    if not numbers_vary:
        return shown.rstrip() == real
    lines, other_lines = mask(shown.rstrip()), mask(real)
    return sorted(lines) == sorted(other_lines) or " ".join(lines) == " ".join(other_lines)


def select(text: str, ranges: list[tuple[int, int]]) -> str:
    """The chosen lines, counted from 1, with `...` in place of omitted ones."""
    lines = text.rstrip("\n").splitlines()
    if not ranges:
        return "\n".join(lines)
    shown, end = [], 0
    for first, last in ranges:
        if first > end + 1:
            shown.append("...")
        shown += lines[first - 1 : last]
        end = last
    return "\n".join([*shown, "..."] if end < len(lines) else shown)


class Runner:
    def __init__(self, tool: str, folder: pathlib.Path, update: bool) -> None:
        self.folder, self.update = folder, update
        programs = folder / "bin"
        programs.mkdir(parents=True)
        (programs / "pyrometer").symlink_to(pathlib.Path(tool).resolve())
        os.environ["PATH"] = os.pathsep.join(
            [str(programs), os.path.dirname(sys.executable), os.environ["PATH"]]
        )
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "COLUMNS", "PYROMETER"):
            os.environ.pop(name, None)

    def document(self, path: pathlib.Path) -> tuple[list[str], int]:
        """Problems of a document, and the number of blocks that ran."""
        problems, ran = [], 0
        folder = self.folder / path.relative_to(ROOT).with_suffix("")
        folder.mkdir(parents=True)
        os.chdir(folder)
        names: dict = {"__name__": "__main__"}
        done: set[str] = set()
        for block in blocks(path):
            if block.problem:
                problems.append(f"{block.place}: {block.problem}")
                continue
            try:
                if block.run:
                    self.prepare(block, names, done)
                    self.block(block, names)
                    ran += 1
                elif block.language == "python":
                    compile(block.text, block.place, "exec")
            except (Exception, SystemExit) as error:
                text = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
                problems.append(f"{block.place}: {text}")
        return problems, ran

    def prepare(self, block: Block, names: dict, done: set[str]) -> None:
        for setup in block.setups:
            if setup not in done:
                done.add(setup)
                path = SETUPS / f"{setup}.py"
                exec(compile(path.read_text(), str(path), "exec"), {**names, "names": names})

    def block(self, block: Block, names: dict) -> None:
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, block.place, "exec"), names)
            return
        for command, shown in block.commands():
            result = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, timeout=LIMIT_S
            )
            assert result.returncode in block.exits, (
                f"`{command}` exited with {result.returncode}\n{result.stdout}{result.stderr}"
            )
            if shown is not None and not block.output_varies:
                self.compare(block, command, shown, select(result.stdout, block.lines))

    def compare(self, block: Block, command: str, shown: str, real: str) -> None:
        if is_same(shown, real, block.numbers_vary):
            return
        if self.update:
            text = block.path.read_text()
            old, new = f"$ {command}\n{shown}\n```", f"$ {command}\n{real}\n```"
            if old not in text:
                old, new = f"$ {command}\n```", f"$ {command}\n{real}\n```"
            assert text.count(old) == 1, f"`{command}` cannot be updated"
            block.path.write_text(text.replace(old, new))
            return
        raise AssertionError(f"`{command}` prints\n{real}\nand not\n{shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("documents", nargs="*", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--update", action="store_true")
    args = parser.parse_intermixed_args()
    results_path = args.results.resolve()
    runner = Runner(args.tool, args.folder.resolve(), args.update)
    results = {}
    for path in args.documents or documents():
        begin = time.perf_counter()
        problems, ran = runner.document(path)
        results[str(path.relative_to(ROOT))] = {"problems": problems, "ran": ran}
        print(f"{path.relative_to(ROOT)}: {ran} blocks, {time.perf_counter() - begin:.1f} s")
        for problem in problems:
            print(problem)
    results_path.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
