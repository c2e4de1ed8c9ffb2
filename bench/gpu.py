"""Measures the overhead of capturing on a GPU beside its floors and torch.profiler, in one process.

    make bench-gpu [PART=overhead|files|ladder|launches] [ONLY=resnet50]

Part overhead: every round runs each variant once, in random order, with calls of the bare model
before and after; every call ends with a synchronization. A ratio is the median over the rounds of
the variant's time divided by that of the bare calls around it, with a 95 % interval from resampled
rounds. The time of several calls is their lower quartile, which other programs disturb least.
"above" is the difference of two variants of the same rounds, with the interval of that difference.
"bare again" is the control. torch.profiler keeps CUPTI for itself once it has started, so its
rounds come after all others, with their own control. The floors are CUPTI's records of kernels
alone, dropped unread, and empty RecordFunction callbacks with inputs. The "hooks floor" adds to
kernels what attribution to layers needs at least, all of it empty: callbacks of launches, and a
hook of module calls. The "times floor" also notes both times of every launch and module call, in a
line of memory each, and nothing else: not which layer it was.

Part ladder: the same rounds with one step more per variant (gpu_ladder.py). Part launches: the same
steps for small kernels in a row.

Part files: start and stop, the time until the file is finished, and a capture per forward pass: by
capture_model, which leaves the collector on, and by a block of capture() each, which does not.

Prints targets next to results, and never fails on a time. Needs a GPU and a C and C++ compiler.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

import gpu_ladder
import torch
from gpu_rounds import KeptRounds
from torch.profiler import ProfilerActivity, profile

import pyrometer
from capture import Figures, build_floor, captured, lower_quartile
from pyrometer._testing import core, finish_passes, observer_build, stop_watching

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "bench"
PEERS = pathlib.Path(__file__).with_name("peers")
FULL = ("layers", "ops", "shapes", "memory", "devices")
SHARED_SECONDS = 240
BUSY_CALLS = 20
MOST_LAUNCH_ROUNDS = 60
ROUNDS_PER_COLLECTION = 8  # Python collects garbage between rounds only


def torchvision_model(name, batch):
    import torchvision

    model = getattr(torchvision.models, name)(weights=None).cuda().eval()
    return model, torch.randn(batch, 3, 224, 224, device="cuda")


MODELS = {
    "resnet50": ("resnet50", 1),
    "vit_b_16": ("vit_b_16", 1),
    "resnet50, batch 128": ("resnet50", 128),  # the device is busy nearly all the time
}


def chosen_models(only):
    """Names of models: those named, separated by "+", else all whose names start so."""
    named = only.split("+")
    if all(name in MODELS for name in named):
        return named
    return [name for name in MODELS if name.startswith(only)]


def build_cupti_floor():
    library = FOLDER / "cupti_floor.so"
    source = PEERS / "cupti_floor.c"
    command = ["cc", "-O2", "-shared", "-fPIC", "-w", str(source), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    path = core.devices_probe()["library"]
    if loaded.floor_load(path.encode()):
        sys.exit(f"{path}: cannot be loaded")
    return loaded


def build_module_call_floor():
    library = FOLDER / "module_call_floor.so"
    include = sysconfig.get_path("include")
    source = PEERS / "module_call_floor.c"
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    loaded = ctypes.PyDLL(str(library))
    loaded.floor_set.argtypes = (ctypes.py_object, ctypes.c_int)
    loaded.floor_set.restype = None
    return loaded


@contextlib.contextmanager
def hooks(cupti, module_calls, notes_times=False):
    notes = gpu_ladder.NOTES if notes_times else 0
    with gpu_ladder.cupti(cupti, gpu_ladder.KERNELS | gpu_ladder.LAUNCHES | notes):
        module_calls.floor_set(torch.nn.Module._call_impl, 2 if notes_times else 1)
        try:
            yield
        finally:
            module_calls.floor_set(torch.nn.Module._call_impl, 0)


@contextlib.contextmanager
def profiled(**options):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **options):
        yield


ALL_RECORDS = 7  # memsets, synchronizations, CUPTI's own overhead


def our_ways():
    cupti, record_function = build_cupti_floor(), build_floor()
    module_calls = build_module_call_floor()
    return {
        "bare again": contextlib.nullcontext,
        "kernel floor": lambda: gpu_ladder.cupti(cupti, gpu_ladder.KERNELS),
        "both floors": lambda: gpu_ladder.cupti_and_ops(cupti, gpu_ladder.KERNELS, record_function),
        "hooks floor": lambda: hooks(cupti, module_calls),
        "times floor": lambda: hooks(cupti, module_calls, notes_times=True),
        "layers and kernels": lambda: captured("layers", "devices"),
        "everything": lambda: captured(*FULL),
        "everything but memsets": lambda: captured(*FULL, records=(0,)),
        "everything, all records": lambda: captured(*FULL, records=(ALL_RECORDS,)),
        "everything and stacks": lambda: captured(*FULL, "stacks"),
    }


def their_ways():
    shapes = {"record_shapes": True, "profile_memory": True}
    return {
        "bare again": contextlib.nullcontext,
        "profiler": lambda: profiled(**shapes),
        "profiler and stacks": lambda: profiled(**shapes, with_stack=True),
    }


def time_calls(model, example, calls):
    """Seconds of each call, after two warm-up calls."""
    seconds = []
    for number in range(calls + 2):
        start = time.perf_counter_ns()
        model(example)
        torch.cuda.synchronize()
        if number >= 2:
            seconds.append((time.perf_counter_ns() - start) / 1e9)
    return seconds


def measure(name, model, example, table, options, limit_s):
    order = list(table)
    rounds = {way: [] for way in order}
    began = time.monotonic()
    before = None
    gc.disable()
    with torch.inference_mode():
        time_calls(model, example, 20)
        for done in range(1, options.rounds + 1):
            random.shuffle(order)
            before = before or time_calls(model, example, options.calls)
            for way in order:
                with table[way]():
                    seconds = time_calls(model, example, options.calls)
                after = time_calls(model, example, options.calls)
                rounds[way].append((seconds, before + after))
                before = after
            if done % ROUNDS_PER_COLLECTION == 0:
                gc.collect()
                before = None
            if time.monotonic() - began > limit_s and done >= 8:
                break
    gc.enable()
    print(f"{name}: {done} rounds in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return rounds


def show(text, measured, target=""):
    value, low, high = measured
    print(f"  {text:<46} {value:7.3f}  ({low:.3f} to {high:.3f})  {target}".rstrip(), flush=True)


def busy_share(model, example, bare_ms):
    """Share of a bare call's time in which the device works; torch.profiler measures that work."""
    with torch.inference_mode(), profile(activities=[ProfilerActivity.CUDA]) as one:
        time_calls(model, example, BUSY_CALLS - 2)  # and two that warm up
    total_us = sum(event.self_device_time_total for event in one.key_averages())
    return total_us / BUSY_CALLS / (bare_ms * 1e3)


