"""One rank of a training step under torch's fully_shard; test_fit.py runs two of them.

    python fsdp_worker.py FOLDER RANK WORLD

Writes the bytes of its parameters, gradients and optimizer states to FOLDER/rankR.json.
"""

import json
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    """Sizes that two ranks divide evenly, unevenly, and not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(33, 65), nn.Linear(65, 33)
        self.norm = nn.LayerNorm(33)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.scale * self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(101, 33)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(33, 101, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def example() -> torch.Tensor:
    return torch.arange(28).reshape(4, 7)


def storage_bytes(tensors: list[torch.Tensor]) -> int:
    """Bytes of the storages behind some tensors, each once."""
    local = [one.to_local() if hasattr(one, "to_local") else one for one in tensors]
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in local}
    return sum(storages.values())


def main() -> None:
    folder, rank, world = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    torch.manual_seed(0)
    model = Model()
    mesh = dist.device_mesh.init_device_mesh("cpu", (world,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    model(example()).sum().backward()
    gradients = [one.grad.to_local() for one in model.parameters()]
    optimizer.step()
    states = [
        value for state in optimizer.state.values() for key, value in state.items() if key != "step"
    ]
    result = {
        "weights": storage_bytes(list(model.parameters())),
        "gradients": sum(one.nbytes for one in gradients),
        "gradient_storages": storage_bytes(gradients),
        "optimizer_states": storage_bytes(states),
    }
    (folder / f"rank{rank}.json").write_text(json.dumps(result))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
