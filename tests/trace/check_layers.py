"""Checks the layers that the library derives from traces against an independent computation.

Follows every piece of device work in plain Python from the JSON: correlation to launch,
launch to the ranges around it, backward op to forward op by sequence number. Some traces have the
truth: annotations "fwd|<path>" around the forward of every leaf module.

    tests/trace/check_layers.py --dump build/dump_joins [--tool build/pyrometer]
                                [--traces FOLDER] [--table]

Reads tests/files/trace always, and FOLDER if it exists. --table prints the
table of docs/reference/trace.md.
"""

import argparse
import bisect
import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "files" / "trace"
OURS = ("good-*.json*", "h200_*.json.gz")
ANNOTATION = r"^fwd\|(.*)$"
DEVICE_WORK = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
LAUNCHES = {"cuda_runtime", "Runtime", "cuda_driver"}
OPS = {"cpu_op", "Operator"}
MAKES_NODE = re.compile(r"LaunchKernel|Memcpy|Memset")
Range = collections.namedtuple("Range", "start end thread name sequence forward_thread")
Work = collections.namedtuple("Work", "name duration launch")


def nanoseconds(text):
    """Nanoseconds from microseconds as text, so that nothing is rounded."""
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])


class Trace:
    """Ranges and device work of a file; launches are (time, thread), or None."""

    def __init__(self, path):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
        data = json.loads(text, strict=False, parse_float=str)
        events = data["traceEvents"] if isinstance(data, dict) else data
        self.ranges = collections.defaultdict(list)
        self.work = []
        launches = collections.defaultdict(list)
        self.replays = set()  # correlations of graphs' launches
        for event in events:
            if event.get("ph") == "X" and event.get("cat") in LAUNCHES:
                number = event["args"].get("correlation")
                if event["name"].endswith("GraphLaunch"):
                    self.replays.add(number)
                start = nanoseconds(str(event["ts"]))
                launches[number].append((start, (event["pid"], event["tid"])))
        self.replayed = collections.defaultdict(list)  # by such a correlation
        for event in events:
            if event.get("ph") == "X":
                self.add(event, launches)
        self.add_replays(events)
        for ranges in self.ranges.values():
            ranges.sort(key=lambda item: (item.start, -item.end))

    def add(self, event, launches):
        category, arguments = event.get("cat"), event.get("args") or {}
        duration = nanoseconds(str(event.get("dur", 0)))
        if category in DEVICE_WORK:
            number = arguments.get("correlation")
            found = launches.get(number) if number else None
            work = Work(event["name"], duration, min(found) if found else None)
            if number in self.replays:
                self.replayed[number].append((nanoseconds(str(event["ts"])), work))
            else:
                self.work.append(work)
            return
        start, kind = nanoseconds(str(event["ts"])), None
        if event["name"].startswith("nn.Module: "):
            kind = "frame"
        elif category == "user_annotation":
            kind = "annotation"
        elif category in OPS:
            kind = "op"
        if kind:
            sequence = arguments.get("Sequence number", -1)
            thread = (event["pid"], event["tid"])
            self.ranges[kind].append(
                Range(
                    start,
                    start + duration,
                    thread,
                    event["name"],
                    sequence,
                    arguments.get("Fwd thread id", 0),
                )
            )

    def add_replays(self, events):
        """The n-th work of a replay was made by the n-th launch of a capture with as many."""
        captures, begun = {}, None
        calls = [event for event in events if event.get("cat") in LAUNCHES]
        for event in sorted(calls, key=lambda event: nanoseconds(str(event["ts"]))):
            if event["name"].endswith("StreamBeginCapture"):
                begun = []
            elif event["name"].endswith("StreamEndCapture"):
                captures[len(begun or ())], begun = begun, None
            elif begun is not None and MAKES_NODE.search(event["name"]):
                begun.append((nanoseconds(str(event["ts"])), (event["pid"], event["tid"])))
        for replay in self.replayed.values():
            made = captures.get(len(replay)) or [work.launch for _, work in replay]
            for (_, work), launch in zip(sorted(replay), made, strict=True):
                self.work.append(work._replace(launch=launch))


class Innermost:
    """Finds the innermost of some ranges around a moment on a thread."""

    def __init__(self, ranges):
        self.threads = collections.defaultdict(list)
        for item in ranges:
            self.threads[item.thread].append(item)
        self.starts = {key: [item.start for item in items] for key, items in self.threads.items()}
        self.around = {key: self.chain(items) for key, items in self.threads.items()}

    @staticmethod
    def chain(items):
        stack, around = [], []
        for index, item in enumerate(items):
            while stack and items[stack[-1]].end <= item.start:
                stack.pop()
            around.append(stack[-1] if stack else -1)
            stack.append(index)
        return around

    def find(self, moment, thread):
        if thread not in self.threads:
            return None
        at = bisect.bisect_right(self.starts[thread], moment) - 1
        while at >= 0 and self.threads[thread][at].end <= moment:
            at = self.around[thread][at]
        return self.threads[thread][at] if at >= 0 else None


