"""Passes and their tables: time outside ops, inputs of layers, files."""

import os
import subprocess
import sys
import textwrap
import time

import pytest
import torch
from torch import nn

from pyrometer import capture_model, parse_model_trace
from pyrometer._testing import finish_passes


@pytest.fixture
def on(monkeypatch, tmp_path):
    """Enables capturing, in a separate folder."""
    monkeypatch.setenv("PYROMETER", "1")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    finish_passes()


def files(folder):
    finish_passes()
    return sorted(path.name for path in folder.iterdir())


class Sleep(nn.Module):
    def forward(self, x):
        time.sleep(0.05)
        return x


class Numpy(nn.Module):
    def forward(self, x):
        values = x.numpy()
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            values = values + 1
        return x


class Loop(nn.Module):
    def forward(self, x):
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            pass
        return x


@pytest.mark.parametrize("observer", ["on", "off"])
def test_time_outside_ops_belongs_to_its_layer(on, warm_python, observer):
    run_with_observer(observer, on, warm_python)
    stats = parse_model_trace("Slow_forward_001.json")
    layers = stats["layer_stats"]
    assert list(layers) == ["sleep", "numpy", "loop", "block.0", "block", "(model)"]
    for name, least_us in (("sleep", 50_000), ("numpy", 20_000), ("loop", 20_000)):
        assert least_us <= layers[name]["total_time_us"]
        assert layers[name]["op_time_us"] < 0.9 * layers[name]["total_time_us"]
    assert layers["sleep"]["operations"] == set() and layers["sleep"]["call_count"] == 1
    assert "aten::linear" in layers["block.0"]["operations"]
    assert all(layer["op_time_us"] <= layer["total_time_us"] for layer in layers.values())
    total_us = sum(layer["total_time_us"] for layer in layers.values())
    assert total_us == pytest.approx(stats["total_time_us"], abs=len(layers))
    table = (on / "output").read_text()
    total = next(line for line in table.splitlines() if line.startswith("TOTAL"))
    assert float(total.split()[2]) == pytest.approx(stats["total_time_us"] / 1000, abs=0.01)
    took_us = int((on / "took").read_text()) / 1000
    assert 90_000 <= stats["total_time_us"] <= took_us


