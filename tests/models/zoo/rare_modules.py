"""Hand-written modules of the zoo for rare types, operators and calls."""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations


@torch.library.custom_op("pyrometer_zoo::smooth", mutates_args=())
def smooth(x: torch.Tensor, strength: float) -> torch.Tensor:
    """An operator that is in no table."""
    return x * strength


@smooth.register_fake
def _(x, strength):
    return torch.empty_like(x)


class CustomOperator(nn.Module):
    """A layer and a custom operator of the user."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return torch.ops.pyrometer_zoo.smooth(self.linear(x), 0.5)


class QuantizedLinear(nn.Module):
    """Eight-bit products: of integers, and of a float with a packed weight."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(32, 64, dtype=torch.int8))
        self.register_buffer("scales", torch.ones(32))

    def forward(self, x):
        packed = torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scales)
        whole = torch._int_mm(x.clamp(-8, 8).to(torch.int8), self.weight.t())
        return packed + whole * self.scales


class Unfolded(nn.Module):
    """A convolution as unfold, matmul and fold."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(12, 8 * 9))

    def forward(self, x):
        columns = functional.unfold(x, 3, padding=1)
        return functional.fold(self.weight @ columns, x.shape[-2:], 1)


class Vmapped(nn.Module):
    """A linear layer for every member of an ensemble."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(5, 16, 8))

    def forward(self, x):
        return torch.vmap(lambda weight: x @ weight)(self.weights)


class ComplexLinear(nn.Module):
    """A product of complex matrices, and one in double precision."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 8, dtype=torch.complex64))
        self.double_weight = nn.Parameter(torch.randn(8, 4, dtype=torch.float64))

    def forward(self, x):
        mixed = torch.complex(x, x) @ self.weight
        return mixed.abs().double() @ self.double_weight


class GraphLayer(nn.Module):
    """Messages along edges, summed at nodes."""

    def __init__(self):
        super().__init__()
        self.message = nn.Linear(32, 16)
        self.update = nn.GRUCell(16, 16)

    def forward(self, nodes, edges):
        ends = torch.cat([nodes[edges[0]], nodes[edges[1]]], -1)
        summed = torch.zeros_like(nodes).index_add(0, edges[1], self.message(ends).relu())
        return self.update(summed, nodes)


class WeightNorms(nn.Module):
    """Weights that are computed from others at every call."""

    def __init__(self):
        super().__init__()
        self.conv = parametrizations.weight_norm(nn.Conv1d(8, 12, 3))
        self.linear = parametrizations.spectral_norm(nn.Linear(12, 6))

    def forward(self, x):
        return self.linear(self.conv(x).mean(-1))


class CachedStep(nn.Module):
    """One step of decoding: attention from one token to a cache of keys and values."""

    def __init__(self):
        super().__init__()
        self.projection = nn.Linear(64, 192)
        self.out = nn.Linear(64, 64)

    def forward(self, x, keys, values):
        query, key, value = self.projection(x).unflatten(-1, (12, 16)).chunk(3, -2)
        keys = torch.cat([keys, key.transpose(1, 2)], 2)
        values = torch.cat([values, value.transpose(1, 2)], 2)
        mixed = functional.scaled_dot_product_attention(query.transpose(1, 2), keys, values)
        return self.out(mixed.transpose(1, 2).flatten(2)), keys, values


class Unbatched(nn.Module):
    """A convolution and a norm over one sample without a batch."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.LayerNorm([8, 10, 10])

    def forward(self, x):
        return self.norm(self.conv(x))


class ChainedProducts(nn.Module):
    """multi_dot (successor of chain_matmul), inner, kron, addbmm, addr and similar operators."""

    def forward(self, a, b, c):
        chain = torch.linalg.multi_dot([a, b, c])
        summed = torch.addbmm(chain, a[None].expand(3, -1, -1), (b @ c)[None].expand(3, -1, -1))
        return (
            summed,
            torch.inner(a, a),
            torch.kron(a[:2, :2], b[:2, :2]),
            torch.addr(torch.outer(a[0], b[0]), a[0], b[0]),
        )
