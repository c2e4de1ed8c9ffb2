"""One rank of small training runs on gloo, with a layer that may sleep. test_ranks.py runs it.

`ranks_worker.py FOLDER SECONDS`: each folder in FOLDER is a run, named PROFILER-ENGINE-SLOWRANK.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

import pyrometer

STEPS = 6


class Mlp(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.up = nn.Linear(size, 2 * size)
        self.down = nn.Linear(2 * size, size)
        self.delay_s = 0.0

    def forward(self, x):
        if self.delay_s:
            time.sleep(self.delay_s)
        return self.down(torch.relu(self.up(x)))


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.mlp = Mlp(size)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, size=64, blocks=3):
        super().__init__()
        self.layers = nn.ModuleList(Block(size) for _ in range(blocks))
        self.head = nn.Linear(size, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def distribute(model, engine):
    if engine == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard

    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def train(model, step, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        model(torch.randn(16, 64)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        step()


def record(profiler, model, folder, rank):
    if profiler == "ours":
        with pyrometer.profiler(
            output_dir=folder, skip_first=0, wait=0, warmup=1, active=STEPS, with_modules=True
        ) as active:
            train(model, active.step, STEPS + 2)
        return
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=schedule,
        with_stack=True,
        record_shapes=True,
        on_trace_ready=lambda p: p.export_chrome_trace(f"{folder}/rank_{rank}.json"),
    ) as active:
        train(model, active.step, STEPS + 2)


def main(folder, delay_s):
    """All runs use the same processes, because importing torch takes longer than a run."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    # A file instead of a port, which another test could take in the meantime.
    store = dist.FileStore(f"{folder}/store", world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    for name in sorted(os.listdir(folder)):
        if name == "store":
            continue
        profiler, engine, slow_rank = name.split("-")
        torch.manual_seed(0)
        model = Net()
        if slow_rank == str(rank):
            model.layers[1].mlp.delay_s = float(delay_s)
        record(profiler, distribute(model, engine), f"{folder}/{name}", rank)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
