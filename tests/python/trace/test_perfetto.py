"""--perfetto, decoded by the classes of the package perfetto and compared with --chrome."""

import collections
import decimal
import itertools
import json
import os
import pathlib
import subprocess

import pytest

TOOL = os.environ.get("PYRO_TOOL", "")
SHARED = pathlib.Path(__file__).parents[4] / "shared" / "traces"
FILES = pathlib.Path(__file__).parents[2] / "files" / "kineto"

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
pytestmark = pytest.mark.skipif(not TOOL, reason="PYRO_TOOL is not set")

BEGIN, END, COUNTER = 1, 2, 4


class Decoded:
    """Slices, tracks, flows and counters of a trace."""

    def __init__(self, path):
        trace = trace_pb2.Trace()
        trace.ParseFromString(path.read_bytes())
        self.tracks = {}
        self.slices = []  # (track, name, category, start_ns, end_ns, annotations, flows, flow ends)
        self.counters = collections.defaultdict(list)
        names, values = {}, {}
        open_slices = collections.defaultdict(list)
        assert trace.packet[0].sequence_flags & 1  # incremental state is cleared once, at the start
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            names.update((entry.iid, entry.name) for entry in packet.interned_data.event_names)
            values.update(
                (entry.iid, entry.str.decode())
                for entry in packet.interned_data.debug_annotation_string_values
            )
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                assert track.uuid not in self.tracks
                assert not track.parent_uuid or track.parent_uuid in self.tracks
                self.tracks[track.uuid] = track
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            assert event.track_uuid in self.tracks
            if event.type == COUNTER:
                value = event.counter_value
                if event.HasField("double_counter_value"):
                    value = event.double_counter_value
                self.counters[event.track_uuid].append((packet.timestamp, value))
            elif event.type == BEGIN:
                name = names[event.name_iid] if event.name_iid else event.name
                annotations = {
                    one.name: values[one.string_value_iid]
                    if one.HasField("string_value_iid")
                    else one.string_value
                    if one.HasField("string_value")
                    else one.int_value
                    for one in event.debug_annotations
                }
                row = [
                    event.track_uuid, name, "".join(event.categories), packet.timestamp, None,
                    annotations, list(event.flow_ids), list(event.terminating_flow_ids),
                ]  # fmt: skip
                above = open_slices[event.track_uuid]
                assert not above or above[-1][3] <= packet.timestamp
                above.append(row)
                self.slices.append(row)
            else:
                assert event.type == END
                row = open_slices[event.track_uuid].pop()  # slices of a track nest
                row[4] = packet.timestamp
                assert row[4] >= row[3]
        assert not any(open_slices.values())

    def name(self, uuid):
        return self.tracks[uuid].name

    def path(self, uuid):
        names = []
        while uuid:
            names.append(self.tracks[uuid].name)
            uuid = self.tracks[uuid].parent_uuid
        return names[::-1]


def _write(trace, tmp_path, *options):
    chrome, perfetto = tmp_path / "chrome.json", tmp_path / "out.pftrace"
    command = [TOOL, "trace", trace, "-q", "-o", tmp_path / "r.json", *options]
    subprocess.run([*command, "--chrome", chrome, "--perfetto", perfetto], check=True)
    return json.loads(chrome.read_text(), parse_float=decimal.Decimal), Decoded(perfetto)


def _events(chrome):
    return [event for event in chrome["traceEvents"] if event["ph"] == "X"]


def _ns(microseconds):
    return round(microseconds * 1000)


def _check(chrome, decoded):
    """Every event of the Chrome trace is a slice with the same times, and nothing else is."""
    layered = {uuid for uuid in decoded.tracks if decoded.path(uuid)[0].startswith("layers (")}
    steps = {uuid for uuid in decoded.tracks if decoded.name(uuid) == "steps"}
    own = [row for row in decoded.slices if row[0] not in layered | steps]
    assert collections.Counter((row[1], row[2], row[4] - row[3]) for row in own) == (
        collections.Counter((e["name"][:65536], e["cat"], _ns(e["dur"])) for e in _events(chrome))
    )
    first = min((_ns(event["ts"]) for event in _events(chrome)), default=0)
    assert min((row[3] for row in own), default=0) == max(first, 0)

    # Kernels of a stream that overlap are on tracks of their own.
    lanes = collections.defaultdict(list)
    for row in own:
        if row[2] in ("kernel", "gpu_memcpy", "gpu_memset"):
            lanes[row[0]].append(row)
    for rows in lanes.values():
        rows.sort(key=lambda row: (row[3], row[4]))
        assert all(a[4] <= b[3] for a, b in itertools.pairwise(rows))

    # Every arrow has one start, which is a launch of the same correlation, and one end.
    starts = {flow: row for row in decoded.slices for flow in row[6]}
    ends = {flow: row for row in decoded.slices for flow in row[7]}
    assert starts.keys() == ends.keys()
    assert len(starts) == sum(e["ph"] == "f" for e in chrome["traceEvents"])
    for flow, work in ends.items():
        assert work[2] in ("kernel", "gpu_memcpy", "gpu_memset")
        assert work[5].get("correlation") == starts[flow][5].get("correlation")

    # A layer's track is inside that of its parent, and together they spell its path.
    for row in decoded.slices:
        if row[0] not in layered:
            continue
        _, *names = decoded.path(row[0])
        path = row[5]["layer"]
        assert not path or ".".join(names).endswith(path), (names, path)

    curves = collections.Counter()
    for event in chrome["traceEvents"]:
        if event["ph"] == "C":
            curves.update([event["name"]] * len(event["args"]))
    found = collections.Counter()
    for uuid, points in decoded.counters.items():
        found[decoded.name(uuid).split(": ")[0]] += len(points)
    assert found == curves


