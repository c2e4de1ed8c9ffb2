"""Every JSON output is valid by its schema in schemas/, and has no other keys."""

import ctypes
import json
import os
import pathlib
import re
import subprocess

import pytest
import schema_tables

jsonschema = pytest.importorskip("jsonschema")

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "files"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (ROOT / "schemas").glob("*.json")}
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build" / "pyrometer"))


def strict(schema):
    """The schema without additional keys; the published one allows them for later versions."""
    if isinstance(schema, dict):
        copy = {key: strict(value) for key, value in schema.items()}
        if "properties" in copy:
            copy.setdefault("additionalProperties", False)
        return copy
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def check(document):
    kind, version = document["schema"].removeprefix("pyrometer.").split("/")
    schema = SCHEMAS[f"{kind}-{version}"]
    jsonschema.Draft202012Validator(strict(schema)).validate(document)


def run(*words, folder=FILES):
    environment = {**os.environ, "PYROMETER_OBSERVER": "off"}
    done = subprocess.run(
        [TOOL, *map(str, words)], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_schemas_are_schemas():
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        kind, version = name.rsplit("-", 1)
        assert schema["properties"]["schema"] == {"const": f"pyrometer.{kind}/{version}"}


def test_every_table_of_a_trace_is_in_its_schema():
    pytest.importorskip("pyrometer")
    known = SCHEMAS["trace-1"]
    for name, wanted in schema_tables.table_schemas().items():
        is_known = known["properties"].get(name) == wanted
        is_required = name in known["required"]
        is_known = is_known and is_required == (name not in schema_tables.ON_REQUEST)
        assert is_known, f"{name}: run tests/python/schema_tables.py --update"


def test_updating_the_schema_changes_nothing(tmp_path):
    pytest.importorskip("pyrometer")
    copy = tmp_path / "trace-1.json"
    copy.write_text(schema_tables.SCHEMA.read_text())
    schema_tables.update(copy)
    assert copy.read_text() == schema_tables.SCHEMA.read_text()


def test_every_output_has_a_schema():
    sources = [*(ROOT / "src").rglob("*.c"), *(ROOT / "cli").rglob("*.c")]
    sources += (ROOT / "python").rglob("*.py")
    text = "".join(path.read_text() for path in sources)
    named = set(re.findall(r'"pyrometer\.([a-z.-]+/\d+)"', text))
    written = {name.replace("/", "-") for name in named}
    assert len(written) > 10 and written <= set(SCHEMAS)


@pytest.mark.parametrize(
    "words",
    [
        ("cost", "resnet18"),
        ("cost", "gpt2", "--decode", "--past", "10"),
        ("cost", "good-8-cond.pt2"),
        ("cost", "good-8-cond.pt2", "--train"),
        ("cost", "resnet18", "--train", "--checkpoint", "blocks", "--lora", "4:fc"),
        ("cost", "resnet18", "gpt2"),
        ("diff", "resnet18", "gpt2"),
        ("check", "resnet18", "--against", "torchvision"),
        ("models",),
        ("trace", "trace/good-1-training.json"),
        ("trace", "trace/good-7-collectives.json"),
        ("trace", "trace/h200_resnet18_train.json.gz"),
        ("trace", "trace/h200_vit_b16_forward.json.gz", "--verbose"),
        ("trace", "trace/bad-2-defects.json"),
        ("diff", "trace/good-1-training.json", "trace/good-3-cpu-only.json"),
        ("ranks", "ranks"),
        ("graph", "resnet18"),
        ("hardware",),
        ("fit", "llama3_8b", "--on", "h100,24GB", "--seq", "4096"),
        ("fit", "resnet18", "--on", "t4", "--gpus", "2", "--train", "--parallel", "fsdp"),
        ("map", "resnet18", "--on", "h100,b200", "--price", "h100=2"),
        ("map", "gpt2", "--on", "h200", "--dtype", "bfloat16"),
        ("fuse", "resnet18"),
        ("fuse", "gpt2", "--strategy", "none"),
        ("graph", "gpt2", "--cuts", "2", "--memory-limit", "1G"),
    ],
    ids=" ".join,
)
def test_outputs_of_the_tool(words):
    check(run(*words, "--format", "json"))


def test_planted_findings():
    for path in (ROOT / "tests" / "trace" / "planted").glob("*.hit.json"):
        check(run("trace", path, "--format", "json"))


def test_benchmarks_and_verdicts(tmp_path):
    for name in ("a.json", "b.json"):
        command = ("bench", "--runs", "5", "-q", "--threshold", "latency:60s", "-o", name)
        subprocess.run([TOOL, *command, "true", "sleep 0.001"], cwd=tmp_path, check=True)
        check(json.loads((tmp_path / name).read_text()))
    check(run("diff", "a.json", "b.json", "--format", "json", folder=tmp_path))


def test_summary_of_ranks():
    """Written by the C library alone."""
    library = pathlib.Path(TOOL).parent / "libpyrometer.so"
    if not library.exists():
        pytest.skip("no shared library beside the tool")
    functions = ctypes.CDLL(str(library))
    pointer, text = ctypes.c_void_p, ctypes.c_char_p()
    trace, summary, size = pointer(), pointer(), ctypes.c_size_t()
    path = str(FILES / "ranks" / "trace_rank_0.json").encode()
    assert functions.pyro_trace_open(ctypes.byref(trace), path, None, None) == 0
    assert functions.pyro_rank_summary_make(ctypes.byref(summary), trace, None, None) == 0
    assert (
        functions.pyro_rank_summary_write(ctypes.byref(text), ctypes.byref(size), summary, None)
        == 0
    )
    check(json.loads(ctypes.string_at(text, size.value)))


def test_outputs_of_the_package(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    import pyrometer

    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    profiler = pyrometer.ModelProfiler(net, device="cpu", precision="fp32")
    profiler.profile(torch.ones(2, 8), num_runs=20, warmup_runs=2)
    profiler.export_json(tmp_path / "one.json")
    profiler.benchmark([{"batch_size": 1}, {"batch_size": 4}])
    profiler.export_json(tmp_path / "two.json")
    for name in ("one.json", "two.json"):
        check(json.loads((tmp_path / name).read_text()))
    monkeypatch.setenv("PYROMETER", "1")

    @pyrometer.capture_model(model_name="Net", output_dir=str(tmp_path))
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x).relu()

    model = Net()
    for rows in (1, 2, 1):
        model(torch.ones(rows, 4))
    paths = [tmp_path / f"Net_forward_{number:03d}.json" for number in (1, 2, 3)]
    for path in paths:
        pyrometer.parse_model_trace(str(path), "Net")  # waits until it is written
    check(run("trace", *paths, "--format", "json"))


def test_what_python_is_asked_for(tmp_path, warm_python):
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(
        "import torch\n"
        "def good(): return torch.nn.Linear(2, 2), (torch.ones(1, 2),)\n"
        "class Branch(torch.nn.Module):\n"
        "    def forward(self, x): return x if x.sum() > 0 else -x\n"
        "def bad(): return Branch(), (torch.ones(1),)\n"
    )
    python = ("--python", warm_python, "--format", "json")
    for name in ("good", "bad"):
        check(run("models", "check", f"net.py:{name}", *python, folder=tmp_path))
    check(run("doctor", *python, folder=tmp_path))


def test_measured_peaks(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from pyrometer._testing import calibrate

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    # This checks the form, not the rates.
    monkeypatch.setattr(calibrate.Bench, "best_s", lambda self, run: 1.0)
    peaks = calibrate.calibrate()
    check(peaks)
    assert calibrate.read() == peaks
    gpu = {"device": "cuda", "name": "NVIDIA H200", "bytes_per_s": 1.0}
    calibrate.peaks_path().write_text(json.dumps(peaks | {"devices": [gpu]}))
    kept = calibrate.calibrate()["devices"]  # a GPU that is not here keeps its rates
    assert [one["device"] for one in kept] == ["cpu", "cuda"] and kept[1] == gpu
    old = {"schema": "pyrometer.peaks/1", "host": "h", "measured": "2026-01-02", "bytes_per_s": 2e9}
    calibrate.peaks_path().write_text(json.dumps(old))
    assert calibrate.read()["devices"][0]["bytes_per_s"] == 2e9
    assert "copy 2 GB/s (2026-01-02)" in calibrate.describe(calibrate.read())
