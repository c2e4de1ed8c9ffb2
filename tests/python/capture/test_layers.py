"""The observer of layers: modules of every kind, and their names."""

import contextlib
import gc
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
from observed_models import MODELS, Mlp, train  # noqa: E402
from recording import RAISED, record  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from pyrometer._testing import core  # noqa: E402

WORK = {name: lambda name=name: train(*MODELS[name]) for name in MODELS}


pytestmark = pytest.mark.usefixtures("observer")


def test_names(tmp_path):
    names = [s.name for s in record(tmp_path / "x.pyro", WORK["mlp"]).layers]
    assert names == ["", "linear1", "relu", "linear2"]
    names = [s.name for s in record(tmp_path / "x.pyro", WORK["cnn"]).layers]
    assert names[:6] == ["", "conv1", "layer1", "layer1.0", "layer1.0.conv1", "layer1.0.bn1"]
    for name, (model, _) in MODELS.items():
        layers = record(tmp_path / "x.pyro", WORK[name], "layers").layers
        assert {s.name for s in layers} <= {path for path, _ in model.named_modules()}
        for span in layers:
            module = model.get_submodule(span.name)
            assert span.module.class_name == type(module).__name__
            assert span.module.parameters == sum(p.numel() for p in module.parameters())
            assert span.module.parameter_bytes == 4 * span.module.parameters
            assert span.end > span.start


