"""Trains five models in bfloat16 with AdamW on a GPU, and compares what Pyrometer predicts with it:
the peak with torch.cuda.max_memory_allocated, and the largest batch under 16, 40 and 80 GiB
(set_per_process_memory_fraction) with the largest that runs.

    scripts/train-memory-gpu.sh                      all; continues where it stopped
    scripts/train-memory-gpu.sh --seconds 140        starts nothing after that time
    scripts/train-memory-gpu.sh --limits 16 decoder  one limit, one model

Needs only torch. Results are kept in build-gpu/train_memory.json (--again measures them anew). A
batch is tried at the prediction, at 1/0.9 of it, and between. Exit status: 0 all hold, 1 some do
not, 3 some are missing.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import pathlib
import subprocess
import sys
import time

import torch
import torch.utils.checkpoint
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import training_models as models

import pyrometer

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = 0.1
LIMITS = (16, 40, 80)
RESULTS = ROOT / "build-gpu" / "train_memory.json"


class Patches(nn.Module):
    """A vision transformer: patches, encoder layers of torch, a head."""

    def __init__(self, width: int = 768, layers: int = 12) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, 16, stride=16)
        self.place = nn.Parameter(torch.zeros(1, 196, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 12, 4 * width, dropout=0.0, activation="gelu", batch_first=True
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, 1000)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        x = self.cut(pictures).flatten(2).transpose(1, 2) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def pictures(batch: int, size: int) -> torch.Tensor:
    return torch.randn(batch, 3, size, size, dtype=torch.bfloat16)


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(0, 1000, (batch, length))


# By name: module, inputs of a batch, the batch whose peak is compared, the class of its blocks.
CASES = {
    "unet": (lambda: models.UNet(64), lambda n: pictures(n, 256), 16, "DoubleConv"),
    "decoder": (
        lambda: models.Decoder(1024, 12, 32000),
        lambda n: tokens(n, 512),
        8,
        "DecoderLayer",
    ),
    "decoder_tied": (
        lambda: models.Decoder(2048, 8, 32000, tied=True),
        lambda n: tokens(n, 1024),
        4,
        "DecoderLayer",
    ),
    "experts": (
        lambda: models.MixtureOfExperts(512, 8, 16000),
        lambda n: tokens(n, 256),
        8,
        "ExpertLayer",
    ),
    "patches": (Patches, lambda n: pictures(n, 224), 64, "TransformerEncoderLayer"),
}


def checkpoint_blocks(module: nn.Module, class_name: str) -> None:
    for block in module.modules():
        if type(block).__name__ == class_name:
            block.forward = functools.partial(
                torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False
            )


def built(name: str, device: str) -> nn.Module:
    torch.manual_seed(0)
    with torch.device(device):
        return CASES[name][0]().to(torch.bfloat16).train()


class Sum(torch.autograd.Function):
    """A loss without memory of its own, as `fit` assumes: only backward holds its gradient."""

    @staticmethod
    def forward(context: torch.autograd.Function, out: torch.Tensor) -> torch.Tensor:
        context.shape, context.kind = out.shape, out.dtype
        return out.sum()

    @staticmethod
    def backward(context: torch.autograd.Function, gradient: torch.Tensor) -> torch.Tensor:
        return torch.ones(context.shape, dtype=context.kind, device=gradient.device)


def run_steps(module: nn.Module, optimizer: torch.optim.Optimizer, given: torch.Tensor, count: int):
    for _ in range(count):
        optimizer.zero_grad(set_to_none=True)
        out = module(given)
        Sum.apply(out).backward()
        optimizer.step()
        del out


def measured_peak(name: str, checkpoint: str) -> int:
    """The most bytes that torch allocated during a step, after two steps that warm up."""
    _build, example, batch, blocks = CASES[name]
    before = torch.cuda.memory_allocated()
    module, given = built(name, "cuda"), example(batch).cuda()
    if checkpoint == "blocks":
        checkpoint_blocks(module, blocks)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4)
    run_steps(module, optimizer, given, 2)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    run_steps(module, optimizer, given, 1)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def predicted(name: str, **options) -> pyrometer.Fit:
    """What fit says of the model with an open batch; weights are never made."""
    _build, example, batch, _blocks = CASES[name]
    return pyrometer.fit(
        built(name, "meta"),
        example(batch).to("meta"),
        dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=1 << 20)},),
        on=[f"{limit}GB" for limit in LIMITS],
        reserve_bytes=0,
        train=True,
        optimizer="adamw",
        **options,
    )


def runs(name: str, state: dict, batch: int) -> bool:
    """True if a step of that batch fits under the limit of this process."""
    gc.collect()
    torch.cuda.empty_cache()
    try:
        if "module" not in state:
            state["module"] = built(name, "cuda")
            state["optimizer"] = torch.optim.AdamW(state["module"].parameters(), lr=1e-4)
            run_steps(state["module"], state["optimizer"], CASES[name][1](1).cuda(), 1)
        given = CASES[name][1](batch).cuda()
        run_steps(state["module"], state["optimizer"], given, 1)
        torch.cuda.synchronize()
        return True
    except torch.OutOfMemoryError:
        return False
    finally:
        if "optimizer" in state:
            state["optimizer"].zero_grad(set_to_none=True)


def largest(name: str, limit: int, guess: int) -> dict:
    """The largest batch that ran, and the smallest that did not, of three tries."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(limit * 2**30 / total)
    state: dict = {}
    low, high = 0, None
    for batch in (guess, max(guess + 1, int(guess / (1 - ALLOWED)) + 1), None):
        batch = batch if batch is not None else (low + (high or low + 2)) // 2
        if batch <= low or (high is not None and batch >= high):
            continue
        if runs(name, state, batch):
            low = batch
        else:
            high = batch
    state.clear()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1.0)
    return {"predicted": guess, "ran": low, "failed": high}


