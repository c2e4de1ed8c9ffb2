"""Hand-written modules of the zoo that exercise forms of a graph rather than operators."""

import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan


class TiedAutoencoder(nn.Module):
    """One weight under two names."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 16)
        self.inner = nn.Linear(16, 16)
        self.head = nn.Linear(16, 40, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        ids = x.abs().argmax(-1)
        return self.head(self.inner(self.embedding(ids) + x))


class Reused(nn.Module):
    """One module called three times, and once more under a second name."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
        self.alias = self.block

    def forward(self, x):
        for _ in range(3):
            x = self.block(x)
        return self.alias(x)


class Unused(nn.Module):
    """Parameters and a module that the forward never touches, the size of ones that it does."""

    def __init__(self):
        super().__init__()
        self.used = nn.Linear(16, 4)
        self.spare = nn.Linear(16, 4)
        self.scale = nn.Parameter(torch.ones(16))

    def forward(self, x):
        return self.used(x)


class SeveralOutputs(nn.Module):
    """A dict, a tuple, and an input that is also an output."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(16, 4)
        self.right = nn.Linear(16, 6)

    def forward(self, x):
        first, second = self.right(x).chunk(2, -1)
        return {"left": self.left(x), "parts": (first, second), "same": x}


class DictInputs(nn.Module):
    """A dict of tensors and a plain number."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.head = nn.Linear(24, 2)

    def forward(self, features, scale):
        pooled = self.embedding(features["ids"]).mean(1)
        return self.head(torch.cat([features["dense"] * scale, pooled], -1))


class Constants(nn.Module):
    """A tensor made in the forward, a plain attribute and a buffer that is not saved."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.arange(16.0), persistent=False)
        self.shift = torch.linspace(0, 1, 16)

    def forward(self, x):
        return x * self.scale + self.shift.to(x.device) + torch.tensor([1.0], device=x.device)


class MutatedBuffer(nn.Module):
    """A counter and a running mean that every call changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(16))
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        self.calls.add_(1)
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.linear(x - self.mean)


class Branches(nn.Module):
    """torch.cond over a wide and a narrow branch."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
        self.narrow = nn.Linear(16, 16)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.wide(y), lambda y: self.narrow(y), (x,))


class PlainBranches(Branches):
    """The costlier branch."""

    def forward(self, x):
        return self.wide(x)


class Scanned(nn.Module):
    """A recurrence by scan: one layer at every step."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(16, 16)

    def forward(self, x):
        def combine(state, given):
            state = torch.tanh(self.step(state) + given)
            return state, state.clone()

        return scan(combine, torch.zeros_like(x[0]), x)


class PlainScanned(Scanned):
    """The same steps in a Python loop."""

    def forward(self, x):
        state = torch.zeros_like(x[0])
        states = []
        for given in x:
            state = torch.tanh(self.step(state) + given)
            states.append(state)
        return state, torch.stack(states)


class Looped(nn.Module):
    """while_loop: how often its body runs depends on data."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(16, 16)

    def forward(self, x):
        def condition(count, state):
            return count < 3

        def body(count, state):
            return count + 1, self.step(state)

        count = torch.zeros((), dtype=torch.int64, device=x.device)
        return while_loop(condition, body, (count, x))


class PlainLooped(Looped):
    """The body once, which is all that a file records."""

    def forward(self, x):
        return self.step(x)


class Mapped(nn.Module):
    """map: one layer over every slice."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(16, 8)

    def forward(self, x):
        return map_over(lambda row: self.step(row).relu(), x)


class PlainMapped(Mapped):
    """The same slices in a Python loop."""

    def forward(self, x):
        return torch.stack([self.step(row).relu() for row in x])


class DataDependent(nn.Module):
    """A layer over as many rows as are positive: its size is known only when it runs."""

    def __init__(self):
        super().__init__()
        self.before = nn.Linear(16, 16)
        self.after = nn.Linear(16, 4)

    def forward(self, x):
        x = self.before(x)
        return self.after(x[x[:, 0] > 0])


class PlainDataDependent(DataDependent):
    """The part whose size a file records."""

    def forward(self, x):
        return self.before(x)


class ScalarInput(nn.Module):
    """A tensor without dims."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 2)

    def forward(self, scale, x):
        return self.linear(x) * scale


class OddNames(nn.Module):
    """Module names with commas, parentheses and spaces."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a,b (c)": nn.Linear(16, 8), "é;ü": nn.Linear(8, 4)})

    def forward(self, x):
        for part in self.parts.values():
            x = part(x)
        return x
