"""capture_model() and capture(): files, tables, names, sums; models stay unchanged."""

import contextlib
import copy
import gc
import io
import json
import os
import pickle
import re
import threading

import pytest
import torch
from torch import nn

import pyrometer
from pyrometer import capture_model, parse_model_trace
from pyrometer._testing import core, finish_passes, session


@pytest.fixture
def on(monkeypatch, tmp_path):
    """Enables capturing, in a separate folder."""
    monkeypatch.setenv("PYROMETER", "1")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    finish_passes()


def make_net(**options):
    @capture_model(**options)
    class Net(nn.Module):
        """A net."""

        def __init__(self):
            super().__init__()
            self.linear1 = nn.Linear(100, 50)
            self.linear2 = nn.Linear(50, 10)
            self.relu = nn.ReLU()

        def forward(self, x, scale=1.0):
            return self.linear2(self.relu(self.linear1(x))) * scale

    return Net


@capture_model
class Undecorated(nn.Module):
    def forward(self, x):
        return x


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def finish():
    finish_passes()


def layer_events(path):
    events = json.loads(path.read_text())["traceEvents"]
    return [event for event in events if "Module path" in event.get("args", {})]


def test_off_returns_the_class_untouched(monkeypatch, tmp_path):
    monkeypatch.delenv("PYROMETER", raising=False)
    monkeypatch.delenv("CHISEL_BACKEND_RUN", raising=False)
    monkeypatch.chdir(tmp_path)

    class Net(nn.Module):
        pass

    before = dict(vars(Net))
    assert capture_model(Net) is Net
    assert capture_model(model_name="x")(Net) is Net
    module = nn.Linear(2, 2)
    assert capture_model(module) is module
    assert dict(vars(Net)) == before
    module(torch.zeros(1, 2))
    assert names(tmp_path) == []


@pytest.mark.parametrize("variable", ["PYROMETER", "CHISEL_BACKEND_RUN"])
def test_either_variable_switches_it_on(monkeypatch, tmp_path, variable):
    monkeypatch.setenv(variable, "1")
    monkeypatch.chdir(tmp_path)
    make_net()()(torch.randn(2, 100))
    finish()
    assert names(tmp_path) == ["Net_forward_001.json"]


def test_five_passes_of_different_shapes_are_five_files(on, capsys):
    net = make_net(model_name="MyModel")()
    for batch in (1, 2, 3, 4, 5):
        net(torch.randn(batch, 100))
    finish()
    assert names(on) == [f"MyModel_forward_{number:03d}.json" for number in range(1, 6)]
    text = capsys.readouterr().out
    assert text.count("Layer Analysis for MyModel") == 5
    for number in range(1, 6):
        stats = parse_model_trace(f"MyModel_forward_{number:03d}.json", "M")["layer_stats"]
        assert stats["linear1"]["shapes"] == {(number, 100)}
        assert stats["relu"]["shapes"] == {(number, 50)}
        assert "aten::linear" in stats["linear2"]["operations"]


def test_the_table(on, capsys):
    make_net(model_name="MyModel")()(torch.randn(32, 100))
    finish()
    lines = capsys.readouterr().out.splitlines()
    header = next(line for line in lines if line.startswith("Layer  "))
    assert re.split(r"\s{2,}", header) == [
        "Layer", "Calls", "Total Time (ms)", "Avg Time (ms)", "Shapes", "In Ops (ms)"]  # fmt: skip
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[lines.index(header) + 2 :]]
    table = {row[0]: row[1:] for row in rows if len(row) >= 4}
    assert list(table) == ["linear1", "relu", "linear2", "(model)", "TOTAL"]
    assert table["linear1"][3] == "(32, 100)"
    assert table["relu"][3] == table["linear2"][3] == "(32, 50)"
    parts = [row for name, row in table.items() if name != "TOTAL"]
    assert int(table["TOTAL"][0]) == sum(int(row[0]) for row in parts) == 4
    assert float(table["TOTAL"][1]) == pytest.approx(sum(float(r[1]) for r in parts), abs=0.003)
    stats = parse_model_trace("MyModel_forward_001.json")["layer_stats"]
    for name, row in table.items():
        if name != "TOTAL":
            assert stats[name]["total_time_us"] == pytest.approx(float(row[1]) * 1000, abs=1)


