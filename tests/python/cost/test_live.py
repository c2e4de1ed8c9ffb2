"""pyrometer.cost() on live modules: what the export passes on, and what stays unchanged."""

import json
import os

import pytest

import pyrometer
from pyrometer._testing import archive

torch = pytest.importorskip("torch")
nn = torch.nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.skip = nn.Identity()
        self.head = nn.Linear(8, 10)
        self.spare = nn.Linear(8, 10)
        self.blocks = nn.ModuleList([nn.ReLU()])

    def forward(self, image, *, scale=None):
        features = self.skip(self.norm(self.conv(image)))
        for block in self.blocks:
            features = block(features)
        if scale is not None:
            features = features * scale
        return self.head(features.mean((2, 3)))


CONV_MACS = 4 * 8 * 16 * 16 * 27
HEAD_MACS = 4 * 8 * 10


@pytest.fixture
def net():
    return Net().eval()


@pytest.fixture
def image():
    return torch.zeros(4, 3, 16, 16)


def test_macs_by_module(net, image):
    cost = pyrometer.cost(net, image)
    macs = cost.by_module("macs")
    assert cost.total_macs == macs[""] == CONV_MACS + HEAD_MACS
    assert (macs["conv"], macs["head"], macs["norm"]) == (CONV_MACS, HEAD_MACS, 0)
    assert cost.by_module_and_operator("macs")["conv"]["Conv2D"] == CONV_MACS
    assert cost.model == "Net"


def test_modules_that_were_not_called(net, image):
    assert pyrometer.cost(net, image).uncalled_modules() == {"spare"}


def test_params_are_those_of_the_module(net, image):
    assert pyrometer.cost(net, image).params == sum(p.numel() for p in net.parameters())


@pytest.mark.parametrize(
    "wrap", [lambda t: t, lambda t: (t,), lambda t: [t], lambda t: {"image": t}]
)
def test_inputs_in_every_form(net, image, wrap):
    assert pyrometer.cost(net, wrap(image)).total_macs == CONV_MACS + HEAD_MACS


def test_keyword_arguments(net, image):
    plain = pyrometer.cost(net, image)
    scaled = pyrometer.cost(net, image, kwargs={"scale": torch.ones(1)})
    assert scaled.total_flops == plain.total_flops + 4 * 8 * 16 * 16
    named = pyrometer.cost(net, {"image": image, "scale": torch.ones(1)})
    assert named.total_flops == scaled.total_flops


def test_a_module_without_inputs_is_told_so(net):
    with pytest.raises(ValueError, match="pass inputs="):
        pyrometer.cost(net)


def test_the_module_is_left_as_it_is(image):
    for training in (False, True):
        net = Net().train(training)
        state = {name: value.clone() for name, value in net.state_dict().items()}
        hooks = torch.nn.modules.module._global_forward_pre_hooks
        fast = torch.backends.mha.get_fastpath_enabled()
        pyrometer.cost(net, image)
        assert all(module.training is training for module in net.modules())
        assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
        assert not hooks and not net.conv._forward_pre_hooks
        assert torch.backends.mha.get_fastpath_enabled() == fast


def test_no_file_is_left(net, image, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pyrometer.cost(net, image)
    assert os.listdir(tmp_path) == []


def test_weights_are_not_copied():
    wide = nn.Linear(4096, 4096)
    live = archive.read_live(wide, torch.zeros(1, 4096), None, None, False)
    assert len(live.archive) < 100_000
    assert pyrometer.cost(wide, torch.zeros(1, 4096)).total_macs == 4096 * 4096


def test_the_graph_is_what_torch_saves(net, image):
    program = torch.export.export(net, (image,))
    saved = json.loads(archive.saved_json(program))
    ours = json.loads(archive.graph_json(program))
    saved["graph_module"]["module_call_graph"] = []  # graph_json() leaves the calls out
    assert ours == {key: saved[key] for key in ours}
    assert ours.keys() >= {"graph_module", "range_constraints", "schema_version", "torch_version"}


def test_a_torch_that_was_rearranged_still_does(net, image, monkeypatch):
    def moved(program):
        raise AttributeError("no such private thing")

    monkeypatch.setattr(archive, "graph_json", moved)
    assert pyrometer.cost(net, image).total_macs == CONV_MACS + HEAD_MACS


def test_a_compiled_module_is_the_module_inside(net, image):
    plain, compiled = pyrometer.cost(net, image), pyrometer.cost(torch.compile(net), image)
    assert compiled.by_module("macs") == plain.by_module("macs")
    assert compiled.model == "Net"


def test_strict_export(net, image):
    cost = pyrometer.cost(net, image, strict=True)
    assert cost.total_macs == CONV_MACS + HEAD_MACS
    assert "spare" in cost.uncalled_modules()


def test_live_and_file_agree(net, image, tmp_path):
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, (image,)), path)
    file, live = pyrometer.cost(path), pyrometer.cost(net, image)
    for metric in ("macs", "flops", "memory", "params"):
        assert file.by_module(metric) == live.by_module(metric)


