"""Writes the model files of this folder: valid ones, damaged ones, and files of other formats.

It needs no torch and always writes the same bytes. README.md says what each file proves.

usage: python tests/files/make_files.py [FOLDER]
"""

import copy
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from catalog.program import LONG, Program, symbol
from catalog.skeleton import compact_json, write_archive

LINEAR = "torch.nn.modules.linear.Linear"


def two_layers(batch=("s0", 2), width: int = 8) -> Program:
    """Two linear layers and a ReLU over a dynamic batch."""
    program = Program("test.TwoLayers")
    if isinstance(batch, tuple):
        program.range_constraints["s0"] = {"min_val": 2, "max_val": 64}
        batch = (symbol("s0"), batch[1])
    given = program.user_input("x", [batch, width])
    first = program.linear("first", given, batch, width, 16)
    rectified = program.node("relu.default", {"self": first}, "relu", [batch, 16])
    program.output(program.linear("second", rectified, batch, 16, 4))
    return program


def convolution(sizes: dict[str, str]) -> Program:
    """A strided convolution whose output sizes are written as `sizes` says: {"n", "h", "out"}."""
    program = Program("test.Convolution")
    program.range_constraints = {name: {"min_val": 2, "max_val": None} for name in ("s0", "s1")}
    given = program.user_input("x", [(sizes["n"], 2), 3, (sizes["h"], 32), 16])
    weight = program.parameter("conv.weight", [8, 3, 3, 3])
    inputs = {"input": given, "weight": weight, "bias": None, "stride": [2, 2], "padding": [1, 1]}
    layer = ("conv", "torch.nn.modules.conv.Conv2d")
    shape = [(sizes["n"], 2), 8, (sizes["out"], 16), 8]
    program.output(program.node("conv2d.default", inputs, "conv2d", shape, layer))
    return program


def tied() -> Program:
    """An embedding whose weight is also the head's: the graph knows only the head's name."""
    program = Program("test.Tied")
    ids = program.user_input("ids", [2, 5], LONG)
    program.parameter("embedding.weight", [40, 16])
    head = program.parameter("head.weight", [40, 16])
    layer = ("embedding", "torch.nn.modules.sparse.Embedding")
    rows = program.node(
        "embedding.default", {"weight": head, "indices": ids}, "embedding", [2, 5, 16], layer
    )
    inputs = {"input": rows, "weight": head}
    program.output(program.node("linear.default", inputs, "linear", [2, 5, 40], ("head", LINEAR)))
    return program


def subgraph(layer: str, width: int, inner: int) -> dict:
    """A linear layer as the body of a higher-order operator: x, weight, bias."""
    program = Program()
    program.user_input("a", [4, width])
    program.user_input("w", [inner, width])
    program.user_input("b", [inner])
    inputs = {"input": "a", "weight": "w", "bias": "b"}
    name = program.node("linear.default", inputs, "linear", [4, inner], (layer, LINEAR))
    program.output(name)
    return {"as_graph": {"name": layer, "graph": program.document()["graph_module"]["graph"]}}


def branches() -> Program:
    """torch.cond: two branches of the same cost."""
    program = Program("test.Branches")
    given = program.user_input("x", [4, 16])
    weight = program.parameter("inner.weight", [16, 16])
    bias = program.parameter("inner.bias", [16])
    program.node("sum.default", {"self": given}, "sum_1", [])
    program.node("gt.Scalar", {"self": "sum_1", "other": 0}, "gt", [])
    program.tensor_values["gt"]["dtype"] = 12
    program.node("placeholder.default", {}, "getitem", [4, 16])
    program.nodes[-1]["target"] = "torch.ops.higher_order.cond"
    program.nodes[-1]["inputs"] = [
        {"name": "", "arg": arg, "kind": 1}
        for arg in (
            {"as_tensor": {"name": "gt"}},
            subgraph("inner", 16, 16),
            subgraph("inner", 16, 16),
            {"as_tensors": [{"name": given}, {"name": weight}, {"name": bias}]},
        )
    ]
    program.output("getitem")
    return program


