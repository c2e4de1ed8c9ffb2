"""Profiler behaves like the model that it wraps; the example programs run unchanged."""

import contextlib
import copy
import ctypes
import io
import os
import pathlib
import pickle
import runpy
import time

import pytest

import pyrometer
from pyrometer._testing import core, graph_profiler, observer_build, session

torch = pytest.importorskip("torch")
graph_models = pytest.importorskip("graph_models")
nn = torch.nn
Profiler = pyrometer.Profiler

pytestmark = pytest.mark.usefixtures("observer")

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"


def tiny_llama():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=60,
    )
    return transformers.LlamaForCausalLM(config).eval()


def test_it_is_the_model():
    model = graph_models.Transformer()
    keys, names = list(model.state_dict()), [name for name, _ in model.named_modules()]
    prof = Profiler(model, auto_profile=False)
    assert isinstance(prof, nn.Module)
    assert list(prof.state_dict()) == keys
    assert [name for name, _ in prof.named_modules()] == names
    assert prof.tokens is model.tokens and prof.positions is model.positions
    assert len(list(prof.parameters())) == len(list(model.parameters()))
    assert prof.eval() is prof and not model.training and not model.blocks[0].training
    assert prof.to(torch.float64) is prof and model.tokens.weight.dtype == torch.float64
    assert prof.float().norm is model.norm and model.norm.weight.dtype == torch.float32
    prof.load_state_dict({key: torch.zeros_like(value) for key, value in prof.state_dict().items()})
    assert not model.norm.weight.any()
    prof.note = "kept"
    assert model.note == "kept"
    prof.head = nn.Linear(32, 7)
    assert model.head.out_features == 7
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = prof.nothing_of_that_name


def test_copies():
    model = graph_models.Reused().eval()
    prof = Profiler(model, auto_profile=False)
    x = torch.randn(2, 8)
    wanted = prof.profile_once(x)
    for other in (copy.deepcopy(prof), pickle.loads(pickle.dumps(prof))):
        assert other.graph is None and prof.graph is not None
        assert torch.equal(other(x)[0], wanted[0])
        other.cell.weight.data.zero_()
    assert torch.equal(prof(x)[0], wanted[0])


def test_wrong_uses():
    with pytest.raises(TypeError, match="wraps an nn"):
        Profiler(lambda x: x)
    with pytest.raises(ValueError, match="valid: module, layer"):
        Profiler(nn.Linear(1, 1), granularity="op")
    with pytest.raises(ValueError, match="valid: high, aten"):
        Profiler(nn.Linear(1, 1)).profile_detail(torch.randn(1, 1), level="cuda")


def test_auto_profile():
    x = torch.randn(2, 8)
    prof = Profiler(graph_models.Reused())
    assert prof.get_graphs() == {"module_graph": None, "detail_graph": None}
    prof(x)
    graph = prof.graph
    assert graph is not None and prof.detail_graph is None
    prof(x)
    assert prof.graph is graph
    prof = Profiler(graph_models.Reused(), capture_ops=True)
    prof(x)
    assert prof.detail_graph is not None
    assert [node.kind for node in prof.detail_graph] == ["input", *["op"] * 8]


def test_in_place_of_a_part():
    model = tiny_llama()
    ids = torch.randint(0, 60, (1, 6))
    keys = list(model.state_dict())
    wanted = model.generate(ids, max_new_tokens=4, do_sample=False)
    model.model = Profiler(
        model.model, granularity="module", token_kwarg="input_ids", auto_profile=True
    )
    assert list(model.state_dict()) == keys
    model.load_state_dict(model.state_dict())
    assert torch.equal(model.generate(ids, max_new_tokens=4, do_sample=False), wanted)
    names = [node.name for node in model.model.graph if node.kind == "module"]
    assert names == ["embed_tokens", "rotary_emb", "layers.0", "layers.1", "layers.2", "norm"]
    assert model.model.tokens_per_second > 0
    model.model.profile_once(ids)  # under its keyword
    assert next(iter(model.model.graph)).name == "input_ids"
    assert {(edge.source.name, edge.target.name) for edge in model.model.graph.edges} >= {
        ("layers.0", "layers.1"),
        ("rotary_emb", "layers.2"),
        ("layers.2", "norm"),
    }


def test_nothing_watches_calls_afterwards():
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(3))).eval()
    prof = Profiler(model, auto_profile=False)
    prof.profile_once(torch.randn(2, 8))
    prof.profile_detail(torch.randn(2, 8))
    assert not session.is_running and not core.recorder_status()["running"]
    for module in model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks
    assert not torch.nn.modules.module._global_forward_hooks
    assert torch.overrides._len_torch_function_stack() == 0
    assert "forward" not in vars(model) and all("forward" not in vars(one) for one in model)


RESNET = """
import torch
from pyrometer import Profiler
from torchvision.models import resnet18

device = "cuda" if torch.cuda.is_available() else "cpu"
model = resnet18().eval().to(device)
prof = Profiler(model, granularity="module", auto_profile=False, capture_ops=False)

x = torch.randn(1, 3, 224, 224, device=device)

# Pass 1: module-level graph
prof.profile_once(x)
prof.export("resnet18_profile", module_include_edges=True, include_stats=True, overwrite_module=True)

# Optional Pass 2: operator-level detail graph
prof.profile_detail(x)
prof.export("resnet18_profile", detail_include_edges=True, include_stats=True, overwrite_module=False)

# Print stats in console
print("==== Module Graph Stats ====")
prof.graph.stats()
if prof.detail_graph:
    print("==== Detail Graph Stats ====")
    prof.detail_graph.stats()

# Normal inference works as usual (hooks are cleaned up automatically)
_ = prof(x)
"""  # noqa: E501