def test_an_exported_program(net, image):
    program = torch.export.export(net, (image,))
    assert pyrometer.cost(program).total_macs == CONV_MACS + HEAD_MACS
    with pytest.raises(ValueError, match="has its inputs"):
        pyrometer.cost(program, image)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.head = nn.Linear(16, 100, bias=False)
        self.head.weight = self.embed.weight
        self.view = nn.Linear(16, 100, bias=False)
        self.view.weight = nn.Parameter(self.embed.weight.detach())

    def forward(self, tokens):
        hidden = self.embed(tokens)
        return self.head(hidden) + self.view(hidden)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_tied_weights_count_once(device):
    model = Tied().to(device)
    if device == "meta":
        model.head.weight = model.embed.weight
        model.view.weight = nn.Parameter(model.embed.weight.detach())
    tokens = torch.zeros(1, 8, dtype=torch.int64, device=device)
    cost = pyrometer.cost(model, tokens)
    assert cost.params == 100 * 16
    assert cost.total_macs == 2 * 8 * 16 * 100
    assert archive.tied_parameters(model) == {
        "head.weight": "embed.weight",
        "view.weight": "embed.weight",
    }


def test_untied_weights_on_meta_count_each():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).to("meta")
    assert archive.tied_parameters(model) == {}
    assert pyrometer.cost(model, torch.zeros(1, 8, device="meta")).params == 2 * 72


def test_dynamic_shapes_can_be_set_afterwards(net, image):
    shapes = {"image": {0: torch.export.Dim("batch", min=1, max=1024)}}
    cost = pyrometer.cost(net, image, dynamic_shapes=shapes, batch=32)
    assert cost.total_macs == 8 * (CONV_MACS + HEAD_MACS)
    with pytest.raises(ValueError, match="1024"):
        pyrometer.cost(net, image, dynamic_shapes=shapes, batch=4096)
    with pytest.raises(ValueError, match="image"):
        pyrometer.cost(net, image, batch=32)


def test_dtype_as_torch_names_it(net, image):
    whole, half = pyrometer.cost(net, image), pyrometer.cost(net, image, dtype=torch.bfloat16)
    assert 2 * half.total("written_bytes") == whole.total("written_bytes")


def test_an_operator_without_a_rule_is_listed_and_can_be_priced():
    @torch.library.custom_op("pyrotest::mystery", mutates_args=())
    def mystery(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @mystery.register_fake
    def _(x):
        return torch.empty_like(x)

    class Strange(nn.Module):
        def forward(self, x):
            return mystery(x) + mystery(x)

    unknown = pyrometer.cost(Strange(), torch.zeros(3, 5))
    assert unknown.unsupported_ops() == {"pyrotest.mystery": 2}
    assert unknown.coverage < 1
    rules = {"pyrotest::mystery": lambda op: op.inputs[0].shape[0] * 100}
    priced = pyrometer.cost(Strange(), torch.zeros(3, 5), rules=rules)
    assert priced.total_macs == 600
    assert priced.unsupported_ops() == {}
    assert priced.coverage == 1


def test_what_cannot_be_exported_is_one_line():
    class Branching(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(pyrometer.Error) as caught:
        pyrometer.cost(Branching(), torch.zeros(3))
    assert caught.value.code == "export"
    assert "\n" not in str(caught.value)
    assert "Branching" in str(caught.value)
    assert caught.value.__cause__ is not None


def test_transformer_layers_are_told_apart():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    macs = pyrometer.cost(layer, torch.zeros(2, 10, 32)).by_module("macs")
    assert macs["linear1"] == macs["linear2"] == 2 * 10 * 32 * 64
    assert macs["self_attn"] == 2 * (4 * 10 * 32 * 32 + 2 * 10 * 10 * 32)


def test_the_numbers_of_torch(net, image):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(image)
    assert pyrometer.cost(net, image, convention="torch").total_flops == counter.get_total_flops()


def test_a_dropout_with_probability_0_is_free_in_training():
    def cost_of(*between):
        layers = nn.Sequential(nn.Linear(64, 64), *between, nn.Linear(64, 8)).train()
        return pyrometer.cost(layers, torch.zeros(4, 64))

    bare, zero, half = cost_of(), cost_of(nn.Dropout(0.0)), cost_of(nn.Dropout(0.5))
    assert zero.total_flops == bare.total_flops < half.total_flops
    assert zero.total_memory == bare.total_memory < half.total_memory
