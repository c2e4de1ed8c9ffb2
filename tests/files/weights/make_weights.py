"""Writes the files of this folder: safetensors, GGUF and torch archives, valid and damaged ones.

usage: python tests/files/weights/make_weights.py [FOLDER]
"""

import collections
import io
import json
import math
import pathlib
import pickle
import struct
import sys
import types
import zipfile

ONE_BLOCK = {"block_count": 1}
ALIGNMENT = 32
# Elements and bytes of a block: F32, Q4_0, Q8_0, Q4_K, Q6_K.
BLOCKS = {0: (1, 4), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210)}


def safetensors(header: dict, data: int) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(
    tensors: list[tuple[str, list[int], int]],
    version: int = 3,
    numbers: dict[str, int] = ONE_BLOCK,
    alignment: int = ALIGNMENT,
    overlap: bool = False,
) -> bytes:
    """Tensors are (name, dims with the fastest first, number of the type); their data are zeros."""
    metadata = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("general.name") + struct.pack("<I", 8) + text("Tiny"),
        *(text(f"llama.{key}") + struct.pack("<II", 4, value) for key, value in numbers.items()),
        text("general.alignment") + struct.pack("<II", 4, alignment),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
    ]
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)) + b"".join(metadata)
    offset = size = 0
    for name, dims, kind in tensors:
        out += text(name) + struct.pack("<I", len(dims))
        out += b"".join(struct.pack("<Q", dim) for dim in dims) + struct.pack("<IQ", kind, offset)
        elements, block_bytes = BLOCKS.get(kind, (1, 1))
        end = offset + math.prod(dims) // elements * block_bytes
        size = max(size, end)
        offset = 0 if overlap else end + -end % ALIGNMENT
    return out + bytes(-len(out) % ALIGNMENT + size)


def whole_model() -> bytes:
    """A block of llama with all of its tensors, whose metadata describes the graph."""
    numbers = {
        "block_count": 1, "embedding_length": 64, "feed_forward_length": 128,
        "attention.head_count": 4, "attention.head_count_kv": 2,
    }  # fmt: skip
    tensors = [
        ("token_embd.weight", [64, 100], 2), ("output.weight", [64, 100], 8),
        ("output_norm.weight", [64], 0), ("rope_freqs.weight", [32], 0),
        ("blk.0.attn_norm.weight", [64], 0), ("blk.0.attn_q.weight", [64, 64], 2),
        ("blk.0.attn_k.weight", [64, 32], 2), ("blk.0.attn_v.weight", [64, 32], 8),
        ("blk.0.attn_output.weight", [64, 64], 2), ("blk.0.ffn_norm.weight", [64], 0),
        ("blk.0.ffn_gate.weight", [64, 128], 2), ("blk.0.ffn_up.weight", [64, 128], 2),
        ("blk.0.ffn_down.weight", [128, 64], 8),
    ]  # fmt: skip
    return gguf(tensors, numbers=numbers)


class Storage:
    """A storage of torch: a persistent id in the pickle."""

    def __init__(self, kind: str, key: str, count: int):
        self.kind, self.key, self.count = kind, key, count


class Tensor:
    """A tensor of torch, which pickles as the call that rebuilds it."""

    def __init__(self, storage: Storage, sizes: tuple[int, ...]):
        self.storage, self.sizes = storage, sizes

    def __reduce__(self):
        strides = tuple(1 for _ in self.sizes)
        hooks = collections.OrderedDict()
        return named("torch._utils", "_rebuild_tensor_v2"), (
            self.storage, 0, self.sizes, strides, True, hooks
        )  # fmt: skip


def named(module: str, name: str, base: type = object):
    """A class of that name, which pickle finds without the package that defines it."""
    for end in range(1, module.count(".") + 2):
        part = ".".join(module.split(".")[:end])
        found = sys.modules.setdefault(part, types.ModuleType(part))
    if not hasattr(found, name):
        setattr(found, name, type(name, (base,), {"__module__": module}))
    return getattr(found, name)


