#!/usr/bin/env python3
"""Compares `pyrometer fuse` with what torch.compile makes of a model (frozen weights).

usage: fusion.py [--device cpu|cuda] [MODEL...]

Counts the kernels and bytes of Inductor's schedule; no kernel is compiled or run. Takes up to a
minute per model.

"apart": what `max` gives if convolutions and matrix products are calls of libraries that take
nothing but a folded batch norm and a bias. Inductor does not count the bytes of frozen weights, so
all bytes are those without weights.
"""

import argparse
import contextlib
import math
import sys
import types
import warnings
from unittest import mock

import torch
from hardware.models import Block, Language, LlamaBlock, Whisper
from torch._inductor import config, ir, scheduler
from torch._inductor.graph import GraphLowering

import pyrometer

NEAR = 0.25


def vision(name, size=224):
    import torchvision

    return getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, size, size),)


def language(kind, **settings):
    """Of transformers; where that is missing, as many layers of the same width."""
    try:
        import transformers
    except ImportError:
        layer = {
            "Bert": lambda: Block(256, 4),
            "GPT2": lambda: Block(256, 4, causal=True),
            "Llama": lambda: LlamaBlock(256, 4, 2, 688, 0),
        }[kind]
        model = Language([layer() for _ in range(4)], 256, positions=1024)
        return model, (torch.randint(0, 1000, (1, 128)),)
    config_class, model_class = (
        getattr(transformers, f"{kind}{end}") for end in ("Config", "Model")
    )
    model = model_class(config_class(**settings))
    model.config.use_cache = False
    model.config.return_dict = False
    return model, (torch.randint(0, 1000, (1, 128)),)


class Mlp(torch.nn.Module):
    """Products, norms and elementwise chains alone."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(512, 512) for _ in range(8))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(512) for _ in range(8))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + torch.nn.functional.silu(layer(norm(x))) * 0.5
        return x


SMALL = {"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4}
MODELS = {
    "resnet18": lambda: vision("resnet18"),
    "resnet50": lambda: vision("resnet50"),
    "mobilenet_v2": lambda: vision("mobilenet_v2"),
    "efficientnet_b0": lambda: vision("efficientnet_b0"),
    "convnext_tiny": lambda: vision("convnext_tiny"),
    "densenet121": lambda: vision("densenet121"),
    "vit_b_16": lambda: vision("vit_b_16"),
    "bert, 4 layers": lambda: language("Bert", intermediate_size=1024, **SMALL),
    "gpt2, 4 layers": lambda: language("GPT2", n_layer=4, n_embd=256, n_head=4),
    "llama, 4 layers": lambda: language(
        "Llama", intermediate_size=688, vocab_size=2000, num_key_value_heads=2, **SMALL
    ),
    "whisper encoder, 2 layers": lambda: (Whisper(256, 4, 2), (torch.randn(1, 80, 1000),)),
    "mlp": lambda: (Mlp(), (torch.randn(32, 512),)),
}


PRODUCTS = {"addmm", "bmm", "matmul", "mm", "linear", "baddbmm", "einsum"}


def is_product(member):
    kind = member["op"].split(".")[1]
    return kind in PRODUCTS or kind.startswith("conv")


def with_libraries_apart(fusion):
    """Kernels and bytes if each product is a call, and the work behind it another kernel."""
    kernels, size = 0, fusion.after["bytes"]
    for group in fusion.groups:
        products = [one for one in group["members"] if is_product(one)]
        behind = [
            one for one in group["members"] if one not in products and one["type"] != "BatchNorm"
        ]
        if group["kind"] in ("attention", "single") or not products:
            kernels += group["times"]
            continue
        kernels += group["times"] * (len(products) + bool(behind))
        if behind:  # its result is written and read again
            dims = products[-1]["shape"].split("x")
            size += 2 * 4 * group["times"] * math.prod(map(int, dims))
    return kernels, size


def compiled(model, inputs):
    """Kernels of its own, calls of libraries, and bytes, as Inductor schedules them."""
    found = {"own": 0, "library": 0, "bytes": 0}

    def schedule_only(graph):
        graph.codegen()
        for node in graph.scheduler.nodes:
            # One entry per result of a call is no kernel.
            if isinstance(node, scheduler.NopKernelSchedulerNode) or isinstance(
                node.node, ir.MultiOutput
            ):
                continue
            is_library = isinstance(node, scheduler.ExternKernelSchedulerNode)
            found["library" if is_library else "own"] += 1
            found["bytes"] += node.get_read_write_buffers_sizes()
        return types.SimpleNamespace(call=lambda *_, **__: None)

    torch._dynamo.reset()
    patched = mock.patch.object(GraphLowering, "compile_to_module", schedule_only)
    with torch.no_grad(), patched, config.patch(freezing=True, fx_graph_cache=False):
        # What runs after scheduling finds no code, and is not needed.
        with contextlib.suppress(Exception):
            torch.compile(model)(*inputs)
    return found["own"], found["library"], found["bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(f"torch {torch.__version__}, {options.device}, frozen weights; {NEAR:.0%} is near")
    print(f"{'':<26}{'kernels':>7}{'':>38}{'MiB without weights'}")
    print(f"{'model':<26}{'eager':>7}{'vertical':>10}{'max':>6}{'apart':>7}{'Inductor':>17}{'':>7}"
          f"{'max':>8}{'apart':>8}{'Inductor':>10}")  # fmt: skip
    for name in options.models or MODELS:
        model, inputs = MODELS[name]()
        model.eval()
        vertical = pyrometer.fuse(model, inputs, strategy="vertical").after["kernels"]
        most = pyrometer.fuse(model, inputs, strategy="max")
        traffic = pyrometer.cost(model, inputs).to_dict()["memory"]
        weights = traffic["weight_read_bytes"]
        kernels, size = with_libraries_apart(most)
        moved = tuple(one.to(options.device) for one in inputs)
        own, library, read = compiled(model.to(options.device), moved)
        print(
            f"{name:<26}{most.before['kernels']:>7}{vertical:>10}{most.after['kernels']:>6}"
            f"{kernels:>7}{own + library:>7} = {own:>3} + {library:<3}"
            f"{kernels / max(own + library, 1) - 1:>+6.0%}"
            f"{(most.after['bytes'] - weights) / 2**20:>8.1f}{(size - weights) / 2**20:>8.1f}"
            f"{read / 2**20:>10.1f}{(size - weights) / max(read, 1) - 1:>+7.0%}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