def run_with_observer(observer, folder, python):
    """Runs a model of slow layers in a separate process and times its second pass."""
    script = folder / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            sys.path.insert(0, sys.argv[1])
            import torch
            from torch import nn
            from pyrometer import capture_model
            from pyrometer._testing import finish_passes
            from test_capture_passes import Loop, Numpy, Sleep

            @capture_model
            class Slow(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.sleep, self.numpy, self.loop = Sleep(), Numpy(), Loop()
                    self.block = nn.Sequential(nn.Linear(4, 4))

                def forward(self, x):
                    return self.block(self.loop(self.numpy(self.sleep(x))))

            begun = time.perf_counter_ns()
            Slow()(torch.randn(2, 4))
            open("took", "w").write(str(time.perf_counter_ns() - begun))
            """
        )
    )
    environment = {**os.environ, "PYROMETER_OBSERVER": observer}
    done = subprocess.run(
        [python, script, os.path.dirname(__file__)],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    (folder / "output").write_bytes(done.stdout)


def test_shapes_are_those_of_the_first_input(on):
    class Pair(nn.Module):
        def forward(self, flag, tensors, extra=None):
            return tensors[0] + extra["bias"]

    @capture_model
    class Shapes(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(100, 8)
            self.norm = nn.BatchNorm1d(8)
            self.pair = Pair()
            self.free = Sleep()

        def forward(self, ids, mask=None):
            x = self.norm(input=self.embed(ids).flatten(0, 1))
            return self.pair(True, [x, mask], extra={"bias": torch.zeros(8)}) + self.free(1)

    model = Shapes()
    model(mask=None, ids=torch.zeros(4, 3, dtype=torch.long))
    model(ids=torch.zeros(2, 3, dtype=torch.long))
    model(torch.zeros(5, 3, dtype=torch.long))
    assert len(files(on)) == 3
    for number, batch in ((1, 4), (2, 2), (3, 5)):
        stats = parse_model_trace(f"Shapes_forward_{number:03d}.json")
        layers = stats["layer_stats"]
        assert stats["shapes_from"] == "layers"
        assert layers["embed"]["shapes"] == layers["(model)"]["shapes"] == {(batch, 3)}
        assert layers["norm"]["shapes"] == layers["pair"]["shapes"] == {(batch * 3, 8)}
        assert layers["free"]["shapes"] == set()


def test_a_layer_called_with_two_shapes_has_both(on):
    @capture_model
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x), self.fc(x[0]), self.fc(x)

    Twice()(torch.zeros(3, 4))
    files(on)
    stats = parse_model_trace("Twice_forward_001.json")["layer_stats"]
    assert stats["fc"]["shapes"] == {(3, 4), (4,)} and stats["fc"]["call_count"] == 3


def test_without_shapes_there_are_none(on):
    @capture_model(record_shapes=False)
    class Bare(nn.Module):
        def forward(self, x):
            return x * 2

    Bare()(torch.zeros(3, 4))
    files(on)
    assert parse_model_trace("Bare_forward_001.json")["layer_stats"]["(model)"]["shapes"] == set()


def make_net(**options):
    @capture_model(**options)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x, scale=1.0):
            return self.fc(x) * scale

    return Net


def passes(folder, count):
    expected = [f"Net_forward_{number:03d}.json" for number in range(1, count + 1)]
    assert [name for name in files(folder) if name.endswith(".json")] == expected


def test_forward_itself_is_a_pass(on):
    kind = make_net()
    model = kind()
    x = torch.zeros(2, 4)
    model.forward(x)
    model.forward(x, scale=2.0)
    kind.forward(model, x)
    model(x)
    bound = model.forward
    bound(x)
    passes(on, 5)
    for number in range(1, 6):
        layers = parse_model_trace(f"Net_forward_{number:03d}.json")["layer_stats"]
        assert list(layers) == ["fc", "(model)"]
        assert layers["(model)"]["shapes"] == layers["fc"]["shapes"] == {(2, 4)}


def test_forward_of_a_subclass_and_of_a_chosen_module(on):
    class Child(make_net()):
        def forward(self, x):
            return super().forward(x) + 1

    Child().forward(torch.zeros(2, 4))
    module = capture_model(model_name="Net")(nn.Sequential(nn.Linear(4, 4)))
    other = nn.Sequential(nn.Linear(4, 4))
    module.forward(torch.zeros(2, 4))
    other.forward(torch.zeros(2, 4))  # of the same class, and not selected
    passes(on, 2)


def test_forward_is_counted_once_where_passes_are_left_out(on):
    model = make_net(every=2)()
    for _ in range(2):
        model(torch.zeros(2, 4))
        model.forward(torch.zeros(2, 4))
    assert files(on) == ["Net_forward_001.json", "Net_forward_003.json"]


def test_forward_stays_the_function_that_it_was(on):
    import copy
    import inspect

    class Plain(nn.Module):
        def forward(self, x, scale=1.0):
            "Says something."
            return x * scale

    before = Plain.forward
    kind = capture_model(Plain)
    assert kind.forward is before and inspect.isfunction(kind.forward)
    assert str(inspect.signature(kind().forward)) == "(x, scale=1.0)"
    assert inspect.ismethod(kind().forward) and kind.forward.__doc__ == "Says something."
    assert (kind.forward.__name__, kind.forward.__module__) == ("forward", __name__)
    assert "return x * scale" in inspect.getsource(kind.forward)
    assert torch.jit.trace(kind(), torch.ones(2)).graph is not None
    assert torch.fx.symbolic_trace(kind()) is not None
    assert copy.deepcopy(kind.forward) is kind.forward
    with pytest.raises(TypeError, match="missing"):
        kind().forward()


@pytest.mark.parametrize("how", ["compiled", "compiled in place", "compiled forward"])
def test_a_compiled_forward_is_one_pass(on, how):
    model = make_net()()
    if how == "compiled in place":
        model.compile(backend="eager")
        called = model
    else:
        called = torch.compile(model, backend="eager")
    for _ in range(2):
        (called.forward if how == "compiled forward" else called)(torch.zeros(2, 4))
    passes(on, 2)


def test_a_forward_of_data_parallel_is_one_pass(on):
    model = make_net()()
    parallel = nn.DataParallel(model)
    parallel(torch.zeros(2, 4))
    parallel.forward(torch.zeros(2, 4))
    passes(on, 2)
    for number in (1, 2):
        assert "module.fc" in parse_model_trace(f"Net_forward_{number:03d}.json")["layer_stats"]


def test_a_forward_of_distributed_data_parallel_is_one_pass(on):
    import torch.distributed as dist

    store = dist.FileStore(str(on / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(make_net()())
        model(torch.zeros(2, 4)).sum().backward()
        model.forward(torch.zeros(2, 4)).sum().backward()
        compiled = torch.compile(model, backend="eager")
        compiled(torch.zeros(2, 4)).sum().backward()
        (on / "store").unlink(missing_ok=True)
        passes(on, 3)
    finally:
        dist.destroy_process_group()
    for number in (1, 2):
        assert "fc" in parse_model_trace(f"Net_forward_{number:03d}.json")["layer_stats"]


PARENT = """
import subprocess, sys
import torch
from torch import nn
from pyrometer import capture_model
from pyrometer._testing import finish_passes

@capture_model(model_name="Net")
class Net(nn.Module):
    def forward(self, x):
        return x * 2

def run(batch):
    Net()(torch.zeros(batch, 4))
    finish_passes()

def child():
    subprocess.run([sys.argv[1], sys.argv[2], "none", "none"], check=True)

if sys.argv[2] == "none":
    run(3)
    run(3)
else:
    for what in sys.argv[3:]:
        child() if what == "child" else run(int(what))
"""


@pytest.mark.parametrize("order", [("1", "child", "2"), ("child", "1", "2")])
def test_a_script_that_starts_another_keeps_its_files(on, order):
    """In fresh interpreters: files are compared with the time at which a process started."""
    script = on / "script.py"
    script.write_text(PARENT)

    def run(*what):
        command = [sys.executable, script, sys.executable, script, *what]
        return subprocess.run(command, cwd=on, check=True, capture_output=True, text=True)

    done = run(*order)
    assert "of an earlier run" not in done.stderr
    assert done.stderr.count("another process writes Net_forward_*.json") == 1
    found = [name for name in files(on) if ".json" in name]
    batches = {}
    for name in found:
        assert name.endswith(".json")  # none was renamed
        shapes = parse_model_trace(str(on / name))["layer_stats"]["(model)"]["shapes"]
        batches.setdefault(name.split("_forward_")[0], []).append(next(iter(shapes))[0])
    assert sorted(batches.values()) == [[1, 2], [3, 3]]
    assert "Net" in batches and len(batches) == 2
    # The next run finds all of them written, and renames those with its own names.
    done = run("5")
    assert "renamed Net_forward_001.json of an earlier run to Net_forward_001.json.1" in done.stderr
    assert parse_model_trace(str(on / "Net_forward_001.json"))["layer_stats"]["(model)"][
        "shapes"
    ] == {(5, 4)}
