"""Extracts the conditions on input sizes from an exported program.

Tracing follows one branch of every test of a size, and export keeps the conditions as guards. Sizes
that violate one would run other operators, so a skeleton stores them.
"""

from collections.abc import Iterator

import sympy
import torch

from catalog.skeleton import short_expression


def _symbolic_sizes(program: torch.export.ExportedProgram) -> Iterator[torch.SymInt]:
    for node in program.graph.nodes:
        value = node.meta.get("val")
        for size in value.shape if isinstance(value, torch.Tensor) else ():
            if isinstance(size, torch.SymInt):
                yield size


def _is_about_layout(condition: sympy.Basic) -> bool:
    """Whether a condition only excludes 0 or 1, which affects memory layout but not cost."""
    return isinstance(condition, sympy.Ne) and condition.rhs in (0, 1)


def conditions(program: torch.export.ExportedProgram) -> list[str]:
    """The guards of a program as expressions of its symbols."""
    size = next(_symbolic_sizes(program), None)
    if size is None:
        return []
    environment = size.node.shape_env
    kept: dict[str, None] = {}
    for guard in environment.guards:
        condition = environment.simplify(guard.expr)
        if condition != sympy.true and not _is_about_layout(condition):
            kept[short_expression(sympy.srepr(condition))] = None
    return list(kept)
