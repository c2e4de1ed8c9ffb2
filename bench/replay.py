"""Replays the ops of recorded models and compares the times, and sweeps ops for a table of learnt
efficiencies. On a GPU all of it takes under five minutes:

    PYTHON=python3 scripts/build-gpu.sh python3
    PYTHONPATH=build-gpu/python python3 bench/replay.py --tool build-gpu/pyrometer --out DIR

Writes DIR/replay.json (every op, recorded and replayed), DIR/sweep.json.gz and DIR/cpu.pyro (for
`make efficiency TRACES=...`) and DIR/efficiency.json, the table of both. Exits with 1 if the
recorded time of an op of over 20 us is more than 15% outside of the times with a warm and a cold
cache."""

import argparse
import gzip
import json
import pathlib
import shutil
import subprocess
import sys

import torch

LEAST_NS, TOLERANCE, TOP = 20_000, 0.15, 320


def block(width, heads):
    return torch.nn.TransformerEncoderLayer(
        width, heads, 4 * width, batch_first=True, norm_first=True, activation="gelu"
    )


def convolutions(channels):
    layers = []
    for previous, here in zip((3, *channels), channels, strict=False):
        layers += [torch.nn.Conv2d(previous, here, 3, padding=1, bias=False)]
        layers += [torch.nn.BatchNorm2d(here), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


class Language(torch.nn.Module):
    def __init__(self, width, heads, words=32000):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, width)
        self.blocks = torch.nn.Sequential(block(width, heads), block(width, heads))
        self.head = torch.nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


def models(device):
    """Model, inputs, element type."""
    large = device == "cuda"
    images = torch.randn(64 if large else 4, 3, 128, 128, device=device)
    tokens = torch.randint(0, 32000, (16 if large else 2, 512 if large else 64), device=device)
    width = 1024 if large else 128
    yield convolutions((64, 128, 256, 512)), images, torch.float32
    yield Language(width, 8), tokens, torch.float32
    if large:
        yield convolutions((64, 128, 256, 512)), images, torch.bfloat16
        yield convolutions((96, 192, 384, 768)), images, torch.float32
        yield convolutions((48, 160, 320)), images, torch.float16
        yield Language(width, 8), tokens, torch.bfloat16
        yield Language(768, 12, words=50257), tokens, torch.float32
        yield Language(2048, 16, words=36000), tokens, torch.float16


def record(path, device):
    """One trace of training steps of all models."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)

    def step(model, inputs):
        # Scaled, so that no gradient is rounded to zero: products of zeros take less power.
        (model(inputs).float().square().mean() * 1e4).backward()
        model.zero_grad()

    prepared = []
    for model, inputs, dtype in models(device):
        model = model.to(device, dtype)
        inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
        for _ in range(3):
            step(model, inputs)
        prepared.append((model, inputs))
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        for model, inputs in prepared:
            for _ in range(3):
                step(model, inputs)
        if device == "cuda":
            torch.cuda.synchronize()
    profile.export_chrome_trace(str(path))


def sweep_ops(device):
    """Callables over sizes and types, each once."""
    functional = torch.nn.functional
    large = device == "cuda"
    types = (torch.float32, torch.bfloat16, torch.float16) if large else (torch.float32,)
    for dtype in types:

        def make(*sizes, dtype=dtype):
            return torch.randn(*sizes, device=device, dtype=dtype)

        top = 13 if large else 10
        for m in range(0, top, 2):
            for n, k in ((top - 2, top - 2), (top, top - 2), (top - 2, top), (8, 8)):
                a, b = make(2**m, 2**k), make(2**n, 2**k)
                yield lambda a=a, b=b: functional.linear(a, b)
        for batch in (1, 8, 64) if large else (1, 4):
            for channels, size in ((64, 56), (128, 28), (256, 14), (512, 7)):
                x = make(batch, channels, size, size)
                for kernel in (1, 3):
                    w = make(channels, channels, kernel, kernel)
                    yield lambda x=x, w=w, p=kernel // 2: functional.conv2d(x, w, padding=p)
            for tokens in (128, 512, 2048) if large else (64, 128):
                q = make(batch, 12, tokens, 64)
                yield lambda q=q: functional.scaled_dot_product_attention(q, q, q)
        for octave in range(10, 28 if large else 22, 2):
            x = make(2 ** (octave - 10), 1024)
            w = make(1024)
            yield lambda x=x: x + x
            yield lambda x=x: functional.gelu(x)
            yield lambda x=x: x.clone()
            yield lambda x=x: x.sum()
            yield lambda x=x: x.softmax(-1)
            yield lambda x=x, w=w: functional.layer_norm(x, (1024,), w, w)
        table = make(32000, 1024)
        for octave in range(0, 16 if large else 10, 3):
            tokens = torch.randint(0, 32000, (2**octave,), device=device)
            yield lambda table=table, tokens=tokens: functional.embedding(tokens, table)


def sweep(path):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    calls = list(sweep_ops("cuda"))
    with torch.no_grad():
        for allowed in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
            for call in calls:
                call()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
            for allowed in (False, True):
                torch.backends.cuda.matmul.allow_tf32 = allowed
                torch.backends.cudnn.allow_tf32 = allowed
                for call in calls:
                    for _ in range(5):
                        call()
            torch.cuda.synchronize()
    profile.export_chrome_trace(str(path))


def record_cpu(path):
    """A recording of Pyrometer, which names the processor."""
    import pyrometer

    calls = list(sweep_ops("cpu"))
    with torch.no_grad():
        for call in calls:
            call()
        with pyrometer.capture(path):
            for call in calls:
                for _ in range(5):
                    call()


def compress(path):
    with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    path.unlink()


def is_near(op):
    """Whether the recorded time lies between those with a warm and a cold cache, or near them: the
    state of the cache was not recorded."""
    times = [op["replayed_ns"], op["replayed_cold_ns"] or op["replayed_ns"]]
    return min(times) * (1 - TOLERANCE) <= op["recorded_ns"] <= max(times) * (1 + TOLERANCE)


def compare(tool, out, device):
    trace, script, results = out / "run.json", out / "replay_ops.py", out / "replay.json"
    record(trace, device)
    subprocess.run([tool, "replay", trace, "--top", str(TOP), "-q", "-o", script], check=True)
    subprocess.run([sys.executable, script, "--json", results], check=False)
    ops = json.loads(results.read_text())["ops"]
    timed = [op for op in ops if op["replayed_ns"] and op["recorded_ns"] >= LEAST_NS]
    far = [op for op in timed if not is_near(op)]
    print(f"\n{len(ops)} ops, {sum(op['rejected'] is not None for op in ops)} rejected;")
    print(f"{len(timed)} of over 20 us, {len(timed) - len(far)} within 15% of the recorded time")
    for op in far:
        cold = f", cold cache {op['replayed_cold_ns']:.0f}" if op["replayed_cold_ns"] else ""
        print(
            f"  {op['name']} {op['dims']}: {op['recorded_ns']} -> {op['replayed_ns']:.0f} ns{cold}"
        )
    return not far


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/pyrometer")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    tool = str(pathlib.Path(arguments.tool).resolve())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    within = compare(tool, arguments.out, device)
    learnt = []
    if device == "cuda":
        sweep(arguments.out / "sweep.json")
        compress(arguments.out / "sweep.json")
        learnt.append(arguments.out / "sweep.json.gz")
    record_cpu(arguments.out / "cpu.pyro")
    learnt.append(arguments.out / "cpu.pyro")
    table = arguments.out / "efficiency.json"
    subprocess.run([tool, "learn", *learnt, "--table", table], check=True)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
