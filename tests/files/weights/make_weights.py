"""Writes the files of this folder: safetensors and GGUF, valid ones and damaged ones.

usage: python tests/files/weights/make_weights.py [FOLDER]
"""

import json
import pathlib
import struct
import sys

ONE_BLOCK = {"block_count": 1}


def safetensors(header: dict, data: int) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(
    tensors: list[tuple[str, list[int], int]], version: int = 3, numbers: dict[str, int] = ONE_BLOCK
) -> bytes:
    """Tensors are (name, dims with the fastest first, number of the type)."""
    metadata = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("general.name") + struct.pack("<I", 8) + text("Tiny"),
        *(text(f"llama.{key}") + struct.pack("<II", 4, value) for key, value in numbers.items()),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
    ]
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)) + b"".join(metadata)
    for name, dims, kind in tensors:
        out += text(name) + struct.pack("<I", len(dims))
        out += b"".join(struct.pack("<Q", dim) for dim in dims) + struct.pack("<IQ", kind, 0)
    return out + bytes(32)


def whole_model() -> bytes:
    """A block of llama with all of its tensors, whose metadata describes the graph."""
    numbers = {
        "block_count": 1, "embedding_length": 256, "feed_forward_length": 512,
        "attention.head_count": 4, "attention.head_count_kv": 2,
    }  # fmt: skip
    tensors = [
        ("token_embd.weight", [256, 100], 12), ("output.weight", [256, 100], 14),
        ("output_norm.weight", [256], 0), ("rope_freqs.weight", [32], 0),
        ("blk.0.attn_norm.weight", [256], 0), ("blk.0.attn_q.weight", [256, 256], 12),
        ("blk.0.attn_k.weight", [256, 128], 12), ("blk.0.attn_v.weight", [256, 128], 14),
        ("blk.0.attn_output.weight", [256, 256], 12), ("blk.0.ffn_norm.weight", [256], 0),
        ("blk.0.ffn_gate.weight", [256, 512], 12), ("blk.0.ffn_up.weight", [256, 512], 12),
        ("blk.0.ffn_down.weight", [512, 256], 14),
    ]  # fmt: skip
    return gguf(tensors, numbers=numbers)


def files() -> dict[str, bytes]:
    header = {
        "__metadata__": {"format": "pt"},
        "model.layers.0.mlp.up_proj.weight": entry("BF16", [8, 4], 0, 64),
        "model.layers.0.mlp.down_proj.weight": entry("BF16", [4, 8], 64, 128),
        "model.norm.weight": entry("F32", [4], 128, 144),
    }
    blocks = [
        ("token_embd.weight", [256, 8], 12), ("blk.0.attn_q.weight", [256, 256], 14),
        ("output_norm.weight", [256], 0),
    ]  # fmt: skip
    shifted = {"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 4, 12)}
    return {
        "good-1.safetensors": safetensors(header, 144),
        "good-2.gguf": gguf(blocks),
        "good-3-graph.gguf": whole_model(),
        "bad-1-truncated.safetensors": safetensors(header, 100),
        "bad-2-header.safetensors": struct.pack("<Q", 1 << 20) + b'{"a": 1}' + bytes(16),
        "bad-3-offsets.safetensors": safetensors({"a": entry("F32", [3], 0, 8)}, 8),
        "bad-4-overlap.safetensors": safetensors(shifted, 12),
        "bad-5-type.safetensors": safetensors({"a": entry("F5", [8], 0, 5)}, 5),
        "bad-6-truncated.gguf": gguf(blocks)[:200],
        "bad-7-unknown-type.gguf": gguf([("w", [256], 99)]),
        "bad-8-version.gguf": gguf(blocks, 9),
        "bad-9-blocks.gguf": gguf([("w", [100], 12)]),
    }


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
