"""Inference that prepares its rows one by one, with ops that do next to nothing."""

import recording
import torch

PLANTED = recording.Planted("small-ops", "host-bound", function="normalize")


def normalize(x):
    return torch.stack([(row - row.mean()) / (row.std() + 1e-5) for row in x])  # planted


def normalize_at_once(x):
    return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)


def make(device, is_fixed):
    rows, width = (192, 512) if device == "cpu" else (1024, 1024)
    model = recording.heavy_model(device, 64, depth=(1, 4))
    inputs = torch.randn(rows, width, device=device, dtype=recording.type_on(device))
    prepare = normalize_at_once if is_fixed else normalize

    @torch.no_grad()
    def step():
        return model(prepare(inputs).view(-1, 64))

    return step


if __name__ == "__main__":
    recording.main()
