"""Archives of TorchScript and torch.save: parameters and bytes as torch counts them."""

import json
import os
import subprocess

import pytest

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    """A tied weight, a norm with running statistics, and a buffer of its own."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.conv = torch.nn.Conv1d(16, 16, 3, padding=1)
        self.norm = torch.nn.BatchNorm1d(16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.ones(7))

    def forward(self, tokens):
        hidden = self.norm(self.conv(self.embed(tokens).transpose(1, 2)))
        return self.head(hidden.transpose(1, 2)) * self.scale[0]


def cost(path) -> dict:
    tool = os.environ.get("PYRO_TOOL", "pyrometer")
    command = [tool, "cost", str(path), "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.fixture(scope="module")
def net():
    return Net().eval()


@pytest.mark.parametrize("kind", ["script", "trace", "state_dict", "checkpoint", "module"])
def test_parameters(net, kind, tmp_path):
    path = tmp_path / "model.pt"
    if kind == "script":
        torch.jit.script(net).save(path)
    elif kind == "trace":
        torch.jit.trace(net, torch.zeros(1, 4, dtype=torch.int64)).save(path)
    else:
        saved = {
            "state_dict": net.state_dict(),
            "checkpoint": {"epoch": 2, "model": net.state_dict()},
            "module": net,
        }
        torch.save(saved[kind], path)
    expected = sum(parameter.numel() for parameter in net.parameters())
    found = cost(path)
    # A state dict does not say which of its tensors are buffers, unless the name does.
    unnamed = net.scale.numel() if kind in ("state_dict", "checkpoint") else 0
    assert found["params"] == expected + unnamed
    assert found["param_bytes"] == 4 * (expected + unnamed)