class Odd(nn.Module):
    """Shares modules, recurses, creates modules on the fly and hides some from torch."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4)
        self.other = nn.Sequential(self.shared, nn.ReLU())
        self.hidden = [nn.Linear(4, 4)]
        self.many = nn.ModuleDict({"a": nn.ModuleList([nn.Tanh(), nn.Tanh()])})
        self.depth = 2

    def forward(self, x):
        x = self.other(self.shared(x))
        x = self.many["a"][1](self.hidden[0](x))
        x = nn.Softmax(dim=1)(x)
        self.depth -= 1
        if self.depth > 0:
            x = self(x)
        self.depth += 1
        return x


def test_odd_modules(tmp_path):
    model = Odd()
    layers = record(tmp_path / "x.pyro", lambda: model(torch.ones(2, 4)), "layers").layers
    once = ["shared", "other", "other.0", "other.1", "<Linear>", "many.a.1", "<Softmax>"]
    assert [s.name for s in layers] == ["", *once, "", *once]
    assert layers[1].module.instance == layers[3].module.instance
    assert layers[0].module == layers[len(once) + 1].module


def test_modules_outside_of_a_root_and_made_later(tmp_path):
    model = Mlp()
    x = torch.ones(2, 8)

    def work():
        model(x)
        model.linear1(x)
        model.late = nn.Sequential(nn.Linear(8, 2))
        model.late[0](x)
        nn.Dropout()(x)
        copied = Mlp()
        copied.relu(x)
        copied(x)

    names = [
        (s.name, s.module.class_name) for s in record(tmp_path / "x.pyro", work, "layers").layers
    ]
    assert names[4] == ("linear1", "Linear")
    assert names[5] == ("", "Linear")  # its parent has not been called since it was created
    assert names[6] == ("", "Dropout")
    assert names[7] == ("", "ReLU")
    assert [name for name, _ in names[8:]] == ["", "linear1", "relu", "linear2"]


def test_addresses_that_are_used_again(tmp_path):
    def work():
        for width in range(2, 60):
            model = nn.Sequential(nn.Linear(3, width))
            model.add_module(f"second{width}", nn.Linear(width, 1))
            model(torch.ones(1, 3))
            del model
            gc.collect(0)

    layers = record(tmp_path / "x.pyro", work, "layers").layers
    assert [s.name for s in layers] == [
        name for width in range(2, 60) for name in ("", "0", f"second{width}")
    ]
    assert [s.module.parameters for s in layers[1::3]] == [4 * width for width in range(2, 60)]


class Leaf(nn.Module):
    def __init__(self, log):
        super().__init__()
        self.log = log

    def forward(self, x, name):
        self.log.append(name)
        return x


class Petal(Leaf):
    pass


class Wanderer(nn.Module):
    """Calls its children in an order that changes, one of them from several places, and makes some
    that die at once, so that others may get their addresses."""

    def __init__(self, log, random, depth=2):
        super().__init__()
        self.log, self.random = log, random
        make = (lambda: Wanderer(log, random, depth - 1)) if depth else (lambda: Leaf(log))
        self.child = nn.ModuleList(make() for _ in range(4))
        self.shared = Leaf(log)
        self.usual = list(range(4))

    def forward(self, x, name):
        self.log.append(name)
        prefix = f"{name}." if name else ""
        if self.random.random() < 0.2:
            self.random.shuffle(self.usual)
        for index in self.usual[: self.random.choice([2, 4, 4, 4])]:
            x = self.child[index](x, f"{prefix}child.{index}")
            x = self.shared(x, f"{prefix}shared")
            if self.random.random() < 0.03:
                kind = self.random.choice([Leaf, Petal])
                x = kind(self.log)(x, f"{prefix}<{kind.__name__}>")
        return x


@pytest.mark.parametrize("what", ["layers", "layers shapes"])
def test_calls_in_any_order(tmp_path, what):
    """Every call has the right name, also beside other threads."""
    logs = [[] for _ in range(3)]

    def work(number):
        random = Random(number)
        model = Wanderer(logs[number], random)
        for _ in range(60):
            model(torch.ones(1 + number % 2, 3), "")

    def work_in_threads():
        threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    recorded = record(tmp_path / "x.pyro", work_in_threads, *what.split())
    by_thread = {}
    for span in recorded.layers:
        by_thread.setdefault(span.thread, []).append(span)
    assert sorted([s.name for s in spans] for spans in by_thread.values()) == sorted(logs)
    if "shapes" in what:
        rows = {spans[0].inputs[0][1][0] for spans in by_thread.values()}
        assert rows == {1, 2}
        for spans in by_thread.values():
            assert all(s.inputs == spans[0].inputs for s in spans)


def test_new_modules_in_the_places_of_others(tmp_path):
    """Both in the order of calls and in memory."""
    kinds, addresses = [Leaf, Petal] * 20, set()

    class Host(nn.Module):
        def forward(self, x, kind):
            made = kind([])
            addresses.add(id(made))
            return made(x, "")

    def work():
        host = Host()
        for kind in kinds:
            host(torch.ones(1), kind)

    names = [s.name for s in record(tmp_path / "x.pyro", work, "layers").layers]
    assert names == [name for kind in kinds for name in ("", f"<{kind.__name__}>")]
    assert len(addresses) < len(kinds)


def test_modules_are_called_again_in_the_next_session(tmp_path):
    model, x = Odd(), torch.ones(2, 4)
    names = []
    for _ in range(3):
        layers = record(tmp_path / "x.pyro", lambda: [model(x) for _ in range(3)], "layers").layers
        names.append([s.name for s in layers])
        model.late = nn.Linear(4, 4)
        model(x)
    assert names[0] == names[1] == names[2] and len(names[0]) == 48


@pytest.mark.parametrize("what", ["layers", "layers shapes"])
def test_models_in_turn(tmp_path, what):
    """The same one again and again, another one, a part of one; some raise, and some die."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf = nn.Identity()

        def forward(self, x, raises):
            x = self.leaf(x)
            if raises:
                raise ValueError
            return self.leaf(x)

    random, models, called, expected = Random(5), [Model(), Model()], [None, None], []

    def work():
        index = 0
        for _ in range(400):
            index ^= random.random() < 0.2
            if random.random() < 0.1:
                models[index] = Model()
            model, rows = models[index], random.choice([2, 2, 2, 3])
            if called[index] is model and random.random() < 0.1:
                model.leaf(torch.ones(rows, 2))
                expected.append(("leaf", rows, False))
                continue
            called[index] = model
            raises = random.random() < 0.1
            expected.extend([("", rows, raises), ("leaf", rows, False)])
            if not raises:
                expected.append(("leaf", rows, False))
            with contextlib.suppress(ValueError):
                model(torch.ones(rows, 2), raises)

    layers = record(tmp_path / "x.pyro", work, *what.split()).layers
    assert [(s.name, bool(s.notes & RAISED)) for s in layers] == [(n, r) for n, _, r in expected]
    if "shapes" in what:
        assert [s.inputs[0][1][0] for s in layers] == [rows for _, rows, _ in expected]
    for before, span in itertools.pairwise(layers):
        inside = span.name == "leaf" and span.start < before.end
        assert span.start < span.end and (span.end < before.end if inside else True)


