"""Counts of a live model by FlopCounterMode, fvcore, and an independent counter of MACs."""

import contextlib
import importlib.util
import logging
import math
import warnings

import torch
from indexing import checked_indices
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from catalog.entry import Entry

aten = torch.ops.aten


@contextlib.contextmanager
def _no_encoder_fast_path():
    """Keeps nn.MultiheadAttention and similar modules from running as one operator."""
    was_enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(was_enabled)


@contextlib.contextmanager
def _no_hidden_paths():
    """Turns off the fused paths of the CPU, which FlopCounterMode cannot see into."""
    with (
        _no_encoder_fast_path(),
        sdpa_kernel(SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
    ):
        yield


def plain_module(entry: Entry) -> torch.nn.Module:
    """The module that counters can trace: the model itself, except for a few of the zoo."""
    if entry.plain is None:
        return entry.module()
    torch.manual_seed(0)
    with torch.device(entry.device):
        return entry.plain().eval()


def _checks(entry: Entry, args: tuple, kwargs: dict):
    """Makes tensors without values raise the errors of tensors with values."""
    if entry.device != "meta":
        return contextlib.nullcontext()
    return checked_indices(args, kwargs, [given.high for given in entry.inputs()])


def _run(entry: Entry, which: str, new_counter):
    """Runs the model at those shapes under a new counter, and returns the counter.

    If a model reads a tensor's value, which a meta tensor lacks, it runs on fake tensors:
    models know that these have no values, and do not read them.
    """
    module = plain_module(entry)
    try:
        args, kwargs = entry.example(which)
        with _no_hidden_paths(), _checks(entry, args, kwargs), new_counter() as counter:
            module(*args, **kwargs)
        return counter
    except (RuntimeError, NotImplementedError) as error:
        if entry.device != "meta" or "meta" not in str(error):
            raise
    with FakeTensorMode(), torch.device("cpu"):
        module = (entry.plain or entry.build)().eval()
        args, kwargs = entry.example(which, device="cpu")
        with _no_hidden_paths(), _checks(entry, args, kwargs), new_counter() as counter:
            module(*args, **kwargs)
        return counter


def torch_flops(entry: Entry, which: str) -> int:
    """FlopCounterMode's total at the "default" or "other" shapes."""
    return _run(entry, which, lambda: FlopCounterMode(display=False)).get_total_flops()


class _MacCounter(TorchDispatchMode):
    """Multiply-accumulates of contractions, from the shapes of the arguments.

    It shares no formula with FlopCounterMode, and counts operators that it omits.
    """

    def __init__(self):
        super().__init__()
        self.macs = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        rule = _rule_of(func.overloadpacket)
        if rule is None and func is not torch.ops.prim.device.default:
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        if rule is not None:
            self.macs += rule(result, *args)
        return result


def _product_macs(result, left, right, *_):
    """Every value of the result sums as many products as the left factor has columns."""
    return result.numel() * left.shape[-1]


def _added_product_macs(result, _bias, left, right, *_):
    return result.numel() * left.shape[-1]


def _summed_product_macs(result, _bias, left, right, *_):
    return left.shape[0] * result.numel() * left.shape[-1]


def _convolution_macs(result, given, weight, _bias, _s, _p, _d, transposed, *_):
    """Each weight is used at every position of the output, or of the input if transposed."""
    positions = given.shape[2:] if transposed else result.shape[2:]
    return given.shape[0] * weight.numel() * math.prod(positions)


def _dot_macs(_result, left, _right):
    return left.numel()


def _trilinear_macs(_result, left, weight, right, *_):
    """Bilinear layers: each row of left times the whole weight, then that times a row of right."""
    rows = max(left.shape[0], right.shape[0])
    outputs, _, right_width = weight.shape[-3:]
    return rows * (weight.numel() + outputs * right_width)


_MAC_RULES = {
    aten.mm: _product_macs,
    aten.bmm: _product_macs,
    aten.mv: _product_macs,
    aten.dot: _dot_macs,
    aten.vdot: _dot_macs,
    aten.addmm: _added_product_macs,
    aten.baddbmm: _added_product_macs,
    aten.addmv: _added_product_macs,
    aten.convolution: _convolution_macs,
    aten._trilinear: _trilinear_macs,
    aten.addbmm: _summed_product_macs,
    aten._grouped_mm: _product_macs,
    aten._int_mm: _product_macs,
    aten._weight_int8pack_mm: _product_macs,
}


def _rule_of(operator):
    """The rule of an operator; those of transformers exist only after importing its modules."""
    if str(operator) == "transformers.grouped_mm_fallback":
        return _product_macs
    return _MAC_RULES.get(operator)


def macs(entry: Entry, which: str) -> int:
    """The multiply-accumulates of every contraction that the model runs."""
    return _run(entry, which, _MacCounter).macs


# Where fvcore deviates from its own convention, and why.
FVCORE_DIFFERENCES = {
    "maxvit_t": "prices most einsums by NumPy's estimate, which is rounded",
    "einsum_forms": "prices most einsums by NumPy's estimate, which is rounded",
    "moe_dense": "prices most einsums by NumPy's estimate, which is rounded",
    "conv2d_same": "has no rule for a convolution whose padding is a word",
    "lstm_cell": "sees the linear layers inside a cell, though not inside an LSTM",
    "graph_layer": "sees the linear layers inside a cell, though not inside a GRU",
    "tensordot": "has no rule for tensordot",
    "baddbmm": "has no rule for baddbmm",
    "chained_products": "has no rule for multi_dot, addbmm and inner",
    "vmapped": "sees one sample of the batch",
    "quantized_linear": "has no rule for products of integers",
    "norms": "has no rule for rms_norm",
    "resampling": "has no rule for bicubic interpolation",
}

# fvcore allocates every weight and runs the model on the CPU.
_FVCORE_PARAMETER_LIMIT = 200_000_000


def fvcore_flops(entry: Entry) -> int | None:
    """fvcore's total at the default shapes; None if it is missing or cannot trace the model."""
    if importlib.util.find_spec("fvcore") is None or entry.by_name:
        return None
    if (
        sum(parameter.numel() for parameter in entry.module().parameters())
        > _FVCORE_PARAMETER_LIMIT
    ):
        return None
    from fvcore.nn import FlopCountAnalysis

    logging.getLogger("fvcore").setLevel(logging.ERROR)
    with torch.device("cpu"):
        module = (entry.plain or entry.build)().eval()
    args, _ = entry.example("default", device="cpu")
    with warnings.catch_warnings(), _no_encoder_fast_path():
        warnings.simplefilter("ignore")
        analysis = FlopCountAnalysis(module, args)
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        try:
            return int(analysis.total())
        except Exception:  # any exception of a tracer that cannot follow a model
            return None
