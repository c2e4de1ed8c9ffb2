"""Exports an entry with torch.export, for the catalog and the test zoo."""

import warnings

import torch

from catalog.entry import Entry


def export_program(
    entry: Entry, module: torch.nn.Module, static: bool = False
) -> torch.export.ExportedProgram:
    """Exports an entry's module; `static` fixes every size at its default."""
    fixed = static or not entry.is_dynamic()
    args, kwargs = entry.example("default" if fixed else "export")
    dynamic_shapes = None if fixed else entry.dynamic_shapes()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(
            module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
        )


def default_shapes(entry: Entry, program: torch.export.ExportedProgram) -> dict[str, list[int]]:
    """Each input of the program with its default shape for cost reports."""
    names = [name for name in program.graph_signature.user_inputs if isinstance(name, str)]
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    tensors = [name for name in names if isinstance(values[name], torch.Tensor)]
    return {name: list(given.shape) for name, given in zip(tensors, entry.inputs(), strict=True)}
