"""Inference that copies its inputs from pageable memory; fixed, from pinned memory in advance."""

import recording
import torch

PLANTED = recording.Planted("pageable-copies", function="fetch", needs_device=True)
WIDTH = 2048


class Ahead:
    """Copies the next batch on a stream of its own while the model works."""

    def __init__(self, batch):
        self.batch = batch.pin_memory()
        self.stream = torch.cuda.Stream()
        self.next = self.copy()

    def copy(self):
        with torch.cuda.stream(self.stream):
            return self.batch.to("cuda", non_blocking=True)

    def fetch(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        ready = self.next
        ready.record_stream(torch.cuda.current_stream())
        self.next = self.copy()
        return ready


def make(device, is_fixed):
    model = recording.heavy_model(device, WIDTH)
    batch = torch.randn(recording.GPU_ROWS, WIDTH).to(recording.type_on(device))

    def fetch():
        return batch.to(device)  # planted

    if is_fixed:
        fetch = Ahead(batch).fetch

    @torch.no_grad()
    def step():
        return model(fetch())

    return step


if __name__ == "__main__":
    recording.main()
