#!/usr/bin/env python3
"""Measures the history: speed at 100,000 results, queues beside a real server, bisect.

history.py [speed] [queue] [correlation] [bisect]: all parts by default. Never fails on a time.
Other programs delay the real server of `queue` and disturb `bisect`; on a busy machine their
numbers differ from those of an idle one.
"""

import argparse
import heapq
import itertools
import json
import math
import os
import pathlib
import queue
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

from results import Results

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python" / "history")]
TOOL = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
OTAVA = ROOT / "build" / "peers" / "otava" / "bin" / "python"
LINES, POINTS = 100, 1000


def history(*words, **options):
    return subprocess.run([TOOL, "history", *map(str, words)], capture_output=True, **options)


RESULTS = Results("history")


class Best:
    """The lowest wall time and processor time of a function that runs processes."""

    def __init__(self, function, repeat=5, name=None):
        wall, cpu = [], []
        for _ in range(repeat):
            start, used = time.perf_counter(), children_s()
            function()
            wall.append((time.perf_counter() - start) * 1000)
            cpu.append((children_s() - used) * 1000)
        if name:
            RESULTS.add(name, wall)
        self.wall_ms, self.cpu_ms = min(wall), min(cpu)

    def __str__(self):
        return f"{self.wall_ms:.1f} ms ({self.cpu_ms:.1f} ms of processor time)"


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def values_of(line):
    source = random.Random(line)
    return [
        100 * (1.0 if n < 700 else 1.05) * (1 + 0.01 * source.gauss(0, 1)) for n in range(POINTS)
    ]


def run_of(line, number, value):
    metric = {"benchmark": f"line{line}", "metric": "latency", "unit": "ms", "better": "lower"}
    return {
        "kind": "bench", "project": "p", "commit": f"{number:040x}", "branch": "main",
        "time_ns": str((1767225600 + 3600 * number) * 10**9), "machine_class": "ci",
        "metrics": [{**metric, "method": "m", "samples": [value, value * 1.001, value * 0.999]}],
    }  # fmt: skip


def speed(folder):
    db, export, one = folder / "h.db", folder / "all.json", folder / "one.json"
    series = [values_of(line) for line in range(LINES)]
    runs = [
        run_of(i, n, value) for i, values in enumerate(series) for n, value in enumerate(values)
    ]
    export.write_text(json.dumps({"schema": "pyrometer.history/1", "runs": runs}))
    start = time.perf_counter()
    history("import", export, "--db", db, check=True)
    print(f"import of {len(runs):,} results: {time.perf_counter() - start:.1f} s")
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    numbers = iter(range(10**6))

    def add():
        runs = [run_of(3, POINTS + next(numbers), 100.0)]
        one.write_text(json.dumps({"schema": "pyrometer.history/1", "runs": runs}))
        history("add", one, "--db", db, "-q", check=True, cwd=folder)

    nothing = Best(lambda: subprocess.run([TOOL, "--version"], capture_output=True))
    added = Best(add, 20, "add")
    print(f"add, a process per result: {added}; starting it: {nothing}")
    words = ("--db", db)
    trend = Best(lambda: history("trend", "line7", *words, check=True, cwd=folder), 5, "trend")
    print(f"trend of {POINTS} results: {trend}")
    changes = Best(lambda: history("changes", *words, check=True, cwd=folder), 3, "changes")
    print(f"changes of {LINES} lines: {changes}")
    if not OTAVA.exists():
        print("Otava: not installed; make peers installs it")
        return
    (folder / "series.json").write_text(json.dumps(series))
    program = (
        "import json, sys, time; from otava.analysis import compute_change_points as find\n"
        "series = json.load(open(sys.argv[1]))\n"
        "start, used = time.perf_counter(), time.process_time()\n"
        "for one in series: find(one, window_len=50, max_pvalue=0.001)\n"
        "print(time.perf_counter() - start, time.process_time() - used)"
    )
    done = subprocess.run(
        [OTAVA, "-c", program, folder / "series.json"], capture_output=True, text=True, check=True
    )
    wall_s, cpu_s = map(float, done.stdout.split())
    ratio = cpu_s * 1000 / changes.cpu_ms
    print(
        f"Otava, the same values in memory: {wall_s:.2f} s ({cpu_s:.2f} s of processor time); "
        f"{ratio:.1f} times the processor time"
    )


def serve(samples_s, rate, requests, workers):
    """Latencies of a real server: workers that sleep for recorded times."""
    source, waiting, latencies = random.Random(4), queue.Queue(), []

    def work():
        while (arrival := waiting.get()) is not None:
            time.sleep(samples_s[source.randrange(len(samples_s))])
            latencies.append(time.perf_counter() - arrival)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    at = time.perf_counter()
    for _ in range(requests):
        at += source.expovariate(rate)
        time.sleep(max(0, at - time.perf_counter()))
        waiting.put(at)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    return sorted(latencies)


def queues(folder):
    from pyrometer._testing import core

    source = random.Random(3)
    samples_ms = [10 * math.exp(0.4 * source.gauss(0, 1)) for _ in range(300)]
    mean_ms = sum(samples_ms) / len(samples_ms)
    rate = 0.7 * 2000 / mean_ms
    mean, p50, p95, p99, busy = core.simulate_queue(samples_ms, 1, 2, rate, 500_000, 1)
    real = serve([one / 1000 for one in samples_ms], rate, 4000, 2)
    print(f"two workers at {busy:.0%} load, 4000 requests, simulated beside real:")
    for name, ours, share in (("p50", p50, 0.5), ("p95", p95, 0.95), ("p99", p99, 0.99)):
        theirs = real[int(share * len(real))] * 1000
        print(f"  {name} {ours:6.1f} ms {theirs:6.1f} ms {ours / theirs - 1:+.1%}")
    print(f"  mean {mean:5.1f} ms {1000 * sum(real) / len(real):6.1f} ms")


def correlation(folder):
    """Of the medians of neighbouring results of one benchmark on this machine."""
    medians = []
    for _ in range(60):
        times = []
        for _ in range(15):
            start = time.perf_counter()
            heapq.nsmallest(50, (n * 7919 % 10007 for n in range(20000)))
            times.append(time.perf_counter() - start)
        medians.append(sorted(times)[7])
    mean = sum(medians) / len(medians)
    rest = [one - mean for one in medians]
    lag = sum(a * b for a, b in itertools.pairwise(rest)) / sum(a * a for a in rest)
    print(f"correlation of neighbouring results here: {lag:.2f}")


def bisects(folder):
    import test_bisect as planted

    found = 0
    for number, (slow, milliseconds) in enumerate(planted.PLANTED):
        repository = folder / f"repository{number}"
        commits = planted.make_repository(repository, slow, milliseconds)
        done = history(
            "bisect", "--good", commits[0], "-q", "--format", "json", "sh work", cwd=repository
        )
        first = json.loads(done.stdout or "{}").get("bisect", {}).get("first")
        found += first == commits[slow]
        print(f"  slower from commit {slow} on: {'found' if first == commits[slow] else done}")
    print(f"bisect: {found} of {len(planted.PLANTED)} planted regressions found, to the commit")


PARTS = {"speed": speed, "queue": queues, "correlation": correlation, "bisect": bisects}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    for part in parser.parse_args().parts:
        print(f"== {part}", flush=True)
        with tempfile.TemporaryDirectory() as name:
            PARTS[part](pathlib.Path(name))
    RESULTS.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
