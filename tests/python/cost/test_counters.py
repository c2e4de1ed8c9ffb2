"""Each convention agrees with the counter it is named after, operator by operator."""

import contextlib
import logging

import pytest

import pyrometer

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Times(nn.Module):
    """A parameter times the input, or the input times the parameter."""

    def __init__(self, shape, left: bool):
        super().__init__()
        self.factor = nn.Parameter(torch.randn(shape))
        self.left = left

    def forward(self, x):
        return self.factor @ x if self.left else x @ self.factor


def einsum(equation: str):
    return Call(lambda *tensors: torch.einsum(equation, *tensors))


def resize(mode: str, **options):
    return Call(lambda x: functional.interpolate(x, scale_factor=2, mode=mode, **options))


multi_dot = Call(lambda *matrices: torch.linalg.multi_dot(matrices))
tensordot = Call(lambda a, b: torch.tensordot(a, b, dims=2))
attend = Call(functional.scaled_dot_product_attention)
IMAGE, ROWS, LINE = (2, 4, 6, 6), (2, 5, 8), (2, 4, 6)

# A name, a module and the shapes of its inputs.
CASES = [
    ("mm", Call(torch.mm), [(4, 5), (5, 6)]),
    ("bmm", Call(torch.bmm), [(3, 4, 5), (3, 5, 6)]),
    ("addmm", Call(torch.addmm), [(6,), (4, 5), (5, 6)]),
    ("baddbmm", Call(torch.baddbmm), [(3, 4, 6), (3, 4, 5), (3, 5, 6)]),
    ("addbmm", Call(torch.addbmm), [(4, 6), (3, 4, 5), (3, 5, 6)]),
    ("matmul folded", Call(torch.matmul), [(2, 3, 4), (4, 5)]),
    ("matmul broadcast", Call(torch.matmul), [(1, 4, 5), (7, 5, 6)]),
    ("matmul matrix vector", Call(torch.matmul), [(4, 5), (5,)]),
    ("matmul vector matrix", Call(torch.matmul), [(5,), (5, 6)]),
    ("matmul batch vector", Call(torch.matmul), [(3, 4, 5), (5,)]),
    ("matmul vector batch", Call(torch.matmul), [(5,), (3, 5, 6)]),
    ("matmul transposed batch vector", Call(lambda b, v: b.mT @ v), [(3, 5, 6), (5,)]),
    ("matmul vector transposed batch", Call(lambda v, b: v @ b.mT), [(5,), (3, 6, 5)]),
    ("parameter vector batch", Times((5,), left=True), [(3, 5, 6)]),
    ("batch parameter vector", Times((5,), left=False), [(3, 4, 5)]),
    ("parameter matrix batch", Times((4, 5), left=True), [(3, 5, 6)]),
    ("mv", Call(torch.mv), [(4, 5), (5,)]),
    ("addmv", Call(torch.addmv), [(4,), (4, 5), (5,)]),
    ("dot", Call(torch.dot), [(5,), (5,)]),
    ("vecdot", Call(torch.linalg.vecdot), [(5,), (3, 5)]),
    ("inner", Call(torch.inner), [(4, 5), (6, 5)]),
    ("inner vectors", Call(torch.inner), [(5,), (5,)]),
    ("inner matrix vector", Call(torch.inner), [(4, 5), (5,)]),
    ("outer", Call(torch.outer), [(3,), (4,)]),
    ("tensordot", tensordot, [(3, 4, 5), (4, 5, 6)]),
    ("multi_dot left first", multi_dot, [(2, 20), (20, 6), (6, 10)]),
    ("multi_dot right first", multi_dot, [(20, 3), (3, 40), (40, 5), (5, 6)]),
    ("multi_dot vectors", multi_dot, [(3,), (3, 40), (40,)]),
    ("cdist", Call(torch.cdist), [(2, 3, 4), (2, 5, 4)]),
    ("bilinear", nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)]),
    ("linear", nn.Linear(8, 16), [ROWS]),
    ("linear without bias", nn.Linear(8, 16, bias=False), [ROWS]),
    ("linear of a vector", nn.Linear(8, 16), [(8,)]),
    ("linear with a vector", Call(functional.linear), [(4, 5), (5,)]),
    ("conv1d", nn.Conv1d(4, 8, 3), [(2, 4, 10)]),
    ("conv2d", nn.Conv2d(3, 6, 4, padding=1), [(2, 3, 6, 6)]),
    ("conv2d unbatched", nn.Conv2d(3, 6, 3), [(3, 6, 6)]),
    ("conv2d grouped", nn.Conv2d(8, 16, 3, groups=4), [(1, 8, 10, 10)]),
    ("conv2d depthwise", nn.Conv2d(8, 8, 3, groups=8), [(1, 8, 10, 10)]),
    ("conv2d same", nn.Conv2d(3, 6, 3, padding="same"), [(2, 3, 6, 6)]),
    ("conv2d same, uneven", nn.Conv2d(3, 6, 4, padding="same"), [(2, 3, 6, 6)]),
    ("conv3d", nn.Conv3d(2, 3, 2), [(1, 2, 4, 4, 4)]),
    ("conv_transpose1d", nn.ConvTranspose1d(4, 6, 3), [(2, 4, 5)]),
    ("conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), [(2, 4, 5, 5)]),
    ("conv_transpose3d", nn.ConvTranspose3d(4, 6, 3), [(1, 4, 3, 3, 3)]),
    ("attention", attend, [(2, 4, 10, 16), (2, 4, 12, 16), (2, 4, 12, 8)]),
    ("lstm", nn.LSTM(10, 20, 2, bidirectional=True), [(5, 3, 10)]),
    ("lstm projected", nn.LSTM(10, 20, proj_size=8), [(5, 3, 10)]),
    ("gru", nn.GRU(10, 20), [(5, 3, 10)]),
    ("rnn", nn.RNN(10, 20), [(5, 3, 10)]),
    ("lstm cell", nn.LSTMCell(10, 20), [(3, 10)]),
    ("gru cell", nn.GRUCell(10, 20), [(3, 10)]),
    ("rnn cell", nn.RNNCell(10, 20), [(3, 10)]),
    ("batch norm", nn.BatchNorm2d(4), [IMAGE]),
    ("batch norm, plain", nn.BatchNorm2d(4, affine=False), [IMAGE]),
    ("layer norm", nn.LayerNorm(8), [ROWS]),
    ("layer norm, plain", nn.LayerNorm(8, elementwise_affine=False), [ROWS]),
    ("layer norm without bias", nn.LayerNorm(8, bias=False), [ROWS]),
    ("group norm", nn.GroupNorm(2, 4), [IMAGE]),
    ("instance norm", nn.InstanceNorm2d(4), [IMAGE]),
    ("instance norm, affine", nn.InstanceNorm2d(4, affine=True), [IMAGE]),
    ("rms norm", nn.RMSNorm(8), [ROWS]),
    ("adaptive average pool 2d", nn.AdaptiveAvgPool2d(1), [IMAGE]),
    ("adaptive average pool 2d, overlapping", nn.AdaptiveAvgPool2d(4), [IMAGE]),
    ("adaptive average pool 1d", nn.AdaptiveAvgPool1d(1), [LINE]),
    ("adaptive max pool 2d", nn.AdaptiveMaxPool2d(2), [IMAGE]),
    ("max pool", nn.MaxPool2d(2), [IMAGE]),
    ("average pool", nn.AvgPool2d(2), [IMAGE]),
    ("nearest 1d", resize("nearest"), [LINE]),
    ("nearest 2d", resize("nearest"), [IMAGE]),
    ("nearest-exact 2d", resize("nearest-exact"), [IMAGE]),
    ("linear 1d", resize("linear"), [LINE]),
    ("bilinear 2d", resize("bilinear"), [IMAGE]),
    ("bilinear 2d, smooth", resize("bilinear", antialias=True), [IMAGE]),
    ("bicubic 2d", resize("bicubic"), [IMAGE]),
    ("trilinear 3d", resize("trilinear"), [(1, 2, 3, 3, 3)]),
    ("grid sample", Call(functional.grid_sample), [IMAGE, (2, 5, 5, 2)]),
    ("softmax", Call(lambda x: x.softmax(-1)), [ROWS]),
    ("gelu", nn.GELU(), [ROWS]),
    ("ij,jk->ik", einsum("ij,jk->ik"), [(4, 5), (5, 6)]),
    ("bij,bjk->bik", einsum("bij,bjk->bik"), [(2, 4, 5), (2, 5, 6)]),
    ("bhqd,bhkd->bhqk", einsum("bhqd,bhkd->bhqk"), [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("...ij,...jk->...ik", einsum("...ij,...jk->...ik"), [(2, 4, 5), (2, 5, 6)]),
    ("...ij,jk", einsum("...ij,jk"), [(2, 4, 5), (5, 6)]),
    ("bij,bj->bi", einsum("bij,bj->bi"), [(2, 3, 4), (2, 4)]),
    ("ij,ij->", einsum("ij,ij->"), [(4, 5), (4, 5)]),
    ("ij,jk,kl->il", einsum("ij,jk,kl->il"), [(4, 5), (5, 6), (6, 7)]),
    ("bhwi,hij->bhwj", einsum("bhwi,hij->bhwj"), [(2, 3, 4, 5), (3, 5, 6)]),
    ("i,j->ij", einsum("i,j->ij"), [(4,), (5,)]),
    ("ij,ij->ij", einsum("ij,ij->ij"), [(4, 5), (4, 5)]),
    ("ij,kj->ik over 1", einsum("ij,kj->ik"), [(4, 1), (5, 1)]),
    ("ijl,jk->ik", einsum("ijl,jk->ik"), [(3, 4, 2), (4, 5)]),
    ("ij,k->i", einsum("ij,k->i"), [(3, 4), (5,)]),
    ("ij->i", einsum("ij->i"), [(4, 5)]),
]

# fvcore fails on a vector on the right, takes a vector weight for a matrix, and prints for einsums
# that are no matrix product numpy's estimate (docs/reference/conventions.md).
NOT_FVCORE = {
    "matmul matrix vector",
    "matmul batch vector",
    "matmul transposed batch vector",
    "batch parameter vector",
    "linear with a vector",
    "i,j->ij",
    "ij,ij->ij",
    "ij,kj->ik over 1",
    "ijl,jk->ik",
    "ij,k->i",
    "ij->i",
}

# Ignores torch's warnings about exporting these modules.
pytestmark = pytest.mark.filterwarnings("ignore")


def every_case_but(names):
    cases = [case for case in CASES if case[0] not in names]
    return pytest.mark.parametrize(
        ("module", "sizes"), [case[1:] for case in cases], ids=[case[0] for case in cases]
    )


def inputs_of(sizes):
    return tuple(torch.randn(size) for size in sizes)


@contextlib.contextmanager
def plain_paths():
    """Turns off the fused paths of the CPU, which counters cannot see into."""
    attention = torch.nn.attention
    with (
        torch.no_grad(),
        torch.backends.mkldnn.flags(enabled=False),
        attention.sdpa_kernel(attention.SDPBackend.MATH),
    ):
        yield


@every_case_but(())
def test_torch(module, sizes):
    from torch.utils.flop_counter import FlopCounterMode

    module.eval()
    inputs = inputs_of(sizes)
    with plain_paths(), FlopCounterMode(display=False) as counter:
        module(*inputs)
    cost = pyrometer.cost(module, inputs, convention="torch")
    assert cost.coverage == 1
    assert cost.total_flops == counter.get_total_flops()
    published = pyrometer.cost(module, inputs, convention="torchvision")
    assert 2 * published.total_flops == cost.total_flops


@every_case_but(NOT_FVCORE)
def test_fvcore(module, sizes):
    counters = pytest.importorskip("fvcore.nn")
    module.eval()
    inputs = inputs_of(sizes)
    logging.getLogger("fvcore").setLevel(logging.ERROR)
    with torch.no_grad():
        analysis = counters.FlopCountAnalysis(module, inputs)
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        expected = int(analysis.total())
    assert pyrometer.cost(module, inputs, convention="fvcore").total_flops == expected
