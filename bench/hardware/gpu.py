"""Measures models on a GPU for the predictions of `pyrometer map`: twelve models, three batch
sizes, three types, half of the models in training too.

    python3 bench/hardware/gpu.py --out DIR [--seconds 300]

Needs torch, torchvision for some of the models, and nothing of this project. It continues where it
stopped when called again (build/bench/hardware keeps what is done). Writes DIR/cases.json (times of
every case by the wall clock, without a profiler) and
DIR/traces-N.tar (a trace of one step per case, with shapes, layers and
kernels, for `pyrometer learn` and `pyrometer map`). bench/hardware/evaluate.py evaluates them.
"""

import argparse
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import time

import torch
from models import MODELS, tiny
from torch.profiler import ProfilerActivity, profile, record_function
from trim import LAYER

BATCHES = (1, 8, 64)
PRECISIONS = ("fp32", "tf32", "bf16")
TAR_BYTES = 14 << 20
WORK = pathlib.Path(__file__).resolve().parents[2] / "build" / "bench" / "hardware"


def cases(models):
    """Inference first, then training: name, batch, precision, whether it trains."""
    for trains in (False, True):
        for name, (_, _, is_trained) in models.items():
            for precision in PRECISIONS:
                for batch in BATCHES:
                    if is_trained or not trains:
                        yield name, batch, precision, trains


def label(case):
    name, batch, precision, trains = case
    return f"{name}.{batch}.{precision}{'.train' if trains else ''}"


def mark_layers(model):
    """Every call of a module becomes a range in the trace; trim() makes it a frame of a module."""

    def before(path, module):
        def enter(*_):
            module._range = record_function(LAYER + path)
            module._range.__enter__()

        return enter

    def after(module, *_):
        module._range.__exit__(None, None, None)

    handles = []
    for path, module in model.named_modules():
        if path and not isinstance(module, torch.nn.ModuleList):
            handles.append(module.register_forward_pre_hook(before(path, module)))
            handles.append(module.register_forward_hook(after))
    return handles


def output_tensor(result):
    if isinstance(result, torch.Tensor):
        return result
    return result[0] if isinstance(result, tuple) else next(iter(result.values()))


def make_step(model, x, optimizer):
    if optimizer is None:

        def step():
            with torch.no_grad():
                model(x)

    else:

        def step():
            output_tensor(model(x)).float().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def time_steps(step, device, seconds):
    """Milliseconds of steps, each with a synchronization behind it, and of steps in a row."""
    step()
    synchronize(device)
    begin = time.perf_counter()
    step()
    synchronize(device)
    count = int(min(20, max(3, seconds / (time.perf_counter() - begin))))
    single = []
    for _ in range(count):
        begin = time.perf_counter()
        step()
        synchronize(device)
        single.append(1e3 * (time.perf_counter() - begin))
    begin = time.perf_counter()
    for _ in range(count):
        step()
    synchronize(device)
    return {"step_ms": single, "row_ms": 1e3 * (time.perf_counter() - begin) / count}


def record(step, model, device, raw):
    handles = mark_layers(model)
    step()
    synchronize(device)
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities, record_shapes=True) as profiler:
        step()
        synchronize(device)
    for handle in handles:
        handle.remove()
    profiler.export_chrome_trace(str(raw))


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    return torch.bfloat16 if precision == "bf16" else torch.float32


def measure(model, make_input, case, device, raw):
    _, batch, precision, trains = case
    dtype = set_precision(precision)
    model = model.to(dtype).train(trains)
    x = make_input(batch, device, dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9) if trains else None
    step = make_step(model, x, optimizer)
    times = time_steps(step, device, 0.15)
    record(step, model, device, raw)
    return times


def facts(device):
    if device != "cuda":
        return {"device": "cpu", "torch": torch.__version__}
    properties = torch.cuda.get_device_properties(0)
    return {
        "device": properties.name,
        "memory_bytes": properties.total_memory,
        "cache_bytes": properties.L2_cache_size,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


def trim_all(folder):
    """In other processes, behind all measurements: they would disturb them."""
    raw = sorted(str(path) for path in folder.glob("*.raw"))
    count = min(os.cpu_count() or 1, 12)
    script = pathlib.Path(__file__).with_name("trim.py")
    workers = [
        subprocess.Popen([sys.executable, str(script), *raw[i::count]]) for i in range(count)
    ]
    for worker in workers:
        worker.wait()


def pack(folder, out):
    """As few files as possible: some machines return a limited number."""
    for old in out.glob("traces-*.tar"):
        old.unlink()
    number, size, tar = 0, TAR_BYTES, None
    for path in sorted(folder.glob("*.json.gz")):
        data = path.read_bytes()
        if size + len(data) > TAR_BYTES:
            if tar:
                tar.close()
            number, size = number + 1, 0
            tar = tarfile.open(out / f"traces-{number}.tar", "w")
        entry = tarfile.TarInfo(path.name)
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
        size += len(data) + 1024
    if tar:
        tar.close()


def show(case, times):
    step = statistics.median(times["step_ms"])
    print(f"{label(case):36} {step:9.3f} ms, in a row {times['row_ms']:9.3f} ms", flush=True)


def run_cases(options, models, folder, results, file):
    """True when all cases are done."""
    end, built, name_built = time.monotonic() + options.seconds, None, None
    for case in cases(models):
        key, name = label(case), case[0]
        if key in results["cases"]:
            continue
        if time.monotonic() > end:
            return False
        try:
            if name_built != name:
                built = None
                if options.device == "cuda":
                    torch.cuda.empty_cache()
                with torch.device(options.device):
                    built = models[name][0]()
                name_built = name
            raw = folder / f"{key}.raw"
            times = measure(*built, case, options.device, raw)
        except Exception as error:  # out of memory, a package that is missing: the next case
            name_built = None
            results["failed"][key] = f"{type(error).__name__}: {error}"[:300]
            print(f"{key}: {results['failed'][key]}", flush=True)
            continue
        results["cases"][key] = {
            **times,
            "model": name,
            "family": models[name][1],
            "batch": case[1],
            "precision": case[2],
            "train": case[3],
        }
        file.write_text(json.dumps(results, indent=1) + "\n")
        show(case, times)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=WORK)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--tiny", action="store_true", help="small models, to try it without a GPU")
    options = parser.parse_args()
    options.device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = options.work
    folder.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    file = folder / "cases.json"
    results = json.loads(file.read_text()) if file.exists() else {"cases": {}, "failed": {}}
    results["facts"], results["failed"] = facts(options.device), {}
    models = tiny() if options.tiny else MODELS
    done = run_cases(options, models, folder, results, file)
    trim_all(folder)
    file.write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "cases.json").write_text(file.read_text())
    pack(folder, options.out)
    print(f"{len(results['cases'])} cases, {len(results['failed'])} failed")
    return 0 if done else 3


if __name__ == "__main__":
    sys.exit(main())
