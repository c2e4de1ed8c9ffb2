"""The observer of ops: ops and memory as in torch.profiler; stacks, threads."""

import gc
import json
import random
import threading

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
from observed_models import MODELS, Mlp, train  # noqa: E402
from recording import (  # noqa: E402
    BACKWARD,
    ELSEWHERE,
    USER,
    Recording,
    observed,
    record,
)
from torch.profiler import ProfilerActivity, record_function  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import pyrometer  # noqa: E402

# torch's names of c10's numbers, as it writes them into traces.
TYPES = {0: "unsigned char", 3: "int", 4: "long int", 5: "c10::Half", 6: "float", 7: "double"}
TYPES |= {11: "bool", 15: "c10::BFloat16"}


pytestmark = pytest.mark.usefixtures("observer")


def in_place_and_views():
    x = torch.zeros(4, 6)
    x.add_(1).mul_(2)
    x[1:3, ::2] = 5
    x.view(2, 12).t()[3].clamp_(max=3)
    torch.where(x > 2, x, x.double().float()).unfold(0, 2, 1).sum()
    torch.add(x, x, out=torch.empty(4, 6))


def lists_of_tensors():
    parameters = [torch.ones(n, requires_grad=True) for n in (3, 5, 7)]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    optimizer.step()
    torch._foreach_add_([p.detach() for p in parameters], 1.0)
    torch.cat([torch.ones(2, 3), torch.ones(1, 3)])
    torch.stack(torch.split(torch.ones(6, 2), [1, 1, 1, 3])[:3])


def embeddings():
    model = nn.Sequential(nn.Embedding(20, 6, padding_idx=0), nn.Dropout(0.5), nn.LayerNorm(6))
    train(model, torch.tensor([[1, 2, 0], [3, 4, 5]]))


def checkpointed():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    x = torch.ones(2, 4, requires_grad=True)
    for reentrant in (False, True):
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()


def labels_and_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(3, requires_grad=True)
    with record_function("outer"), record_function("inner"):
        Double.apply(x).sum().backward()


def types():
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool):
        torch.ones(2, 3).to(dtype).sum(dtype=torch.float32)
    torch.compile  # noqa: B018
    torch.jit.trace(lambda x: x * 2 + 1, torch.ones(3))(torch.ones(3))


WORK = {name: lambda name=name: train(*MODELS[name]) for name in MODELS} | {
    work.__name__: work
    for work in (
        in_place_and_views,
        lists_of_tensors,
        embeddings,
        checkpointed,
        labels_and_functions,
        types,
    )
}


def dims(value):
    """A value as torch.profiler writes it under "Input Dims"."""
    if isinstance(value, tuple):
        return list(value[1])
    if isinstance(value, list) and value and any(isinstance(item, tuple) for item in value):
        return [dims(item) for item in value]
    return []


def inside(spans, label, start, end, name):
    window = next(span for span in spans if name(span) == label)
    return [
        span
        for span in spans
        if span is not window and start(window) <= start(span) and end(span) <= end(window)
    ]


def both(tmp_path, work):
    """Ops and memory of the same run, by torch.profiler and by our observer."""
    work()
    with observed(tmp_path / "x.pyro", "layers", "ops", "shapes", "memory"):
        with torch.profiler.profile(record_shapes=True, profile_memory=True) as profiler:
            with record_function("the work"):
                work()
    profiler.export_chrome_trace(str(tmp_path / "x.json"))
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    theirs = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation")]
    theirs = inside(
        theirs, "the work", lambda e: e["ts"], lambda e: e["ts"] + e["dur"], lambda e: e["name"]
    )
    recording = Recording(tmp_path / "x.pyro")
    ours = inside(recording.ops, "the work", lambda s: s.start, lambda s: s.end, lambda s: s.name)
    their_memory = [e["args"] for e in events if e["name"] == "[memory]"]
    return ours, sorted(theirs, key=lambda e: e["ts"]), recording, their_memory