def archive(models: dict[str, dict], root: str = "", extra: dict | None = None) -> dict[str, bytes]:
    """The members of an archive in the layout of torch 2.8 and later."""
    members = {
        f"{root}archive_format": b"pt2",
        f"{root}archive_version": b"0",
        f"{root}byteorder": b"little",
        f"{root}.data/version": b"3\n",
    }
    for name, document in models.items():
        members[f"{root}models/{name}.json"] = compact_json(document)
        members[f"{root}data/sample_inputs/{name}.pt"] = b"never read"
    members.update(extra or {})
    return members


def flat_archive(document: dict, version: str) -> dict[str, bytes]:
    """The members of an archive in the layout up to torch 2.7."""
    return {
        "version": version.encode(),
        "serialized_exported_program.json": compact_json(document),
        "serialized_state_dict.pt": b"never read",
        "serialized_constants.pt": b"never read",
        "serialized_example_inputs.pt": b"never read",
        "extra_files/notes.txt": b"of the user",
    }


def weights_config(paths: dict[str, str]) -> bytes:
    """Which file of weights each parameter is in; tied ones share theirs."""
    config = {
        name: {"path_name": path, "is_param": True, "use_pickle": False}
        for name, path in paths.items()
    }
    return compact_json({"config": config})


def write_good(folder: pathlib.Path) -> None:
    """Files that the tool must read."""
    srepr = {
        "n": symbol("s0"),
        "h": symbol("s1"),
        "out": f"Add(FloorDiv(Add({symbol('s1')}, Integer(-1)), Integer(2)), Integer(1))",
    }
    infix = {"n": "s0", "h": "s1", "out": "((s1 - 1)//2) + 1"}
    short = {"n": "s0", "h": "s1", "out": "Add(FloorDiv(Add(s1,-1),2),1)"}
    plain = two_layers().document()
    ties = {"ties": {"head.weight": "embedding.weight"}, "name": "tied", "display_name": "Tied"}
    root = "a folder/"

    def write(name: str, members: dict[str, bytes], stored: bool = False) -> None:
        write_archive(str(folder / name), members, stored)

    flat = convolution(srepr).document("2.7.0", 7)
    write("good-1-flat-layout.pt2", flat_archive(flat, "8.7"))
    older = convolution(infix).document("2.4.0", 2)
    write("good-2-infix-expressions.pt2", flat_archive(older, "8.2"))
    write("good-3-short-expressions.pt2", archive({"model": convolution(short).document()}))
    two = {"encoder": plain, "decoder": two_layers(width=12).document()}
    write("good-4-two-models.pt2", archive(two))
    write("good-5-root-folder.pt2", archive({"model": plain}, root), stored=True)
    meta = weights_config({"embedding.weight": "weight_0", "head.weight": "weight_0"})
    config = "data/weights/model_weights_config.json"
    document = tied().document()
    write("good-6-tied-on-meta.pt2", archive({"model": document}, extra={config: meta}))
    noted = {"extra/pyrometer.json": compact_json(ties)}
    write("good-7-tied-by-note.pt2", archive({"model": document}, extra=noted))
    write("good-8-cond.pt2", archive({"model": branches().document()}))
    write("good-9-wrong-extension.onnx", archive({"model": plain}))
    write("good-10-static.pt2", archive({"model": two_layers(batch=2).document()}))