def test_a_model_of_several_threads(tmp_path):
    """The first call of a thread, of one that was in no session yet or only in the one before."""

    def in_turn(*pools):
        for pool in pools:
            pool.submit(WORK["mlp"]).result()

    with ThreadPoolExecutor(1) as old:
        in_turn(old)
        for _ in range(3):
            with ThreadPoolExecutor(1) as new, ThreadPoolExecutor(1) as newer:
                pools = (new, old, newer, old, new)
                result = record(
                    tmp_path / "x.pyro",
                    lambda pools=pools: (WORK["mlp"](), in_turn(*pools)),
                    "layers",
                )
            threads = {s.thread for s in result.layers}
            names = [[s.name for s in result.layers if s.thread == t] for t in threads]
            assert sorted(map(len, names)) == [4, 4, 8, 8]
            assert all(n == ["", "linear1", "relu", "linear2"] * (len(n) // 4) for n in names)


def test_more_calls_than_are_remembered(tmp_path):
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.last = nn.Identity(), nn.Linear(2, 2)

        def forward(self, x):
            for _ in range(20000):
                x = self.cell(x)
            return self.last(x)

    model = Loop()
    layers = record(
        tmp_path / "x.pyro", lambda: [model(torch.ones(1, 2)) for _ in range(2)], "layers"
    ).layers
    assert [s.name for s in layers] == ["", *["cell"] * 20000, "last"] * 2


def test_modules_that_hold_each_other(tmp_path):
    first, second = nn.Module(), nn.Module()
    first.second, second.first = second, first
    first.steps = 40

    def call_second(x):
        first.steps -= 1
        return first.second(x) if first.steps > 0 else x

    first.forward = call_second
    second.forward = lambda x: second.first(x)
    layers = record(tmp_path / "x.pyro", lambda: first(torch.ones(1)), "layers").layers
    assert {s.name for s in layers} == {"", "second"}


def test_lazy_modules(tmp_path):
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())

    def work():
        model(torch.ones(4, 5))
        model(torch.ones(4, 5))

    layers = record(tmp_path / "x.pyro", work, "layers").layers
    assert [s.name for s in layers] == ["", "0", "1"] * 2
    assert [s.module.class_name for s in layers[1:3]] == ["LazyLinear", "LazyBatchNorm1d"]
    assert layers[0].module.parameters == 2**64 - 1
    assert [s.module.parameters for s in layers[3:]] == [24, 18, 6]


def test_exceptions_and_generators(tmp_path):
    class Bad(nn.Module):
        def forward(self, x):
            raise ValueError("bad")

    class Gives(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()

        def forward(self, x):
            yield self.inner(x)
            yield self.inner(x)

    bad, gives = nn.Sequential(nn.ReLU(), Bad()), Gives()

    def work():
        with pytest.raises(ValueError, match="bad"):
            bad(torch.ones(1))
        list(gives(torch.ones(1)))
        with pytest.raises(RuntimeError):
            torch.ones(2) @ torch.ones(3)
        bad[0](torch.ones(1))

    recording = record(tmp_path / "x.pyro", work)
    layers = recording.layers
    assert [(s.name, s.notes) for s in layers] == [
        *(("", RAISED), ("0", 0), ("1", RAISED)),
        *(("", 0), ("inner", 0), ("inner", 0), ("0", 0)),
    ]
    assert all(s.end >= s.start for s in recording.spans)


def test_checkpoint_recomputes_by_name(tmp_path):
    model = Mlp()
    x = torch.ones(2, 8, requires_grad=True)

    def work():
        model(x)
        checkpoint(model.linear1, x, use_reentrant=False).sum().backward()

    names = [s.name for s in record(tmp_path / "x.pyro", work, "layers").layers]
    assert names == ["", "linear1", "relu", "linear2", "linear1", "linear1"]


def test_only_one_hook():
    core.layers_install(nn.Module._call_impl, nn.Module)
    with pytest.raises(RuntimeError, match="already"):
        core.layers_install(nn.Module._call_impl, nn.Module)
    core.layers_remove()
    core.layers_remove()