@pytest.mark.needs_observer
def test_events_have_shapes_stacks_and_memory(on):
    make_net()()(torch.randn(4, 100))
    finish()
    events = json.loads((on / "Net_forward_001.json").read_text())["traceEvents"]
    ops = [event for event in events if event.get("cat") == "cpu_op"]
    linear = next(event for event in ops if event["name"] == "aten::linear")
    assert linear["ph"] == "X" and linear["dur"] > 0
    assert linear["args"]["Input Dims"] == [[4, 100], [50, 100], [50]]
    assert linear["args"]["Output Dims"] == [[4, 50]]
    assert any("test_capture.py" in frame for frame in linear["args"]["Stack"])
    assert all("Input Dims" in op["args"] and "Stack" in op["args"] for op in ops)
    memory = [event["args"]["Bytes"] for event in events if event["name"] == "[memory]"]
    assert any(size > 0 for size in memory) and any(size < 0 for size in memory)


def test_options_leave_things_out(on):
    make_net(record_shapes=False, profile_memory=False, with_stack=False)()(torch.randn(4, 100))
    finish()
    events = json.loads((on / "Net_forward_001.json").read_text())["traceEvents"]
    ops = [event for event in events if event.get("cat") == "cpu_op"]
    assert ops
    assert not any("Input Dims" in op["args"] or "Stack" in op["args"] for op in ops)
    assert not any(event["name"] == "[memory]" for event in events)


def test_the_class_stays_what_it_was(on):
    net_class = make_net()
    assert net_class.__name__ == "Net" and net_class.__doc__ == "A net."
    net = net_class()
    assert isinstance(net, nn.Module) and type(net) is net_class
    assert list(net.state_dict()) == ["linear1.weight", "linear1.bias", "linear2.weight",
                                      "linear2.bias"]  # fmt: skip
    assert "__pyrometer" not in repr(net) + str(vars(net))
    clone = copy.deepcopy(net)
    x = torch.randn(3, 100)
    assert torch.equal(clone(x), net(x))
    assert "forward" in vars(net_class) and net_class.forward.__name__ == "forward"


def test_pickle(monkeypatch, tmp_path):
    monkeypatch.setenv("PYROMETER", "1")
    monkeypatch.chdir(tmp_path)
    captured = capture_model(Undecorated)
    try:
        assert captured is Undecorated
        module = pickle.loads(pickle.dumps(Undecorated()))
        assert type(module) is Undecorated
        buffer = io.BytesIO()
        torch.save(module, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer, weights_only=False)
        loaded(torch.zeros(1))
        finish()
        assert names(tmp_path) == ["Undecorated_forward_001.json"]
    finally:
        del Undecorated.__pyrometer_capture__


def test_an_instance(on):
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    other = nn.Sequential(nn.Linear(4, 4))
    assert capture_model(model) is model
    named = capture_model("Second")(other)
    model(torch.zeros(1, 4))
    named(torch.zeros(1, 4))
    nn.Sequential(nn.Linear(4, 4))(torch.zeros(1, 4))
    finish()
    assert names(on) == ["Second_forward_001.json", "Sequential_forward_001.json"]


def test_subclasses_and_super(on):
    base = make_net(model_name="Base")

    class Child(base):
        def forward(self, x):
            return super().forward(x) + 1

    Child()(torch.randn(2, 100))
    base()(torch.randn(2, 100))
    finish()
    assert names(on) == ["Base_forward_001.json", "Base_forward_002.json"]


def test_a_nested_decorated_module_has_no_file_of_its_own(on):
    inner_class = make_net(model_name="Inner")

    @capture_model
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner_class()

        def forward(self, x):
            return self.inner(x)

    Outer()(torch.randn(2, 100))
    finish()
    assert names(on) == ["Outer_forward_001.json"]
    paths = {event["args"]["Module path"] for event in layer_events(on / names(on)[0])}
    assert "inner.linear1" in paths


