"""Copying layers: a program with few layers becomes one with many, or is rejected."""

import copy

import pytest

from catalog.layer_names import named_by_layer
from catalog.program import Program
from catalog.repeat_layers import repeated


def stacked(layers, width=8, odd_layer=None):
    """Linear layers one after the other between a first and a last, as a stripped program."""
    program = Program()
    given = program.user_input("x", [4, width])
    given = program.linear("first", given, 4, width, width)
    for index in range(layers):
        layer = f"blocks.{index}.linear"
        given = program.linear(layer, given, 4, width, width)
        if index == odd_layer:
            given = program.node("relu.default", {"self": given}, f"relu_{index}", [4, width])
    program.output(program.linear("last", given, 4, width, 2))
    document = program.document()
    for node in document["graph_module"]["graph"]["nodes"]:
        for argument in node["inputs"]:
            del argument["kind"]
        stack = node["metadata"]["nn_module_stack"]
        node["metadata"]["nn_module_stack"] = "," + stack.rpartition(";")[2].partition(",")[2]
    return document


def renumbered(document):
    """The program with every value renamed by its order of creation."""
    text = copy.deepcopy(document)
    graph = text["graph_module"]["graph"]
    names = {}

    def name_of(value):
        return names.setdefault(value, f"v{len(names)}")

    rows = [("input", name_of(given["as_tensor"]["name"])) for given in graph["inputs"]]
    for node in graph["nodes"]:
        given = [name_of(item["arg"]["as_tensor"]["name"]) for item in node["inputs"]]
        made = [name_of(output["as_tensor"]["name"]) for output in node["outputs"]]
        rows.append((node["target"], given, made, node["metadata"]["nn_module_stack"]))
    rows.append([name_of(output["as_tensor"]["name"]) for output in graph["outputs"]])
    sizes = sorted((names[name], str(value)) for name, value in graph["tensor_values"].items())
    paths = [
        spec["parameter"]["parameter_name"]
        for spec in text["graph_module"]["signature"]["input_specs"]
        if "parameter" in spec
    ]
    return rows, sizes, paths


@pytest.mark.parametrize("layers", [4, 11, 80])
def test_copies_are_the_layers_of_a_deep_program(layers):
    made = renumbered(repeated(stacked(3), "blocks", layers))
    assert made == renumbered(stacked(layers))


def test_layers_may_take_turns():
    def alternating(layers):
        program = Program()
        given = program.user_input("x", [4, 8])
        for index in range(layers):
            given = program.linear(f"blocks.{index}.linear", given, 4, 8, 8)
            if index % 2:
                layer = (f"blocks.{index}", "test.Block")
                given = program.node("relu.default", {"self": given}, f"r{index}", [4, 8], layer)
        program.output(program.linear("last", given, 4, 8, 2))
        document = program.document()
        for node in document["graph_module"]["graph"]["nodes"]:
            for argument in node["inputs"]:
                del argument["kind"]
            stack = node["metadata"]["nn_module_stack"]
            node["metadata"]["nn_module_stack"] = "," + stack.rpartition(";")[2].partition(",")[2]
        return document

    made = renumbered(repeated(alternating(6), "blocks", 12, period=2))
    assert made == renumbered(alternating(12))
    with pytest.raises(ValueError, match="not three or more whole rounds"):
        repeated(alternating(6), "blocks", 13, period=2)
    with pytest.raises(ValueError):
        repeated(alternating(6), "blocks", 12)


def test_layers_that_differ_are_refused():
    with pytest.raises(ValueError):
        repeated(stacked(3, odd_layer=1), "blocks", 8)
    changed = stacked(3)
    changed["graph_module"]["graph"]["tensor_values"]["blocks_2_linear"]["dtype"] = 6
    with pytest.raises(ValueError, match="differ in size"):
        repeated(changed, "blocks", 8)


def test_values_are_named_by_layer():
    before = stacked(3)
    named = named_by_layer(before, "blocks")
    assert renumbered(named) == renumbered(before)
    nodes = named["graph_module"]["graph"]["nodes"]
    made = [node["outputs"][0]["as_tensor"]["name"] for node in nodes]
    assert made == ["first", *(f"l{i}_blocks_{i}_linear_0" for i in range(3)), "last"]


def test_a_name_of_a_layer_that_is_taken_is_an_error():
    program = stacked(1)
    values = program["graph_module"]["graph"]["tensor_values"]
    values["l0_blocks_0_linear_0"] = values["x"]
    with pytest.raises(ValueError, match="outside of the layers"):
        named_by_layer(program, "blocks")
