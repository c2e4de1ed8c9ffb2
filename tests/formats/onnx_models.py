"""Models that both exporters of torch write as ONNX, to compare costs with torch's own count."""

import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention through torch's fused function."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 192)
        self.out = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, 64))


class Recurrent(nn.Module):
    """A recurrent layer whose states are dropped."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.layer = kind(16, 32, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


class Tokens(nn.Module):
    """Embeddings, an encoder layer and a tied head."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(100, 32)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.head = nn.Linear(32, 100, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.block(self.table(x)))


class UNet(nn.Module):
    """Down, up and a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.relu(self.first(x))
        b = self.up(torch.nn.functional.gelu(self.down(a)))
        return self.last(torch.cat([a, b], 1))


class Resampled(nn.Module):
    """Pools and resampling by size and by scale."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, groups=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.interpolate(self.conv(x), scale_factor=2.0, mode="bilinear")
        y = nn.functional.avg_pool2d(y, 3, 2, ceil_mode=True)
        return nn.functional.interpolate(y, size=(7, 9), mode="nearest")


class Products(nn.Module):
    """Products by einsum, matmul and bmm."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.einsum("bnd,ndk->bnk", x, self.weight)
        return torch.bmm(y, y.transpose(1, 2)) @ torch.ones(4, 3)


class Norms(nn.Module):
    """Every kind of norm."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(8, 8, 3, padding=1, groups=4), nn.BatchNorm1d(8), nn.GroupNorm(2, 8),
            nn.InstanceNorm1d(8, affine=True), nn.LayerNorm(20), nn.PReLU(8), nn.Hardswish(),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Patches(nn.Module):
    """A 3-dim convolution, flattened by a shape that the graph computes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(2, 4, 2, stride=2)
        self.head = nn.Linear(4 * 8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.head(y.view(y.shape[0], -1))


class Logits(nn.Module):
    """A model of transformers with tokens as its only input and logits as its only output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x, use_cache=False, return_dict=False)[0]


def _vision(name: str, size: int = 64, **options: object):
    def build():
        import torchvision

        return getattr(torchvision.models, name)(weights=None, **options), (
            torch.randn(1, 3, size, size),
        )

    return build


def _language(config_name: str, class_name: str, **options: object):
    def build():
        import transformers

        config = getattr(transformers, config_name)(**options)
        model = Logits(getattr(transformers, class_name)(config))
        return model, (torch.randint(0, 90, (1, 16)),)

    return build


_DECODER = dict(
    vocab_size=100, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
)  # fmt: skip

SMALL = {
    "attention": lambda: (Attention(), (torch.randn(2, 10, 64),)),
    "lstm": lambda: (Recurrent(nn.LSTM), (torch.randn(3, 7, 16),)),
    "gru": lambda: (Recurrent(nn.GRU), (torch.randn(3, 7, 16),)),
    "tokens": lambda: (Tokens(), (torch.randint(0, 100, (2, 9)),)),
    "unet": lambda: (UNet(), (torch.randn(1, 3, 16, 16),)),
    "resampled": lambda: (Resampled(), (torch.randn(1, 3, 21, 25),)),
    "products": lambda: (Products(), (torch.randn(3, 4, 8),)),
    "norms": lambda: (Norms(), (torch.randn(2, 8, 20),)),
    "patches": lambda: (Patches(), (torch.randn(3, 2, 4, 4, 4),)),
}

LARGE = {
    **{name: _vision(name) for name in (
        "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "vgg11",
        "alexnet", "squeezenet1_1", "densenet121", "shufflenet_v2_x1_0", "regnet_y_400mf",
        "mnasnet0_5", "convnext_tiny", "resnext50_32x4d", "mobilenet_v3_large", "regnet_x_400mf",
        "wide_resnet50_2", "efficientnet_v2_s",
    )},
    "swin_t": _vision("swin_t"),
    "vit_b_16": _vision("vit_b_16", 224),
    "googlenet": _vision("googlenet", 96, init_weights=False, aux_logits=False),
    "bert": _language("BertConfig", "BertForMaskedLM", vocab_size=100, hidden_size=64,
                      num_hidden_layers=2, num_attention_heads=4, intermediate_size=96),
    "gpt2": _language("GPT2Config", "GPT2LMHeadModel", vocab_size=100, n_embd=64, n_layer=2,
                      n_head=4, n_positions=64),
    "llama": _language("LlamaConfig", "LlamaForCausalLM", **_DECODER),
    "qwen2": _language("Qwen2Config", "Qwen2ForCausalLM", **_DECODER),
    "mistral": _language("MistralConfig", "MistralForCausalLM", **_DECODER),
    "gemma": _language("GemmaConfig", "GemmaForCausalLM", head_dim=16, **_DECODER),
    "phi3": _language("Phi3Config", "Phi3ForCausalLM", pad_token_id=0, **_DECODER),
    "qwen3": _language("Qwen3Config", "Qwen3ForCausalLM", head_dim=16, **_DECODER),
    "olmo2": _language("Olmo2Config", "Olmo2ForCausalLM", pad_token_id=0, **_DECODER),
    "granite": _language("GraniteConfig", "GraniteForCausalLM", pad_token_id=0, **_DECODER),
    "starcoder2": _language("Starcoder2Config", "Starcoder2ForCausalLM", **_DECODER),
    "cohere": _language("CohereConfig", "CohereForCausalLM", **_DECODER),
    "glm": _language("GlmConfig", "GlmForCausalLM", pad_token_id=0, head_dim=16, **_DECODER),
}  # fmt: skip