@pytest.mark.parametrize("name", WORK)
def test_ops_are_those_of_torch_profiler(tmp_path, name):
    ours, theirs, _, _ = both(tmp_path, WORK[name])
    assert len(ours) > 5
    # Both read their clocks at different moments; the order by name and number in a run is exact.
    assert sorted(s.name for s in ours) == sorted(e["name"] for e in theirs)

    def sequences(pairs):
        return sorted((n, s) for n, s in pairs if s is not None and s >= 0)

    assert sequences((s.name, s.sequence) for s in ours) == sequences(
        (e["name"], e["args"].get("Sequence number")) for e in theirs
    )
    assert sorted(
        (s.name, s.sequence, s.forward_thread) for s in ours if s.forward_thread and s.sequence >= 0
    ) == sorted(
        (e["name"], e["args"]["Sequence number"], e["args"]["Fwd thread id"])
        for e in theirs
        if e["args"].get("Fwd thread id") and e["args"].get("Sequence number", -1) >= 0
    )


@pytest.mark.parametrize("name", WORK)
def test_shapes_and_types_are_those_of_torch_profiler(tmp_path, name):
    ours, theirs, _, _ = both(tmp_path, WORK[name])
    theirs = [e for e in theirs if e["args"].get("Input Dims")]
    mine = [s for s in ours if s.inputs]

    def key(name, inputs):
        return name, json.dumps(inputs)

    assert sorted(key(s.name, [dims(v) for v in s.inputs]) for s in mine) == sorted(
        key(e["name"], e["args"]["Input Dims"]) for e in theirs
    )

    def types_of(values):
        return [TYPES[v[0]] for v in values if isinstance(v, tuple)]

    known = set(TYPES.values())
    assert sorted(key(s.name, types_of(s.inputs)) for s in mine) == sorted(
        key(e["name"], [t for t in e["args"]["Input type"] if t in known]) for e in theirs
    )


@pytest.mark.parametrize("name", WORK)
def test_memory_is_that_of_torch_profiler(tmp_path, name):
    gc.collect()
    _, _, recording, theirs = both(tmp_path, WORK[name])
    mine = [(m.address, m.bytes) for m in recording.memory]
    known = [(e["Addr"], e["Bytes"]) for e in theirs]
    # We start before the profiler and stop after it: its events are a contiguous part of our own.
    first = next(i for i in range(len(mine)) if mine[i : i + len(known)] == known) if known else 0
    assert mine[first : first + len(known)] == known
    assert len(mine) - len(known) < 30


@pytest.mark.parametrize("name", MODELS)
def test_counts_are_those_of_a_run_of_its_own(tmp_path, name):
    work = WORK[name]
    work()
    with torch.profiler.profile(record_shapes=True, profile_memory=True) as profiler:
        work()
    profiler.export_chrome_trace(str(tmp_path / "x.json"))
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    recording = record(tmp_path / "x.pyro", work)
    assert sorted(s.name for s in recording.ops) == sorted(
        e["name"] for e in events if e.get("cat") == "cpu_op"
    )
    assert [m.bytes for m in recording.memory] == [
        e["args"]["Bytes"] for e in events if e["name"] == "[memory]"
    ]


def test_outputs(tmp_path):
    x = torch.ones(4, 6)
    ops = record(tmp_path / "x.pyro", lambda: torch.max(x, 1), "ops", "shapes").ops
    assert ops[0].name == "aten::max"
    assert ops[0].outputs == [(6, (4,)), (4, (4,))]
    ops = record(tmp_path / "x.pyro", lambda: torch.split(x, 3), "ops", "shapes").ops
    assert ops[0].outputs == [[(6, (3, 6)), (6, (1, 6))]]
    ops = record(tmp_path / "x.pyro", lambda: x.add_(1), "ops", "shapes").ops
    assert ops[0].inputs == [(6, (4, 6)), (4, ()), 1]
    assert ops[0].outputs == [(6, (4, 6))]


def test_outputs_can_be_left_out(tmp_path):
    with pyrometer.capture(tmp_path / "x.pyro", record_outputs=False) as some:
        torch.ones(2, 3) + 1
    with pyrometer.capture(tmp_path / "y.pyro") as all_of_it:
        torch.ones(2, 3) + 1
    for path, outputs in (("x.pyro", None), ("y.pyro", [(6, (2, 3))])):
        op = next(s for s in Recording(tmp_path / path).ops if s.name == "aten::add")
        assert op.inputs[0] == (6, (2, 3)) and op.outputs == outputs
    flops = [dict(zip(c.ops()["name"], c.ops()["flops"], strict=True)) for c in (some, all_of_it)]
    assert flops[0] == flops[1] and flops[0]["aten::add"] == 6


