"""Models whose training step is compared with a real one: small enough to run on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn


class Case(NamedTuple):
    """A function that returns a module and its inputs, and the module's repeated blocks."""

    name: str
    make: Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]


class DoubleConv(nn.Module):
    """Two convolutions, each with a norm and an activation."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class UNet(nn.Module):
    """Three levels down, three up, with skip connections."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.down1 = DoubleConv(3, widths[0])
        self.down2 = DoubleConv(widths[0], widths[1])
        self.down3 = DoubleConv(widths[1], widths[2])
        self.bottom = DoubleConv(widths[2], widths[3])
        self.rise3 = nn.ConvTranspose2d(widths[3], widths[2], 2, stride=2)
        self.up3 = DoubleConv(widths[3], widths[2])
        self.rise2 = nn.ConvTranspose2d(widths[2], widths[1], 2, stride=2)
        self.up2 = DoubleConv(widths[2], widths[1])
        self.rise1 = nn.ConvTranspose2d(widths[1], widths[0], 2, stride=2)
        self.up1 = DoubleConv(widths[1], widths[0])
        self.last = nn.Conv2d(widths[0], 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pool = nn.functional.max_pool2d
        a = self.down1(x)
        b = self.down2(pool(a, 2))
        c = self.down3(pool(b, 2))
        d = self.bottom(pool(c, 2))
        c = self.up3(torch.cat([self.rise3(d), c], 1))
        b = self.up2(torch.cat([self.rise2(c), b], 1))
        a = self.up1(torch.cat([self.rise1(b), a], 1))
        return self.last(a)


class Attention(nn.Module):
    """Causal self-attention through torch's fused function."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Experts(nn.Module):
    """Every expert on every token, weighted by a router: a dense mixture."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, count, bias=False)
        self.rise = nn.Parameter(torch.randn(count, width, 2 * width) * 0.02)
        self.fall = nn.Parameter(torch.randn(count, 2 * width, width) * 0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.router(x).softmax(-1)
        hidden = nn.functional.silu(torch.einsum("bld,edh->belh", x, self.rise))
        each = torch.einsum("belh,ehd->beld", hidden, self.fall)
        return torch.einsum("beld,ble->bld", each, weights)


class ExpertLayer(nn.Module):
    """A decoder layer with experts."""

    def __init__(self, width: int, heads: int, count: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.experts = Experts(width, count)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.experts(self.norm2(x))


class MixtureOfExperts(nn.Module):
    """A small language model with experts."""

    def __init__(self, width: int = 64, layers: int = 4, vocabulary: int = 500) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(ExpertLayer(width, 4, 4) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class DecoderLayer(nn.Module):
    """Attention and a gated feed-forward part."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.RMSNorm(width)
        self.gate = nn.Linear(width, 4 * width, bias=False)
        self.rise = nn.Linear(width, 4 * width, bias=False)
        self.fall = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.fall(nn.functional.silu(self.gate(y)) * self.rise(y))


class Decoder(nn.Module):
    """A small language model; `tied`: its head is its table."""

    def __init__(
        self, width: int = 64, layers: int = 4, vocabulary: int = 500, tied: bool = False
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(DecoderLayer(width, 4) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    """Embeddings, two bidirectional recurrent layers, and a head over the last step."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.table = nn.Embedding(200, 32)
        self.layer = kind(32, 48, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(96, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.table(tokens))[0][:, -1])


class Autoencoder(nn.Module):
    """Grouped and transposed convolutions in one, two and three dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv3d(2, 8, 3, stride=2, padding=1, groups=2)
        self.up = nn.ConvTranspose3d(8, 4, 2, stride=2, groups=2)
        self.flat = nn.Conv1d(4, 6, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.flat(torch.tanh(self.up(torch.relu(self.down(x)))).flatten(2))


class TwoTowers(nn.Module):
    """Embedding bags and dense features that meet in dot products."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(1000, 32, mode="sum")
        self.dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(64 + 1, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, ids: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        a, b = self.bag(ids), self.dense(features)
        meet = torch.bmm(a.unsqueeze(1), b.unsqueeze(2)).squeeze(2)
        return torch.sigmoid(self.top(torch.cat([a, b, meet], 1)))


def vision(name: str, size: int = 64, batch: int = 2, **options):
    """A model of torchvision, on pictures."""

    def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        import torchvision

        module = torchvision.models.get_model(name, weights=None, **options)
        return module, (torch.randn(batch, 3, size, size),)

    return Case(name, make)


def text(name: str, class_name: str, config_name: str, batch: int = 2, length: int = 32, **fields):
    """A small model of transformers, on tokens."""

    def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        import transformers

        config = getattr(transformers, config_name)(**fields, use_cache=False)
        for key in dir(config):
            if "dropout" in key or key.endswith("pdrop"):
                setattr(config, key, 0.0)
        module = getattr(transformers, class_name)(config)
        return module, (torch.randint(0, 100, (batch, length)),)

    return Case(name, make)


def own(name: str, build: Callable[[], nn.Module], *inputs: Callable[[], torch.Tensor]):
    return Case(name, lambda: (build(), tuple(make() for make in inputs)))


def tokens(batch: int = 2, length: int = 32) -> Callable[[], torch.Tensor]:
    return lambda: torch.randint(0, 100, (batch, length))


SMALL = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
LLAMA = {**SMALL, "intermediate_size": 128, "num_key_value_heads": 2, "vocab_size": 300}

CASES = [
    vision("resnet18"),
    vision("resnet50"),
    vision("resnext50_32x4d"),
    vision("wide_resnet50_2"),
    vision("mobilenet_v2"),
    vision("mobilenet_v3_small"),
    vision("densenet121"),
    vision("efficientnet_b0"),
    vision("convnext_tiny"),
    vision("regnet_y_400mf"),
    vision("shufflenet_v2_x1_0"),
    vision("vgg11", 64),
    vision("squeezenet1_1", 96),
    vision("vit_b_16", 224, 1),
    vision("swin_t", 64),
    text("gpt2", "GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=3, n_head=4, vocab_size=300),
    text("bert", "BertModel", "BertConfig", **SMALL, intermediate_size=128, vocab_size=300),
    text("llama", "LlamaForCausalLM", "LlamaConfig", **LLAMA),
    text("qwen2", "Qwen2ForCausalLM", "Qwen2Config", **LLAMA),
    own("unet", UNet, lambda: torch.randn(2, 3, 64, 64)),
    own("experts", MixtureOfExperts, tokens()),
    own("decoder", Decoder, tokens()),
    own("decoder_tied", lambda: Decoder(tied=True), tokens()),
    own("lstm", lambda: Recurrent(nn.LSTM), tokens()),
    own("gru", lambda: Recurrent(nn.GRU), tokens()),
    own("autoencoder", Autoencoder, lambda: torch.randn(2, 2, 8, 8, 8)),
    own("two_towers", TwoTowers, tokens(8, 4), lambda: torch.randn(8, 13)),
    own(
        "encoder",
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), 3
        ),
        lambda: torch.randn(2, 32, 64),
    ),
]
MIXTRAL = {**LLAMA, "hidden_size": 128, "num_local_experts": 4, "num_experts_per_tok": 2}
GPT = {"n_embd": 256, "n_layer": 4, "n_head": 4, "vocab_size": 2000}
BERT = {**SMALL, "hidden_size": 256, "intermediate_size": 1024, "vocab_size": 2000}

# Larger, so that their memory is not that of a few small tensors.
LARGER = [
    vision("resnet50", 128, 4),
    vision("vit_b_16", 224, 2),
    text("gpt2", "GPT2LMHeadModel", "GPT2Config", 4, 128, **GPT),
    text("bert", "BertModel", "BertConfig", 4, 128, **BERT),
    own("unet", UNet, lambda: torch.randn(2, 3, 64, 64)),
    text("mixtral", "MixtralForCausalLM", "MixtralConfig", 2, 64, **MIXTRAL),
]
BY_NAME = {case.name: case for case in CASES}
LARGER_BY_NAME = {**BY_NAME, **{case.name: case for case in LARGER}}
