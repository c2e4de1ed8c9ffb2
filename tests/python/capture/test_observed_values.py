"""Values of ops that the observer did not predict, and code paths that few machines need."""

import ctypes
import random

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
from recording import Recording, observed, record  # noqa: E402

from pyrometer._testing import core, observer_build  # noqa: E402

pytestmark = pytest.mark.usefixtures("observer")


def random_calls(count):
    """The same ops repeatedly, each time with new values for one of them. A call is the
    op's name, its inputs, and the function that calls it."""
    chooser = random.Random(0)
    codes = {
        code: dtype for code, dtype in ((4, torch.int64), (6, torch.float32), (7, torch.double))
    }

    def tensor(*sizes):
        code = chooser.choice(list(codes))
        return (code, sizes), torch.ones(sizes, dtype=codes[code])

    def sizes(most):
        return tuple(chooser.choice((1, 2, 3)) for _ in range(chooser.randrange(most + 1)))

    def transpose():
        form, x = tensor(2, *sizes(6))
        first, second = chooser.randrange(x.dim()), chooser.randrange(x.dim())
        return "transpose", [form, first, second], lambda: x.transpose(first, second)

    def view():
        form, x = tensor(*sizes(7))
        shape = list(x.shape) + [1] * chooser.randrange(3)
        return "view", [form, shape], lambda: x.view(shape)

    def dropout():
        form, x = tensor(4)
        rate, trains = chooser.choice((0.25, 0.5)), False
        return "dropout", [form, rate, trains], lambda: torch.dropout(x, rate, trains)

    def cat():
        pairs = [tensor(2, *sizes(1)) for _ in range(chooser.randrange(1, 4))]
        pairs = [pair for pair in pairs if pair[0][0:2] == pairs[0][0][0:2]]
        values = [x for _, x in pairs]
        return "cat", [[form for form, _ in pairs], 0], lambda: torch.cat(values, 0)

    def total():
        form, x = tensor(2, 3, *sizes(2))
        keeps, dims = chooser.random() < 0.5, chooser.choice(([0], [0, 1], [1]))
        return "sum", [form, dims, keeps, None], lambda: x.sum(dims, keeps)

    def linear():
        x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
        bias = chooser.choice((bias, None))
        forms = [(6, (2, 3)), (6, (4, 3)), None if bias is None else (6, (4,))]
        return "linear", forms, lambda: nn.functional.linear(x, weight, bias)

    def index():
        form, x = tensor(3, 2)
        place = torch.tensor([0, 1])
        where = chooser.choice(((place, None), (None, place)))
        forms = [None if one is None else (4, (2,)) for one in where]
        return "index", [form, forms], lambda: torch.ops.aten.index(x, list(where))

    makers = (transpose, view, dropout, cat, total, linear, index) * 3
    same = [make() for make in makers]
    calls = same * 3
    for _ in range(count):
        place = chooser.randrange(len(same))
        calls += [*same[:place], makers[place](), *same[place + 1 :]]
    return calls


def same_value(mine, wanted):
    if isinstance(wanted, list):
        # torch omits missing values at the end of a list.
        return len(mine) <= len(wanted) and all(
            same_value(mine[i] if i < len(mine) else None, one) for i, one in enumerate(wanted)
        )
    return mine == wanted and isinstance(mine, bool) == isinstance(wanted, bool)


@pytest.mark.parametrize("with_stacks", (False, True))
def test_values_that_change_from_call_to_call(tmp_path, with_stacks):
    calls = random_calls(100)
    results = []

    def work():
        for _, _, call in calls:
            results.append(call())

    with torch.no_grad():
        what = ("ops", "shapes", "outputs") + (("stacks",) if with_stacks else ())
        spans = record(tmp_path / "x.pyro", work, *what).ops
    outermost = []
    for span in spans:
        if not outermost or span.start > outermost[-1].end:
            outermost.append(span)
    assert [span.name for span in outermost] == [f"aten::{name}" for name, _, _ in calls]
    for span, (_, wanted, _), result in zip(outermost, calls, results, strict=True):
        assert same_value(span.inputs, wanted), (span.name, span.inputs, wanted)
        assert [output[1] for output in span.outputs] == [tuple(result.shape)], span.name


def test_real_numbers_that_change_every_time(tmp_path):
    """Learning rates and the like: each value would be kept until the end of the recording."""
    x, many = torch.ones(3, 4), [torch.ones(5) for _ in range(100)]

    def work():
        for number in range(200):
            x.add_(x, alpha=number / 7)
            torch.dropout(x, (0.25, 0.5)[number % 2], False)
            torch._foreach_mul_(many, [number / 3] * len(many))

    with torch.no_grad():
        recording = record(tmp_path / "x.pyro", work, "ops", "shapes")
    added = [op.inputs for op in recording.ops if op.name == "aten::add_"]
    assert [values[:2] for values in added] == [[(6, (3, 4)), (6, (3, 4))]] * 200
    assert [values[2] for values in added][:15] == [number / 7 for number in range(15)]
    assert {values[2] for values in added[20:]} == {"other"}
    rates = [op.inputs[1] for op in recording.ops if op.name == "aten::dropout"]
    assert rates == [0.25, 0.5] * 100
    products = [op.inputs for op in recording.ops if op.name == "aten::_foreach_mul_"]
    assert products[-1] == [[(6, (5,))] * 100, ["other"] * 100]
    assert products[20:] == [products[-1]] * 180


# Fields of the recorder's API after its size, generation and flags (capture.h).
OFFSETS = {"the system's clock": 12, "a fence": 16}


@pytest.mark.parametrize("name", OFFSETS)
def test_machines_that_need_more(tmp_path, name):
    """Processors without a steady counter, and kernels without membarrier."""
    x = torch.ones(3, 4)
    flags = core.RECORD_OPS | core.RECORD_SHAPES | core.RECORD_OUTPUTS | core.RECORD_MEMORY
    with observed(tmp_path / "x.pyro"):
        needs = ctypes.c_uint32.from_address(core.recorder_api() + OFFSETS[name])
        before, needs.value = needs.value, 1
        try:
            observer_build.start(flags)
            for _ in range(50):
                torch.mm(x.t(), x)
            observer_build.stop()
        finally:
            needs.value = before
    recording = Recording(tmp_path / "x.pyro")
    products = [span for span in recording.ops if span.name == "aten::mm"]
    assert [p.inputs for p in products] == [[(6, (4, 3)), (6, (3, 4))]] * 50
    assert [p.outputs for p in products] == [[(6, (4, 4))]] * 50
    assert all(0 < span.start <= span.end for span in recording.ops)
    assert sum(one.bytes == 64 for one in recording.memory) == 50
