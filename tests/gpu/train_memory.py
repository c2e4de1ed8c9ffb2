"""Trains five models in bfloat16 with AdamW on a GPU, and compares the peak that Pyrometer predicts
with torch.cuda.max_memory_allocated.

    scripts/train-memory-gpu.sh            all models, with and without checkpointing
    scripts/train-memory-gpu.sh decoder    some of them

Needs only torch. Exit status: 0 all within 10%, 1 some are not.
"""

from __future__ import annotations

import functools
import pathlib
import sys

import torch
import torch.utils.checkpoint
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import training_models as models

import pyrometer

ALLOWED = 0.1


class Patches(nn.Module):
    """A vision transformer: patches, encoder layers of torch, a head."""

    def __init__(self, width: int = 768, layers: int = 12) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, 16, stride=16)
        self.place = nn.Parameter(torch.zeros(1, 196, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 12, 4 * width, dropout=0.0, activation="gelu", batch_first=True
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, 1000)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        x = self.cut(pictures).flatten(2).transpose(1, 2) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def pictures(batch: int, size: int) -> torch.Tensor:
    return torch.randn(batch, 3, size, size, dtype=torch.bfloat16)


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(0, 1000, (batch, length))


# Name, module, inputs, and the class of its blocks.
CASES = [
    ("unet", lambda: models.UNet(64), lambda: pictures(16, 256), "DoubleConv"),
    ("decoder", lambda: models.Decoder(1024, 12, 32000), lambda: tokens(8, 512), "DecoderLayer"),
    (
        "decoder_tied",
        lambda: models.Decoder(2048, 8, 32000, tied=True),
        lambda: tokens(4, 1024),
        "DecoderLayer",
    ),
    (
        "experts",
        lambda: models.MixtureOfExperts(512, 8, 16000),
        lambda: tokens(8, 256),
        "ExpertLayer",
    ),
    ("patches", Patches, lambda: pictures(64, 224), "TransformerEncoderLayer"),
]


def checkpoint_blocks(module: nn.Module, class_name: str) -> None:
    for block in module.modules():
        if type(block).__name__ == class_name:
            block.forward = functools.partial(
                torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False
            )


def measure(module: nn.Module, given: torch.Tensor) -> int:
    """The most bytes that torch allocated during a step, after two steps that warm up."""
    step = torch.optim.AdamW(module.parameters(), lr=1e-4)
    for turn in range(3):
        if turn == 2:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        step.zero_grad(set_to_none=True)
        out = module(given)
        out.backward(torch.ones_like(out))
        step.step()
        del out
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()


def compare(name, build, example, blocks, checkpoint: str) -> bool:
    """Prints one line; true if the prediction holds."""
    torch.manual_seed(0)
    module, given = build().to(torch.bfloat16).train(), example()
    cost = pyrometer.cost(module, (given,), train=True, optimizer="adamw", checkpoint=checkpoint)
    predicted = cost.peak_memory["total_bytes"]
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    if checkpoint == "blocks":
        checkpoint_blocks(module, blocks)
    real = measure(module.cuda(), given.cuda()) - before
    ratio = predicted / real
    good = abs(ratio - 1) <= ALLOWED
    print(
        f"{name:14} {checkpoint:7} {predicted / 2**20:10.1f} {real / 2**20:10.1f} {ratio:7.3f}"
        f"  {cost.peak_memory['phase']:9}{'' if good else '  DIFFERS'}",
        flush=True,
    )
    return good


def main() -> int:
    if not torch.cuda.is_available():
        print("no GPU: nothing was compared")
        return 0
    torch.backends.mha.set_fastpath_enabled(False)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, bfloat16, AdamW")
    print(f"{'model':14} {'blocks':7} {'predicted':>10} {'real MiB':>10} {'ratio':>7}  peak in")
    chosen = [case for case in CASES if not sys.argv[1:] or case[0] in sys.argv[1:]]
    good = [compare(*case, checkpoint) for case in chosen for checkpoint in ("none", "blocks")]
    print(f"{sum(good)} of {len(good)} within {ALLOWED:.0%}")
    return not all(good)


if __name__ == "__main__":
    sys.exit(main())
