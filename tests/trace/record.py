"""Records training traces that contain their own truth: every leaf module's forward runs inside a
user annotation `fwd|<dotted path>`. Needs CUDA: python tests/trace/record.py OUTPUT_FOLDER"""

from __future__ import annotations

import gzip
import pathlib
import shutil
import sys
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


class Residual(nn.Module):
    """A block whose activation module is used twice, as in torchvision's ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, groups=4)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.GroupNorm(8, channels)
        self.activation = nn.SiLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.activation(self.norm1(self.conv1(x)))
        return self.activation(self.norm2(self.conv2(y)) + x)


class SharedConvNet(nn.Module):
    """Convolutions, a block that runs twice under one name, transposed convolution, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, stride=2, padding=3), nn.ReLU())
        self.blocks = nn.ModuleList(Residual(64) for _ in range(3))
        self.up = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(32, 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in [*self.blocks, self.blocks[0]]:
            x = block(x)
        return self.head(self.pool(self.up(x)).flatten(1))


class Encoder(nn.Module):
    """Embeddings, torch's own encoder layers, a recurrent layer and a tied output layer."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(5000, 256)
        layer = nn.TransformerEncoderLayer(256, 8, 512, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.memory = nn.LSTM(256, 256, batch_first=True)
        self.norm = nn.LayerNorm(256)
        self.head = nn.Linear(256, 5000, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x, _ = self.memory(self.encoder(self.tokens(ids)))
        return self.head(self.norm(x))


class Branches(nn.Module):
    """Several inputs to one module, discarded outputs, checkpointed layers."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512))
        self.right = nn.Sequential(nn.Linear(512, 1024), nn.Tanh(), nn.Linear(1024, 512))
        self.mix = nn.Bilinear(512, 16, 64)
        self.gate = nn.Linear(512, 16)
        self.out = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left = torch.utils.checkpoint.checkpoint(self.left, x, use_reentrant=False)
        right = self.right(x)
        return self.out(self.mix(left * right, torch.softmax(self.gate(right), -1)))


def annotate_leaves(model: nn.Module) -> None:
    """Wraps the forward of every module without children in an annotation of its path."""
    for path, module in model.named_modules():
        if next(module.children(), None) is None:
            forward = module.forward

            def annotated(*args, _path=path, _forward=forward, **kwargs):
                with record_function(f"fwd|{_path}"):
                    return _forward(*args, **kwargs)

            module.forward = annotated


def record(path: pathlib.Path, model: nn.Module, example: torch.Tensor, compiled: bool) -> None:
    model = model.cuda().train()
    annotate_leaves(model)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    example = example.cuda()

    def step() -> None:
        optimizer.zero_grad()
        run(example).float().square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    with profile(
        activities=activities,
        schedule=schedule,
        record_shapes=True,
        with_stack=True,
        profile_memory=True,
        with_modules=True,
    ) as profiler:
        for _ in range(3):
            step()
            torch.cuda.synchronize()
            profiler.step()
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(plain))
        with plain.open("rb") as source, gzip.open(path, "wb") as target:
            shutil.copyfileobj(source, target)
    print(path.name, path.stat().st_size)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    images = torch.randn(16, 3, 128, 128)
    ids = torch.randint(0, 5000, (8, 64))
    features = torch.randn(256, 512)
    record(folder / "shared_conv.json.gz", SharedConvNet(), images, False)
    record(folder / "encoder.json.gz", Encoder(), ids, False)
    record(folder / "branches.json.gz", Branches(), features, False)
    record(folder / "shared_conv_compiled.json.gz", SharedConvNet(), images, True)


if __name__ == "__main__":
    main()
