"""Trains a small image classifier whose step is slow for two reasons; --fixed removes both.

python slow_step.py [--profile] [--fixed] [--steps N]
"""

import argparse
import time

import torch
from torch import nn

import pyrometer

CLASSES, SIZE = 10, 32


class Images(torch.utils.data.Dataset):
    """Synthetic images. The slow variant flips them pixel by pixel in Python."""

    def __init__(self, count: int, fixed: bool) -> None:
        generator = torch.Generator().manual_seed(0)
        self.images = torch.randn(count, 3, SIZE, SIZE, generator=generator)
        self.fixed = fixed

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = self.images[index]
        if self.fixed:
            image = image.flip(-1)
        else:
            image = torch.stack([image[:, :, SIZE - 1 - x] for x in range(SIZE)], dim=-1)
        return image, index % CLASSES


class SlowNorm(nn.Module):
    """Layer norm over channels, one image at a time."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = []
        for image in x:
            mean = image.mean(0, keepdim=True)
            variance = ((image - mean) ** 2).mean(0, keepdim=True)
            rows.append((image - mean) / torch.sqrt(variance + 1e-5))
        return torch.stack(rows)


class Classifier(nn.Module):
    def __init__(self, fixed: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.GroupNorm(1, 16, affine=False) if fixed else SlowNorm()
        self.body = nn.Sequential(nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(32, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.norm(self.stem(images))).mean((2, 3)))


def train(fixed: bool, steps: int) -> None:
    model = Classifier(fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Images(64 * steps, fixed), batch_size=64)
    begin = time.perf_counter()
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pyrometer.step_profiler()
    milliseconds = (time.perf_counter() - begin) / steps * 1e3
    print(f"{steps} steps, {milliseconds:.1f} ms per step, loss {loss.item():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", action="store_true", help="profile three steps")
    parser.add_argument("--fixed", action="store_true", help="use the fast variants")
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    folder = "after" if args.fixed else "before"
    profile = pyrometer.profiler(enabled=args.profile, output_dir=folder, with_stack=True)
    profile(train)(args.fixed, args.steps)


if __name__ == "__main__":
    main()
