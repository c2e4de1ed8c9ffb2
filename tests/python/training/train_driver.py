"""The program of the ranks in test_training_ranks.py: DDP and FSDP2 over gloo, small models."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset

from pyrometer import profiler, step_profiler


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )


def shard(model):
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    return fully_shard(model)


def train(model, steps, at_step=lambda step: None):
    optimizer = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.randn(steps * 8, 64), torch.randint(0, 10, (steps * 8,)))
    for step, (inputs, labels) in enumerate(DataLoader(data, batch_size=8)):
        at_step(step)
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        step_profiler()
    return steps


def train_both(folder):
    for name, wrap in (("ddp", nn.parallel.DistributedDataParallel), ("fsdp", shard)):
        profiled = profiler(output_dir=os.path.join(folder, name))(train)
        assert profiled(wrap(make_model()), 7) == 7


def die(folder):
    """Rank 1 is killed in the middle of its active steps."""

    def at_step(step):
        if step == 5 and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    model = nn.parallel.DistributedDataParallel(make_model())
    profiler(output_dir=folder)(train)(model, 8, at_step)


if __name__ == "__main__":
    if "MASTER_PORT" in os.environ:  # under torchrun
        dist.init_process_group("gloo")
    else:
        world = int(os.environ["WORLD_SIZE"])
        store = dist.FileStore(f"{sys.argv[2]}.store", world)
        dist.init_process_group("gloo", store=store, rank=int(os.environ["RANK"]), world_size=world)
    {"both": train_both, "die": die}[sys.argv[1]](sys.argv[2])
    dist.destroy_process_group()
