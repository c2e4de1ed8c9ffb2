"""docs/reference/conventions.md agrees with the table of operators, also on those that are free."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[3]
SHAPE = r"(?:,\s+SHAPE\((\w+)\))?"
ARGUMENTS = r'(?:,\s+ARGUMENTS\((?:"[\w ]+"\s*)+\))?'
ROW = re.compile(
    rf'^OP\("([^"]+)", "([^"]+)", ([A-Z]+),\s+(\w+), (\d+){SHAPE}{ARGUMENTS}\)$', re.MULTILINE
)
RULE = re.compile(r"^RULE\((\w+), (\w+)\)", re.MULTILINE)
FREE = ("VIEW", "SCALAR")


def rows(table: str = "ops") -> list[tuple[str, str, str, str, str, str]]:
    """Name, label, category, rule, factor and shape (or "") of every row."""
    text = (ROOT / f"src/graph/{table}.def").read_text()
    found = ROW.findall(text)
    assert len(found) == text.count("\nOP("), "a row that this test cannot read"
    return found


def table() -> list[tuple[str, str, str, str, str]]:
    """Name, label, category, rule and factor of every row."""
    return [row[:5] for row in rows()]


def documented() -> list[str]:
    text = (ROOT / "docs/reference/conventions.md").read_text()
    begin, end = (f"<!-- zero-cost operators: {mark} -->" for mark in ("begin", "end"))
    assert text.count(begin) == text.count(end) == 1
    listed = text.partition(begin)[2].partition(end)[0]
    # Names in the prose between the lists are examples; lines of a list contain only names.
    lines = [line for line in listed.splitlines() if re.fullmatch(r"(`[\w.]+` ?)+", line)]
    return re.findall(r"`([\w.]+)`", "\n".join(lines))


def test_free_operators_are_the_documented_ones():
    free = [name for name, _label, category, _rule, _factor in table() if category in FREE]
    assert sorted(documented()) == sorted(free)


def test_no_other_operator_has_a_rule_that_moves_nothing():
    rules = {rule for _name, _label, category, rule, _factor in table() if category in FREE}
    views = {"view", "strided_view", "reordered_view", "cut_view", "expanded_view"}
    assert rules == views | {"scalar", "host"}
    for name, _label, category, rule, _factor in table():
        assert category in FREE or rule not in rules, name


def test_names_are_distinct():
    names = [row[0] for row in table()]
    assert len(names) == len(set(names))


def test_shapes_are_said_once():
    """An operator names a shape only if it differs from its rule's."""
    rules = dict(RULE.findall((ROOT / "src/graph/rules/rules.def").read_text()))
    every = rows() + rows("ops_onnx")
    assert set(rules) == {rule for _name, _label, _category, rule, _factor, _shape in every}
    for name, _label, _category, rule, _factor, shape in every:
        assert shape != rules[rule], name


def test_documented_factors():
    """The numbers of the document that apply to a whole group of operators."""
    factors = {name: (rule, int(factor)) for name, _label, _category, rule, factor in table()}
    for name, rule, factor in [
        ("aten.relu", "elementwise", 1),
        ("aten.tanh", "elementwise", 1),
        ("aten.hardtanh", "elementwise", 2),
        ("aten.elu", "elementwise", 3),
        ("aten.sigmoid", "elementwise", 4),
        ("aten.gelu", "elementwise", 5),
        ("aten.silu", "elementwise", 5),
        ("aten.softmax", "softmax", 5),
        ("aten.layer_norm", "norm", 5),
        ("aten.rms_norm", "norm", 3),
        ("aten.sum", "reduction", 1),
        ("aten.var", "reduction", 4),
        ("aten.logsumexp", "reduction", 3),
        ("aten.clamp", "elementwise", 2),
        ("aten.lerp", "elementwise", 3),
        ("aten.upsample_nearest2d", "resample_counted", 0),
        ("aten.upsample_bilinear2d", "resample_counted", 7),
        ("aten.upsample_bicubic2d", "resample", 35),
        ("aten.grid_sampler_2d", "resample_counted", 11),
        ("torchvision.nms", "box_pairs", 14),
    ]:
        assert factors[name] == (rule, factor), name
