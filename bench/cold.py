"""Times cold processes on model files: resnet50.onnx with onnx-tool and fvcore beside us, and a
folder of a model of 70 billion parameters.

onnx-tool has an environment of its own under build/peers (requirements/peers-onnx-tool.txt); the
file is exported once with this interpreter's torch. All ratios come from one run on one machine.

usage: python bench/cold.py [--tool build/pyrometer] [--quick]
"""

import json
import pathlib
import subprocess
import sys

from cost import FOLDER, PEER_RUNS, PEERS, ROOT, begin, cost_command, measure, print_row

LLAMA_70B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
SHARDS = 30


def onnx_file() -> pathlib.Path | None:
    """ResNet-50 of torchvision as ONNX, by the exporter that needs no further package."""
    path = FOLDER / "resnet50.onnx"
    if not path.exists():
        print(f"exporting {path.name} (once; kept in {FOLDER.relative_to(ROOT)})", flush=True)
        command = [sys.executable, str(PEERS / "export_resnet50_onnx.py"), str(path)]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode:
            print(f"    failed: {finished.stderr.strip().splitlines()[-1:]}")
            return None
    return path


def onnx_tool_python() -> str | None:
    """The interpreter of an environment with onnx-tool; made once."""
    folder = ROOT / "build" / "peers" / "onnx-tool"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        requirements = ROOT / "requirements" / "peers-onnx-tool.txt"
        print(f"Downloading into {folder.relative_to(ROOT)}: onnx-tool (60 MB)", flush=True)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            subprocess.run([*install, "-r", str(requirements)], check=True)
        except subprocess.CalledProcessError as error:
            print(f"    failed: {error}")
            return None
        (folder / "ready").touch()
    return str(python)


def tensors() -> dict[str, list[int]]:
    """Names and shapes of all weights of the model of 70 billion parameters."""
    width, inner = LLAMA_70B["hidden_size"], LLAMA_70B["intermediate_size"]
    shared = width * LLAMA_70B["num_key_value_heads"] // LLAMA_70B["num_attention_heads"]
    shapes = {"model.embed_tokens.weight": [LLAMA_70B["vocab_size"], width]}
    for layer in range(LLAMA_70B["num_hidden_layers"]):
        path = f"model.layers.{layer}"
        shapes |= {
            f"{path}.input_layernorm.weight": [width],
            f"{path}.self_attn.q_proj.weight": [width, width],
            f"{path}.self_attn.k_proj.weight": [shared, width],
            f"{path}.self_attn.v_proj.weight": [shared, width],
            f"{path}.self_attn.o_proj.weight": [width, width],
            f"{path}.post_attention_layernorm.weight": [width],
            f"{path}.mlp.gate_proj.weight": [inner, width],
            f"{path}.mlp.up_proj.weight": [inner, width],
            f"{path}.mlp.down_proj.weight": [width, inner],
        }
    shapes |= {"model.norm.weight": [width], "lm_head.weight": [LLAMA_70B["vocab_size"], width]}
    return shapes


def write_shard(path: pathlib.Path, shapes: dict[str, list[int]]) -> int:
    """Writes a header; the values are a hole in a sparse file. Returns their bytes."""
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)
    return offset


def large_folder() -> pathlib.Path:
    """The folder as a hub has it: configuration, index and sparse shards; written once."""
    folder = FOLDER / "llama-70b"
    index = folder / "model.safetensors.index.json"
    if index.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(LLAMA_70B))
    shapes, names, total = tensors(), {}, 0
    for shard in range(SHARDS):
        file = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        part = dict(list(shapes.items())[shard::SHARDS])
        total += write_shard(folder / file, part)
        names |= dict.fromkeys(part, file)
    text = json.dumps({"metadata": {"total_size": total}, "weight_map": names})
    index.write_text(text)
    return folder


def bench_onnx(program: str, tool: str, runs: int) -> None:
    """ResNet-50 as ONNX with our tool and with common counters."""
    path = onnx_file()
    ours = measure(program, cost_command(tool, path), runs) if path else None
    print_row("resnet50.onnx: pyrometer cost", ours)
    python = onnx_tool_python()
    peers = [("resnet50: fvcore", [sys.executable, str(PEERS / "fvcore_resnet50.py")])]
    if path and python:
        command = [python, str(PEERS / "onnx_tool_profile.py"), str(path)]
        peers.insert(0, ("resnet50.onnx: onnx-tool", command))
    for title, command in peers:
        theirs = measure(program, command, min(runs, PEER_RUNS))
        beside = f"{theirs.median / ours.median:,.0f} times our time" if ours and theirs else ""
        print_row(title, theirs, beside)


def bench_folder(program: str, tool: str, runs: int) -> None:
    """A folder of 70 billion parameters, and one of its shards of 5 GB."""
    folder = large_folder()
    print_row("llama 70B folder: pyrometer cost",
              measure(program, cost_command(tool, folder), runs))  # fmt: skip
    shard = sorted(folder.glob("*.safetensors"))[0]
    print_row("one of its 30 shards: pyrometer cost",
              measure(program, cost_command(tool, shard), runs))  # fmt: skip


def main() -> int:
    program, tool, runs = begin(__doc__)
    bench_onnx(program, tool, runs)
    bench_folder(program, tool, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