class Pickler(pickle.Pickler):
    def persistent_id(self, one):
        if not isinstance(one, Storage):
            return None
        return ("storage", named("torch", one.kind), one.key, "cpu", one.count)


def torch_archive(content, code: dict[str, str]) -> bytes:
    data, out = io.BytesIO(), io.BytesIO()
    Pickler(data, 2).dump(content)
    members = {"m/data.pkl": data.getvalue(), "m/version": b"3\n"}
    members.update({f"m/code/{name}": text.encode() for name, text in code.items()})
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def module(kind: str, **attributes):
    one = named("__torch__", kind)()
    one.__dict__.update(attributes)
    return one


def script() -> bytes:
    """A TorchScript archive: a linear layer, a buffer that its code declares, a tied weight."""
    weight = Storage("FloatStorage", "0", 32)
    linear = module("Linear", weight=Tensor(weight, (4, 8)), training=False)
    table = Tensor(Storage("LongStorage", "1", 5), (5,))
    net = module("Net", first=linear, tied=Tensor(weight, (4, 8)), table=table)
    code = 'class Net(Module):\n  __parameters__ = ["tied", ]\n  __buffers__ = ["table", ]\n'
    return torch_archive(net, {"__torch__.py": code})


def state() -> bytes:
    """A state dict of torch.save."""
    items = collections.OrderedDict()
    items["conv.weight"] = Tensor(Storage("HalfStorage", "0", 24), (2, 3, 2, 2))
    items["norm.running_mean"] = Tensor(Storage("FloatStorage", "1", 2), (2,))
    return torch_archive({"epoch": 3, "state": items}, {})


def files() -> dict[str, bytes]:
    header = {
        "__metadata__": {"format": "pt"},
        "model.layers.0.mlp.up_proj.weight": entry("BF16", [8, 4], 0, 64),
        "model.layers.0.mlp.down_proj.weight": entry("BF16", [4, 8], 64, 128),
        "model.norm.weight": entry("F32", [4], 128, 144),
    }
    blocks = [
        ("token_embd.weight", [256, 8], 12), ("blk.0.attn_q.weight", [256, 16], 14),
        ("output_norm.weight", [256], 0),
    ]  # fmt: skip
    shifted = {"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 4, 12)}
    return {
        "good-1.safetensors": safetensors(header, 144),
        "good-2.gguf": gguf(blocks),
        "good-3-graph.gguf": whole_model(),
        "good-4-script.pt": script(),
        "good-5-state.pth": state(),
        "bad-10-storage.pth": torch_archive({"w": Tensor(Storage("OddStorage", "0", 1), (1,))}, {}),
        "bad-11-sizes.pth": torch_archive(
            {"w": Tensor(Storage("FloatStorage", "0", 1), (1 << 62, 4))}, {}
        ),
        "bad-1-truncated.safetensors": safetensors(header, 100),
        "bad-2-header.safetensors": struct.pack("<Q", 1 << 20) + b'{"a": 1}' + bytes(16),
        "bad-3-offsets.safetensors": safetensors({"a": entry("F32", [3], 0, 8)}, 8),
        "bad-4-overlap.safetensors": safetensors(shifted, 12),
        "bad-5-type.safetensors": safetensors({"a": entry("F5", [8], 0, 5)}, 5),
        "bad-6-truncated.gguf": gguf(blocks)[:200],
        "bad-7-unknown-type.gguf": gguf([("w", [256], 99)]),
        "bad-8-version.gguf": gguf(blocks, 9),
        "bad-9-blocks.gguf": gguf([("w", [100], 12)]),
        "bad-12-data.gguf": gguf(blocks)[:-1000],
        "bad-13-overlap.gguf": gguf(blocks, overlap=True),
        "bad-14-alignment.gguf": gguf(blocks, alignment=48),
    }


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
