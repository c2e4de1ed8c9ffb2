"""The catalog: its skeletons can be rebuilt, and are right or reject each size tried."""

import functools
import json
import pathlib
import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("zstandard")

import torch
import verify_catalog

from catalog import archive, build, models, transformers_build
from catalog.entry import ties, unique_parameters

SKELETONS = verify_catalog.SKELETONS
INDEX = SKELETONS.parent / "index.json"

# One skeleton of each kind: all sizes dynamic, a fixed image, copied layers.
REMADE = ("resnet18", "vit_b_32", "gpt2")
# One of each kind of input.
CHECKED = ("mobilenet_v3_small", "vit_b_32", "googlenet", "bert_base", "gpt2")
SIZE_LIMIT_BYTES = 8_000_000


@pytest.fixture(scope="module")
def options():
    arguments = verify_catalog.parse_options([])
    if not pathlib.Path(arguments.tool).exists():
        pytest.skip(f"{arguments.tool} is not built")
    return arguments


def skeletons_of(name):
    model = models.find(name)
    entries = [(model.entry, SKELETONS / f"{name}.pt2")]
    if model.decode:
        entries.append((model.decode, SKELETONS / f"{name}.decode.pt2"))
    return [(model, *entry) for entry in entries]


@pytest.mark.parametrize("name", REMADE)
def test_an_export_gives_the_same_bytes(name):
    model, entry, path = skeletons_of(name)[-1]
    data, _ = build.skeleton_of(model, entry)
    assert data == path.read_bytes()


@pytest.mark.parametrize("name", CHECKED)
def test_counts_are_right_or_refused(name, options):
    for model, entry, path in skeletons_of(name):
        assert verify_catalog.verify(model, entry, path, options).problems == []


@pytest.mark.parametrize(
    ("name", "most"), [("gpt2", 1024), ("opt_125m", 2048), ("roberta_base", 512)]
)
def test_what_is_refused_raises_on_real_values(name, most, options):
    """The longest sequence is priced; one token more is rejected, and raises on the CPU too."""
    model = models.find(name)
    path = SKELETONS / f"{name}.pt2"
    for length in (most, most + 1):
        change = functools.partial(verify_catalog.with_sizes, sizes={(0, 1): length})
        ours = verify_catalog.price(options.tool, path, change(model.entry))
        assert isinstance(ours, dict) == (length == most), ours
    few = model.depth.at(1).entry if model.depth else model.entry
    tokens = few.arguments["input_ids"]
    module = few.build().eval()
    # A gather beyond the end raises RuntimeError.
    with pytest.raises((IndexError, RuntimeError), match="out of"), torch.no_grad():
        module(torch.full((1, most + 1), tokens.high - 1))
    meta = verify_catalog.expected(
        model, model.entry, lambda given: verify_catalog.with_sizes(given, {(0, 1): most + 1})
    )
    assert str(meta).startswith("IndexError")


def test_moved_parameters_stay_shared_and_frozen():
    table = torch.nn.Embedding(4, 3)
    head = torch.nn.Linear(3, 4, bias=False)
    head.weight = table.weight
    module = torch.nn.Sequential(table, head, torch.nn.Linear(3, 4))
    module[2].bias.requires_grad_(False)
    with torch.device("meta"):
        transformers_build.move_parameters(module)
    assert ties(module) == {"1.weight": "0.weight"}
    assert unique_parameters(module) == 4 * 3 + 4 * 3 + 4
    assert {name for name, given in module.named_parameters() if not given.requires_grad} == {
        "2.bias"
    }
    assert all(given.is_meta for given in module.parameters())


def test_families_are_names():
    families = {model.entry.family for model in models.all_models().values()}
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{1,}", family) for family in families)
    assert {"deeplabv3", "s3d", "wide_resnet"} <= families


def test_every_model_has_its_skeletons():
    expected = set()
    for name, model in models.all_models().items():
        expected.add(f"{name}.pt2")
        if model.decode:
            expected.add(f"{name}.decode.pt2")
    assert {path.name for path in SKELETONS.glob("*.pt2")} == expected


def test_the_index_is_that_of_the_skeletons():
    rows = json.loads(INDEX.read_text())["models"]
    assert [row["name"] for row in rows] == sorted(models.all_models())
    for row in rows:
        extra = json.loads(
            archive.read_zstd(SKELETONS / f"{row['name']}.pt2")["extra/pyrometer.json"]
        )
        for key in ("name", "family", "task", "params"):
            assert row[key] == extra[key]
        assert row["macs"] > 0


def test_published_sizes_are_met_and_nothing_of_the_machine_is_kept():
    for path in SKELETONS.glob("*.pt2"):
        members = archive.read_zstd(path)
        extra = json.loads(members["extra/pyrometer.json"])
        published = models.find(extra["name"]).published
        assert published.agrees_with(extra["params"]), path.name
        assert extra["params_source"] == published.source, path.name
        assert ("published_params" in extra) == published.is_stated, path.name
        assert not any(b"site-packages" in data or b".py:" in data for data in members.values())


def test_the_catalog_stays_small():
    assert sum(path.stat().st_size for path in SKELETONS.glob("*.pt2")) < SIZE_LIMIT_BYTES
