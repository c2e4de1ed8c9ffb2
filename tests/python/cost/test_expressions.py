"""Symbolic sizes agree with sympy and torch's functions on random formulas in both spellings."""

import json
import pathlib
import random
import sys

import pytest

import pyrometer

sympy = pytest.importorskip("sympy")
functions = pytest.importorskip("torch.utils._sympy.functions")

sys.path.insert(0, str(pathlib.Path(__file__).parents[3]))

from catalog.program import Program  # noqa: E402

S0, S1 = sympy.symbols("s0 s1", positive=True, integer=True)
EXPORTED = {S0: 12, S1: 7}
OTHERS = ({S0: 5, S1: 9}, {S0: 64, S1: 3}, {S0: 1, S1: 1}, {S0: 31, S1: 224})
COUNT = 200


def grow(chance: random.Random, depth: int):
    """A random formula, built as export builds them."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice([S0, S1, sympy.Integer(chance.randint(1, 9))])
    left, right = grow(chance, depth - 1), grow(chance, depth - 1)
    number = sympy.Integer(chance.randint(2, 6))
    return chance.choice(
        [
            lambda: left + right,
            lambda: left - right,
            lambda: left * right,
            lambda: -left,
            lambda: functions.FloorDiv(left, number),
            lambda: functions.FloorDiv(left, right),
            lambda: functions.CeilDiv(left, number),
            lambda: functions.Mod(left, number),
            lambda: functions.PythonMod(left, number),
            lambda: functions.ModularIndexing(left, number, number + 1),
            lambda: functions.Max(left, right),
            lambda: functions.Min(left, right),
            lambda: functions.Where(sympy.Gt(left, right), left, right),
            lambda: functions.PowByNatural(left, sympy.Integer(2)),
            lambda: functions.FloorToInt(functions.IntTrueDiv(left, number)),
            lambda: functions.CeilToInt(functions.IntTrueDiv(left, number)),
            lambda: functions.TruncToInt(functions.IntTrueDiv(left, number)),
            lambda: functions.RoundToInt(functions.IntTrueDiv(left, number)),
            lambda: sympy.floor(left / number),
            lambda: sympy.ceiling(left * sympy.Rational(2, 3)),
            lambda: sympy.Abs(left - right),
            lambda: (left + right) ** 2,
        ]
    )()


def value(formula, sizes: dict) -> int | None:
    """The formula's value if it is a size, else None."""
    result = formula.subs(sizes)
    if not isinstance(result, sympy.Integer) or not 0 <= result < 2**40:
        return None
    return int(result)


def make_formulas() -> list:
    """Formulas whose value is a size for all tested inputs."""
    chance = random.Random(20)
    formulas = []
    while len(formulas) < COUNT:
        try:
            formula = grow(chance, chance.randint(1, 4))
            sound = all(value(formula, sizes) is not None for sizes in (EXPORTED, *OTHERS))
        except (AssertionError, TypeError, ValueError, ZeroDivisionError):
            continue  # torch's functions reject values that no model has
        if sound and formula.free_symbols:
            formulas.append(formula)
    return formulas


@pytest.fixture(scope="module")
def formulas():
    return make_formulas()


def write(path: pathlib.Path, program: Program) -> str:
    path.write_text(json.dumps(program.document()))
    return str(path)


def shapes(cost) -> list[str]:
    return [node["shape"] for node in cost.to_dict()["nodes"]]


@pytest.mark.parametrize("spell", [sympy.srepr, str], ids=["srepr", "infix"])
def test_sizes_follow(formulas, spell, tmp_path):
    program = Program()
    program.user_input("x", [(spell(S0), EXPORTED[S0]), (spell(S1), EXPORTED[S1])])
    for index, formula in enumerate(formulas):
        size = (spell(formula), value(formula, EXPORTED))
        program.node("relu.default", {"self": "x"}, f"v{index}", [size])
    path = write(tmp_path / "model.json", program)
    for sizes in (EXPORTED, *OTHERS):
        cost = pyrometer.cost(path, input_shape=[sizes[S0], sizes[S1]])
        expected = [str(value(formula, sizes)) for formula in formulas]
        wrong = [
            f"{spell(formula)} at {sizes}: {got}, not {wanted}"
            for formula, got, wanted in zip(formulas, shapes(cost), expected, strict=True)
            if got != wanted
        ]
        assert not wrong, wrong[:5]


def test_derived_dims_are_solved(tmp_path):
    """An input dim a*s0 + b gives s0; other values are rejected."""
    chance = random.Random(21)
    for index in range(50):
        factor, offset = chance.randint(1, 16), chance.randint(0, 9)
        formula = factor * S0 + offset
        program = Program()
        program.user_input("x", [(sympy.srepr(formula), value(formula, EXPORTED))])
        program.node("relu.default", {"self": "x"}, "y", [(str(S0), EXPORTED[S0])])
        path = write(tmp_path / f"{index}.json", program)
        wanted = chance.randint(1, 1000)
        cost = pyrometer.cost(path, input_shape=[factor * wanted + offset])
        assert shapes(cost) == [str(wanted)]
        if factor > 1:
            with pytest.raises(ValueError, match="dim 0 cannot be"):
                pyrometer.cost(path, input_shape=[factor * wanted + offset + 1])
