"""Trains a ResNet with DistributedDataParallel on random images from a DataLoader.

torchrun --nproc-per-node 2 train_resnet.py --profile
"""

import argparse

import torch
import torch.distributed as dist
from distributed import add_arguments, join, leave, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from pyrometer import step_profiler


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        out = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(out + self.shortcut(x))


def resnet(classes=10):
    """Builds a ResNet-18 for small images."""
    sizes = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
    blocks = [
        Block(a, b, stride) if first else Block(b, b, 1)
        for a, b, stride in sizes
        for first in (True, False)
    ]
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                         *blocks, *head)  # fmt: skip


def train(args):
    device = join()
    torch.manual_seed(0)
    model = DistributedDataParallel(resnet().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    count = args.steps * args.batch
    data = TensorDataset(torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,)))
    loss = torch.zeros(())
    for pictures, labels in DataLoader(data, batch_size=args.batch):
        outputs = model(pictures.to(device))
        loss = nn.functional.cross_entropy(outputs, labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step_profiler()
    if dist.get_rank() == 0:
        print(f"{args.steps} steps on {dist.get_world_size()} ranks, loss {loss.item():.3f}")
    leave()
    return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    run(train, parser.parse_args())