def test_names_begin_at_the_captured_model(on):
    class Wrapper(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(x)

    Wrapper(make_net()())(torch.randn(2, 100))
    finish()
    paths = {event["args"]["Module path"] for event in layer_events(on / "Net_forward_001.json")}
    assert paths == {"", "linear1", "relu", "linear2"}


def test_files_of_an_earlier_run_are_moved(on, capsys):
    for name in ("Net_forward_001.json", "Net_forward_001.json.1", "Net_forward_002.json"):
        (on / name).write_text(name)
    make_net()()(torch.randn(2, 100))
    finish()
    assert (on / "Net_forward_001.json.1").read_text() == "Net_forward_001.json.1"
    assert (on / "Net_forward_001.json.2").read_text() == "Net_forward_001.json"
    assert (on / "Net_forward_002.json.1").read_text() == "Net_forward_002.json"
    assert json.loads((on / "Net_forward_001.json").read_text())["traceEvents"]
    said = [line for line in capsys.readouterr().err.splitlines() if "earlier run" in line]
    assert said == ["pyrometer: renamed Net_forward_001.json of an earlier run to "
                    "Net_forward_001.json.2, and 1 more"]  # fmt: skip


def test_where_files_go(on, monkeypatch):
    make_net(output_dir=on / "given")()(torch.randn(2, 100))
    monkeypatch.setenv("PYROMETER_OUTPUT_DIR", str(on / "asked"))
    make_net()()(torch.randn(2, 100))
    finish()
    assert names(on / "given") == names(on / "asked") == ["Net_forward_001.json"]


def test_ranks(on, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    make_net()()(torch.randn(2, 100))
    finish()
    assert names(on) == ["Net_rank3_forward_001.json"]


def test_every_and_max_passes(on):
    net = make_net(every=3, max_passes=2)()
    for _ in range(10):
        net(torch.randn(2, 100))
    finish()
    assert names(on) == ["Net_forward_001.json", "Net_forward_004.json"]


@pytest.mark.needs_observer
def test_nothing_is_recorded_between_passes(on):
    net, x, kept = make_net(every=3)(), torch.randn(2, 100), None

    def used():
        status = core.recorder_status()
        return status["chunks"] + status["dropped_chunks"]

    net(x)
    assert core.recorder_status()["running"]
    before = used()
    for _ in range(2):
        kept = torch.ones(1000, 1000)  # allocated before recording, and freed in a pass
        for _ in range(10000):  # records of five chunks
            x.add(1)
        net(x)
    net.register_forward_hook(lambda *_: kept.set_())
    assert used() == before
    with torch.autograd.profiler.profile() as theirs:
        net(x)  # the fourth
    finish()
    assert names(on) == ["Net_forward_001.json", "Net_forward_004.json"]
    with open(on / "Net_forward_004.json") as file:
        events = json.load(file)["traceEvents"]
    ops = [event["name"] for event in events if event.get("cat") == "cpu_op"]
    assert set(ops) == {event.name for event in theirs.function_events}
    assert ops.count("aten::addmm") == 2
    assert all(event["args"]["Input Dims"] for event in events if event["name"] == "aten::addmm")
    memory = [event["args"] for event in events if event["name"] == "[memory]"]
    assert -4000000 in [args["Bytes"] for args in memory]


def test_recording_rests_when_all_passes_were_taken(on):
    net = make_net(max_passes=1)()
    for _ in range(3):
        net(torch.randn(2, 100))
    finish()
    del net
    gc.collect()
    session.rest()
    assert all(watcher.is_over for watcher in session.watchers) is not (session.is_running)


def test_schedule_and_on_trace_ready(on):
    seen = []
    net = make_net(
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda one: seen.append((one.step_num, one.key_averages()[0].key)),
    )()
    for _ in range(6):
        net(torch.randn(2, 100))
    finish()
    assert names(on) == ["Net_forward_003.json", "Net_forward_004.json"]
    assert seen == [(2, "aten::linear"), (3, "aten::linear")]


def test_on_trace_ready_of_torch(on):
    handler = torch.profiler.tensorboard_trace_handler(str(on / "board"), worker_name="w")
    make_net(on_trace_ready=handler)()(torch.randn(2, 100))
    finish()
    assert len(names(on / "board")) == 1


def test_with_flops(on, capsys):
    make_net(with_flops=True)()(torch.randn(2, 100))
    finish()
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("linear1"))
    assert "20.10 k" in row


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"bogus": 1}, TypeError, "bogus"),
        ({"experimental_config": object()}, ValueError, "experimental_config"),
        ({"acc_events": True}, ValueError, "acc_events"),
        ({"execution_trace_observer": object()}, ValueError, "execution_trace_observer"),
        ({"every": 0}, ValueError, "every"),
        ({"max_passes": "x"}, ValueError, "max_passes"),
        ({"schedule": 3}, TypeError, "schedule"),
        ({"activities": [torch.profiler.ProfilerActivity.XPU]}, ValueError, "XPU"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(options, error, name):
    with pytest.raises(error, match=name):
        make_net(**options)


def test_what_is_as_torch_has_it_by_default_is_taken(on):
    make_net(experimental_config=None, acc_events=False, with_modules=True, use_cuda=False)
    cpu = torch.profiler.ProfilerActivity.CPU
    make_net(activities=[cpu])()(torch.randn(2, 100))
    finish()
    assert names(on) == ["Net_forward_001.json"]


def test_only_modules_can_be_captured():
    with pytest.raises(TypeError, match="Module"):
        capture_model(int)
    with pytest.raises(TypeError, match="Module"):
        capture_model(model_name="x")(lambda: 0)


def test_an_exception_passes_through(on, capsys):
    @capture_model
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            self.linear(x)
            raise KeyError("mine")

    model = Failing()
    for _ in range(2):
        with pytest.raises(KeyError, match="mine") as caught:
            model(torch.zeros(1, 4))
        assert caught.value.__context__ is None
    finish()
    assert names(on) == ["Failing_forward_001.json", "Failing_forward_002.json"]
    assert "which raised KeyError" in capsys.readouterr().out


def test_threads_have_passes_of_their_own(on):
    net = make_net()()
    barrier = threading.Barrier(8)
    failures = []

    def work():
        try:
            for _ in range(5):
                barrier.wait()
                net(torch.randn(2, 100))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finish()
    assert not failures
    assert names(on) == [f"Net_forward_{number:03d}.json" for number in range(1, 41)]
    for path in on.iterdir():
        if json.loads(path.read_text())["pyrometer"].get("ops") == "missing":
            continue  # without the observer, only one thread at a time records ops
        stats = parse_model_trace(str(path))["layer_stats"]
        assert {name: stats[name]["call_count"] for name in stats} == {
            "linear1": 1, "relu": 1, "linear2": 1, "(model)": 1}  # fmt: skip


def test_recursion_is_one_pass(on):
    @capture_model
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x, depth=3):
            return self(self.linear(x), depth - 1) if depth else x

    Nested()(torch.zeros(1, 4))
    finish()
    assert names(on) == ["Nested_forward_001.json"]