class Truth:
    """Self device time of each layer, by direction: {layer: [count, ns]}."""

    def __init__(self, trace, layers, name_of):
        self.forward = collections.defaultdict(lambda: [0, 0])
        self.backward = collections.defaultdict(lambda: [0, 0])
        self.name_of = name_of
        find_layer = Innermost(layers)
        backward_ops = [op for op in trace.ranges["op"] if op.sequence >= 0 and op.forward_thread]
        accumulate = [op for op in trace.ranges["op"] if "AccumulateGrad" in op.name]
        self.behind = Innermost(backward_ops)
        find_backward = Innermost(
            sorted(backward_ops + accumulate, key=lambda item: (item.start, -item.end))
        )
        makers = self.forward_ops(trace)
        for work in trace.work:
            if work.launch is None or "nccl" in work.name or "all_reduce" in work.name:
                continue
            layer, op = find_layer.find(*work.launch), find_backward.find(*work.launch)
            if layer and (not op or layer.start >= op.start):
                self.count(self.forward, layer, work)
            elif op:
                if op.sequence < 0:
                    op = self.before(op)
                maker = op and self.maker_of(op, makers)
                layer = maker and find_layer.find(maker.start, maker.thread)
                self.count(self.backward, layer, work)

    def count(self, table, layer, work):
        if layer:
            row = table[self.name_of(layer.name)]
            row[0] += 1
            row[1] += work.duration

    def before(self, accumulate):
        """The backward op before a sum of gradients, on its thread."""
        starts = self.behind.starts.get(accumulate.thread, ())
        at = bisect.bisect_left(starts, accumulate.start) - 1
        return self.behind.threads[accumulate.thread][at] if at >= 0 else None

    @staticmethod
    def forward_ops(trace):
        makers = collections.defaultdict(list)
        for op in trace.ranges["op"]:
            if op.sequence >= 0 and not op.forward_thread and "Backward" not in op.name:
                makers[op.sequence].append(op)
        return makers

    @staticmethod
    def maker_of(op, makers):
        """The last earlier op with that number; on its own thread only if on no other."""
        before = [maker for maker in makers.get(op.sequence, ()) if maker.start < op.start]
        others = [maker for maker in before if maker.thread != op.thread]
        return max(others or before, key=lambda maker: maker.start, default=None)


