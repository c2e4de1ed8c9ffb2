"""Outputs that follow from an op's inputs, and are not asked for, are those that torch hands over;
where they do not follow, it is asked."""

import json

import pytest

torch = pytest.importorskip("torch")

from observed_models import MODELS, train  # noqa: E402
from recording import observed, record  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from pyrometer import _observer  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def observer():
    try:
        _observer.compiler()
    except _observer.Unavailable as error:
        pytest.skip(f"no observer: {error}")
    _observer.load()


def views(x):
    y = torch.ops.aten._reshape_alias(x, [12, 2], [2, 1])
    torch.ops.aten._unsafe_view(x, [2, 12])
    torch.ops.aten.alias(x)
    x.as_strided((2, 3), (1, 2))
    x.chunk(4), x.split(3), x.split_with_sizes([1, 3]), x.unbind(1)
    x.clone(), x.contiguous(), x.t().contiguous(memory_format=torch.contiguous_format)
    x.detach(), x.diagonal(1), x.expand(3, 4, 6), x.expand_as(x[None])
    x.flatten(), x.movedim(0, 1), x.narrow(1, 2, 3), x.permute(1, 0), x.transpose(0, 1), x.t()
    x.reshape(3, -1), x.t().reshape(3, -1), x.view(-1, 3), x.view_as(y), x.view(torch.int32)
    x.resolve_conj(), x.resolve_neg(), x.select(0, 2), x[1:3, ::2], x.unfold(1, 2, 2)
    x.unflatten(1, (2, 3)), x.unsqueeze(1), x.unsqueeze(1).squeeze(), x.squeeze(0)


def copies(x):
    torch.empty_like(x), torch.empty_like(x, dtype=torch.int64), torch.empty_like(x, device="meta")
    torch.relu(x), torch.relu_(x), torch.dropout(x, 0.5, True), torch.dropout(x, 0.5, False)
    x.add_(1), x.sub_(torch.ones(6)), x.mul_(2.5), x.div_(2), x.zero_(), x.fill_(3)
    x.copy_(torch.ones(6)), x.addcmul_(x, x), x.addcdiv_(x, x), x.lerp_(x, 0.5)


def promotions():
    """Equal for all but what the inputs do not say."""
    whole, real = torch.ones(3, dtype=torch.int64), torch.tensor(1.5, dtype=torch.float64)
    for other in (1.5, 1.5, 1.5, 1.5, 1.5, real, 1.5, real):
        whole + other
    for default in (torch.float64, torch.float32):
        torch.set_default_dtype(default)
        whole + 1.5, torch.empty(2), torch.clamp_min(whole, 0.5)
    for enabled in (True, False):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)).t().contiguous()


def data_dependent():
    for count in (1, 3, 0):
        x = torch.arange(4) < count
        x.nonzero(), torch.ones(4).masked_select(x), x.long().unique(), torch.ones(4)[x]
        torch.ones(4).repeat_interleave(x.long())


def sizes_that_change():
    for rows in (4, 8, 4, 12, 4):
        x = torch.ones(rows, 6)
        for _ in range(3):
            x.t().view(torch.int32).t(), x.resize_(rows + 1, 6), x.view(-1), x.resize_(rows, 6)


def transforms():
    torch.vmap(lambda x: x.view(2, 3).t().reshape(-1).clone())(torch.ones(5, 6))
    torch.func.jacrev(lambda x: x.view(2, 3).t().reshape(-1))(torch.ones(6))
    torch.ones(6).view(2, 3).t().reshape(-1).clone()


class Other(torch.Tensor):
    """Its views are of any size, and another each time."""

    calls = 0

    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_subclass(cls, x)

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        if op is torch.ops.aten.view.default:
            cls.calls += 1
            return torch.ones(cls.calls)
        with torch._C._DisableTorchDispatch():
            return op(*args, **(kwargs or {}))


class OtherMode(TorchDispatchMode):
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        return torch.ones(self.calls()) if op is torch.ops.aten.view.default else result

    def calls(self):
        self.count = getattr(self, "count", 0) + 1
        return self.count


def subclasses_and_modes():
    Other.calls = 0
    plain, other = torch.ones(4, 6), Other(torch.ones(4, 6))
    for _ in range(3):
        plain.view(24), other.view(24), plain.view(24)
    with OtherMode():
        plain.view(24), plain.view(24)
    plain.view(24)


WORK = {name: lambda name=name: train(*MODELS[name]) for name in MODELS} | {
    "views": lambda: views(torch.ones(4, 6)),
    "views with gradients": lambda: views(torch.ones(4, 6, requires_grad=True)),
    "copies": lambda: copies(torch.ones(4, 6)),
    "promotions": promotions,
    "data-dependent": data_dependent,
    "sizes that change": sizes_that_change,
    "transforms": transforms,
    "subclasses and modes": subclasses_and_modes,
}


@pytest.mark.parametrize("name", WORK)
def test_outputs_are_those_that_are_handed_over(tmp_path, name):
    def work():
        for _ in range(3):
            WORK[name]()

    def outputs(*what):
        torch.manual_seed(0)
        ops = record(tmp_path / "x.pyro", work, "ops", "shapes", *what).ops
        return [(s.name, s.inputs, s.outputs) for s in ops if s.sequence == -1 or s.scope == 0]

    work()  # what is done once a process, is done
    # With storages torch hands over all outputs.
    assert outputs() == outputs("storages")


def test_no_outputs_where_an_op_raises(tmp_path):
    def work():
        for x in (torch.ones(4, 6), torch.ones(6, 4).t()) * 3:
            try:
                x.view(24)
            except RuntimeError:
                pass

    ops = record(tmp_path / "x.pyro", work, "ops", "shapes").ops
    assert [s.outputs for s in ops if s.name == "aten::view"] == [[(6, (24,))], None] * 3


def test_another_observer_still_gets_them(tmp_path):
    other = torch.profiler.ExecutionTraceObserver()
    other.register_callback(str(tmp_path / "trace.json"))
    x = torch.ones(4, 6)
    with observed(tmp_path / "x.pyro", "ops", "shapes"):
        for i in range(6):
            if i == 3:
                other.start()
            x.view(24)
        other.stop()
    other.unregister_callback()
    nodes = json.loads((tmp_path / "trace.json").read_text())["nodes"]
    seen = [node["outputs"]["shapes"] for node in nodes if node["name"] == "aten::view"]
    assert seen == [[[24]]] * 3
