"""Writes the ONNX files of this folder: valid ones and damaged ones.

It needs neither onnx nor torch and always writes the same bytes. README.md says what each proves.

usage: python tests/files/onnx/make_onnx.py [FOLDER]
"""

import pathlib
import struct
import sys

FLOAT, UINT8, INT8, INT32, INT64, BOOL = 1, 2, 3, 6, 7, 9
SIZES = {FLOAT: "f", INT64: "q", INT32: "i", INT8: "b", UINT8: "B", BOOL: "?"}


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while True:
        byte = number & 0x7F
        number >>= 7
        out.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(out)


def field(number: int, value: int | float | str | bytes) -> bytes:
    """One field: a varint, a 32-bit float, or text and messages by length."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name: str, dims: list[int], kind: int = FLOAT, values: list | None = None) -> bytes:
    """A TensorProto; zeros if no values are given."""
    count = 1
    for dim in dims:
        count *= dim
    values = values if values is not None else [0] * count
    raw = struct.pack(f"<{count}{SIZES[kind]}", *values)
    return b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(8, name) + field(9, raw)


def attribute(name: str, value: object) -> bytes:
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, tuple):  # ("tensor" | "graph", bytes)
        numbers = {"tensor": (5, 4), "graph": (6, 5)}[value[0]]
        return field(1, name) + field(numbers[0], value[1]) + field(20, numbers[1])
    return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)


def reference(name: str, outer: str, kind: int) -> bytes:
    """An attribute of a function's body that refers to one of the function."""
    return field(1, name) + field(20, kind) + field(21, outer)


def node(
    op: str, inputs: list[str], outputs: list[str], name: str = "", domain: str = "",
    metadata: dict[str, str] | None = None, attributes: list[bytes] | None = None, **values: object,
) -> bytes:  # fmt: skip
    out = b"".join(field(1, text) for text in inputs) + b"".join(field(2, text) for text in outputs)
    out += field(3, name) + field(4, op)
    for key, value in values.items():
        out += field(5, attribute(key, value))
    for each in attributes or []:
        out += field(5, each)
    out += field(7, domain) if domain else b""
    for key, value in (metadata or {}).items():
        out += field(9, field(1, key) + field(2, value))
    return out


def value(name: str, dims: list | None = None, kind: int = FLOAT) -> bytes:
    """A ValueInfoProto; sizes are numbers, names, or None for unknown ones."""
    shape = b""
    for dim in dims or []:
        one = b"" if dim is None else field(1 if isinstance(dim, int) else 2, dim)
        shape += field(1, one)
    described = field(1, kind) + (field(2, shape) if dims is not None else b"")
    return field(1, name) + field(2, field(1, described))


def graph(
    nodes: list[bytes], inputs: list[bytes], outputs: list[bytes], weights: list[bytes] = (),
) -> bytes:  # fmt: skip
    out = b"".join(field(1, each) for each in nodes) + field(2, "main")
    out += b"".join(field(5, each) for each in weights)
    out += b"".join(field(11, each) for each in inputs)
    return out + b"".join(field(12, each) for each in outputs)


def function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[bytes],
    attributes: list[str] = (),
) -> bytes:  # fmt: skip
    out = field(1, name) + b"".join(field(4, text) for text in inputs)
    out += b"".join(field(5, text) for text in outputs)
    out += b"".join(field(6, text) for text in attributes)
    out += b"".join(field(7, each) for each in nodes)
    return out + field(9, field(1, "") + field(2, 20)) + field(10, "local")


def model(main: bytes, functions: list[bytes] = (), ir: int = 10, opset: int = 20) -> bytes:
    out = field(1, ir) + field(2, "test") + field(3, "1.0") + field(7, main)
    out += field(8, field(1, "") + field(2, opset)) + field(8, field(1, "local") + field(2, 1))
    return out + b"".join(field(25, each) for each in functions)


def convolution() -> bytes:
    """Convolution, norm, activation, pool and a linear layer, with layers in the names."""
    weights = [
        tensor("stem.conv.weight", [8, 3, 3, 3]), tensor("stem.bn.weight", [8]),
        tensor("stem.bn.bias", [8]), tensor("stem.bn.running_mean", [8]),
        tensor("stem.bn.running_var", [8]), tensor("head.weight", [10, 8]),
        tensor("head.bias", [10]),
    ]  # fmt: skip
    bn = [f"stem.bn.{name}" for name in ("weight", "bias", "running_mean", "running_var")]
    scopes = {
        "pkg.torch.onnx.name_scopes": "['', 'head', 'linear']",
        "pkg.torch.onnx.class_hierarchy": "['test.Net', 'torch.nn.Linear', 'aten.linear']",
    }
    nodes = [
        node("Conv", ["x", "stem.conv.weight"], ["a"], "/stem/conv/Conv",
             pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["a", *bn], ["b"], "/stem/bn/BatchNormalization"),
        node("Relu", ["b"], ["c"], "/stem/act/Relu"),
        node("GlobalAveragePool", ["c"], ["d"], "/pool/GlobalAveragePool"),
        node("Flatten", ["d"], ["e"], "/Flatten"),
        node("Gemm", ["e", "head.weight", "head.bias"], ["y"], metadata=scopes, transB=1),
    ]  # fmt: skip
    return graph(nodes, [value("x", ["batch", 3, 32, 32])], [value("y")], weights)


