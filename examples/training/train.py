"""Trains a transformer with FSDP2, and profiles three steps on request.

python train.py                                     # alone, not profiled
python train.py --profile                           # with traces and a summary
torchrun --nproc-per-node 4 train.py --profile
python train.py --num-nodes 2 --gpus-per-node 4 --profile        # on a Ray cluster
nsys profile -o nsight_profile --capture-range=cudaProfilerApi python train.py --nsight
"""

import argparse

import torch
import torch.distributed as dist
from distributed import add_arguments, join, leave, run
from torch import nn
from torch.distributed.fsdp import fully_shard

from pyrometer import step_profiler

WORDS, LENGTH = 1000, 32


class Transformer(nn.Module):
    def __init__(self, width=128, heads=4, depth=4):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.head = nn.Linear(width, WORDS)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def train(args):
    device = join()
    torch.manual_seed(0)
    model = Transformer().to(device)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = torch.zeros(())
    for _ in range(args.steps):
        tokens = torch.randint(0, WORDS, (args.batch, LENGTH), device=device)
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step_profiler()
    if dist.get_rank() == 0:
        print(f"{args.steps} steps on {dist.get_world_size()} ranks, loss {loss.item():.3f}")
    leave()
    return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    run(train, parser.parse_args())