DIFFERENCES = (  # of two variants, and the limit for them
    ("layers and kernels", "kernel floor", 0.03),
    ("hooks floor", "kernel floor", None),
    ("times floor", "kernel floor", None),
    ("layers and kernels", "times floor", None),
    ("everything", "both floors", 0.06),
    ("everything but memsets", "both floors", 0.06),
    ("everything, all records", "both floors", 0.06),
)


def report_ours(name, ours):
    """The limits of busy devices are on the ratios, those of others on the differences."""
    print(f"\n{name}: bare {ours.bare_ms:.2f} ms")
    targets = {"layers and kernels": 1.02, "everything": 1.05}
    for way in ours.ways:
        limit = f"target of a busy device: at most {targets[way]}" if way in targets else ""
        show(f"{way}, x bare", ours.ratio(way), limit)
    for way, floor, limit in DIFFERENCES:
        if way not in ours.ways or floor not in ours.ways:
            continue
        target = f"target: upper end at most {limit}" if limit else ""
        show(f"{way}, above {floor}", ours.difference(way, floor), target)
    return {"name": name, "bare_ms": ours.bare_ms, "ours": ours.ratios}


def report_busy(name, model, example, bare_ms):
    busy = busy_share(model, example, bare_ms)
    print(f"\n{name}: the device is busy for {busy:.1%} of a bare call", flush=True)
    return {"name": name, "busy": busy}


def report_theirs(name, ours, theirs):
    print(f"\n{name}")
    for way in theirs.ways:
        show(f"{'torch.' * (way != 'bare again')}{way}, x bare", theirs.ratio(way))
    for way, other, limit in (
        ("everything", "profiler", 0.5),
        ("everything, all records", "profiler", 0.5),
        ("everything and stacks", "profiler and stacks", 0.4),
    ):
        if way not in ours.ways:
            continue
        share = share_of_overhead(ours.ratios[way], theirs.ratios[other])
        show(f"overhead of {way} / torch.{other}", share, f"target: at most {limit}")
    return {"name": name, "theirs": theirs.ratios}