def holds(key: str, row: dict) -> bool:
    if key.startswith("peak"):
        return abs(row["predicted"] / row["real"] - 1) <= ALLOWED
    # Never above what ran, and at least 90% of the largest that could: the next is known to fail.
    return row["predicted"] <= row["ran"] and row["predicted"] >= (1 - ALLOWED) * row["ran"]


def show(key: str, row: dict) -> None:
    what = key.split()
    if what[0] == "peak":
        text = f"{row['predicted'] / 2**20:10.1f} {row['real'] / 2**20:10.1f} MiB"
        text += f" {row['predicted'] / row['real']:7.3f}  {row['phase']}"
    else:
        failed = "-" if row["failed"] is None else row["failed"]
        text = f"{row['predicted']:10} {row['ran']:10} ran {failed} failed"
        text += f" {row['predicted'] / max(row['ran'], 1):7.3f}"
    print(f"{' '.join(what):32} {text}{'' if holds(key, row) else '  DIFFERS'}", flush=True)


def work(options: argparse.Namespace, names: list[str], limits: list[int], part: str) -> None:
    """One process: peaks, or batches under some limits; prints a JSON line per result."""
    torch.backends.mha.set_fastpath_enabled(False)
    done = json.loads(RESULTS.read_text()) if RESULTS.exists() and not options.again else {}
    for name in names:
        wanted = [f"peak {name} {kind}" for kind in ("none", "blocks") if part == "peaks"]
        wanted += [f"batch {name} {limit}" for limit in limits if part == "batches"]
        wanted = [key for key in wanted if key not in done]
        if not wanted or time.time() > options.end:
            continue
        fit = predicted(name) if part == "batches" else None
        for key in wanted:
            if time.time() > options.end:
                break
            if fit is None:
                kind = key.split()[2]
                cost = pyrometer.cost(
                    built(name, "meta"),
                    CASES[name][1](CASES[name][2]).to("meta"),
                    train=True,
                    optimizer="adamw",
                    checkpoint=kind,
                )
                row = {"predicted": cost.peak_memory["total_bytes"]}
                row["phase"] = cost.peak_memory["phase"]
                row["real"] = measured_peak(name, kind)
                gc.collect()
                torch.cuda.empty_cache()
            else:
                limit = int(key.split()[2])
                answer = fit.answers[LIMITS.index(limit)]
                row = largest(name, limit, answer["largest_batch"])
            print(json.dumps({key: row}), flush=True)


def collect(workers: list[subprocess.Popen], found: dict) -> None:
    """Keeps every result as soon as it is there."""
    import selectors

    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.stdout, selectors.EVENT_READ)
        while selector.get_map():
            for key, _events in selector.select():
                line = key.fileobj.readline()
                if not line:
                    selector.unregister(key.fileobj)
                elif line.startswith("{"):
                    row = json.loads(line)
                    found.update(row)
                    RESULTS.write_text(json.dumps(found, indent=1))
                    show(*next(iter(row.items())))
    for worker in workers:
        worker.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=140)
    parser.add_argument("--limits", type=int, nargs="*", default=list(LIMITS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--part", choices=("peaks", "batches"))
    parser.add_argument("--end", type=float)
    options = parser.parse_args()
    names = [name for name in CASES if not options.names or name in options.names]
    if not torch.cuda.is_available():
        print("no GPU: nothing was compared")
        return 0
    if options.part:
        work(options, names, options.limits, options.part)
        return 0
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, bfloat16, AdamW")
    print(f"{'what':32} {'predicted':>10} {'real':>10}")
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() and not options.again else {}
    for key, row in found.items():
        show(key, row)
    common = [sys.executable, __file__, "--end", str(time.time() + options.seconds), *names]
    common += ["--again"] if options.again else []
    high = [str(limit) for limit in options.limits if limit > 40]
    low = [str(limit) for limit in options.limits if limit <= 40]
    # 80 GiB beside 40 and 16 GiB; the peaks are small.
    commands = [[*common, "--part", "peaks"]]
    commands += [[*common, "--part", "batches", "--limits", *part] for part in (high, low) if part]
    collect([subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands], found)
    wanted = [f"peak {name} {kind}" for name in names for kind in ("none", "blocks")]
    wanted += [f"batch {name} {limit}" for name in names for limit in options.limits]
    missing = [key for key in wanted if key not in found]
    good = [holds(key, row) for key, row in found.items()]
    print(f"{sum(good)} of {len(good)} hold; {len(missing)} missing")
    return 1 if not all(good) else 3 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
