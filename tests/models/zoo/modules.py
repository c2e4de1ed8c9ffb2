"""Hand-written modules of the zoo that exercise operators: contractions, attention, norms."""

import torch
from torch import nn
from torch.nn import functional


class Lambda(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Tagger(nn.Module):
    """Embedding, bidirectional LSTM and a linear head."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, 32, padding_idx=0)
        self.lstm = nn.LSTM(32, 24, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 9)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids))
        return self.head(states).log_softmax(-1)


class _DoubleConv(nn.Sequential):
    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    """The classical encoder and decoder with skips and transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.down1 = _DoubleConv(3, 16)
        self.down2 = _DoubleConv(16, 32)
        self.middle = _DoubleConv(32, 64)
        self.lift2 = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.up2 = _DoubleConv(64, 32)
        self.lift1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.up1 = _DoubleConv(32, 16)
        self.head = nn.Conv2d(16, 5, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(functional.max_pool2d(first, 2))
        third = self.middle(functional.max_pool2d(second, 2))
        second = self.up2(torch.cat([self.lift2(third), second], 1))
        first = self.up1(torch.cat([self.lift1(second), first], 1))
        return self.head(first)


class _ResidualBlock(nn.Module):
    """Group norm, SiLU and convolutions, shifted by the embedding of the time step."""

    def __init__(self, inputs: int, outputs: int, embedding: int):
        super().__init__()
        self.norm1 = nn.GroupNorm(8, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.shift = nn.Linear(embedding, outputs)
        self.norm2 = nn.GroupNorm(8, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, embedding):
        inner = self.conv1(functional.silu(self.norm1(x)))
        inner = inner + self.shift(functional.silu(embedding))[:, :, None, None]
        return self.skip(x) + self.conv2(functional.silu(self.norm2(inner)))


class _ContextBlock(nn.Module):
    """Attention from the pixels of an image to a context."""

    def __init__(self, channels: int, context: int, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(channels)
        self.query = nn.Linear(channels, channels, bias=False)
        self.key = nn.Linear(context, channels, bias=False)
        self.value = nn.Linear(context, channels, bias=False)
        self.out = nn.Linear(channels, channels)

    def _split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, context):
        pixels = x.flatten(2).transpose(1, 2)
        query = self._split(self.query(self.norm(pixels)))
        key, value = self._split(self.key(context)), self._split(self.value(context))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        pixels = pixels + self.out(mixed.transpose(1, 2).flatten(2))
        return pixels.transpose(1, 2).reshape(x.shape)


class DiffusionUNet(nn.Module):
    """A small text-conditioned denoiser: residual blocks, cross attention, up and down."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 64))
        self.first = nn.Conv2d(4, 32, 3, padding=1)
        self.down = _ResidualBlock(32, 32, 64)
        self.shrink = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.middle1 = _ResidualBlock(64, 64, 64)
        self.attention = _ContextBlock(64, 64)
        self.middle2 = _ResidualBlock(64, 64, 64)
        self.grow = nn.Conv2d(64, 32, 3, padding=1)
        self.up = _ResidualBlock(64, 32, 64)
        self.last = nn.Conv2d(32, 4, 3, padding=1)

    def _time_embedding(self, step):
        rates = torch.exp(torch.arange(16, device=step.device) * -0.5756)
        angles = step[:, None].float() * rates[None]
        return self.time(torch.cat([angles.sin(), angles.cos()], -1))

    def forward(self, x, step, context):
        embedding = self._time_embedding(step)
        wide = self.down(self.first(x), embedding)
        narrow = self.attention(self.middle1(self.shrink(wide), embedding), context)
        narrow = self.middle2(narrow, embedding)
        grown = self.grow(functional.interpolate(narrow, scale_factor=2.0, mode="nearest"))
        return self.last(self.up(torch.cat([grown, wide], 1), embedding))


class LinearForms(nn.Module):
    """A linear layer by module, by function without bias, by addmm and by matmul."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(24, 32)
        self.weight = nn.Parameter(torch.randn(16, 32))
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, x):
        x = functional.linear(self.linear(x), self.weight)
        flat = torch.addmm(self.bias, x.flatten(0, 1), self.weight[:, :8])
        return flat @ self.weight[:8]


class MatmulForms(nn.Module):
    """Products of matrices, batches and vectors."""

    def forward(self, left, right, vector):
        batch = torch.bmm(left, right)
        broadcast = left @ right[0]
        by_vector = left @ vector
        inner = torch.dot(vector, vector)
        matrix_vector = torch.mv(left[0], vector)
        return batch, broadcast, by_vector * inner, torch.outer(matrix_vector, vector)


class EinsumForms(nn.Module):
    """The contractions that models write as einsum."""

    def forward(self, query, key, weight):
        scores = torch.einsum("bqhd,bkhd->bhqk", query, key)
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), key)
        projected = torch.einsum("bqhd,de->bqhe", mixed, weight)
        outer = torch.einsum("i,j->ij", weight[0], weight[1])
        diagonal = torch.einsum("bqhd,bqhd->bqh", query, query)
        return projected, outer, diagonal, torch.einsum("bqhd->bdhq", query)