TRACES = [
    "alexnet_sync", "cpu_only", "cuda_graph_decode", "h200_gpt_train_memory", "h200_resnet18_train",
    "mi300_resnet_ddp_train", "nccl", "torch_compile",
]  # fmt: skip


@pytest.mark.parametrize("name", TRACES)
def test_equals_chrome(name, tmp_path):
    path = SHARED / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    _check(*_write(path, tmp_path))


def test_selection(tmp_path):
    path = SHARED / "h200_resnet18_train.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    whole, decoded = _write(path, tmp_path)
    assert {"layers (host)", "layers (device)"} <= {t.name for t in decoded.tracks.values()}
    chrome, decoded = _write(path, tmp_path, "--filter", "layer1")
    assert 0 < len(_events(chrome)) < len(_events(whole)) / 2
    _check(chrome, decoded)


@pytest.mark.parametrize("path", sorted(FILES.glob("good-*.json")), ids=lambda path: path.stem)
def test_good_files(path, tmp_path):
    _check(*_write(path, tmp_path))


def _event(name, cat, tid, ts, dur, **args):
    return {
        "ph": "X", "name": name, "cat": cat, "pid": 0 if cat == "kernel" else 10, "tid": tid,
        "ts": ts, "dur": dur, "args": args,
    }  # fmt: skip


def test_overlapping_kernels_and_graph_launches(tmp_path):
    """One launch with three kernels, two of which run at the same time on one stream."""
    events = [_event("cudaGraphLaunch", "cuda_runtime", 10, 5, 2, correlation=7)]
    events += [
        _event(name, "kernel", 7, ts, dur, correlation=7, device=0, stream=7)
        for name, ts, dur in [("a", 10, 20), ("b", 15, 5), ("c", 25, 30)]
    ]
    path = tmp_path / "planted.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    chrome, decoded = _write(path, tmp_path)
    _check(chrome, decoded)
    kernels = {row[1]: row for row in decoded.slices if row[2] == "kernel"}
    assert kernels["a"][0] not in (kernels["b"][0], kernels["c"][0])
    assert kernels["b"][0] == kernels["c"][0]
    names = {decoded.name(row[0]) for row in kernels.values()}
    assert names == {"stream 7"}  # siblings of one name, which Perfetto draws as one track
    (launch,) = [row for row in decoded.slices if row[1] == "cudaGraphLaunch"]
    assert sorted(launch[6]) == sorted(flow for row in kernels.values() for flow in row[7])
    assert len(launch[6]) == 3


def test_hostile_names(tmp_path):
    names = ["\ud83d\ude00 \u202eabc", "</script>", "x" * 1_000_000, "\u0000end"]
    events = [_event(name, "cpu_op", 10, 10 * i, 5) for i, name in enumerate(names, 1)]
    path = tmp_path / "planted.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    _, decoded = _write(path, tmp_path)
    assert len(decoded.slices) == len(names)
    assert max(len(row[1]) for row in decoded.slices) <= 65536


def test_errors(tmp_path):
    path = FILES / "good-1-kineto.json"

    def fails(*arguments):
        done = subprocess.run([TOOL, "trace", *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and not done.stdout
        return done.stderr

    assert "--perfetto writes one trace, but 2 files" in fails(path, path, "--perfetto", "x")
    assert "--perfetto needs a file name" in fails(path, "--perfetto", "")
    assert "both write to standard output" in fails(path, "--perfetto", "-", "--chrome", "-")
    assert "overwrite" in fails(path, "--perfetto", path)