def computed_shapes() -> bytes:
    """A shape that the graph takes apart and puts together again."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "first"], ["rows"], axis=0),
        node("Unsqueeze", ["rows", "axes"], ["row_list"]),
        node("Concat", ["row_list", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["flat"]),
        node("MatMul", ["flat", "weight"], ["y"]),
    ]
    weights = [
        tensor("first", [], INT64, [0]), tensor("axes", [1], INT64, [0]),
        tensor("rest", [1], INT64, [-1]), tensor("weight", [24, 5]),
    ]  # fmt: skip
    return graph(nodes, [value("x", ["rows", "h", 4])], [value("y", [None, 5])], weights)


def functions() -> tuple[bytes, list[bytes]]:
    """A function that calls another one twice, and an attribute that is handed on."""
    twice = function("Twice", ["v"], ["w"], [
        node("Scaled", ["v"], ["u"], domain="local", attributes=[reference("alpha", "alpha", 1)]),
        node("Scaled", ["u"], ["w"], domain="local", attributes=[reference("alpha", "alpha", 1)]),
    ], ["alpha"])  # fmt: skip
    scaled = function("Scaled", ["p"], ["q"], [
        node("LeakyRelu", ["p"], ["r"], attributes=[reference("alpha", "alpha", 1)]),
        node("MatMul", ["r", "p"], ["q"]),
    ], ["alpha"])  # fmt: skip
    main = graph(
        [node("Twice", ["x"], ["y"], "/block/Twice", "local", alpha=0.5)],
        [value("x", [6, 6])], [value("y", [6, 6])],
    )  # fmt: skip
    return main, [twice, scaled]


def control() -> bytes:
    """A branch, a loop of five passes and a scan over seven items; all use one outer weight."""
    then = graph([node("MatMul", ["x", "w"], ["t"])], [], [value("t")])
    other = graph([node("Identity", ["x"], ["e"])], [], [value("e")])
    body = graph(
        [node("MatMul", ["state", "w"], ["next"]), node("Identity", ["go"], ["go_on"])],
        [value("i", [], INT64), value("go", [], BOOL), value("state", [4, 4])],
        [value("go_on", [], BOOL), value("next", [4, 4])],
    )
    step = graph(
        [node("MatMul", ["h", "w"], ["h2"]), node("Add", ["h2", "item"], ["h3"]),
         node("Identity", ["h3"], ["h4"])],
        [value("h", [4, 4]), value("item", [4])], [value("h3"), value("h4")],
    )  # fmt: skip
    nodes = [
        node("If", ["flag"], ["b"], then_branch=("graph", then), else_branch=("graph", other)),
        node("Loop", ["five", "yes", "b"], ["c"], body=("graph", body)),
        node("Scan", ["c", "items"], ["d", "all"], body=("graph", step), num_scan_inputs=1),
    ]
    weights = [
        tensor("w", [4, 4]), tensor("five", [], INT64, [5]), tensor("yes", [], BOOL, [True]),
    ]  # fmt: skip
    inputs = [value("x", [4, 4]), value("flag", [], BOOL), value("items", [7, 4])]
    return graph(nodes, inputs, [value("d"), value("all")], weights)


def quantized() -> bytes:
    """A linear layer between DequantizeLinear and QuantizeLinear."""
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        node("DequantizeLinear", ["fc.weight", "s", "z"], ["wd"]),
        node("MatMul", ["xd", "wd"], ["y"], "/fc/MatMul"),
        node("Relu", ["y"], ["r"], "/act/Relu"),
        node("QuantizeLinear", ["r", "s", "z"], ["q"]),
    ]
    weights = [
        tensor("fc.weight", [16, 8], INT8), tensor("s", [], FLOAT, [0.5]), tensor("z", [], INT8),
    ]  # fmt: skip
    return graph(nodes, [value("x", [4, 16])], [value("q", [4, 8], INT8)], weights)


def external(location: str) -> bytes:
    """A weight in another file, which is never opened."""
    weight = field(1, 1000) + field(1, 1000) + field(2, FLOAT) + field(8, "fc.weight")
    for key, text in (("location", location), ("offset", "4096"), ("length", "4000000")):
        weight += field(13, field(1, key) + field(2, text))
    weight += field(14, 1)
    nodes = [node("MatMul", ["x", "fc.weight"], ["y"])]
    return graph(nodes, [value("x", ["n", 1000])], [value("y")], [weight])


def deep(levels: int) -> bytes:
    """Branches in branches."""
    inner = graph([node("Relu", ["x"], ["r"])], [], [value("r")])
    for _ in range(levels):
        both = {"then_branch": ("graph", inner), "else_branch": ("graph", inner[:0])}
        del both["else_branch"]
        inner = graph([node("If", ["flag"], ["r"], **both)], [], [value("r")])
    return graph(
        [node("If", ["flag"], ["y"], then_branch=("graph", inner))],
        [value("x", [2]), value("flag", [], BOOL)], [value("y")],
    )  # fmt: skip


def endless(passes: int) -> bytes:
    """A loop whose condition stays true, with that many passes."""
    body = graph(
        [node("Relu", ["state"], ["next"]), node("Identity", ["go"], ["go_on"])],
        [value("i", [], INT64), value("go", [], BOOL), value("state", [2, 2])],
        [value("go_on", [], BOOL), value("next", [2, 2])],
    )
    weights = [tensor("passes", [], INT64, [passes]), tensor("yes", [], BOOL, [True])]
    return simple([node("Loop", ["passes", "yes", "x"], ["y"], body=("graph", body))], weights)


def computed(op: str, numbers: list[int]) -> bytes:
    """An operator whose second input is a list of integers."""
    return simple(
        [node(op, ["x", "numbers"], ["y"])], [tensor("numbers", [len(numbers)], INT64, numbers)]
    )


def image(op: str, weights: list[bytes] = (), **attributes: object) -> bytes:
    inputs = ["x", "w"] if weights else ["x"]
    return model(
        graph([node(op, inputs, ["y"], **attributes)], [value("x", [1, 4, 8, 8])], [value("y")],
              weights)
    )  # fmt: skip


def hostile() -> dict[str, bytes]:
    """Arguments that no operator can have."""
    weight = [tensor("w", [4, 4, 3, 3])]
    return {
        "loop": endless(1 << 62),
        "tile": computed("Tile", [1 << 62, 1 << 62]),
        "reshape": computed("Reshape", [-7, 2]),
        "stride": image("Conv", weight, strides=[0, 0]),
        "groups": image("ConvTranspose", weight, group=0),
        "dilation": image("Conv", weight, dilations=[1, -1]),
        "padding": image("Conv", weight, pads=[1 << 62] * 4),
        "pool": image("MaxPool", kernel_shape=[2, 2], strides=[0, 2]),
        "kernel": image("AveragePool", kernel_shape=[0, 2]),
        "block": image("DepthToSpace", blocksize=0),
        "shape": simple(
            [node("RandomNormal", [], ["r"], shape=[-1, 4]), node("Add", ["x", "r"], ["y"])]
        ),
    }


def simple(nodes: list[bytes], weights: list[bytes] = ()) -> bytes:
    return model(graph(nodes, [value("x", [2, 2])], [value("y")], weights))


def files() -> dict[str, bytes]:
    whole = model(convolution())
    again = function("Again", ["v"], ["w"], [node("Again", ["v"], ["w"], domain="local")])
    chain = [
        function(f"F{i}", ["v"], ["w"], [
            node(f"F{i + 1}", ["v"], ["u"], domain="local"),
            node(f"F{i + 1}", ["u"], ["w"], domain="local"),
        ]) for i in range(40)
    ] + [function("F40", ["v"], ["w"], [node("Relu", ["v"], ["w"])])]  # fmt: skip
    call = graph([node("F0", ["x"], ["y"], domain="local")], [value("x", [2])], [value("y")])
    return {
        "good-1-layers.onnx": whole,
        "good-2-computed-shapes.onnx": model(computed_shapes()),
        "good-3-functions.onnx": model(*functions()),
        "good-4-control.onnx": model(control()),
        "good-5-quantized.onnx": model(quantized()),
        "good-6-external.onnx": model(external("weights.bin")),
        "good-7-oldest.onnx": model(convolution(), ir=3, opset=7),
        "bad-1-truncated.onnx": whole[: len(whole) * 2 // 3],
        "bad-2-cycle.onnx": simple(
            [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]
        ),
        "bad-3-made-twice.onnx": simple([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"])]),
        "bad-4-recursive-function.onnx": model(
            graph([node("Again", ["x"], ["y"], domain="local")], [value("x", [2])], [value("y")]),
            [again],
        ),
        "bad-5-exponential-functions.onnx": model(call, chain),
        "bad-6-outside.onnx": model(external("../secrets.bin")),
        "bad-7-absurd-dims.onnx": simple(
            [node("MatMul", ["x", "w"], ["y"])],
            [field(1, 1 << 62) + field(1, 1 << 62) + field(2, FLOAT) + field(8, "w")],
        ),
        "bad-8-deep.onnx": model(deep(100)),
        "bad-9-old.onnx": model(convolution(), ir=3, opset=6),
        "bad-10-mismatch.onnx": simple([node("MatMul", ["x", "w"], ["y"])], [tensor("w", [3, 2])]),
        "bad-11-no-graph.onnx": field(1, 10) + field(2, "test") + field(3, "1.0"),
        **{f"bad-12-{name}.onnx": content for name, content in hostile().items()},
    }


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
