"""Inputs of layers, as the observer of layers records them."""

import threading

import pytest

torch = pytest.importorskip("torch")

from recording import Recording  # noqa: E402

import pyrometer  # noqa: E402

pytestmark = pytest.mark.usefixtures("observer")


def input_types(given):
    types = {torch.float32: 6, torch.int64: 4}
    return [
        (types[x.dtype], tuple(x.shape)) if isinstance(x, torch.Tensor) else None for x in given
    ]


def layer_inputs(path, layer):
    spans = [s for s in Recording(path).spans if s.module and s.module.path == layer]
    return [s.inputs and s.inputs[0] for s in spans]


@pytest.mark.parametrize("with_stack", [True, False])
def test_inputs_of_layers_that_change(tmp_path, with_stack):
    """Every call has its own input: the same sizes, others, another number of them or another type,
    a subclass, a tensor that is resized in place, and no tensor."""

    class Ignores(torch.nn.Module):
        def forward(self, x):
            return x

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Ignores()

        def forward(self, x):
            return self.inner(x)

    net = Net()
    given = [torch.ones(2, 3)] * 3 + [torch.ones(5, 3), torch.ones(2, 3), torch.ones(2, 3, 1)]
    given += [torch.ones(2, 3, dtype=torch.int64), 7, torch.ones(2, 3), torch.ones(1, *[2] * 12)]
    given += [torch.ones(2, *[1] * 12), torch.ones(2, 3), torch.nn.Parameter(torch.ones(4, 3))]
    given += [torch.ones(()), torch.ones(1), torch.ones(2, 3, 4, 5, 6), torch.ones(2, 3, 4, 5, 7)]
    resized = torch.ones(6)
    wanted = input_types([*given, *given, resized, torch.ones(2, 3)])
    with pyrometer.capture(tmp_path / "x.pyro", with_stack=with_stack):
        for x in [*given, *given, resized]:
            net(x)
        net(resized.resize_(2, 3))
    assert layer_inputs(tmp_path / "x.pyro", "") == wanted
    assert layer_inputs(tmp_path / "x.pyro", "inner") == wanted


def test_inputs_of_a_shared_layer_on_two_threads(tmp_path):
    """One activation is called with other sizes at each place of a model, by threads in turn."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.activation = torch.nn.ReLU()

        def forward(self, x):
            x = self.activation(x).sum(0)
            return self.activation(self.activation(x.sum(0, keepdim=True)).expand(5, 2))

    net = Net()

    def work(rows):
        for _ in range(200):
            net(torch.ones(rows, 3, 2))

    with pyrometer.capture(tmp_path / "x.pyro", with_stack=False):
        threads = [threading.Thread(target=work, args=(rows,)) for rows in (4, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    spans = [s for s in Recording(tmp_path / "x.pyro").spans if s.module]
    assert len({s.thread for s in spans}) == 2
    for thread in {s.thread for s in spans}:
        mine = [s for s in spans if s.thread == thread]
        rows = mine[0].inputs[0][1][0]
        inputs = [s.inputs[0][1] for s in mine if s.module.path == "activation"]
        assert inputs == [(rows, 3, 2), (1, 2), (5, 2)] * 200
