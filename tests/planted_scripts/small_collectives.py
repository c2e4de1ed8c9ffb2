"""Training of two processes that reduce every gradient by itself."""

import subprocess
import sys
import tempfile

import recording
import torch
import torch.distributed as dist
from torch import nn

PLANTED = recording.Planted("small-collectives", function="reduce_gradients")
RANKS = 2


def reduce_gradients(parameters):
    for parameter in parameters:
        dist.all_reduce(parameter.grad)  # planted


def reduce_gradients_at_once(parameters):
    flat = torch.cat([parameter.grad.flatten() for parameter in parameters])
    dist.all_reduce(flat)
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, part in zip(parameters, flat.split(sizes), strict=True):
        parameter.grad = part.view_as(parameter)


def train(device, is_fixed):
    width, rows = (32, 1024) if device == "cpu" else (256, recording.GPU_ROWS)
    dtype = torch.float32 if device == "cpu" else torch.float16  # gloo lacks bfloat16
    # On a GPU, the layers that are trained follow a large part that is not.
    trunk = nn.Identity() if device == "cpu" else recording.heavy_model(device, width).to(dtype)
    trunk.requires_grad_(False)
    model = nn.Sequential(*[nn.Linear(width, width) for _ in range(16)]).to(device, dtype)
    parameters = list(model.parameters())
    inputs = torch.randn(rows, width, device=device, dtype=dtype)
    optimizer = torch.optim.SGD(parameters, lr=0.01, fused=True)
    reduce = reduce_gradients_at_once if is_fixed else reduce_gradients

    def step():
        optimizer.zero_grad()
        model(trunk(inputs)).square().mean().backward()
        reduce(parameters)
        optimizer.step()

    return step


def join(rank, address):
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=RANKS)


class FirstRank:
    """Steps of the first rank. The second one follows them until it is ended."""

    def __init__(self, device, is_fixed):
        self.folder = tempfile.TemporaryDirectory(prefix="planted-ranks-")
        address = f"file://{self.folder.name}/store"
        arguments = [sys.executable, __file__, "--follow", address, device, "fixed" * is_fixed]
        self.follower = subprocess.Popen(arguments)
        join(0, address)
        self.step = train(device, is_fixed)

    def __call__(self):
        self.step()

    def close(self):
        self.follower.kill()
        self.follower.wait()
        dist.destroy_process_group()
        self.folder.cleanup()


def follow(address, device, is_fixed):
    join(1, address)
    step = train(device, bool(is_fixed))
    while True:
        step()


def make(device, is_fixed):
    return FirstRank(device, is_fixed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        follow(*sys.argv[2:])
    recording.main()