def damaged_documents() -> dict[str, dict]:
    """Programs that are valid JSON but invalid otherwise, by file name."""
    documents = {}

    def change(name: str, edit) -> None:
        document = copy.deepcopy(two_layers(batch=2).document())
        edit(document, document["graph_module"]["graph"])
        documents[name] = document

    def cycle(_document, graph):
        graph["nodes"][0]["inputs"][0]["arg"]["as_tensor"]["name"] = "second"

    def duplicate(_document, graph):
        graph["nodes"][1]["outputs"][0]["as_tensor"]["name"] = "first"

    def unknown(_document, graph):
        graph["nodes"][1]["inputs"][0]["arg"]["as_tensor"]["name"] = "nobody"

    def huge(_document, graph):
        for name in ("x", "first", "relu"):
            graph["tensor_values"][name]["sizes"][0] = {"as_int": 2**62}

    def rank(_document, graph):
        graph["tensor_values"]["relu"]["sizes"] = [{"as_int": 1}] * 5000

    def negative(_document, graph):
        graph["tensor_values"]["relu"]["sizes"][0] = {"as_int": -3}

    def schema(document, _graph):
        document["schema_version"]["major"] = 99

    def no_graph(document, _graph):
        del document["graph_module"]

    change("bad-4-cycle.pt2", cycle)
    change("bad-5-duplicate-name.pt2", duplicate)
    change("bad-6-unknown-value.pt2", unknown)
    change("bad-7-overflow.pt2", huge)
    change("bad-8-absurd-rank.pt2", rank)
    change("bad-9-negative-size.pt2", negative)
    change("bad-10-schema.pt2", schema)
    change("bad-11-no-graph.pt2", no_graph)
    return documents


def write_bad(folder: pathlib.Path) -> None:
    """Files that the tool must reject with one line."""
    whole = archive({"model": two_layers(batch=2).document()})
    write_archive(str(folder / "bad-1-empty.pt2"), {})
    (folder / "bad-1-empty.pt2").write_bytes(b"")
    write_archive(str(folder / "bad-2-truncated.pt2"), whole)
    data = (folder / "bad-2-truncated.pt2").read_bytes()
    (folder / "bad-2-truncated.pt2").write_bytes(data[: len(data) * 2 // 3])
    write_archive(str(folder / "bad-3-flipped-bit.pt2"), whole, stored=True)
    data = bytearray((folder / "bad-3-flipped-bit.pt2").read_bytes())
    # One digit of a size changes: valid JSON, so only the checksum reveals it.
    data[data.index(b'{"as_int":16}') + len('{"as_int":1')] ^= 1
    (folder / "bad-3-flipped-bit.pt2").write_bytes(data)
    for name, document in damaged_documents().items():
        write_archive(str(folder / name), archive({"model": document}))

    def write_json(name: str, content: bytes) -> None:
        write_archive(str(folder / name), {**whole, "models/model.json": content})

    write_json("bad-12-not-json.pt2", b"{'graph_module': None}")
    write_json("bad-13-deep-nesting.pt2", b'{"unknown":' + b"[" * 1_000_000)
    write_json("bad-14-bomb.pt2", b" " * (32 << 20))
    del whole["models/model.json"]
    write_archive(str(folder / "bad-15-no-model.pt2"), whole)


def write_others(folder: pathlib.Path) -> None:
    """Files of other formats, which the tool must recognize by content."""
    script = {
        "m/constants.pkl": b"\x80\x02).",
        "m/code/__torch__.py": b"",
        "m/data.pkl": b"\x80\x02.",
    }
    write_archive(str(folder / "other-1-torchscript.pt"), {**script, "m/version": b"3\n"})
    checkpoint = {"archive/data.pkl": b"\x80\x02}q\x00.", "archive/version": b"3\n"}
    write_archive(str(folder / "other-2-checkpoint.pth"), checkpoint)
    legacy = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
    (folder / "other-3-legacy-checkpoint.pth").write_bytes(legacy + b"\x80\x02M\xe9\x03.")
    (folder / "other-6-text.pt2").write_bytes(b"not a model\n")
    write_archive(str(folder / "other-7-plain.zip"), {"readme.txt": b"not a model"})


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    folder.mkdir(parents=True, exist_ok=True)
    write_good(folder)
    write_bad(folder)
    write_others(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