def dump(tool, path, *options):
    result = subprocess.run([tool, *options, str(path)], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{path.name}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def compare(what, truth, rows, key, fields, problems):
    """Compares rows of the library with the truth: none missing, none extra."""
    measured = {key(row): [row[field] for field in fields] for row in rows}
    for layer, expected in truth.items():
        if measured.get(layer) != expected:
            problems.append(f"{what}: {layer}: {measured.get(layer)}, truth {expected}")
    for layer, values in measured.items():
        if any(values) and layer not in truth:
            problems.append(f"{what}: {layer}: {values}, truth none")


def instance_of(row):
    return row["path"].rsplit(".", 1)[-1]


def annotated_instances(trace):
    """The instance of each annotated path: that of the leaf frame around or inside it."""
    find = Innermost(trace.ranges["frame"])
    inside = collections.defaultdict(list)
    for frame in trace.ranges["frame"]:
        inside[frame.thread].append(frame)
    names = {}
    for item in trace.ranges["annotation"]:
        if not item.name.startswith("fwd|"):
            continue
        starts = [frame.start for frame in inside[item.thread]]
        at = bisect.bisect_left(starts, item.start)
        frame = inside[item.thread][at] if at < len(starts) and starts[at] < item.end else None
        frame = frame or find.find(item.start, item.thread)
        names[item.name[4:]] = frame.name.split(": ")[1]
    return names


def check_annotated(name, tool, path, trace, problems):
    annotations = [item for item in trace.ranges["annotation"] if item.name.startswith("fwd|")]
    truth = Truth(trace, annotations, lambda text: text[4:])
    forward, backward = ("forward_kernels", "forward_ns"), ("backward_kernels", "backward_ns")
    if not annotations:
        return 0
    rows = dump(tool, path, "--layers-from", ANNOTATION)["layers"]
    path_of = lambda row: row["path"]  # noqa: E731
    compare(f"{name}, annotations", truth.forward, rows, path_of, forward, problems)
    compare(f"{name}, annotations", truth.backward, rows, path_of, backward, problems)
    if trace.ranges["frame"]:
        instances = annotated_instances(trace)
        leaves = set(instances.values())
        rows = [row for row in dump(tool, path)["layers"] if instance_of(row) in leaves]
        for side, fields in ((truth.forward, forward), (truth.backward, backward)):
            renamed = {instances[key]: value for key, value in side.items()}
            compare(f"{name}, frames", renamed, rows, instance_of, fields, problems)
    if "resnet18" in name:
        rows = dump(tool, path, "--model", "resnet18")["layers"]
        leaves = {item.name[4:] for item in annotations}
        rows = [row for row in rows if row["path"] in leaves]
        compare(f"{name}, model", truth.forward, rows, path_of, forward, problems)
        compare(f"{name}, model", truth.backward, rows, path_of, backward, problems)
    return len(truth.forward)


def check_any(name, tool, path, trace, problems):
    """Checks sums, and the layers of frames if the trace has any. Returns a table row."""
    result = dump(tool, path)
    total = sum(work.duration for work in trace.work)
    buckets = {key: sum(value.values()) for key, value in result["buckets"].items()}
    if result["device_total_ns"] != total or sum(buckets.values()) != total:
        problems.append(f"{name}: buckets {buckets} do not add up to {total}")
    attributed = sum(row["forward_ns"] + row["backward_ns"] for row in result["layers"])
    if attributed != buckets["layer"]:
        problems.append(f"{name}: layers have {attributed}, their bucket {buckets['layer']}")
    if trace.ranges["frame"]:
        truth = Truth(trace, trace.ranges["frame"], lambda text: text.split(": ")[1])
        compare(
            name,
            truth.forward,
            result["layers"],
            instance_of,
            ("forward_kernels", "forward_ns"),
            problems,
        )
        rows = [row for row in result["layers"] if row["class"] != "DistributedDataParallel"]
        compare(
            name, truth.backward, rows, instance_of, ("backward_kernels", "backward_ns"), problems
        )
    return [name, result, buckets, total]


def check_command(name, tool, path, result, problems):
    """The command prints the layers of the joins, and its totals add up over the tree."""
    printed = dump(tool, path, "trace", "--format", "json")
    buckets = {key: sum(value.values()) for key, value in result["buckets"].items()}
    expected = {f"{key}_ns": value for key, value in buckets.items() if key != "layer"}
    if printed["device_total_ns"] != result["device_total_ns"]:
        problems.append(f"{name}: the command has {printed['device_total_ns']} in all")
    outside = sum(in_graphs(printed["layers"], "", side) for side in ("forward", "backward"))
    expected["outside_layer_ns"] -= outside
    if printed["unattributed"] != expected:
        problems.append(f"{name}: the command has {printed['unattributed']}, not {expected}")
    check_printed_layers(name, printed["layers"], result["layers"], problems)
    roots = sum(
        row[f"{side}_device_ns"]
        for row in printed["layers"]
        for side in ("forward", "backward")
        if row["parent"] is None
    )
    if roots != buckets["layer"] + outside:
        problems.append(f"{name}: roots have {roots}, layers {buckets['layer']} and {outside}")


GRAPH = re.compile(r"(^|\.)(CUDA|HIP) graph \d+(\.|$)")


def in_graphs(rows, owner, side):
    """Own time of the rows that divide the graphs of a layer ("": of none) by category."""
    return sum(
        row[f"{side}_device_self_ns"]
        for row in rows
        if (found := GRAPH.search(row["path"])) and row["path"][: found.start()] == owner
    )


def check_printed_layers(name, rows, joined_rows, problems):
    """Rows of graphs take their time from the layer around them, else from outside any layer."""
    layers = [row for row in rows if not GRAPH.search(row["path"])]
    for row, joined in zip(layers, joined_rows, strict=True):
        for side in ("forward", "backward"):
            own = row[f"{side}_device_self_ns"] + in_graphs(rows, row["path"], side)
            if row["path"] != joined["path"] or own != joined[f"{side}_ns"]:
                problems.append(f"{name}: the command has {row} for {joined}")


def share(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


def print_table(rows):
    print(
        "| trace | device time | layers | of forward and backward in layers | in layers "
        "| no launch | outside | optimizer | collective |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, result, buckets, total in rows:
        if not result["layers"]:
            continue
        launched = {
            key: value["forward"] + value["backward"]
            for key, value in result["buckets"].items()
            if key != "collective"
        }
        cells = [
            name,
            f"{total / 1e6:.3f} ms",
            str(len(result["layers"])),
            share(launched["layer"], sum(launched.values())),
        ]
        for key in ("layer", "no_launch", "outside_layer", "optimizer", "collective"):
            cells.append(share(buckets[key], total))
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", default=ROOT / "build" / "dump_joins")
    parser.add_argument("--traces", type=pathlib.Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--tool", help="pyrometer, to check what it prints as well")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    files = sorted(options.traces.glob("*.json.gz"))
    known = {path.name for path in files}
    ours = [path for pattern in OURS for path in sorted(FILES.glob(pattern))]
    files += [path for path in ours if path.name not in known]
    problems, rows = [], []
    for path in files:
        name = path.name.partition(".json")[0]
        trace = Trace(path)
        rows.append(check_any(name, options.dump, path, trace, problems))
        if options.tool:
            check_command(name, options.tool, path, rows[-1][1], problems)
        count = check_annotated(name, options.dump, path, trace, problems)
        if count and not options.table:
            print(f"{name}: {count} annotated layers")
    if options.table:
        print_table(rows)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(files)} traces, {len(problems)} differences", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
