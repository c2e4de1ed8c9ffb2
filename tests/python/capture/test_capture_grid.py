"""A program behaves the same before, during and after capturing. Tests every feature of
torch that touches the call of a module, in each of the three states."""

import copy
import io
import itertools
import pickle
import re
import sys
import tempfile
import traceback
import warnings
import weakref

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
import torch.utils.checkpoint as checkpointing  # noqa: E402
from recording import observed  # noqa: E402

from pyrometer._testing import core  # noqa: E402

EVERYTHING = ("layers", "ops", "shapes", "memory", "stacks", "storages")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.act = nn.ReLU()
        self.b = nn.Linear(8, 4)

    def forward(self, x, *, scale=1.0):
        return self.b(self.act(self.a(x))) * scale


class Breaks(Net):
    def forward(self, x):
        x = self.a(x)
        torch._dynamo.graph_break()
        return self.b(self.act(x))


class Raises(nn.Module):
    def forward(self, x):
        raise KeyError("boom")


def net(kind=Net):
    torch.manual_seed(0)
    return kind()


def example():
    return torch.linspace(-1, 1, 16).reshape(2, 8)


def plain():
    model = net()
    out = model(example(), scale=2.0)
    out.sum().backward()
    return out, [p.grad for p in model.parameters()]


def hooks():
    model, log = net(), []

    def note(name, result=None):
        return lambda *_, **__: log.append(name) or result

    handles = [
        model.a.register_forward_pre_hook(note("pre")),
        model.a.register_forward_hook(note("post")),
        model.b.register_forward_hook(lambda m, a, k, o: log.append("kwargs"), with_kwargs=True),
        model.b.register_full_backward_hook(note("backward")),
        model.b.register_full_backward_pre_hook(note("backward pre")),
        model.act.register_forward_hook(lambda m, a, o: o + 1),
        model.register_forward_hook(note("always"), always_call=True),
        nn.modules.module.register_module_forward_hook(note("global")),
        nn.modules.module.register_module_forward_pre_hook(note("global pre")),
    ]
    try:
        out = model(example())
        out.sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return out, log


def raising_hook():
    model, log = net(), []

    def fail(*_):
        raise ZeroDivisionError("in a hook")

    model.act.register_forward_hook(fail)
    model.register_forward_hook(lambda *_: log.append("always"), always_call=True)
    return failure(lambda: model(example())), log


def failure(call):
    """The exception, its origin, and the exception it replaced."""
    try:
        call()
    except BaseException as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return type(error).__name__, str(error), frames, type(error.__context__).__name__
    return None


def exceptions():
    model = nn.Sequential(nn.Linear(8, 8), Raises())

    class Interrupted(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    return (
        failure(lambda: model(example())),
        failure(lambda: net()(torch.ones(2, 3))),
        failure(lambda: net()()),
        failure(lambda: nn.Sequential(Interrupted())(example())),
        failure(lambda: nn.Module()(1)),
        failure(lambda: nn.Module._call_impl()),
        failure(lambda: nn.Module._call_impl(3)),
    )


def recursion():
    class Deep(nn.Module):
        def forward(self, x, depth):
            return self(x + 1, depth - 1) if depth else x

    return Deep()(example(), 40), failure(lambda: Deep()(example(), -1))[0]


def copies():
    model = net()
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    others = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        torch.load(buffer, weights_only=False),
    ]
    return [other(example()) for other in others], list(model.state_dict()), sorted(vars(model))


