"""Trains a small network with DistributedDataParallel on a Ray cluster, and profiles it.

    python examples/ray_training.py                                     # two ranks, this machine
    python examples/ray_training.py --num-nodes 2 --gpus-per-node 4     # with RAY_ADDRESS set

Afterwards ./profiler_logs contains the traces of all ranks, whichever nodes wrote them.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn

from pyrometer import profiler, ray, step_profiler


def train(steps: int, batch_size: int) -> float:
    """Runs in every rank; the caller gets the value of rank 0."""
    has_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 1)).to(device)
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=1e-2)
    data = torch.Generator().manual_seed(dist.get_rank())  # each rank has its own data
    for _ in range(steps):
        inputs = torch.randn(batch_size, 32, generator=data).to(device)
        loss = nn.functional.mse_loss(parallel(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step_profiler()
    mean = loss.detach()
    dist.all_reduce(mean)
    # The wrapper holds the process group. If it were the last to let go, it would wait for the
    # group's threads while it holds the interpreter's lock, which they may need.
    del parallel, optimizer
    dist.destroy_process_group()
    return mean.item() / int(os.environ["WORLD_SIZE"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-nodes", type=int, default=1)
    parser.add_argument("--gpus-per-node", type=int, default=0)
    parser.add_argument("--workers-per-node", type=int, help="ranks per node without GPUs")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--output-dir", default="./profiler_logs")
    arguments = parser.parse_args()
    workers = arguments.workers_per_node or arguments.gpus_per_node or 2

    profiled = profiler(output_dir=arguments.output_dir, active=3)(train)
    spread = ray(arguments.num_nodes, arguments.gpus_per_node, workers)(profiled)
    loss = spread(arguments.steps, arguments.batch_size)
    print(f"{arguments.num_nodes * workers} ranks, loss {loss:.4f}")


if __name__ == "__main__":
    main()
