"""Compares the predictions of `pyrometer map` with measurements.

    .venv/bin/python bench/hardware/evaluate.py cpu [--tool build/pyrometer] [--models resnet18,...]
    python3 bench/hardware/evaluate.py gpu DIR [--tool build/pyrometer]

cpu: measures kernels (as `pyrometer doctor --calibrate` does) and eight models in turn, at batch 1
and 8, in float32, on one thread, in time of the process, so that a busy machine disturbs little;
then predicts the models from the kernels alone.

gpu: evaluates what gpu.py measured on a GPU (DIR has cases.json and traces-*.tar). For every case a
table is learnt from the traces of other families and other batch sizes, and predicts the case.
"""

import argparse
import gzip
import importlib.util
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "bench" / "hardware-cpu"
BATCHES = (1, 8)
# Name in the catalog: the package that has it, and the shape of a sample.
MODELS = {
    "resnet18": "torchvision",
    "resnet50": "torchvision",
    "mobilenet_v2": "torchvision",
    "efficientnet_b0": "torchvision",
    "convnext_tiny": "torchvision",
    "vit_b_16": "torchvision",
    "bert_base": "BertModel",
    "gpt2": "GPT2LMHeadModel",
}


def load(name):
    path = ROOT / "python" / "pyrometer" / "_capture" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_map(tool, *words):
    done = subprocess.run(
        [tool, "map", *map(str, words), "--format", "json"], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["maps"][0]["chips"][0]


def build(torch, name):
    """A model and what makes its input for a batch; the sizes are those of the catalog."""
    if MODELS[name] == "torchvision":
        import torchvision

        model = getattr(torchvision.models, name)(weights=None)
        return model.eval(), lambda batch: torch.randn(batch, 3, 224, 224)
    import transformers

    kind = getattr(transformers, MODELS[name])
    config = kind.config_class(use_cache=False)
    return kind(config).eval(), lambda batch: torch.randint(0, 30000, (batch, 128))


def best_ms(model, x, torch):
    times = []
    with torch.no_grad():
        model(x)
        while len(times) < 3 or (sum(times) < 1.5 and len(times) < 30):
            begin = time.process_time()
            model(x)
            times.append(time.process_time() - begin)
    return 1e3 * min(times)


def merge(before, after):
    """The shorter of two times of each kernel: the less disturbed one."""
    if not before:
        return after
    return [
        {**old, "time_ns": min(old["time_ns"], new["time_ns"])}
        for old, new in zip(before, after, strict=True)
    ]


def measure_cpu(chosen):
    import torch

    torch.set_num_threads(1)
    calibrate, kernels = load("calibrate"), load("calibrate_kernels")
    bench = calibrate.Bench(torch, "cpu", 0.02, time.process_time)
    rows, times = [], {}
    with torch.no_grad():
        rates = calibrate.measure(calibrate.Bench(torch, "cpu", 0.05, time.process_time))
    for name in chosen:
        with torch.no_grad():
            rows = merge(rows, kernels.measure(bench, calibrate._precision))
        model, make_input = build(torch, name)
        for batch in BATCHES:
            times[f"{name} {batch}"] = best_ms(model, make_input(batch), torch)
            print(f"{name}, batch {batch}: {times[f'{name} {batch}']:.1f} ms", flush=True)
    host = {"device": "cpu", "name": "processor", "threads": 1, **rates, "kernels": rows}
    peaks = {"schema": "pyrometer.peaks/2", "host": "host", "measured": time.strftime("%Y-%m-%d")}
    return {**peaks, "devices": [host]}, times


def show_errors(errors):
    values = sorted(abs(error) for error in errors)
    print(
        f"median error {statistics.median(values):.0%}, "
        f"90th percentile {values[math.ceil(0.9 * len(values)) - 1]:.0%}, {len(values)} cases"
    )


def cpu(options):
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = options.models.split(",") if options.models else list(MODELS)
    peaks, measured = FOLDER / "peaks.json", FOLDER / "measured.json"
    if not options.again:
        found, times = measure_cpu(chosen)
        peaks.write_text(json.dumps(found))
        measured.write_text(json.dumps(times))
    times, errors = json.loads(measured.read_text()), []
    print(
        f"{'model':18} {'batch':>5} {'measured ms':>12} {'predicted ms':>13} {'range':>19}  error"
    )
    for case, milliseconds in times.items():
        name, batch = case.split()
        words = [] if MODELS[name] == "torchvision" else ["--seq", 128]
        chip = run_map(options.tool, name, "--batch", batch, "--on", "host", "--no-learnt",
                       "--peaks", peaks, *words)  # fmt: skip
        total = chip["total"]
        error = total["time_ns"] / 1e6 / milliseconds - 1
        errors.append(error)
        low, high = total["low_ns"] / 1e6, total["high_ns"] / 1e6
        print(
            f"{name:18} {batch:>5} {milliseconds:12.1f} {total['time_ns'] / 1e6:13.1f} "
            f"{low:9.1f}-{high:9.1f}  {error:+.0%}"
        )
    show_errors(errors)
    return 0


def rank_correlation(pairs):
    """Spearman's, of predicted and measured times."""

    def ranks(values):
        order = sorted(range(len(values)), key=values.__getitem__)
        return {index: rank for rank, index in enumerate(order)}

    if len(pairs) < 4:
        return None
    left, right = ranks([a for a, _ in pairs]), ranks([b for _, b in pairs])
    count = len(pairs)
    distance = sum((left[i] - right[i]) ** 2 for i in range(count))
    return 1 - 6 * distance / (count * (count * count - 1))


def add_launches(path):
    """Adds launches to a trace that lacks those of the driver's interface (cuLaunchKernelEx), in
    the op that the kernel names."""
    with gzip.open(path, "rt") as file:
        trace = json.load(file)
    events, ops, launched, added = trace["traceEvents"], {}, set(), []
    for event in events:
        args = event.get("args") or {}
        if event.get("cat") == "cpu_op" and "External id" in args:
            ops[args["External id"]] = event
        elif event.get("cat") in ("cuda_runtime", "cuda_driver"):
            launched.add(args.get("correlation"))
    for event in events:
        args = event.get("args") or {}
        op = ops.get(args.get("External id"))
        is_work = event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")
        if op and is_work and args.get("correlation") not in launched:
            place = {"pid": op["pid"], "tid": op["tid"], "ts": op["ts"] + min(op["dur"] / 2, 0.5)}
            about = {key: args[key] for key in ("correlation", "External id")}
            name = {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "dur": 0.005}
            added.append({**name, **place, "args": about})
    if added:
        trace["traceEvents"] = events + added
        with gzip.open(path, "wt", compresslevel=1) as file:
            json.dump(trace, file)


class Measured:
    """Cases of hardware/gpu.py, and tables learnt from some of them."""

    def __init__(self, folder, tool, work, rebuild):
        self.tool, self.work = tool, work
        self.about = json.loads((folder / "cases.json").read_text())
        for path in sorted(folder.glob("traces-*.tar")):
            with tarfile.open(path) as tar:
                tar.extractall(work, filter="data")
        for path in work.glob("*.json.gz") if rebuild else ():
            add_launches(path)
        self.cases = {
            key: case
            for key, case in self.about["cases"].items()
            if (work / f"{key}.json.gz").exists()
        }
        self.single = {}  # a table per trace: tables are merged for each case

    def table_of(self, key):
        path = self.work / f"{key}.table.json"
        if not path.exists():
            subprocess.run(
                [self.tool, "learn", self.work / f"{key}.json.gz", "--table", path, "-q"],
                capture_output=True,
            )
        return path

    def table_without(self, family, batch):
        path = self.work / f"without-{family}-{batch}.json"
        if not path.exists():
            words = []
            for key, case in self.cases.items():
                table = self.table_of(key)
                if case["family"] != family and case["batch"] != batch and table.exists():
                    words += ["--merge", table]
            subprocess.run(
                [self.tool, "learn", *words, "--table", path, "-q"], capture_output=True, check=True
            )
        return path


def evaluate(measured, key, *words):
    case = measured.cases[key]
    chip = run_map(measured.tool, measured.work / f"{key}.json.gz", "--on", "h200", *words)
    total = chip["total"]
    device = total["measured_ns"]
    layers = [
        (layer["time_ns"], layer["measured_ns"])
        for layer in chip["layers"]
        if layer["measured_ns"] and layer["time_ns"]
    ]
    spread = total["high_ns"] / total["time_ns"]
    predicted = chip["device_ns"]
    return {
        "key": key,
        "batch": case["batch"],
        "device_ms": device / 1e6,
        "predicted_ms": predicted / 1e6,
        "error": predicted / device - 1,
        "inside": device / spread <= predicted <= device * spread,
        "least_share": total["least_ns"] / device,
        "rank": rank_correlation(layers),
        "step_ms": statistics.median(case["step_ms"]),
        "family": case["family"],
        "us_per_op": 1e3 * statistics.median(case["step_ms"]) / total["kernels"],
        "launch_ms": chip["launch_ns"] / 1e6,
        "bound": total["bound"],
        "kinds": chip["kinds"],
    }


def show_worst(rows, count):
    """The worst cases, with the kinds of work that are predicted worst: predicted / measured ms."""
    print(f"The {count} worst cases; predicted / measured ms of the kinds that differ most:")
    for row in sorted(rows, key=lambda row: -abs(row["error"]))[:count]:
        kinds = sorted(row["kinds"], key=lambda kind: -abs(kind["time_ns"] - kind["measured_ns"]))
        parts = ", ".join(
            f"{kind['kind']} {kind['time_ns'] / 1e6:.2f} / {kind['measured_ns'] / 1e6:.2f}"
            for kind in kinds[:4]
        )
        print(f"  {row['key']:30} {row['error']:+5.0%}  {parts}")


def host_us(rows, family):
    """The host's time per op: of launch-bound cases of other families."""
    times = [
        row["us_per_op"]
        for row in rows
        if row["family"] != family and row["step_ms"] > 1.5 * row["device_ms"]
    ]
    return statistics.median(times) if times else 10


def show_launch_bound(rows):
    """Cases whose step is much longer than the work of the device, and what they are called."""
    waits = [row for row in rows if row["step_ms"] > 1.5 * row["device_ms"]]
    busy = [row for row in rows if row["step_ms"] < 1.15 * row["device_ms"]]
    print(
        f"  launch-bound {len(waits)}, of them named {sum(r['bound'] == 'launch' for r in waits)}; "
        f"not launch-bound {len(busy)}, of them named {sum(r['bound'] == 'launch' for r in busy)}"
    )


def summarise(name, rows):
    errors = [row["error"] for row in rows]
    ranks = [row["rank"] for row in rows if row["rank"] is not None]
    print(f"{name}: ", end="")
    show_errors(errors)
    print(
        f"  inside the range {sum(row['inside'] for row in rows) / len(rows):.0%}, "
        f"rank correlation of layers {statistics.median(ranks):.3f} (median), "
        f"below the lower bound {sum(row['least_share'] > 1 for row in rows)} of {len(rows)}"
    )


def gpu(options):
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        measured = Measured(options.folder, options.tool, work, options.rebuild_launches)
        learnt, sheet = [], []
        for key in measured.cases:
            sheet.append(evaluate(measured, key, "--no-learnt", "--no-calibration"))
        for (key, case), sheet_row in zip(measured.cases.items(), sheet, strict=True):
            table = measured.table_without(case["family"], case["batch"])
            host = host_us(sheet, case["family"])
            learnt.append(evaluate(measured, key, "--learnt", table, "--host-us", host))
            row = learnt[-1]
            print(
                f"{key:36} device {row['device_ms']:9.3f} ms, predicted {row['predicted_ms']:9.3f} "
                f"({row['error']:+.0%}), sheet {sheet_row['error']:+.0%}, "
                f"step {row['step_ms']:9.3f}, launches {row['launch_ms']:8.3f}, {row['bound']}",
                flush=True,
            )
        show_worst(learnt, options.worst)
        summarise("learnt from other families and batch sizes", learnt)
        show_launch_bound(learnt)
        summarise("data sheet alone", sheet)
        large = [row for row in sheet if row["batch"] == 64]
        if large:
            summarise("data sheet alone, batch 64", large)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(required=True)
    on_cpu = parts.add_parser("cpu")
    on_cpu.add_argument("--models")
    on_cpu.add_argument("--again", action="store_true", help="only predict again")
    on_cpu.set_defaults(run=cpu)
    on_gpu = parts.add_parser("gpu")
    on_gpu.add_argument("folder", type=pathlib.Path)
    on_gpu.add_argument("--work", type=pathlib.Path, help="keep tables there")
    on_gpu.add_argument(
        "--rebuild-launches", action="store_true", help="traces lack launches by the driver"
    )
    on_gpu.add_argument("--worst", type=int, default=20, help="so many cases in detail")
    on_gpu.set_defaults(run=gpu)
    for part in (on_cpu, on_gpu):
        part.add_argument("--tool", default=str(ROOT / "build" / "pyrometer"))
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
