"""Names the values of a program by layer, so that equal layers have nearly equal texts.

Export numbers the values of all layers in one sequence, and texts without equal parts compress
badly. Used where layers differ too much to be copied (repeat_layers.py).
"""

import collections
import copy
import re

from catalog.repeat_layers import VALUES, outputs_of, renamed

_NUMBER = re.compile(r"_\d+$")


def _names(nodes: list[dict], prefix: str) -> dict[str, str]:
    """New names of the values that nodes in layers compute."""
    path = re.compile(rf"(?<![\w.]){re.escape(prefix)}\.(\d+)(?!\w)")
    counts: collections.Counter = collections.Counter()
    names: dict[str, str] = {}
    for node in nodes:
        layer = path.search(node["metadata"].get("nn_module_stack", ""))
        for name in outputs_of(node) if layer else ():
            stem = f"l{layer[1]}_{_NUMBER.sub('', name)}"
            names[name] = f"{stem}_{counts[stem]}"
            counts[stem] += 1
    return names


def named_by_layer(program: dict, prefix: str) -> dict:
    """A stripped program with values numbered per layer; `prefix` is the path of its layers."""
    program = copy.deepcopy(program)
    graph = program["graph_module"]["graph"]
    names = _names(graph["nodes"], prefix)
    taken = {name for kind in VALUES for name in graph.get(kind, {})} - set(names)
    if taken & set(names.values()):
        raise ValueError("a value outside of the layers has the name of one inside")
    for node in graph["nodes"]:
        node["inputs"] = [
            {"name": given["name"], "arg": renamed(given["arg"], names)} for given in node["inputs"]
        ]
        node["outputs"] = renamed(node["outputs"], names)
    graph["outputs"] = renamed(graph["outputs"], names)
    for kind in VALUES:
        if kind in graph:
            graph[kind] = {names.get(name, name): value for name, value in graph[kind].items()}
    return program
