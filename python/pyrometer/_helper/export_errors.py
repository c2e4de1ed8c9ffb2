"""Reports models that cannot be exported: where, why, and what to do, in a few lines.

The command-line tool embeds this file too.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import linecache
import logging
import os
import re
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._error import Error

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

CODE_LENGTH = 120
MESSAGE_LENGTH = 300  # limit for torch's text, which may be a whole graph
NOWHERE: dict[str, Any] = {"file": None, "line": None, "function": None, "code": None}


class Broken(Exception):
    """The user's code raised, or torch cannot export it; has the place and a hint."""

    def __init__(
        self,
        stage: str,
        error: BaseException,
        hint: str = "",
        place: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{type(error).__name__}: {first_line(error)}")
        self.stage = stage
        self.error = error
        self.hint = hint
        self.place = place

    def report(self) -> dict[str, Any]:
        """The failure as a dict: message, file, line and the line's text."""
        return {
            "stage": self.stage,
            "type": type(self.error).__name__,
            "message": first_line(self.error),
            "hint": self.hint,
            **(self.place or locate(self.error)),
        }

    def as_error(self, name: str) -> Error:
        """The failure for users of the package, in one line: what failed, where, what to do."""
        report = self.report()
        what = "cannot be exported" if self.stage == "trace" else f"failed in its {self.stage}"
        code = str(report["code"])[:CODE_LENGTH]
        where = f" at {report['file']}:{report['line']} ({code})" if report["file"] else ""
        hint = f"; {report['hint']}" if report["hint"] else ""
        text = f"{name}: {what}{where}: {report['type']}: {report['message']}{hint}"
        raised = Error(text, "export", name)
        # A new exception, without torch's traceback and the graph that torch prints with it.
        raised.__cause__ = Broken(self.stage, self.error, self.hint, self.place)
        return raised


def first_line(error: BaseException) -> str:
    """The message of an exception, without the graph or traceback that torch appends."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    line = re.sub(r" in graph: .*| \(unhinted: .*", "", lines[0]).rstrip(".") if lines else ""
    return line if len(line) <= MESSAGE_LENGTH else f"{line[:MESSAGE_LENGTH]}..."


def is_own(path: str) -> bool | None:
    """Whether a file is the user's; None: neither the user's nor a package's."""
    library = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    packages = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    ours = os.path.dirname(os.path.dirname(__file__))
    if path.startswith("<") or "/torch/" in path or path.startswith(ours) or ".zip/" in path:
        return None
    if path.startswith(packages) or "site-packages" in path:
        return False
    return None if path.startswith(library) or "/python3" in path else True


def locate(error: BaseException, module: torch.nn.Module | None = None) -> dict[str, Any]:
    """The innermost line of the user's code, else of a package, in the traceback; else the first
    line of `module`'s forward()."""
    found: dict[bool, traceback.FrameSummary] = {}
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    # The first cause is the last of the chain and has the deepest frames.
    for part in reversed(chain):
        for frame in traceback.extract_tb(part.__traceback__):
            own = is_own(frame.filename)
            if own is not None:
                found[own] = frame
        if True in found:
            break
    frame = found.get(True) or found.get(False)
    if frame is None:
        return forward_of(module)
    code = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
    return {"file": frame.filename, "line": frame.lineno, "function": frame.name, "code": code}


def forward_of(module: torch.nn.Module | None) -> dict[str, Any]:
    """The place of a module's forward(), if known."""
    with contextlib.suppress(TypeError, OSError, AttributeError):
        function = inspect.unwrap(type(module).forward)
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
        if file is not None and is_own(file):
            code = linecache.getline(file, line).strip()
            return {"file": file, "line": line, "function": "forward", "code": code}
    return dict(NOWHERE)


def locate_node(program: ExportedProgram, name: str) -> dict[str, Any]:
    """The line of code that created a node of an exported graph."""
    frames = re.compile(r'File "([^"]+)", line (\d+), in (\S+)\n\s*(.*)')
    for node in program.graph.nodes:
        if node.name != name:
            continue
        found: dict[bool, dict[str, Any]] = {}
        for file, line, function, code in frames.findall(node.meta.get("stack_trace") or ""):
            own = is_own(file)
            if own is not None:
                place = {"file": file, "line": int(line), "function": function}
                found[own] = {**place, "code": code.strip()}
        return found.get(True) or found.get(False) or dict(NOWHERE)
    return dict(NOWHERE)


# Messages of torch and what to do about them; the first match counts.
_HINTS = (
    (
        r"data-dependent|DataDependent|item\(\)|Eq\(u\d",
        "this code depends on the values of a tensor, which a trace does not have: use "
        "torch.cond or torch.where, or fix the choice before tracing",
    ),
    (
        r"flex_attention",
        "torch cannot store flex_attention in an exported program: price the model with "
        "torch.nn.functional.scaled_dot_product_attention instead",
    ),
    (
        r"[Ff]ailed serializing|SerializeError|higher_order",
        "torch cannot store this operator in an exported program: replace it by operators of "
        "torch, or leave this part of the model out",
    ),
    (
        r"no fake impl|register_fake|abstract impl",
        "define what the operator returns: register a function for it with "
        "torch.library.register_fake",
    ),
    (
        r"\.numpy\(\)|numpy",
        "code outside of torch cannot be traced: write it with operators of torch, or wrap it in "
        "torch.library.custom_op with a fake",
    ),
    (
        r"not a known type|pytree",
        "return tensors, or tuples, lists and dicts of them",
    ),
    (r"ScriptModule", "pass the nn.Module that was scripted"),
    (
        r"Constraints violated|dynamic_shapes|dynamic shapes",
        "the model fixes a size that dynamic_shapes leaves open: remove it there",
    ),
    (
        r"shape|size|dimension|channels|reduction dim|must match",
        "if the input has the wrong shape, change it with inputs=, or --input-shape",
    ),
)


def hint_for(error: BaseException, module: torch.nn.Module | None = None) -> str:
    """What to do about a model that could not be exported."""
    text = f"{type(error).__name__} {error}"
    if re.search(r"required argument|positional argument|keyword argument", text):
        takes = signature_of(module)
        return f"pass the arguments of forward{takes}" if takes else "pass forward()'s arguments"
    for pattern, hint in _HINTS:
        if re.search(pattern, text):
            return hint
    return "check that the model runs with these inputs outside of pyrometer"


def signature_of(module: torch.nn.Module | None) -> str:
    """ "(x, mask)", or "" if unknown."""
    with contextlib.suppress(TypeError, ValueError, AttributeError):
        parameters = inspect.signature(module.forward).parameters.values()
        return f"({', '.join(str(part).partition(':')[0] for part in parameters)})"
    return ""


@contextlib.contextmanager
def quiet(hide_warnings: bool = False) -> Iterator[None]:
    """Suppresses torch's output about a failing trace; the exception is clearer. Prints the output
    afterwards if nothing failed."""
    printed, errors = io.StringIO(), io.StringIO()
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings() if hide_warnings else contextlib.nullcontext(),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(errors),
        ):
            if hide_warnings:
                warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
    if not hide_warnings:
        sys.stdout.write(printed.getvalue())
        sys.stderr.write(errors.getvalue())