def scripted():
    model = net()
    traced = torch.jit.trace(model, example())
    script = torch.jit.script(nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
    graphs = [
        re.sub(r"___torch_mangle_\d+", "", str(g)) for g in (traced.inlined_graph, script.graph)
    ]
    return traced(example()), script(example()).shape, graphs


def fx():
    model = net()
    graph = torch.fx.symbolic_trace(model)
    return graph(example()), str(graph.graph)


def exported():
    model = net()
    program = torch.export.export(model, (example(),))
    return program.module()(example()), str(program.graph)


def compiled(make=net, **options):
    import torch._dynamo as dynamo

    dynamo.reset()
    dynamo.utils.counters.clear()
    model = make()
    graphs = []

    def backend(graph, _):
        graphs.append(str(graph.graph))
        return graph.forward

    function = torch.compile(model, backend=backend, **options)
    out = [function(example()), function(example())]
    counters = {
        name: dict(dynamo.utils.counters[name]) for name in ("frames", "graph_break", "stats")
    }
    dynamo.reset()
    return out, graphs, counters


def compiled_with_breaks():
    return compiled(lambda: net(Breaks))


def compiled_in_place():
    import torch._dynamo as dynamo

    dynamo.reset()
    model = net()
    model.compile(backend="eager", fullgraph=True)
    out = [model(example()), model(example())]
    dynamo.reset()
    return out


def checkpointed():
    results = []
    for reentrant in (False, True):
        model, x = net(), example().requires_grad_()
        out = checkpointing.checkpoint(model, x, use_reentrant=reentrant)
        out.sum().backward()
        results += [out, x.grad, model.a.weight.grad]
    return results


def wrappers():
    model = net()
    parallel = nn.DataParallel(model)
    return parallel(example()), torch.optim.swa_utils.AveragedModel(model)(example())


def distributed():
    """One rank: the hooks and all-gathers of the wrappers."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_gloo_available():
        pytest.skip("this torch has no gloo")
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            ddp = nn.parallel.DistributedDataParallel(net())
            results = [ddp(example())]
            results[0].sum().backward()
            results.append(ddp.module.a.weight.grad)
            try:
                from torch.distributed.fsdp import fully_shard
            except ImportError:
                return results
            mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
            model = net()
            for module in (model.a, model.b, model):
                fully_shard(module, mesh=mesh)
            out = model(example())
            out.sum().backward()
            return [*results, out, model.a.weight.grad.to_local()]
        finally:
            dist.destroy_process_group()


def functional():
    model = net()
    parameters = dict(model.named_parameters())
    called = torch.func.functional_call(model, parameters, example())
    mapped = torch.func.vmap(model)(example())
    gradient = torch.func.grad(lambda p: torch.func.functional_call(model, p, example()).sum())(
        parameters
    )
    return called, mapped, [gradient[name] for name in sorted(gradient)]


def parametrized():
    linear = nn.Linear(8, 8)
    with torch.no_grad():
        linear.weight.fill_(0.5)
    nn.utils.parametrizations.weight_norm(linear)
    return linear(example()).shape, list(linear.state_dict())


def lazy():
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    out = model(example())
    return out.shape, type(model[0]).__name__, model[0].weight.shape


def instance_forward():
    model = net()
    model.forward = lambda x: x + 1
    return model(example())


def modes():
    log = []

    class Functions(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            log.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    class Ops(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            log.append(str(function))
            return function(*args, **(kwargs or {}))

    model = net()
    with Functions():
        model(example())
    with Ops():
        model(example())
    with torch.inference_mode():
        out = model(example())
    return log, out, out.is_inference()


def tracers():
    """Calls that Python's profiling and tracing see."""
    seen = []

    def note(frame, event, argument):
        if event in ("call", "c_call"):
            seen.append((frame.f_code.co_name, event))

    model = net()
    sys.setprofile(note)
    try:
        model(example())
    finally:
        sys.setprofile(None)
    return seen


def identity():
    function = nn.Module._call_impl
    return (
        function.__code__.co_name,
        function.__qualname__,
        function is nn.Module.__dict__["_call_impl"],
        nn.Module.__call__ is nn.Module.__dict__["__call__"],
        type(function).__name__,
    )


def lifetimes():
    """Modules and tensors are freed at the same time as without capturing."""
    model = net()
    alive = [weakref.ref(model), weakref.ref(model.a)]
    out = model(example())
    alive += [weakref.ref(out), weakref.ref(out.untyped_storage())]
    given = example()
    torch.func.vmap(lambda row: row + 1)(given)  # wraps it temporarily
    alive.append(weakref.ref(given))
    del model, out, given
    return [one() is None for one in alive]


def generators():
    class Gives(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()

        def forward(self, x):
            for number in range(3):
                yield self.inner(x + number)

    return list(Gives()(example()))


def profiled():
    model = net()
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as p:
        model(example())
    names = [event.name for event in p.events()]
    return [name for name in names if name.startswith("aten::")]


def nested_tensors_and_symbols():
    with torch._subclasses.FakeTensorMode():
        shape = net()(torch.empty(2, 8)).shape
    return shape, net().to("meta")(torch.empty(2, 8, device="meta")).shape


SITUATIONS = [
    *(plain, hooks, raising_hook, exceptions, recursion, copies, scripted, fx, exported),
    *(compiled, compiled_with_breaks, compiled_in_place, checkpointed, wrappers, functional),
    *(
        distributed,
        parametrized,
        lazy,
        instance_forward,
        modes,
        tracers,
        identity,
        lifetimes,
        generators,
    ),
    *(profiled, nested_tensors_and_symbols),
]


def is_same(left, right):
    if isinstance(left, torch.Tensor):
        return isinstance(right, torch.Tensor) and torch.equal(left, right)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(
            is_same(a, b) for a, b in itertools.zip_longest(left, right)
        )
    return left == right


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
def test_same_before_during_and_after(tmp_path, observer, situation):
    situation()  # one-time initialization of torch
    before = situation()
    with observed(tmp_path / "x.pyro", *EVERYTHING):
        during = situation()
    after = situation()
    assert is_same(before, during)
    assert is_same(before, after)


def test_off_costs_nothing_and_leaves_nothing(tmp_path):
    vectorcall_before = nn.Module._call_impl
    with observed(tmp_path / "x.pyro", *EVERYTHING):
        net()(example())
    assert nn.Module._call_impl is vectorcall_before
    assert not core.recorder_status()["running"]
