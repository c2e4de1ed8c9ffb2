"""Converts a live nn.Module to the bytes of a .pt2 archive without weights, in memory."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._error import Error
from .export_errors import Broken, hint_for, locate, locate_node, quiet

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


class LiveModel(NamedTuple):
    """A module's archive for the library, and facts that only the module knows."""

    archive: bytes
    label: str
    uncalled_modules: frozenset[str]


EXPORTED = "ExportedProgram"


def is_live(model: object) -> bool:
    """Whether this is a module or an exported program; does not import torch."""
    return any(
        (base.__module__, base.__qualname__) == ("torch.nn.modules.module", "Module")
        or (base.__module__, base.__qualname__) == ("torch.export.exported_program", EXPORTED)
        for base in type(model).__mro__
    )


def read_live(
    model: torch.nn.Module | ExportedProgram,
    inputs: Any,
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    strict: bool,
) -> LiveModel:
    """Exports a module as it is; its mode, weights and hooks stay unchanged."""
    if type(model).__name__ == EXPORTED:
        if inputs is not None or kwargs is not None or dynamic_shapes is not None:
            raise ValueError("an exported program already has its inputs; do not pass inputs")
        try:
            archive = write_archive(model, "ExportedProgram", {})
        except Broken as broken:
            failed = broken.as_error("the exported program")
            raise failed from failed.__cause__
        return LiveModel(archive, "ExportedProgram", frozenset())
    # torch.compile() returns a wrapper; the layers are those of the module inside.
    model = getattr(model, "_orig_mod", model)
    label = type(model).__name__
    args, keywords = as_call(model, inputs, kwargs)
    # Strict export compiles the model and does not support hooks.
    watching = contextlib.nullcontext() if strict else watch_calls(model)
    try:
        with watching as called, slow_attention_path(), quiet():
            program = export(model, args, keywords, dynamic_shapes, strict)
            archive = write_archive(program, label, tied_parameters(model))
    except Broken as broken:
        failed = broken.as_error(label)
        raise failed from failed.__cause__
    if called is None:
        called = modules_of_nodes(model, program)
    uncalled = {
        name
        for name, module in model.named_modules()
        if name and id(module) not in called and has_forward(module)
    }
    return LiveModel(archive, label, frozenset(uncalled))


def as_call(
    model: torch.nn.Module, inputs: Any, kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments of the call that is exported."""
    keywords = dict(kwargs or {})
    if inputs is None:
        if not keywords:
            raise ValueError(
                f"exporting a {type(model).__name__} requires example inputs: pass inputs=, "
                "a tensor, a tuple of tensors, or a dict by name"
            )
        return (), keywords
    if isinstance(inputs, Mapping):
        return (), {**inputs, **keywords}
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), keywords
    return (inputs,), keywords


def export(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    strict: bool,
) -> ExportedProgram:
    import torch

    name = type(model).__name__
    if not hasattr(torch, "export") or not hasattr(torch.export, "export"):
        raise Error(f"{name}: torch {torch.__version__} has no torch.export; install torch 2.4")
    try:
        return torch.export.export(
            model, args, kwargs or None, dynamic_shapes=dynamic_shapes, strict=strict
        )
    except Exception as error:
        raise Broken("trace", error, hint_for(error, model), locate(error, model)) from error


@contextlib.contextmanager
def watch_calls(model: torch.nn.Module) -> Iterator[set[int]]:
    """Collects the ids of the called modules. Uses torch's global hook, because a hook on the model
    itself would change the model."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    ids = {id(module) for module in model.modules()}
    called: set[int] = set()

    def note(module: torch.nn.Module, args: Any) -> None:
        if id(module) in ids:
            called.add(id(module))

    handle = register_module_forward_pre_hook(note)
    try:
        yield called
    finally:
        handle.remove()


def modules_of_nodes(model: torch.nn.Module, program: ExportedProgram) -> set[int]:
    """The ids of the modules with an operator in the graph."""
    modules = dict(model.named_modules())
    stacks = (node.meta.get("nn_module_stack", {}) for node in program.graph.nodes)
    paths = {path for stack in stacks for path, _ in stack.values()}
    return {id(modules[path]) for path in paths if path in modules}


@contextlib.contextmanager
def slow_attention_path() -> Iterator[None]:
    """Makes torch's Transformer layers run as their submodules, not as one fused operator, which
    hides their layers."""
    from torch.backends import mha

    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)


def has_forward(module: torch.nn.Module) -> bool:
    """False for containers such as ModuleList, which are never called."""
    return getattr(type(module).forward, "__name__", "") != "_forward_unimplemented"


def tied_parameters(model: torch.nn.Module) -> dict[str, str]:
    """Maps each parameter that shares memory with an earlier one to the earlier one's name."""
    first_names: dict[Any, str] = {}
    ties: dict[str, str] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first = first_names.setdefault(memory_of(parameter), name)
        if first != name:
            ties[name] = first
    return ties


def memory_of(parameter: torch.Tensor) -> Any:
    """An id of the memory that tied weights share. It is the address of the storage, not of the
    data, since storages on the meta device have no data."""
    try:
        storage = parameter.untyped_storage()._cdata
        return storage, parameter.storage_offset(), parameter.numel()
    except (AttributeError, NotImplementedError, RuntimeError):
        return id(parameter)


def write_archive(
    program: ExportedProgram,
    label: str,
    ties: dict[str, str],
    default_shapes: dict[str, list[int]] | None = None,
) -> bytes:
    """The archive in the layout of torch >= 2.8, with additional data for the library."""
    extra: dict[str, Any] = {"name": label, "display_name": label, "ties": ties}
    if default_shapes:
        extra["default_shapes"] = default_shapes
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("models/model.json", program_json(program))
        archive.writestr("extra/pyrometer.json", json.dumps(extra))
    return buffer.getvalue()


def program_json(program: ExportedProgram) -> bytes:
    """The graph as torch.export.save() writes it, if possible without the copy of all weights that
    saving makes."""
    try:
        try:
            return graph_json(program)
        except (ImportError, AttributeError, TypeError):
            return saved_json(program)
    except Error:
        raise
    except Exception as error:
        node = re.search(r"serializing node (\w+)", str(error))
        place = locate_node(program, node.group(1)) if node else None
        raise Broken("trace", error, hint_for(error), place) from error


def graph_json(program: ExportedProgram) -> bytes:
    """Calls torch's private writer of graphs; saved_json() is the fallback.

    The calls of modules are left out: the library does not read them, and torch cannot write those
    whose result is a named tuple such as torch.return_types.max.
    """
    import torch
    from torch._export.serde import schema, serialize

    graph = serialize.GraphModuleSerializer(program.graph_signature, []).serialize(
        program.graph_module
    )
    major, minor = schema.SCHEMA_VERSION
    whole = {
        "graph_module": graph,
        "range_constraints": serialize.serialize_range_constraints(program.range_constraints),
        "guards_code": list(getattr(program, "_guards_code", None) or []),
        "schema_version": {"major": major, "minor": minor},
        "torch_version": str(torch.__version__),
    }
    return json.dumps(serialize._dataclass_to_dict(whole), cls=serialize.EnumEncoder).encode()


def saved_json(program: ExportedProgram) -> bytes:
    """Saves the whole program in memory, weights included, and extracts the graph."""
    import torch

    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    with zipfile.ZipFile(buffer) as archive:
        for name in archive.namelist():
            if name.endswith(("models/model.json", "serialized_exported_program.json")):
                return archive.read(name)
    raise Error(f"torch {torch.__version__} saves programs in an unknown format")