def share_of_overhead(ours, theirs):
    """Our overhead divided by theirs, from rounds that were not interleaved: both are resampled."""

    def statistic(mine, others):
        above = statistics.median(others) - 1
        return (statistics.median(mine) - 1) / above if above > 0 else float("inf")

    chooser = random.Random(0)
    again = sorted(
        statistic(chooser.choices(ours, k=len(ours)), chooser.choices(theirs, k=len(theirs)))
        for _ in range(1000)
    )
    return statistic(ours, theirs), again[25], again[974]


def chosen_ways(table, options):
    """Those that the user names, separated by +, the control, and what they are compared with."""
    named = set(options.ways.split("+")) if options.ways else set(table)
    wanted = named | {"bare again"}
    wanted |= {floor for way, floor, _ in DIFFERENCES if way in named and floor != "times floor"}
    return {way: how for way, how in table.items() if way in wanted}


def measure_overhead(options):
    models = {name: torchvision_model(*MODELS[name]) for name in chosen_models(options.only)}
    table, ours, results = chosen_ways(our_ways(), options), {}, []
    device = torch.cuda.get_device_name()
    kept = KeptRounds(options.add_to, device=device, torch=torch.__version__, calls=options.calls)
    for name, pair in models.items():
        rounds = measure(name, *pair, table, options, options.seconds)
        ours[name] = Figures(rounds, lower_quartile)
        kept.add(name, ours[name])
        results.append(report_ours(name, ours[name]))
        write_results(results, options)  # torch.profiler takes long, and may not finish in time
    for name, pair in models.items() if options.their_seconds else ():
        rounds = measure(name, *pair, their_ways(), options, options.their_seconds)
        theirs = Figures(rounds, lower_quartile)
        results.append(report_theirs(name, ours[name], theirs))
        write_results(results, options)
    for name, pair in models.items():
        results.append(report_busy(name, *pair, ours[name].bare_ms))
    return results


def write_results(results, options):
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def measure_ladder(options):
    table = gpu_ladder.ways(build_cupti_floor(), build_floor(), FOLDER / "ladder.pyro")
    models = {name: torchvision_model(*MODELS[name]) for name in chosen_models(options.only)}
    rounds = {
        name: measure(name, *pair, table, options, options.seconds) for name, pair in models.items()
    }
    results = []
    for name, pair in models.items():  # counting uses captures that leave hooks behind
        events = gpu_ladder.count_events(
            FOLDER / "events.pyro", lambda calls, pair=pair: forwards(*pair, calls), 5
        )
        results.append(gpu_ladder.report(name, Figures(rounds[name], lower_quartile), events))
    return results


def measure_launches(options):
    cupti = build_cupti_floor()
    table = gpu_ladder.ways(cupti, build_floor(), FOLDER / "ladder.pyro")
    table.update(gpu_ladder.ways_alone(cupti))
    return gpu_ladder.measure_launches(table, min(options.rounds, MOST_LAUNCH_ROUNDS))


def timed(call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


def forwards(model, x, count):
    with torch.inference_mode():
        for _ in range(count):
            model(x)
    torch.cuda.synchronize()


def our_recording(model, x, count, path):
    """Seconds of start, forwards, stop with a finished file."""
    block = pyrometer.capture(path)
    start, _ = timed(block.__enter__)
    during, _ = timed(forwards, model, x, count)
    stop, _ = timed(block.__exit__, None, None, None)
    return start, during, stop


def their_recording(model, x, count, path):
    one = profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        record_shapes=True, profile_memory=True, with_stack=True,
    )  # fmt: skip
    start, _ = timed(one.__enter__)
    during, _ = timed(forwards, model, x, count)
    stop, _ = timed(one.__exit__, None, None, None)
    export, _ = timed(one.export_chrome_trace, str(path))
    return start, during, stop + export


def captures_of_ours(model, x, count, folder):
    """A block of capture() around each forward; the collector starts and stops with each."""
    start = time.perf_counter()
    for number in range(count):
        our_recording(model, x, 1, folder / f"ours{number}.pyro")
    return time.perf_counter() - start


