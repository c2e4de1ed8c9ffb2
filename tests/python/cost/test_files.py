"""pyrometer.cost() on files and built-in models, without torch."""

import copy
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import zipfile

import pytest

import pyrometer

RESNET18_PARAMS = 11_689_512
RESNET18_MACS = 1_814_073_344
SKELETON = pathlib.Path(__file__).parents[3] / "catalog/skeletons/resnet18.pt2"


@pytest.fixture(scope="module")
def resnet18():
    return pyrometer.cost("resnet18")


def test_totals_of_the_built_in_model(resnet18):
    assert resnet18.params == resnet18.total("params") == RESNET18_PARAMS
    assert resnet18.total_macs == resnet18.total("macs") == RESNET18_MACS
    assert resnet18.total_flops == resnet18.total() > 2 * RESNET18_MACS
    assert resnet18.total_memory == resnet18.total("memory")
    assert resnet18.convention == "full"
    assert resnet18.model == "resnet18"
    assert resnet18.coverage == 1
    assert resnet18.unsupported_ops() == {}
    assert resnet18.uncalled_modules() == set()


def test_a_path_is_text_or_a_path_object(resnet18):
    for path in (str(SKELETON), SKELETON):
        cost = pyrometer.cost(path)
        assert cost.total_macs == RESNET18_MACS
        assert cost.to_dict()["file_bytes"] == SKELETON.stat().st_size


@pytest.mark.parametrize("metric", ["flops", "macs", "memory", "params", "written_bytes"])
def test_every_view_adds_up_to_the_total(resnet18, metric):
    total = resnet18.total(metric)
    modules = resnet18.by_module(metric)
    top = [name for name in modules if name and "." not in name]
    own = sum(row[metric] for row in resnet18.to_dict()["layers"] if row["name"] == "(model)")
    assert modules[""] == total
    assert sum(modules[name] for name in top) + own == total
    assert modules["layer1"] == modules["layer1.0"] + modules["layer1.1"]
    assert modules["no.such.module"] == 0
    if metric != "params":
        assert sum(resnet18.by_operator(metric).values()) == total
        by_both = resnet18.by_module_and_operator(metric)
        assert by_both[""].total() == total
        assert by_both["layer2"].total() == modules["layer2"]
        assert set(by_both) == set(modules)


def test_convolutions_lead(resnet18):
    name, macs = resnet18.by_operator("macs").most_common(1)[0]
    assert name == "Conv2D"
    assert RESNET18_MACS - macs == 512 * 1000


def test_macs_do_not_depend_on_the_convention():
    costs = {
        name: pyrometer.cost("resnet18", convention=name)
        for name in ("full", "torch", "fvcore", "torchvision")
    }
    assert {cost.total_macs for cost in costs.values()} == {RESNET18_MACS}
    assert costs["torch"].total_flops == 2 * RESNET18_MACS
    assert costs["fvcore"].total_flops == 1_819_065_856
    assert costs["torchvision"].total_flops == RESNET18_MACS
    assert costs["torch"].convention == "torch"


def test_dtype_halves_the_bytes(resnet18):
    half = pyrometer.cost("resnet18", dtype="float16")
    assert half.total("weight_read_bytes") < 0.51 * resnet18.total("weight_read_bytes")
    assert half.total_macs == RESNET18_MACS


def test_depth_rolls_layers_up(resnet18):
    shallow = pyrometer.cost("resnet18", depth=1)
    names = [row["name"] for row in shallow.to_dict()["layers"]]
    assert "layer1" in names
    assert not any("." in name for name in names)
    assert shallow.total("memory") == resnet18.total("memory")


def test_ridge_moves_the_bottleneck():
    def bounds(ridge):
        layers = pyrometer.cost("resnet18", ridge=ridge).to_dict()["layers"]
        return {row["bottleneck"] for row in layers}

    assert "compute-bound" not in bounds(1e9)
    assert "compute-bound" in bounds(1e-9)