def test_checkpointing(on):
    from torch.utils.checkpoint import checkpoint

    net = make_net()()
    x = torch.randn(2, 100, requires_grad=True)
    checkpoint(net, x, use_reentrant=False).sum().backward()
    finish()
    assert x.grad is not None
    assert names(on)[0] == "Net_forward_001.json"


def test_compiled(on):
    torch._dynamo.reset()
    net = make_net()()
    x = torch.randn(2, 100)
    expected = net(x)
    capture_model("Compiled")(torch.compile(nn.Linear(100, 2), backend="eager"))(x)
    finish()
    assert names(on) == ["Compiled_forward_001.json", "Net_forward_001.json"]
    os.unlink("Compiled_forward_001.json")
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    for _ in range(3):
        assert torch.allclose(compiled(x), expected)
    net.compile(backend="eager", fullgraph=True)
    assert torch.allclose(net(x), expected)
    finish()
    assert names(on) == [f"Net_forward_{number:03d}.json" for number in range(1, 6)]
    torch._dynamo.reset()


def test_data_parallel(on):
    model = nn.DataParallel(make_net()())
    model(torch.randn(4, 100))
    finish()
    assert names(on) == ["Net_forward_001.json"]


def test_parse_waits_for_the_writer(on):
    net = make_net()()
    for number in range(1, 31):
        net(torch.randn(2, 100))
        assert parse_model_trace(f"Net_forward_{number:03d}.json")["layer_stats"]["linear1"]


