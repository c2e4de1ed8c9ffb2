"""Trains a small LLaMA-like transformer: rotary positions, RMSNorm, SwiGLU, causal attention.

python train_llama.py --profile
torchrun --nproc-per-node 2 train_llama.py --profile
python train_llama.py --num-nodes 2 --workers-per-node 1 --profile     # on a Ray cluster
"""

import argparse

import torch
import torch.distributed as dist
from distributed import add_arguments, join, leave, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from pyrometer import step_profiler

WORDS = 512


def rotate(x, positions):
    """Rotates pairs of values by their position."""
    half = x.shape[-1] // 2
    frequencies = 10_000 ** (-torch.arange(half, device=x.device) / half)
    angles = positions[:, None] * frequencies
    sine, cosine = angles.sin(), angles.cos()
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        positions = torch.arange(length, device=x.device)

        def split(values):
            return values.view(batch, length, self.heads, -1).transpose(1, 2)

        query, key = (rotate(split(part(x)), positions) for part in (self.query, self.key))
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, split(self.value(x)), is_causal=True
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention_norm, self.feed_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads)
        self.feed = FeedForward(width, width * 8 // 3)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed(self.feed_norm(x))


class Llama(nn.Module):
    def __init__(self, width=96, heads=4, depth=3):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def train(args):
    device = join()
    torch.manual_seed(0)
    model = DistributedDataParallel(Llama().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = torch.zeros(())
    for _ in range(args.steps):
        tokens = torch.randint(0, WORDS, (args.batch, 33), device=device)
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
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
