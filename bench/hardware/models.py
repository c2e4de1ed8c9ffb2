"""Models of gpu.py: from torchvision and transformers where those are there, else written
here with the same operators and sizes. Every builder gives a module and a function that makes the
inputs of a batch."""

import itertools

import torch
from torch import nn
from torch.nn import functional

WORDS = 32000


class Attention(nn.Module):
    """Self attention. With `past`, one new token over a cache of keys and values."""

    def __init__(self, width, heads, causal, past=0, kv_heads=None):
        super().__init__()
        self.heads, self.kv_heads, self.causal, self.past = heads, kv_heads or heads, causal, past
        self.size = width // heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, self.kv_heads * self.size)
        self.v = nn.Linear(width, self.kv_heads * self.size)
        self.out = nn.Linear(width, width)

    def cache(self, x):
        shape = (x.shape[0], self.kv_heads, self.past, self.size)
        if (
            not hasattr(self, "_cache")
            or self._cache.shape != shape
            or self._cache.dtype != x.dtype
        ):
            self._cache = torch.randn(shape, device=x.device, dtype=x.dtype)
        return self._cache

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        v = self.v(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        if self.past:
            k, v = torch.cat((self.cache(x), k), 2), torch.cat((self.cache(x), v), 2)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, 1)
            v = v.repeat_interleave(self.heads // self.kv_heads, 1)
        causal = self.causal and not self.past
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    def __init__(self, width, heads, causal=False, past=0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal, past)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class RootNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, inner, past):
        super().__init__()
        self.norm1, self.norm2 = RootNorm(width), RootNorm(width)
        self.attention = Attention(width, heads, True, past, kv_heads)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Experts(nn.Module):
    """Two of eight experts per token, each with the same number of tokens."""

    def __init__(self, width, count=8):
        super().__init__()
        self.count = count
        self.norm, self.router = nn.LayerNorm(width), nn.Linear(width, count)
        self.up = nn.Parameter(torch.randn(count, width, 2 * width) * 0.02)
        self.down = nn.Parameter(torch.randn(count, 2 * width, width) * 0.02)

    def forward(self, x):
        tokens = self.norm(x).flatten(0, 1)
        scores = self.router(tokens).softmax(-1)
        capacity = max(1, 2 * tokens.shape[0] // self.count)
        weight, chosen = scores.t().topk(capacity, -1)
        y = tokens[chosen.flatten()].view(self.count, capacity, -1)
        y = torch.bmm(functional.gelu(torch.bmm(y, self.up)), self.down) * weight[..., None]
        out = torch.zeros_like(tokens).index_add(0, chosen.flatten(), y.flatten(0, 1))
        return x + out.view_as(x)


class Language(nn.Module):
    def __init__(self, blocks, width, positions=0):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width)
        self.positions = nn.Embedding(positions, width) if positions else None
        self.blocks = nn.Sequential(*blocks)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


class Whisper(nn.Module):
    def __init__(self, width, heads, count):
        super().__init__()
        self.conv1 = nn.Conv1d(80, width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(count)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = functional.gelu(self.conv2(functional.gelu(self.conv1(x))))
        return self.norm(self.blocks(x.transpose(1, 2)))


class Residual(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, before), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, after), nn.Conv2d(after, after, 3, padding=1)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x):
        y = self.conv1(functional.silu(self.norm1(x)))
        return self.skip(x) + self.conv2(functional.silu(self.norm2(y)))


class Unet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        self.first = nn.Conv2d(3, widths[0], 3, padding=1)
        pairs = list(itertools.pairwise(widths))
        self.down = nn.ModuleList(Residual(a, b) for a, b in pairs)
        self.pool = nn.ModuleList(nn.Conv2d(b, b, 3, 2, 1) for _, b in pairs)
        self.middle = Residual(widths[-1], widths[-1])
        self.up = nn.ModuleList(Residual(2 * b, a) for a, b in reversed(pairs))
        self.last = nn.Conv2d(widths[0], 3, 3, padding=1)

    def forward(self, x):
        x, kept = self.first(x), []
        for block, pool in zip(self.down, self.pool, strict=True):
            x = block(x)
            kept.append(x)
            x = pool(x)
        x = self.middle(x)
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat((x, kept.pop()), 1))
        return self.last(x)


def images(size):
    return lambda batch, device, dtype: torch.randn(
        batch, 3, size, size, device=device, dtype=dtype
    )


def tokens(length):
    return lambda batch, device, dtype: torch.randint(0, 30000, (batch, length), device=device)


def vision(name, size=224):
    import torchvision

    return getattr(torchvision.models, name)(weights=None), images(size)


def bert():
    try:
        import transformers

        return transformers.BertModel(transformers.BertConfig()), tokens(128)
    except ImportError:
        return Language([Block(768, 12) for _ in range(12)], 768, 512), tokens(128)


def gpt2():
    try:
        import transformers

        config = transformers.GPT2Config(use_cache=False)
        return transformers.GPT2LMHeadModel(config), tokens(256)
    except ImportError:
        return Language([Block(768, 12, True) for _ in range(12)], 768, 1024), tokens(256)


def llama(past=0):
    blocks = [LlamaBlock(2048, 32, 8, 5632, past) for _ in range(22)]
    return Language(blocks, 2048), tokens(1 if past else 128)


def mixture():
    blocks = []
    for _ in range(6):
        blocks += [Block(768, 12, True), Experts(768)]
    return Language(blocks, 768, 1024), tokens(256)


def whisper():
    shape = lambda batch, device, dtype: torch.randn(batch, 80, 3000, device=device, dtype=dtype)  # noqa: E731
    return Whisper(512, 8, 6), shape


# Name: builder, family (left out together), and whether it is trained too.
MODELS = {
    "resnet50": (lambda: vision("resnet50"), "resnet", True),
    "convnext_tiny": (lambda: vision("convnext_tiny"), "convnext", True),
    "efficientnet_b0": (lambda: vision("efficientnet_b0"), "efficientnet", False),
    "vit_b_16": (lambda: vision("vit_b_16"), "vit", True),
    "swin_t": (lambda: vision("swin_t"), "swin", False),
    "bert": (bert, "bert", True),
    "gpt2": (gpt2, "gpt2", True),
    "llama_1b_prefill": (llama, "llama", False),
    "llama_1b_decode": (lambda: llama(1024), "llama", False),
    "whisper_encoder": (whisper, "whisper", False),
    "unet": (lambda: (Unet(), images(128)), "unet", True),
    "moe": (mixture, "moe", False),
}


def tiny():
    """Small ones, to try the script without a GPU."""
    blocks = lambda: [Block(32, 4, True)]  # noqa: E731
    return {
        "resnet18": (lambda: vision("resnet18", 64), "resnet", True),
        "unet": (lambda: (Unet((8, 16)), images(32)), "unet", True),
        "gpt": (lambda: (Language(blocks(), 32, 64), tokens(16)), "gpt", False),
        "moe": (lambda: (Language([*blocks(), Experts(32)], 32, 64), tokens(16)), "moe", False),
        "decode": (
            lambda: (Language([LlamaBlock(32, 4, 2, 64, 8)], 32), tokens(1)),
            "llama",
            False,
        ),
        "whisper": (lambda: (Whisper(32, 4, 1), whisper()[1]), "whisper", False),
    }