LLAMA = """
import torch, transformers
from pyrometer import Profiler

model = transformers.LlamaForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")
tokenizer = transformers.AutoTokenizer.from_pretrained("meta-llama/Llama-3.1-8B")

# Wrap the inner model and indicate which kwarg carries tokens
model.model = Profiler(model.model, granularity="module", token_kwarg="input_ids", auto_profile=False, capture_ops=False)

dry_inputs = tokenizer("Hello", return_tensors="pt")

# Module-level graph
model.model.profile_once(**dry_inputs)
model.model.export("llama_profile", module_include_edges=True, include_stats=True, overwrite_module=True)

# Optional operator-level detail graph
model.model.profile_detail(**dry_inputs)
model.model.export("llama_profile", detail_include_edges=True, include_stats=True, overwrite_module=False)
"""  # noqa: E501


def test_the_program_for_resnet18(tmp_path, monkeypatch):
    graph_models.resnet18()
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(RESNET, {})
    assert printed.getvalue().count("Stats:") == 2
    module = (tmp_path / "resnet18_profile_module.txt").read_text()
    assert "layer1.0 -> layer1.1" in module and "Nodes (15):" in module
    operators = (tmp_path / "resnet18_profile_detail.txt").read_text()
    assert "maxpool/max_pool2d -> layer1.0/add_" in operators
    assert "layer1.0.bn2/batch_norm -> layer1.0/add_" in operators


def test_the_program_for_llama(tmp_path, monkeypatch):
    """Uses a tiny model and a byte tokenizer instead of downloading them."""
    model = tiny_llama()
    import transformers

    def tokenizer(text, return_tensors):
        ids = torch.tensor([[byte % 60 for byte in text.encode()]])
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    monkeypatch.setattr(transformers.LlamaForCausalLM, "from_pretrained", lambda name: model)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda name: tokenizer)
    monkeypatch.chdir(tmp_path)
    exec(LLAMA, {})
    assert "layers.1 -> layers.2" in (tmp_path / "llama_profile_module.txt").read_text()
    assert "aten.linear" in (tmp_path / "llama_profile_detail.txt").read_text()


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("graph_resnet18", {"resnet18_profile_module.txt", "resnet18_profile_detail.txt"}),
        ("graph_transformer", {"transformer_module.txt", "transformer_detail.txt"}),
        ("graph_epochs", set()),
        ("graph_llama", {"llama_profile_module.txt", "llama_profile_detail.txt"}),
    ],
)
def test_examples(name, files, tmp_path, monkeypatch, capsys):
    tiny_llama()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert set(os.listdir(tmp_path)) == files
    assert capsys.readouterr().out


def test_without_an_observer(monkeypatch, capsys):
    def unavailable():
        raise observer_build.Unavailable("there is no C++ compiler")

    monkeypatch.setattr(observer_build, "load", unavailable)
    prof = Profiler(graph_models.Reused())
    with pytest.raises(pyrometer.Error, match="no C\\+\\+ compiler"):
        prof.profile_once(torch.randn(2, 8))
    prof(torch.randn(2, 8))
    assert prof.graph is None
    assert "no C++ compiler" in capsys.readouterr().err


@pytest.fixture
def device_waits(monkeypatch):
    """Makes CPU models look like models on two GPUs; synchronizing one takes 2 ms."""
    waits = []

    @ctypes.CFUNCTYPE(None, ctypes.c_int32)
    def wait(device):
        waits.append(device)
        time.sleep(0.002)

    devices = {torch.device("cuda", 0), torch.device("cuda", 3)}
    waiting_for = observer_build.waiting_for
    monkeypatch.setattr(graph_profiler, "_cuda_devices", lambda model: devices)
    monkeypatch.setattr(graph_profiler, "_synchronised", lambda devices: contextlib.nullcontext())
    monkeypatch.setattr(observer_build, "waiting_for", lambda devices: waiting_for(devices, wait))
    return waits


def test_ops_wait_for_their_devices(device_waits):
    """Synchronizes before and after each op of the model; the time includes the latter."""
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 2)).eval()
    prof = Profiler(model, auto_profile=False)
    prof.profile_detail(torch.randn(3, 4), level="aten")
    ops = [node for node in prof.detail_graph if node.kind == "op"]
    assert [node.type for node in ops] == ["aten.linear", "aten.gelu", "aten.linear"]
    assert device_waits == [0, 3] * 2 * len(ops)
    assert all(node.median_ns >= 4e6 for node in ops)
    times = prof.detail_graph.stats()
    assert times["node_total_ns"] <= times["pass_median_ns"] - 3 * 4e6
    device_waits.clear()
    model(torch.randn(3, 4))
    assert not device_waits


@pytest.mark.parametrize("granularity", ["module", "layer"])
def test_graphs_with_ops_as_nodes_wait(device_waits, granularity):
    prof = Profiler(nn.Linear(4, 4), granularity=granularity, auto_profile=False)
    prof.profile_once(torch.randn(3, 4))
    assert bool(device_waits) == (granularity == "layer")
