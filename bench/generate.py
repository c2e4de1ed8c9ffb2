"""Writes a .pt2 with any number of nodes, without torch, to measure how reading scales.

usage: python bench/generate.py NODES FILE
"""

import io
import json
import sys
import zipfile

_WIDTH = 64
_NODES_PER_BLOCK = 4
_BLOCKS_PER_WRITE = 1000


def _tensor(sizes: list[int]) -> dict:
    return {"dtype": 7, "sizes": [{"as_int": size} for size in sizes]}


def _node(operator: str, inputs: dict[str, str], output: str, layer: str, kind: str) -> dict:
    block = layer.rpartition(".")[0]
    stack = f"L__self__,,bench.Chain;L__self__{block},{block},bench.Block"
    return {
        "target": f"torch.ops.aten.{operator}",
        "inputs": [
            {"name": name, "arg": {"as_tensor": {"name": value}}} for name, value in inputs.items()
        ],
        "outputs": [{"as_tensor": {"name": output}}],
        "metadata": {"nn_module_stack": f"{stack};L__self__{layer},{layer},torch.nn.{kind}"},
    }


def _block_nodes(block: int) -> list[dict]:
    """Linear, ReLU, linear and a residual sum."""
    before = f"add_{block - 1}" if block else "x"
    path, weight = f"blocks.{block}", f"p_blocks_{block}"
    first, second = f"{weight}_first_weight", f"{weight}_second_weight"
    relu = f"relu_{block}"
    return [
        _node(
            "linear.default",
            {"input": before, "weight": first},
            f"first_{block}",
            f"{path}.first",
            "Linear",
        ),
        _node("relu.default", {"self": f"first_{block}"}, relu, f"{path}.relu", "ReLU"),
        _node(
            "linear.default",
            {"input": relu, "weight": second},
            f"second_{block}",
            f"{path}.second",
            "Linear",
        ),
        _node(
            "add.Tensor",
            {"self": before, "other": f"second_{block}"},
            f"add_{block}",
            f"{path}.sum",
            "Identity",
        ),
    ]


def _block_values(block: int) -> list[tuple[str, dict]]:
    names = (f"first_{block}", f"relu_{block}", f"second_{block}", f"add_{block}")
    weights = [f"p_blocks_{block}_{layer}_weight" for layer in ("first", "second")]
    values = [(name, _tensor([8, _WIDTH])) for name in names]
    return values + [(name, _tensor([_WIDTH, _WIDTH])) for name in weights]


def _block_specs(block: int) -> list[dict]:
    return [
        {
            "parameter": {
                "arg": {"name": f"p_blocks_{block}_{layer}_weight"},
                "parameter_name": f"blocks.{block}.{layer}.weight",
            }
        }
        for layer in ("first", "second")
    ]


def _block_inputs(block: int) -> list[dict]:
    return [
        {"as_tensor": {"name": spec["parameter"]["arg"]["name"]}} for spec in _block_specs(block)
    ]


class _Writer:
    """Writes a document in parts, so that a large graph needs little memory."""

    def __init__(self, file: io.IOBase, blocks: int):
        self.file = file
        self.blocks = blocks

    def text(self, text: str) -> None:
        self.file.write(text.encode())

    def items(self, first: str, of_block, pairs: bool = False) -> None:
        """Writes `first`, then the items of every block, with commas."""
        self.text(first)
        for start in range(0, self.blocks, _BLOCKS_PER_WRITE):
            stop = min(start + _BLOCKS_PER_WRITE, self.blocks)
            items = [item for block in range(start, stop) for item in of_block(block)]
            text = json.dumps(dict(items) if pairs else items)[1:-1]
            self.text(", " + text if first or start else text)


def _write_program(file: io.IOBase, blocks: int) -> None:
    writer = _Writer(file, blocks)
    user_input = {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}
    output = {"as_tensor": {"name": f"add_{blocks - 1}"}}
    writer.text('{"graph_module": {"graph": {"inputs": [')
    writer.items('{"as_tensor": {"name": "x"}}', _block_inputs)
    writer.text(f'], "outputs": [{json.dumps(output)}], "nodes": [')
    writer.items("", _block_nodes)
    writer.text('], "tensor_values": {')
    writer.items(f'"x": {json.dumps(_tensor([8, _WIDTH]))}', _block_values, pairs=True)
    writer.text('}, "sym_int_values": {}, "sym_bool_values": {}}, "signature": {"input_specs": [')
    writer.items(json.dumps(user_input), _block_specs)
    writer.text('], "output_specs": []}, "module_call_graph": []}, "range_constraints": {}, ')
    writer.text('"schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0"}')


def write_chain(path: str, nodes: int) -> None:
    """Writes a chain of residual blocks with about that many nodes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in (("archive_format", "pt2"), ("archive_version", "0")):
            archive.writestr(f"chain/{name}", content)
        archive.writestr("chain/byteorder", "little")
        with archive.open("chain/models/model.json", "w", force_zip64=True) as file:
            _write_program(file, max(1, nodes // _NODES_PER_BLOCK))


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.rpartition("\n\n")[2].strip(), file=sys.stderr)
        return 2
    write_chain(sys.argv[2], int(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
