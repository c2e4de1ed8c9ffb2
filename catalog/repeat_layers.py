"""Builds the program of a deep model from that of a shallow one.

The layers of a language model are alike, and tracing eighty of them takes minutes. So a program
with few layers is traced, its layers are compared node by node, and the last are copied. If several
kinds of layers alternate, a unit is one round of them.
"""

import copy
import re
from typing import Any

VALUES = ("tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values")


def renamed(value: Any, names: dict[str, str]) -> Any:
    """A value of a program with the names of tensors and sizes replaced."""
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: names.get(item, item)
        if key in ("name", "as_name") and isinstance(item, str)
        else renamed(item, names)
        for key, item in value.items()
    }


def outputs_of(node: dict) -> list[str]:
    """The names of a node's outputs."""
    found = []

    def visit(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                visit(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                if key in ("name", "as_name") and isinstance(item, str):
                    found.append(item)
                else:
                    visit(item)

    visit(node["outputs"])
    return found


class _Repeater:
    """Repeats the layers of one program; a unit is a round of `period` layers."""

    def __init__(self, program: dict, prefix: str, first: int, period: int):
        self.program = copy.deepcopy(program)
        self.graph = self.program["graph_module"]["graph"]
        self.specs = self.program["graph_module"]["signature"]["input_specs"]
        self.prefix, self.first, self.period = prefix, first, period
        self.path = re.compile(rf"(?<![\w.]){re.escape(prefix)}\.(\d+)(?![\w])")

    def layer_of(self, text: str) -> int | None:
        found = self.path.search(text)
        return int(found[1]) if found else None

    def shifted(self, text: str, by: int) -> str:
        return self.path.sub(lambda found: f"{self.prefix}.{int(found[1]) + by}", text)

    def unit_of(self, layer: int | None) -> int | None:
        if layer is None or layer < self.first:
            return None
        return (layer - self.first) // self.period

    def spec_path(self, spec: dict) -> str:
        """The path that assigns an input to a layer: a weight's path, or a cache's number."""
        kind, body = next(iter(spec.items()))
        if kind == "user_input":
            name = body["arg"].get("as_tensor", {}).get("name", "")
            found = re.fullmatch(r"(past_keys|past_values)_(\d+)", name)
            return f"{self.prefix}.{found[2]}" if found else ""
        return body.get(f"{kind}_name") or body.get("tensor_constant_name") or ""

    def spec_name(self, spec: dict) -> str:
        body = next(iter(spec.values()))
        argument = body["arg"]
        return (argument.get("as_tensor") or argument).get("name", "")

    def node_units(self) -> list[int | None]:
        stacks = [node["metadata"].get("nn_module_stack", "") for node in self.graph["nodes"]]
        return [self.unit_of(self.layer_of(stack)) for stack in stacks]

    def segments(self) -> tuple[int, int, int]:
        """Node indices at which the second unit, the third unit and the rest begin."""
        units = self.node_units()
        second, third = units.index(1), units.index(2)
        end = len(units) - units[::-1].index(2)
        if any(unit not in (1, None) for unit in units[second:third]) or any(
            unit not in (2, None) for unit in units[third:end]
        ):
            raise ValueError("the nodes of different layers are interleaved")
        return second, third, end

    def node_shifted(self, node: dict, names: dict[str, str], by: int) -> dict:
        stack = node["metadata"].get("nn_module_stack")
        return {
            "target": node["target"],
            "inputs": [
                {"name": given["name"], "arg": renamed(given["arg"], names)}
                for given in node["inputs"]
            ],
            "outputs": renamed(node["outputs"], names),
            "metadata": {"nn_module_stack": self.shifted(stack, by)} if stack else {},
        }

    def inputs_of_unit(self, unit: int) -> list[int]:
        return [
            index
            for index, spec in enumerate(self.specs)
            if self.unit_of(self.layer_of(self.spec_path(spec))) == unit
        ]

    def unit_names(self, unit: int, begin: int, end: int) -> list[str]:
        """The names of a unit's values: outputs of its nodes, then its weights and cache."""
        made = [name for node in self.graph["nodes"][begin:end] for name in outputs_of(node)]
        return made + [self.spec_name(self.specs[index]) for index in self.inputs_of_unit(unit)]

    def is_same_name(self, one: str, other: str, moved: dict[str, str]) -> bool:
        """Whether a name in the second unit corresponds to the other name in the third.

        Both may name a value of their own unit, of the unit before, or one that all layers share.
        """
        if one in moved:
            return moved[one] == other
        if other in moved:
            return self.sizes(one) == self.sizes(other)
        return one == other

    def is_same(self, one: Any, other: Any, moved: dict[str, str]) -> bool:
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(
                self.is_same(*pair, moved) for pair in zip(one, other, strict=True)
            )
        if not isinstance(one, dict) or not isinstance(other, dict):
            return one == other
        return list(one) == list(other) and all(
            self.is_same_name(value, other[key], moved)
            if key in ("name", "as_name") and isinstance(value, str)
            else self.is_same(value, other[key], moved)
            for key, value in one.items()
        )

    def sizes(self, name: str) -> list[Any]:
        return [self.graph.get(kind, {}).get(name) for kind in VALUES]

    def check_alike(self, second: list[str], third: list[str], spans: tuple[int, int, int]) -> None:
        """The third unit must be the second, moved on by one unit."""
        begin, middle, end = spans
        if len(second) != len(third) or middle - begin != end - middle:
            raise ValueError("the layers have different numbers of values")
        moved = dict(zip(second, third, strict=True))
        nodes = self.graph["nodes"]
        for node, other in zip(nodes[begin:middle], nodes[middle:end], strict=True):
            arguments = [given["arg"] for given in node["inputs"]]
            others = [given["arg"] for given in other["inputs"]]
            stack = node["metadata"].get("nn_module_stack", "")
            if (
                node["target"] != other["target"]
                or self.shifted(stack, self.period) != other["metadata"].get("nn_module_stack", "")
                or [given["name"] for given in node["inputs"]]
                != [given["name"] for given in other["inputs"]]
                or not self.is_same(arguments, others, moved)
                or not self.is_same(node["outputs"], other["outputs"], moved)
            ):
                raise ValueError(f"the layers differ in {other['target']}")
        for one, other in moved.items():
            if self.sizes(one) != self.sizes(other):
                raise ValueError(f"{one} and {other} differ in size")

    def add_spec(self, index: int, names: dict[str, str], by: int) -> tuple[dict, dict]:
        """The input of a weight or of a cache, shifted by `by` layers."""
        kind, body = next(iter(self.specs[index].items()))
        moved = {key: value for key, value in body.items() if key != "arg"}
        for key, value in moved.items():
            if key.endswith("_name") and isinstance(value, str):
                moved[key] = self.shifted(value, by)
        moved = {"arg": renamed(body["arg"], names), **moved}
        return {kind: moved}, renamed(self.graph["inputs"][index], names)

    def names_of(self, third: list[str], unit: int) -> dict[str, str]:
        """Names of the third unit's values in a later unit."""
        by = (unit - 2) * self.period
        names = {}
        for name in third:
            found = re.fullmatch(r"(past_keys|past_values)_(\d+)", name)
            names[name] = f"{found[1]}_{int(found[2]) + by}" if found else f"u{unit}_{name}"
        return names

    def repeat(self, layers: int) -> dict:
        units, rest = divmod(layers - self.first, self.period)
        if rest or units < 3:
            raise ValueError(f"{layers} layers are not three or more whole rounds of {self.period}")
        begin, middle, end = self.segments()
        second = self.unit_names(1, begin, middle)
        third = self.unit_names(2, middle, end)
        self.check_alike(second, third, (begin, middle, end))
        template = self.graph["nodes"][middle:end]
        nodes = self.graph["nodes"][:end]
        previous = dict(zip(second, third, strict=True))
        inputs: dict[int, list[tuple[dict, dict]]] = {}
        for unit in range(3, units):
            current = self.names_of(third, unit)
            names = {**previous, **current}
            by = (unit - 2) * self.period
            nodes += [self.node_shifted(node, names, by) for node in template]
            for index in self.inputs_of_unit(2):
                inputs.setdefault(index, []).append(self.add_spec(index, current, by))
            for kind in VALUES:
                values = self.graph.get(kind, {})
                values.update({new: values[old] for old, new in current.items() if old in values})
            previous = dict(zip(second, current.values(), strict=True))
        last = dict(zip(third, previous.values(), strict=True))
        tail = [self.node_shifted(node, last, 0) for node in self.graph["nodes"][end:]]
        self.graph["nodes"] = nodes + tail
        self.graph["outputs"] = renamed(self.graph["outputs"], last)
        self.insert_inputs(inputs)
        return self.program

    def insert_inputs(self, added: dict[int, list[tuple[dict, dict]]]) -> None:
        """Inserts the new inputs after those of the third unit, unit by unit."""
        specs, inputs = [], []
        run: list[int] = []
        for index, (spec, given) in enumerate(zip(self.specs, self.graph["inputs"], strict=True)):
            specs.append(spec)
            inputs.append(given)
            if index in added:
                run.append(index)
            if run and index + 1 not in added:
                for unit in zip(*(added[member] for member in run), strict=True):
                    specs += [pair[0] for pair in unit]
                    inputs += [pair[1] for pair in unit]
                run = []
        self.program["graph_module"]["signature"]["input_specs"] = specs
        self.graph["inputs"] = inputs


def repeated(program: dict, prefix: str, layers: int, first: int = 0, period: int = 1) -> dict:
    """A stripped program with `layers` layers, made from one with `first` + 3 * `period`.

    `prefix` is the path of the list of layers. Raises ValueError if the layers differ.
    """
    return _Repeater(program, prefix, first, period).repeat(layers)
