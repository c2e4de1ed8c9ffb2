"""Peak memory by liveness against a real run of the same graph, op by op."""

import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import pyrometer


class Storages(TorchDispatchMode):
    """The largest sum of bytes of outputs of ops that are alive at once."""

    def __init__(self, held: list[torch.Tensor]) -> None:
        super().__init__()
        self.held = {tensor.untyped_storage()._cdata for tensor in held}
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        self.alive = {key: item for key, item in self.alive.items() if not item[0].expired()}
        for value in tree_flatten(result)[0]:
            if isinstance(value, torch.Tensor):
                storage = value.untyped_storage()
                if storage._cdata not in self.held:
                    self.alive[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return result


class Residual(nn.Module):
    """Two branches of different width that meet again, with a view in between."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(4, 32, 3, padding=1)
        self.narrow = nn.Conv2d(32, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.wide(x))
        y = self.narrow(y.transpose(2, 3).contiguous())
        return (x.transpose(2, 3) + y).flatten(1)


def _mlp():
    layers = [nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64), nn.LayerNorm(64)]
    return nn.Sequential(*layers), torch.randn(32, 64)


def _encoder():
    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), torch.randn(4, 24, 32)


def _resnet():
    torchvision = pytest.importorskip("torchvision")
    return torchvision.models.resnet18(), torch.randn(1, 3, 64, 64)


@pytest.mark.parametrize(
    "build", [_mlp, _encoder, _resnet, lambda: (Residual(), torch.randn(2, 4, 16, 16))]
)
def test_peak_is_that_of_a_real_run(build):
    torch.backends.mha.set_fastpath_enabled(False)
    model, inputs = build()
    program = torch.export.export(model.eval(), (inputs,))
    predicted = pyrometer.cost(program).peak_memory
    module = program.module()
    held = [inputs, *module.parameters(), *module.buffers()]
    with torch.no_grad(), Storages(held) as storages:
        module(inputs)
    assert predicted["activation_bytes"] == pytest.approx(storages.peak, rel=0.05)
    assert predicted["input_bytes"] == inputs.nbytes
    assert predicted["total_bytes"] > predicted["activation_bytes"] + predicted["input_bytes"]