def test_table_is_the_text_of_the_tool(resnet18):
    assert "layer1.0.conv1" in resnet18.table()
    shallow = resnet18.table(max_depth=1)
    assert "layer1.0" not in shallow
    assert "layer1" in shallow
    assert str(resnet18) == resnet18.table()


def test_repr_is_short(resnet18):
    assert repr(resnet18).startswith("<pyrometer.Cost resnet18: 11.7 M params, 1.81 GMACs")
    assert len(repr(resnet18)) < 120


def test_to_dict_is_a_copy(resnet18):
    first = resnet18.to_dict()
    before = copy.deepcopy(first)
    first["layers"].clear()
    assert resnet18.to_dict() == before
    assert before["schema"] == "pyrometer.cost/1"
    assert before["nodes"][0].keys() >= {"name", "op", "type", "category", "layer", "shape"}
    json.dumps(before, allow_nan=False)


def test_batch_and_shapes_rescale():
    one = pyrometer.cost("resnet18", batch=1)
    assert pyrometer.cost("resnet18", batch=8).total_macs == 8 * one.total_macs
    shape = (2, 3, 224, 224)
    name = one.to_dict()["inputs"][0]["name"]
    assert pyrometer.cost("resnet18", input_shape=shape).total_macs == 2 * one.total_macs
    assert pyrometer.cost("resnet18", input_shapes={name: shape}).total_macs == 2 * one.total_macs


@pytest.mark.parametrize(
    "options",
    [
        {"convention": "nonsense"},
        {"dtype": "nonsense"},
        {"batch": -1},
        {"input_shape": (1, 4, 224, 224)},
        {"input_shape": (1,) * 100},
        {"input_shapes": {"nonsense": (1, 3, 224, 224)}},
        {"inputs": 1},
        {"rules": 7},
        {"rules": {"aten::conv2d": 7}},
    ],
)
def test_an_impossible_argument_is_a_value_error(options):
    with pytest.raises(ValueError):
        pyrometer.cost("resnet18", **options)


@pytest.mark.parametrize("options", [{"batch": "two"}, {"input_shape": ("a",)}, {"ridge": None}])
def test_an_argument_of_a_wrong_type_is_a_type_error(options):
    with pytest.raises((TypeError, ValueError)):
        pyrometer.cost("resnet18", **options)


def test_an_unknown_metric_names_the_known(resnet18):
    for ask in (resnet18.total, resnet18.by_module, resnet18.by_operator):
        with pytest.raises(ValueError, match="valid: flops, macs"):
            ask("speed")
    with pytest.raises(ValueError, match="valid: layers"):
        resnet18.to_pandas("speed")


def test_something_else_than_a_model_is_a_type_error():
    with pytest.raises(TypeError, match=r"nn\.Module"):
        pyrometer.cost(42)


def test_a_missing_file_is_not_found():
    with pytest.raises(FileNotFoundError, match=r"no-such-file\.pt2"):
        pyrometer.cost("no-such-file.pt2")


def test_a_missing_file_need_not_be_utf8():
    with pytest.raises(FileNotFoundError):
        pyrometer.cost(os.fsdecode(b"no-such-\xff.pt2"))


def test_a_damaged_file_says_where(tmp_path):
    path = tmp_path / "cut.pt2"
    path.write_bytes(SKELETON.read_bytes()[:1000])
    with pytest.raises(pyrometer.Error) as caught:
        pyrometer.cost(path)
    assert caught.value.code == "format"
    assert str(path) in caught.value.where
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_json_says_at_which_byte(tmp_path):
    path = tmp_path / "bad.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("models/model.json", '{"graph_module": [')
    with pytest.raises(pyrometer.Error) as caught:
        pyrometer.cost(path)
    assert caught.value.code == "format"
    assert "models/model.json" in caught.value.where
    assert caught.value.offset is not None