def test_no_outputs_where_an_op_raises(tmp_path):
    def work():
        for x in (torch.ones(4, 6), torch.ones(6, 4).t()) * 3:
            try:
                x.view(24)
            except RuntimeError:
                pass

    ops = record(tmp_path / "x.pyro", work, "ops", "shapes").ops
    assert [s.outputs for s in ops if s.name == "aten::view"] == [[(6, (24,))], None] * 3


def test_names_of_ops_that_come_and_go(tmp_path):
    """The address of a removed op may be reused by another."""
    names = [f"{letter}_op" for letter in "abcdefgh"] * 4

    def work():
        for name in names:
            library = torch.library.Library("pyrometer_test", "FRAGMENT")
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x.clone(), "CPU")
            op = getattr(torch.ops.pyrometer_test, name).default
            for _ in range(2):
                op(x)
            library._destroy()

    x = torch.ones(3)
    ops = record(tmp_path / "x.pyro", work, "ops", "shapes").ops
    seen = [s.name for s in ops if s.name.startswith("pyrometer_test::")]
    assert seen == [f"pyrometer_test::{name}" for name in names for _ in range(2)]


def test_without_shapes_there_are_none(tmp_path):
    ops = record(tmp_path / "x.pyro", lambda: torch.ones(3) + 1, "ops").ops
    assert {s.name for s in ops} >= {"aten::ones", "aten::add"}
    assert all(s.inputs is None and s.outputs is None for s in ops)


def test_long_and_odd_values(tmp_path):
    def work():
        torch.cat([torch.ones(1, 1, 1)] * 2000)
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]) * 2
        torch.ones(2, dtype=torch.complex64) * 2

    ops = record(tmp_path / "x.pyro", work, "ops", "shapes").ops
    cut = next(s for s in ops if s.name == "aten::cat").inputs
    assert cut[0][-1] == "..." and len(cut[0]) > 400
    product = [s for s in ops if s.name == "aten::mul"]
    assert product[0].inputs[0] == "other"
    assert product[-1].inputs[0] == (9, (2,))


def test_storages(tmp_path):
    def work():
        a = torch.zeros(3)
        b = a.view(3, 1)
        b.add_(1)
        del a, b
        torch.zeros(3)

    ops = record(tmp_path / "x.pyro", work, "ops", "shapes", "memory", "storages").ops
    first, second = (s.output_storages[0] for s in ops if s.name == "aten::zeros")
    view = next(s for s in ops if s.name == "aten::view")
    add = next(s for s in ops if s.name == "aten::add_")
    assert view.input_storages[0] == view.output_storages[0] == first
    assert add.input_storages[0] == first
    assert add.output_storages[0] == (first[0], first[1] + 1)
    # The second may have the address of the first, but is a different storage.
    assert second[0] != first[0]


def storages_of(ops, name):
    """(first input's, first output's) of every op of that name."""
    return [
        (span.input_storages[0][0], span.output_storages[0][0]) for span in ops if span.name == name
    ]


def test_a_storage_outlives_the_tensor_that_was_seen(tmp_path):
    def work():
        for _ in range(50):
            left = torch.ones(3).data  # the op's result has been freed
            left.neg()
            del left
        leaf = torch.ones(3, requires_grad=True)
        leaf.sigmoid().sum().backward()  # autograd has a copy of the output

    ops = record(tmp_path / "x.pyro", work, "ops", "storages").ops
    ones = [s.output_storages[0][0] for s in ops if s.name == "aten::ones"]
    assert [given for given, _ in storages_of(ops, "aten::neg")] == ones[:50]
    assert len(set(ones)) == len(ones)
    (backward,) = (s for s in ops if s.name == "aten::sigmoid_backward")
    ((_, made),) = storages_of(ops, "aten::sigmoid")
    assert backward.input_storages[1][0] == made