def passes_of_ours(model, x, count, folder):
    os.environ["PYROMETER"] = "1"
    with contextlib.redirect_stdout(None):
        pyrometer.capture_model(output_dir=str(folder))(model)
        forwards(model, x, 3)
        seconds, _ = timed(forwards, model, x, count)
        finish, _ = timed(finish_passes)
    stop_watching()
    return seconds, finish


def passes_of_theirs(model, x, count, folder):
    def one_pass(number):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                     record_shapes=True, profile_memory=True, with_stack=True) as one:  # fmt: skip
            forwards(model, x, 1)
        one.export_chrome_trace(str(folder / f"theirs{number}.json"))

    one_pass(0)
    return timed(lambda: [one_pass(number) for number in range(1, count + 1)])[0]


def measure_files(options):
    model, x = torchvision_model("resnet50", 1)
    forwards(model, x, 20)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        our_recording(model, x, 5, folder / "first.pyro")
        long = our_recording(model, x, 1000, folder / "long.pyro")
        ours = our_recording(model, x, 100, folder / "ours.pyro")
        bare, _ = timed(forwards, model, x, 20)
        captures = captures_of_ours(model, x, 20, folder)
        passes, finish = passes_of_ours(model, x, 20, folder)
        their_recording(model, x, 5, folder / "first.json")
        theirs = their_recording(model, x, 100, folder / "theirs.json")
        their_passes = passes_of_theirs(model, x, 20, folder)
        sizes = [(folder / f).stat().st_size / 1e6 for f in ("long.pyro", "theirs.json")]
    print(f"\nresnet50, batch 1: bare forward {bare / 20 * 1e3:.2f} ms")
    print(f"  1,000 forwards: start {long[0] * 1e3:.1f} ms, stop {long[2] * 1e3:.1f} ms, "
          f"{sizes[0]:.0f} MB; target: together under 100 ms")  # fmt: skip
    print(f"  100 forwards: finished file after {ours[2] * 1e3:.1f} ms; torch.profiler "
          f"{theirs[2] * 1e3:.0f} ms ({sizes[1]:.0f} MB), x{theirs[2] / ours[2]:.1f}; "
          "target: at least 20")  # fmt: skip
    cost = (passes - bare) / 20
    their_cost = (their_passes - bare) / 20
    print(f"  a capture per forward: {cost * 1e3:.2f} ms more than bare, and {finish * 1e3:.0f} ms "
          f"at the end; torch.profiler with export {their_cost * 1e3:.1f} ms, "
          f"x{their_cost / max(cost + finish / 20, 1e-9):.1f} with the end, "
          f"x{their_cost / max(cost, 1e-9):.1f} without; target: at least 8, "
          "15 with the collector left on")  # fmt: skip
    fresh = (captures - bare) / 20
    print(f"  a block of capture() per forward: {fresh * 1e3:.2f} ms more than bare, "
          f"x{their_cost / max(fresh, 1e-9):.1f}; target: at least 8")  # fmt: skip
    return [{"long": long, "ours": ours, "theirs": theirs, "passes": [passes, finish, bare],
             "captures": captures, "their_passes": their_passes}]  # fmt: skip


PARTS = {
    "overhead": measure_overhead,
    "files": measure_files,
    "ladder": measure_ladder,
    "launches": measure_launches,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=tuple(PARTS), default="overhead")
    parser.add_argument("--only", default="",
                        help="models, separated by +, or the start of their names")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=1000, help="at most")
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--seconds", type=float,
                        help="per model, of our rounds; else they share 4 minutes")  # fmt: skip
    parser.add_argument("--their-seconds", type=float, default=30,
                        help="per model, of torch.profiler's rounds; 0: none")  # fmt: skip
    parser.add_argument("--ways", default="",
                        help="variants beside control and floors, separated by +")  # fmt: skip
    parser.add_argument("--add-to", type=pathlib.Path,
                        help="file of earlier rounds, to which these are added")  # fmt: skip
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = SHARED_SECONDS / len(chosen_models(options.only))
    if not torch.cuda.is_available():
        sys.exit("bench/gpu.py: torch sees no GPU")
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.cuda.init()
    building = threading.Thread(target=build_floor)  # compiles while the observer is compiled
    building.start()
    observer_build.load()
    building.join()
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    write_results(PARTS[options.part](options), options)


if __name__ == "__main__":
    main()