class BilinearNet(nn.Module):
    """A bilinear layer and a head."""

    def __init__(self):
        super().__init__()
        self.bilinear = nn.Bilinear(10, 12, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, left, right):
        return self.head(self.bilinear(left, right))


class TensorDot(nn.Module):
    """A contraction over two dims."""

    def forward(self, left, right):
        return torch.tensordot(left, right, dims=([1, 2], [0, 1]))


class BatchedAdd(nn.Module):
    """baddbmm."""

    def forward(self, bias, left, right):
        return torch.baddbmm(bias, left, right, beta=0.5, alpha=2.0)


class SelfAttention(nn.Module):
    """nn.MultiheadAttention over one sequence, with its averaged weights."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 8, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)


class CrossAttention(nn.Module):
    """nn.MultiheadAttention from one sequence to another of another width."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, kdim=48, vdim=48, add_bias_kv=True)

    def forward(self, x, context):
        return self.attention(x, context, context, need_weights=False)[0]


class _Heads(nn.Module):
    """Projects to query, key and value heads; the subclasses attend."""

    def __init__(self, key_heads: int = 4):
        super().__init__()
        self.key_heads = key_heads
        self.query = nn.Linear(64, 64)
        self.key_value = nn.Linear(64, 2 * 16 * key_heads)
        self.out = nn.Linear(64, 64)

    def heads(self, x):
        query = self.query(x).unflatten(-1, (4, 16)).transpose(1, 2)
        both = self.key_value(x).unflatten(-1, (2, self.key_heads, 16))
        key, value = both.permute(2, 0, 3, 1, 4).unbind(0)
        return query, key, value

    def merge(self, mixed):
        return self.out(mixed.transpose(1, 2).flatten(2))


class CausalAttention(_Heads):
    """is_causal attention."""

    def forward(self, x):
        query, key, value = self.heads(x)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.merge(mixed)


class GroupedQueryAttention(_Heads):
    """Two query heads to every key head."""

    def __init__(self):
        super().__init__(key_heads=2)

    def forward(self, x):
        query, key, value = self.heads(x)
        mixed = functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        return self.merge(mixed)


class MaskedAttention(_Heads):
    """Attention with its own mask."""

    def forward(self, x):
        query, key, value = self.heads(x)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril(2)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.merge(mixed)


class EagerAttention(_Heads):
    """Attention written out."""

    def forward(self, x):
        query, key, value = self.heads(x)
        weights = (query @ key.transpose(-1, -2) / 4.0).softmax(-1)
        return self.merge(weights @ value)


class DenseMixture(nn.Module):
    """Every expert sees every row; a router weighs them."""

    def __init__(self, experts: int = 4):
        super().__init__()
        self.router = nn.Linear(32, experts)
        self.inner = nn.Parameter(torch.randn(experts, 32, 48))
        self.outer = nn.Parameter(torch.randn(experts, 48, 32))

    def forward(self, x):
        weights = self.router(x).softmax(-1)
        inner = torch.einsum("nd,edf->enf", x, self.inner).relu()
        return torch.einsum("enf,efd,ne->nd", inner, self.outer, weights)


