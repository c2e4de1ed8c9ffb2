"""Evaluation that fetches every prediction and label from its tensor, one by one."""

import recording
import torch

PLANTED = recording.Planted("items-in-loops", function="count_right")
SAMPLES = 512


def count_right(predictions, labels):
    right = 0
    for i in range(len(labels)):
        right += predictions[i].item() == labels[i].item()  # planted
    return right


def count_right_at_once(predictions, labels):
    return (predictions == labels).sum().item()


def make(device, is_fixed):
    width = 64
    model = recording.heavy_model(device, width)
    inputs = recording.rows_for(device, width)
    labels = torch.randint(width, (SAMPLES,), device=device)
    count = count_right_at_once if is_fixed else count_right

    @torch.no_grad()
    def step():
        return count(model(inputs)[:SAMPLES].argmax(1), labels)

    return step


if __name__ == "__main__":
    recording.main()
