"""What a real training step costs: FLOPs by FlopCounterMode, and memory by the storages that
operators make."""

from __future__ import annotations

import contextlib
import weakref

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

aten = torch.ops.aten


@contextlib.contextmanager
def _visible_operators():
    """Turns off the fused paths of the CPU, which FlopCounterMode cannot see into."""
    was_enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(was_enabled)


class _Overcount(TorchDispatchMode):
    """What FlopCounterMode counts too much for weights of grouped convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten.convolution_backward.default:
            gradient, given, weight = args[:3]
            transposed, groups, mask = args[7], args[9], args[10]
            forward = conv_flop_count(
                given.shape, weight.shape, gradient.shape, transposed=transposed
            )
            if mask[1]:
                self.flops += (groups - 1) * forward
        return func(*args, **(kwargs or {}))


def outputs_of(result) -> list[torch.Tensor]:
    """The tensors of a result that a loss can depend on."""
    leaves = tree_leaves(result.to_tuple() if hasattr(result, "to_tuple") else result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def go_back(result) -> None:
    """The backward of a loss that depends on every output, with dense gradients."""
    outputs = [leaf for leaf in outputs_of(result) if leaf.requires_grad]
    torch.autograd.backward(outputs, [torch.ones_like(leaf) for leaf in outputs])


def flops(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[int, int]:
    """FLOPs of the forward and of the backward."""
    overcount = _Overcount()
    with _visible_operators(), overcount, FlopCounterMode(display=False) as counter:
        result = module(*inputs)
        forward = counter.get_total_flops()
        go_back(result)
    return forward, counter.get_total_flops() - forward - overcount.flops


class Storages(TorchDispatchMode):
    """The bytes of all storages that operators made and that are still alive."""

    def __init__(self) -> None:
        super().__init__()
        self.alive = self.peak = 0
        self._known: dict[int, int] = {}

    def _free(self, key: int) -> None:
        self.alive -= self._known.pop(key, 0)

    def add(self, tensor: torch.Tensor) -> None:
        """Counts the storage of a tensor until it is freed."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known or storage.nbytes() == 0:
            return
        self._known[key] = storage.nbytes()
        self.alive += storage.nbytes()
        self.peak = max(self.peak, self.alive)
        weakref.finalize(storage, self._free, key)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.add(leaf)
        return result


def step_memory(module: nn.Module, inputs: tuple[torch.Tensor, ...], optimizer=None) -> int:
    """The peak of bytes in a step of training: weights, inputs, and all that operators make."""
    held = Storages()
    for tensor in [*module.parameters(), *module.buffers(), *inputs]:
        held.add(tensor)
    if optimizer is not None:
        for state in optimizer.state.values():
            for value in state.values():
                if isinstance(value, torch.Tensor) and value.dim():
                    held.add(value)
    with held:
        result = module(*inputs)
        go_back(result)
        if optimizer is not None:
            optimizer.step()
    return held.peak


def forward_memory(program: torch.export.ExportedProgram, inputs: tuple[torch.Tensor, ...]) -> int:
    """The peak of bytes that the operators of a graph hold when it runs in its order."""
    module = program.module()
    held = Storages()
    for tensor in [*module.parameters(), *module.buffers(), *program.constants.values(), *inputs]:
        held.add(tensor)
    weights = held.alive
    with torch.no_grad(), held:
        module(*inputs)
    return held.peak - weights