class GroupedMixture(nn.Module):
    """Rows sorted by expert, then one grouped matrix product."""

    def __init__(self, experts: int = 4):
        super().__init__()
        self.inner = nn.Parameter(torch.randn(experts, 32, 48, dtype=torch.bfloat16))
        self.experts = experts

    def forward(self, x):
        rows = torch.arange(1, self.experts + 1, device=x.device, dtype=torch.int32)
        ends = rows * (x.shape[0] // self.experts)
        return torch._grouped_mm(x.bfloat16(), self.inner, offs=ends)


class Norms(nn.Module):
    """Batch, group, layer, instance and root-mean-square norms, with and without weights."""

    def __init__(self):
        super().__init__()
        self.batch = nn.BatchNorm2d(8)
        self.batch_plain = nn.BatchNorm2d(8, affine=False)
        self.group = nn.GroupNorm(4, 8)
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.layer = nn.LayerNorm(8)
        self.layer_plain = nn.LayerNorm(8, elementwise_affine=False)
        self.rms = nn.RMSNorm(8)

    def forward(self, x):
        x = self.instance(self.group(self.batch_plain(self.batch(x))))
        x = self.rms(self.layer_plain(self.layer(x.permute(0, 2, 3, 1))))
        return functional.normalize(functional.local_response_norm(x, 3), dim=-1)


class Pools(nn.Module):
    """Pools, adaptive pools and one with indices."""

    def forward(self, x):
        average = functional.avg_pool2d(x, 3, stride=2, padding=1)
        largest, indices = functional.max_pool2d(x, 2, return_indices=True)
        restored = functional.max_unpool2d(largest, indices, 2)
        return (
            functional.adaptive_avg_pool2d(average, 1),
            functional.adaptive_max_pool2d(average, 1),
            restored,
            functional.avg_pool1d(x.flatten(2), 4),
        )


class Resampling(nn.Module):
    """Interpolation, grids and pixel shuffles."""

    def forward(self, x):
        nearest = functional.interpolate(x, scale_factor=2.0)
        linear = functional.interpolate(x, size=(24, 30), mode="bilinear", align_corners=False)
        cubic = functional.interpolate(x, size=(20, 20), mode="bicubic")
        angles = x.mean((2, 3))[:, :2, None].expand(-1, 2, 3)
        grid = functional.affine_grid(angles, list(x.shape), align_corners=False)
        sampled = functional.grid_sample(x, grid, align_corners=False)
        return nearest, linear, cubic, sampled, functional.pixel_shuffle(x, 2)


class Activations(nn.Module):
    """One after the other."""

    def __init__(self):
        super().__init__()
        self.prelu = nn.PReLU()

    def forward(self, x):
        x = functional.gelu(functional.gelu(x), approximate="tanh")
        x = functional.silu(functional.mish(functional.hardswish(x)))
        x = functional.elu(functional.leaky_relu(functional.selu(x)))
        x = functional.softplus(functional.hardsigmoid(functional.relu6(x)))
        x = functional.glu(torch.cat([x, x.tanh()], -1))
        return functional.log_softmax(self.prelu(x).clamp(-1, 1), -1).erf().sqrt()


class Indexing(nn.Module):
    """Gather, scatter, index, sort and similar operators."""

    def forward(self, x):
        order = x.argsort(-1)
        gathered = x.gather(-1, order)
        scattered = torch.zeros_like(x).scatter_add(-1, order, gathered)
        values, _ = scattered.topk(4, -1)
        picked = x[:, [0, 2, 5]].index_select(1, torch.tensor([2, 0], device=x.device))
        joined = torch.cat([values, picked, x.roll(1, -1), x.flip(-1)], -1)
        return torch.where(joined > 0, joined, joined.cumsum(-1)).masked_fill(joined > 1, 0.0)


class Reductions(nn.Module):
    """Sums, means, extremes, variances, norms and products."""

    def forward(self, x):
        spread = torch.var_mean(x, -1)
        return (
            x.sum(-1) + x.mean(-1) + x.amax(-1) + x.prod(-1) + x.logsumexp(-1),
            x.std(-1) + torch.linalg.vector_norm(x, dim=-1) + spread[0] * spread[1],
            x.argmax(-1),
            torch.cdist(x, x),
        )


class Fourier(nn.Module):
    """A filter in the frequency domain, and a spectrogram."""

    def forward(self, x):
        filtered = torch.fft.irfft(torch.fft.rfft(x) * 0.5, n=64)
        window = torch.hann_window(16, device=x.device)
        return filtered, torch.stft(x, 16, 8, window=window, return_complex=True).abs()


class IntegerOnly(nn.Module):
    """No floating point anywhere."""

    def forward(self, ids):
        return (ids * 3 + ids.cumsum(-1)) % 7, (ids > 4).sum(-1), ids.bitwise_and(1)


class MixedPrecision(nn.Module):
    """A bfloat16 layer between float32 ones."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.lower = nn.Linear(64, 64, dtype=torch.bfloat16)
        self.last = nn.Linear(64, 8)

    def forward(self, x):
        return self.last(self.lower(self.first(x).bfloat16()).float())
