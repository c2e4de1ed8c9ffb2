"""Models with known graphs: residuals, skips, reuse, dicts, several outputs."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class DoubleConv(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Down(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(self.pool(x))


class Up(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, inputs // 2, 2, stride=2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        x = self.up(x)
        lacking = skip.shape[-1] - x.shape[-1]
        x = functional.pad(x, [lacking // 2, lacking - lacking // 2, 0, 0])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    """A U-Net: skips from every depth of the encoder to the decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.inc = DoubleConv(3, 8)
        self.down1 = Down(8, 16)
        self.down2 = Down(16, 32)
        self.up1 = Up(32, 16)
        self.up2 = Up(16, 8)
        self.outc = nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.inc(x)
        second = self.down1(first)
        third = self.down2(second)
        return self.outc(self.up2(self.up1(third, second), first))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (
            one.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for one in (q, k, v)
        )
        x = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(x.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.drop = nn.Dropout(0.1)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Residuals, views of one product, positions that are a weight, tied weights."""

    def __init__(self, depth: int = 3, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, width)
        self.positions = nn.Parameter(torch.zeros(1, 16, width))
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 50, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.tokens(ids) + self.positions[:, : ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Reused(nn.Module):
    """One module called three times, once with the result of itself; work between the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(8, 8)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = self.act(self.cell(x))
        second = self.act(self.cell(self.cell(first) * 0.5))
        return first + second, torch.sigmoid(second)


@dataclasses.dataclass
class Result:
    logits: torch.Tensor
    hidden: torch.Tensor


class DictModel(nn.Module):
    """Takes a dict and keywords, passes tuples between its parts, returns a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(4, 8)
        self.right = nn.Linear(6, 8)
        self.norm = nn.LayerNorm(8)
        self.heads = nn.ModuleDict({"a": nn.Linear(16, 2), "b": nn.Linear(16, 3)})

    def both(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        return self.left(inputs["left"]), self.right(inputs["right"])

    def forward(
        self, inputs: dict[str, torch.Tensor], *, scale: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        left, right = self.both(inputs)
        if scale is not None:
            right = right * scale
        hidden = torch.cat((self.norm(left), right), dim=-1)
        return {name: head(hidden) for name, head in self.heads.items()}


def resnet18() -> nn.Module:
    from torchvision.models import resnet18

    return resnet18(weights=None)


def cases() -> dict[str, tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    torch.manual_seed(0)
    inputs = {"left": torch.randn(3, 4), "right": torch.randn(3, 6)}
    return {
        "resnet18": (resnet18(), (torch.randn(1, 3, 64, 64),), {}),
        "unet": (UNet(), (torch.randn(1, 3, 16, 20),), {}),
        "transformer": (Transformer(), (torch.randint(0, 50, (2, 12)),), {}),
        "reused": (Reused(), (torch.randn(3, 8),), {}),
        "dict": (DictModel(), (inputs,), {"scale": torch.randn(8)}),
    }