def test_a_tensor_that_changes_its_storage(tmp_path):
    def work():
        weight = nn.Parameter(torch.ones(3))
        with torch.no_grad():
            for _ in range(50):
                weight.data = weight.data - 1
                weight.neg()

    ops = record(tmp_path / "x.pyro", work, "ops", "storages").ops
    made = [given for _, given in storages_of(ops, "aten::sub")]
    assert len(set(made)) == 50
    assert [taken for taken, _ in storages_of(ops, "aten::neg")] == made


def test_storages_that_no_op_made(tmp_path):
    numpy = pytest.importorskip("numpy")
    arrays = [numpy.ones(4) for _ in range(50)]

    def work():
        for array in arrays:
            torch.from_numpy(array).neg()

    ops = record(tmp_path / "x.pyro", work, "ops", "storages").ops
    assert len({taken for taken, _ in storages_of(ops, "aten::neg")}) == 50


def own_bytes():
    """Memory of the process without mapped files, such as the recording."""
    try:
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
    except FileNotFoundError:
        pytest.skip("this system does not report the private memory of a process")
    return int(lines["RssAnon"].split()[0]) * 1024


def test_storages_of_tensors_that_are_gone_are_let_go(tmp_path):
    def work(tensors):
        x = torch.ones(1)
        for _ in range(tensors):
            x = x.neg()

    with observed(tmp_path / "x.pyro", "ops", "storages"):
        work(20_000)
        before = own_bytes()
        work(200_000)
        grown = own_bytes() - before
    (tmp_path / "x.pyro").unlink()
    # The recorder's own tables, and no tensors or storages.
    assert grown < 200_000 * 300


def test_stacks(tmp_path):
    model = Mlp()

    def innermost():
        return model(torch.ones(1, 8))

    def work():
        innermost()
        torch.ones(2, requires_grad=True).sum().backward()

    recording = record(tmp_path / "x.pyro", work, "layers", "ops", "stacks")
    line = innermost.__code__.co_firstlineno + 1
    op = next(s for s in recording.ops if s.name == "aten::relu")
    frames = [frame.rsplit("/", 1)[-1] for frame in op.stack]
    at = frames.index(f"test_observers.py({line}): innermost")
    names = [frame.split(": ")[1] for frame in frames[at:]]
    assert names == [
        "innermost",
        *("_wrapped_call_impl", "_call_impl", "forward"),
        *("_wrapped_call_impl", "_call_impl", "forward", "relu"),
    ]
    assert f"{Mlp.forward.__code__.co_firstlineno + 1}): forward" in op.stack[-5]
    layer = next(s for s in recording.layers if s.name == "relu")
    assert op.stack[: len(layer.stack)] == layer.stack
    backward = next(s for s in recording.ops if s.scope == BACKWARD)
    assert any(f"({work.__code__.co_firstlineno + 2}): work" in f for f in backward.stack)