def test_a_table_never_breaks_a_line(on):
    out = io.StringIO()
    net = make_net()()
    with contextlib.redirect_stdout(out):
        for _ in range(20):
            net(torch.randn(2, 100))
            print("a line of the program")
        finish()
    lines = out.getvalue().splitlines()
    assert lines.count("a line of the program") == 20
    assert sum(line.startswith("TOTAL") for line in lines) == 20


def test_capture_answers(tmp_path):
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    x = torch.randn(4, 8)
    net(x).sum().backward()  # gradients exist in both runs below
    with pyrometer.capture(tmp_path / "run.pyro") as block:
        net(x).sum().backward()
    rows = {row["path"]: row for row in block.layers()}
    assert rows["0"]["calls"] == rows["2"]["backward_calls"] == 1
    assert rows[""]["macs"] > 0 and rows["0"]["allocated_bytes"] > 0
    assert "aten::addmm" in block.ops()["name"]
    assert "TRACE PROFILE: run.pyro" in block.summary()
    assert block._repr_html_().startswith(("<iframe ", "<p>run.pyro"))
    assert block.trace().events > 20
    with torch.profiler.profile(profile_memory=True, record_shapes=True) as profile:
        net(x).sum().backward()
    for by_shape in (False, True):
        ours = block.key_averages(group_by_input_shape=by_shape)
        theirs = profile.key_averages(group_by_input_shape=by_shape)

        def counts(rows, by_shape=by_shape):
            return {
                (row.key, str(row.input_shapes) if by_shape else ""): (
                    row.count,
                    row.cpu_memory_usage,
                )
                for row in rows
                if row.key not in ("[memory]", "Activity Buffer Request")
            }

        assert counts(ours) == counts(theirs)
        header = theirs.table(row_limit=3).splitlines()[1].split()
        assert ours.table(sort_by="cpu_time_total", row_limit=3).splitlines()[1].split() == header
    if os.environ.get("PYROMETER_OBSERVER") != "off":
        stacks = block.key_averages(group_by_stack_n=2)
        assert any("linear.py" in row.stack[0] for row in stacks if row.stack)


def test_capture_without_a_file_and_its_misuse(tmp_path):
    with pyrometer.capture() as block:
        nn.Linear(2, 2)(torch.zeros(1, 2))
        with pytest.raises(RuntimeError, match="still running"):
            block.layers()
        with pytest.raises(pyrometer.Error, match="already running"), pyrometer.capture():
            pass
    path = block.path
    assert block.layers()["class"] == ["Linear"]
    del block
    gc.collect()
    assert not os.path.exists(path)
    (tmp_path / "x.pyro").write_text("mine")
    with pytest.raises(ValueError), pyrometer.capture(tmp_path / "x.pyro", overwrite=False):
        pass
    assert (tmp_path / "x.pyro").read_text() == "mine"


def test_passes_inside_a_capture(on):
    net = make_net()()
    net(torch.randn(2, 100))
    with pyrometer.capture(on / "block.pyro") as block:
        net(torch.randn(2, 100))
    net(torch.randn(2, 100))
    finish()
    kernels = "block.pyro.devices.json"  # where there is a GPU
    assert [name for name in names(on) if name != kernels] == [
        "Net_forward_001.json", "Net_forward_002.json", "Net_forward_003.json", "block.pyro"
    ]  # fmt: skip
    assert sum(block.layers()["calls"]) == 4
