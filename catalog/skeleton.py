"""Builds weightless skeletons: exported programs stripped to what the cost model needs.

The same program always gives the same bytes: members are sorted, time stamps are fixed, and nothing
machine-specific (paths, source lines, stack traces) is kept.
"""

import json
import re
import zipfile
from collections.abc import Sequence
from typing import Any

# Runtime checks have no cost, but contain most of the symbolic expressions of some models.
_CHECKS = (
    "torch.ops.aten._assert_scalar.default",
    "torch.ops.aten._assert_tensor_metadata.default",
)
_SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")
_INTEGER = re.compile(r"Integer\((-?\d+)\)")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def short_expression(expression: str) -> str:
    """Shortens sympy's "Add(Symbol('s0', integer=True), Integer(1))" to "Add(s0,1)"."""
    expression = _SYMBOL.sub(r"\1", expression)
    expression = _INTEGER.sub(r"\1", expression)
    return expression.replace("torch.utils._sympy.functions.", "").replace(", ", ",")


def _strip_value(value: Any) -> Any:
    """Shortens the expressions and strips the subgraphs anywhere inside a value."""
    if isinstance(value, list):
        return [_strip_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "expr_str" in value:
        kept = {"expr_str": short_expression(value["expr_str"])}
        if value.get("hint") is not None:
            kept["hint"] = value["hint"]
        return kept
    if "nodes" in value and "tensor_values" in value:
        return _strip_graph(value)
    return {key: _strip_value(item) for key, item in value.items()}


def _short_stack(stack: str) -> str:
    """Removes the keys from "key,path,class;...", because they repeat the paths."""
    modules = [module for module in stack.split(";") if not module.startswith("_empty_nn_module")]
    return ";".join("," + module.partition(",")[2] for module in modules)


def _strip_node(node: dict) -> dict:
    stack = _short_stack(node["metadata"].get("nn_module_stack") or "")
    return {
        "target": node["target"],
        "inputs": [
            {"name": item["name"], "arg": _strip_value(item["arg"])} for item in node["inputs"]
        ],
        "outputs": _strip_value(node["outputs"]),
        "metadata": {"nn_module_stack": stack} if stack.strip(",") else {},
    }


def _strip_graph(graph: dict) -> dict:
    nodes = [node for node in graph["nodes"] if node["target"] not in _CHECKS]
    stripped = {
        "inputs": graph["inputs"],
        "outputs": graph["outputs"],
        "nodes": [_strip_node(node) for node in nodes],
        "tensor_values": {
            name: {"dtype": meta["dtype"], "sizes": _strip_value(meta["sizes"])}
            for name, meta in graph["tensor_values"].items()
        },
    }
    for optional in ("sym_int_values", "sym_float_values", "sym_bool_values"):
        if graph.get(optional):
            stripped[optional] = _strip_value(graph[optional])
    return stripped


def shorten_stacks(graph: dict) -> None:
    """Removes from each stack the modules that an earlier one contains, except the innermost."""
    seen: set[str] = set()
    for node in graph["nodes"]:
        stack = node["metadata"].get("nn_module_stack")
        if stack:
            modules = stack.split(";")
            kept = [module for module in modules[:-1] if module not in seen]
            seen.update(modules)
            node["metadata"]["nn_module_stack"] = ";".join([*kept, modules[-1]])


def strip_program(program: dict, conditions: Sequence[str] = ()) -> dict:
    """The program's JSON with the same schema, fewer fields, and the conditions on its sizes."""
    module = program["graph_module"]
    stripped = {
        "graph_module": {
            "graph": _strip_graph(module["graph"]),
            "signature": {"input_specs": module["signature"]["input_specs"]},
        },
        "range_constraints": program["range_constraints"],
        "schema_version": program["schema_version"],
        "torch_version": program["torch_version"].partition("+")[0],
    }
    shorten_stacks(stripped["graph_module"]["graph"])
    if conditions:
        stripped["guards_code"] = list(conditions)
    return stripped


def compact_json(value: Any) -> bytes:
    """JSON without spaces, in the given order."""
    return json.dumps(value, separators=(",", ":")).encode()


def write_archive(path: str, members: dict[str, bytes], stored: bool = False) -> None:
    """Writes a zip, deflated unless `stored`, whose bytes depend only on the members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name], compresslevel=9)


def members(name: str, stripped: dict, extra: dict) -> dict[str, bytes]:
    """The files in the skeleton of one stripped program, with Pyrometer's metadata."""
    return {
        "archive_format": b"pt2",
        "archive_version": b"0",
        "byteorder": b"little",
        "extra/pyrometer.json": compact_json(extra),
        f"models/{name}.json": compact_json(stripped),
    }