def test_stacks_of_ops_in_ops(tmp_path):
    """Those of the ops around, but not inside of what Python opened, nor through Python."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return torch.nn.functional.linear(x, torch.ones(3, 2))

        @staticmethod
        def backward(context, gradient):
            return gradient[:, :2]

    def work():
        torch.nn.functional.linear(torch.ones(3, 2), torch.ones(3, 2))
        with torch.profiler.profile(activities=[ProfilerActivity.CPU]):
            with torch._C._profiler._RecordFunctionFast("held"):
                torch.ones(2)
                torch.zeros(2)
        Twice.apply(torch.ones(3, 2, requires_grad=True))

    ops = record(tmp_path / "x.pyro", work, "ops", "stacks").ops
    first = work.__code__.co_firstlineno

    def lines(name):
        return [int(s.stack[-1].split("(")[1].split(")")[0]) for s in ops if s.name == name]

    inside = Twice.forward.__code__.co_firstlineno + 2
    for name in ("aten::linear", "aten::t", "aten::transpose", "aten::as_strided"):
        assert lines(name) == [first + 1, inside]
    assert lines("held") == [first + 3]
    assert lines("aten::zeros") == lines("aten::zero_") == [first + 5]
    assert first + 4 in lines("aten::ones") and first + 4 in lines("aten::fill_")


def test_lines_of_code_that_comes_and_goes(tmp_path):
    def work():
        for number in range(50):
            source = "\n" * number + "def f(x):\n    return x + 1\n"
            names = {}
            exec(compile(source, f"made{number % 3}.py", "exec"), names)
            names["f"](torch.ones(1))
            del names

    ops = record(tmp_path / "x.pyro", work, "ops", "stacks").ops
    frames = [s.stack[-1] for s in ops if s.name == "aten::add"]
    assert frames == [f"made{n % 3}.py({n + 2}): f" for n in range(50)]


def test_threads(tmp_path):
    models = [Mlp() for _ in range(8)]

    def run(model):
        for _ in range(20):
            train(model, torch.ones(4, 8))

    def work():
        threads = [threading.Thread(target=run, args=(model,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    recording = record(tmp_path / "x.pyro", work, "layers", "ops", "shapes", "memory", "stacks")
    layers = recording.layers
    assert len(layers) == 8 * 20 * 4
    assert len({s.thread for s in layers}) == 8
    for thread in {s.thread for s in layers}:
        names = [s.name for s in layers if s.thread == thread]
        assert names == ["", "linear1", "relu", "linear2"] * 20
    assert sum(s.name == "aten::addmm" for s in recording.ops) == 8 * 20 * 2
    allocated = sum(m.bytes > 0 for m in recording.memory)
    assert allocated > 0 and all(m.bytes > -(2**60) for m in recording.memory)


def test_labels_that_end_elsewhere(tmp_path):
    handles = []

    def work():
        handles.append(torch.ops.profiler._record_function_enter_new("across"))
        thread = threading.Thread(
            target=lambda: torch.ops.profiler._record_function_exit._RecordFunction(handles[0])
        )
        thread.start()
        thread.join()
        torch.ones(1)

    recording = record(tmp_path / "x.pyro", work, "ops")
    label = next(s for s in recording.ops if s.scope == USER and s.name == "across")
    assert label.notes & ELSEWHERE and label.end > label.start
    with observed(tmp_path / "x.pyro", "ops"):
        handle = torch.ops.profiler._record_function_enter_new("outlives")
    torch.ops.profiler._record_function_exit._RecordFunction(handle)
    label = next(s for s in Recording(tmp_path / "x.pyro").ops if s.name == "outlives")
    assert label.end == 0


def test_sizes_of_many_blocks_at_once(tmp_path):
    """More allocations than the cache holds: each is freed with its allocated size."""
    counts = [(n * 7919) % 5000 + 1 for n in range(3000)]

    def work():
        tensors = [torch.empty(count) for count in counts]
        random.Random(0).shuffle(tensors)
        while tensors:
            tensors.pop()

    memory = record(tmp_path / "x.pyro", work, "ops", "memory").memory
    sizes = {}
    for one in memory:
        if one.bytes > 0:
            sizes[one.address] = one.bytes
        else:
            assert sizes.pop(one.address, -one.bytes) == -one.bytes
    allocated = sorted(one.bytes for one in memory if one.bytes > 0)
    assert [size for size in allocated if size % 4 == 0][-3000:] == sorted(4 * n for n in counts)
    assert sum(one.bytes < 0 for one in memory) >= 3000


def test_blocks_that_outlive_a_capture(tmp_path):
    kept = []
    first = record(tmp_path / "x.pyro", lambda: kept.append(torch.ones(1000)), "memory")
    assert [m.bytes for m in first.memory] == [4000]
    kept[0].resize_(3000).fill_(1)
    assert kept[0].sum() == 3000
    before = kept[0].clone()
    second = record(tmp_path / "x.pyro", kept.clear, "memory")
    assert [m.bytes for m in second.memory] == [-12000]
    assert before.sum() == 3000


def test_on_and_off_a_thousand_times(tmp_path):
    model = Mlp()
    x = torch.ones(4, 8)
    expected = model(x)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def some(times):
        for _ in range(times):
            with observed(tmp_path / "x.pyro", "layers", "ops", "shapes", "memory", "stacks"):
                assert torch.equal(model(x), expected)
        gc.collect()
        return resident()

    before = some(50)
    assert some(950) - before < 8 << 20
    assert nn.Module._call_impl.__code__.co_name == "_call_impl"
    assert torch.equal(model(x), expected)
