"""Training that waits for its data: every sample is decoded when it is asked for."""

import zlib

import recording
import torch

PLANTED = recording.Planted("input-pipeline", function="decode")
SIDE = 64


def decode(packed):
    data = bytearray(zlib.decompress(packed))  # planted
    return torch.frombuffer(data, dtype=torch.uint8)[: 3 * SIDE * SIDE].view(-1, SIDE).float() / 255


class Images(torch.utils.data.Dataset):
    """Samples that are decoded when they are asked for, or batches that were decoded before."""

    def __init__(self, batches, batch, is_decoded):
        packed = zlib.compress(bytes(i * i % 251 for i in range(SIDE << 10)) * 32)
        self.item = torch.stack([decode(packed)] * batch) if is_decoded else packed
        self.count = batches if is_decoded else batches * batch

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return decode(self.item) if isinstance(self.item, bytes) else self.item


def make(device, is_fixed):
    batch = 8 if device == "cpu" else 32
    model = recording.heavy_model(device, SIDE, depth=(3, 40))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    loader = torch.utils.data.DataLoader(
        Images(16, batch, is_fixed),
        batch_size=None if is_fixed else batch,
        pin_memory=device != "cpu",
    )
    batches = recording.endless(loader)

    def step():
        inputs = next(batches).to(device, recording.type_on(device), non_blocking=True)
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    recording.main()