def test_an_error_survives_pickling():
    error = pyrometer.Error("what happened", "format", "file", 7)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.where, again.offset) == (
        "what happened",
        "format",
        "file",
        7,
    )


def test_a_rule_prices_an_operator(resnet18):
    seen = []

    def rule(op):
        seen.append(op)
        return 1000, 5

    cost = pyrometer.cost("resnet18", rules={"aten::linear": rule})
    assert cost.total_macs == RESNET18_MACS - 512_000 + 1000
    assert cost.by_operator()["Linear"] == 2005
    assert cost.by_operator()["Conv2D"] == resnet18.by_operator()["Conv2D"]
    (linear,) = seen
    assert linear.name == "aten.linear.default"
    assert (1000, 512) in [tensor.shape for tensor in linear.inputs if tensor.is_weight]
    assert linear.outputs[0].shape[-1] == 1000
    assert linear.outputs[0].dtype == "float32"


def test_a_rule_may_be_one_callable_and_decline():
    names = set()

    def rule(op):
        names.add(op.name)
        return 1 if op.name == "aten.linear.default" else None

    assert pyrometer.cost("resnet18", rules=rule).total_macs == RESNET18_MACS - 512_000 + 1
    assert len(names) > 3


@pytest.mark.parametrize("answer", ["many", (1, 2, 3), 2**80, 1.5])
def test_a_rule_that_answers_nonsense_fails(answer):
    with pytest.raises((TypeError, OverflowError)):
        pyrometer.cost("resnet18", rules=lambda op: answer)


def test_an_exception_in_a_rule_comes_through():
    def rule(op):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pyrometer.cost("resnet18", rules=rule)


def test_threads_may_price_at_once():
    results = []

    def work():
        results.append(pyrometer.cost("resnet18").total_macs)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [RESNET18_MACS] * 8


def test_memory_does_not_grow():
    resource = pytest.importorskip("resource")
    for _ in range(20):
        pyrometer.cost("resnet18", depth=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        pyrometer.cost("resnet18", depth=0)
        with pytest.raises(ValueError):
            pyrometer.cost("resnet18", dtype="nonsense")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024


def test_torch_is_not_imported_for_a_file():
    code = (
        "import sys, pyrometer; pyrometer.cost('resnet18');"
        "sys.exit('torch' in sys.modules or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pandas_is_asked_for_by_name(resnet18, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        resnet18.to_pandas()


def test_to_pandas(resnet18):
    pytest.importorskip("pandas")
    layers = resnet18.to_pandas()
    assert layers["macs"].sum() == RESNET18_MACS
    assert len(resnet18.to_pandas("nodes")) == resnet18.total("operators")
    assert set(resnet18.to_pandas("operators")["name"]) == set(resnet18.by_operator())
    assert "depth" in resnet18.to_pandas("modules")


def test_version_is_the_header_s():
    header = pathlib.Path(__file__).parents[3] / "include/pyrometer/version.h"
    assert f'#define PYRO_VERSION "{pyrometer.__version__}"' in header.read_text()


def test_the_wheel_brings_the_tool():
    tool = pathlib.Path(sys.executable).parent / "pyrometer"
    if not tool.exists():
        pytest.skip("the package is not installed here, only on PYTHONPATH")
    run = [tool, "cost", "--format", "json", "resnet18"]
    report = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    assert report["total_macs"] == RESNET18_MACS
    assert shutil.which(str(tool)) and os.access(tool, os.X_OK)


def test_sizes_are_set_by_symbol():
    symbols = pyrometer.cost("resnet18").to_dict()["inputs"][0]["symbols"]
    assert pyrometer.cost("resnet18", sizes={symbols[0]: 3}).total_macs == 3 * RESNET18_MACS
    with pytest.raises(ValueError, match="unknown size 'nobody'"):
        pyrometer.cost("resnet18", sizes={"nobody": 3})
