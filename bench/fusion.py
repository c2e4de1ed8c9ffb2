#!/usr/bin/env python3
"""Compares `pyrometer fuse` with what torch.compile makes of a model (CPU, frozen weights).

usage: fusion.py [MODEL...]. Counts the kernels and bytes of Inductor's schedule; no kernel is
compiled or run. Takes up to a minute per model.
"""

import contextlib
import sys
import types
import warnings
from unittest import mock

import torch
from torch._inductor import config, ir, scheduler
from torch._inductor.graph import GraphLowering

import pyrometer

NEAR = 0.25


def vision(name, size=224):
    import torchvision

    return getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, size, size),)


def language(kind, **settings):
    import transformers

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
    "mlp": lambda: (Mlp(), (torch.randn(32, 512),)),
}


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
    warnings.filterwarnings("ignore")
    names = sys.argv[1:] or list(MODELS)
    print(f"torch {torch.__version__}, CPU, frozen weights; {NEAR:.0%} is near")
    print(f"{'model':<18}{'eager':>7}{'fuse':>7}{'max':>6}{'Inductor':>16}{'':>8}"
          f"{'fuse bytes':>14}{'max':>8}{'Inductor':>10}")  # fmt: skip
    for name in names:
        model, inputs = MODELS[name]()
        model.eval()
        ours = {one: pyrometer.fuse(model, inputs, strategy=one) for one in ("vertical", "max")}
        own, library, read = compiled(model, inputs)
        kernels, size = ours["max"].after["kernels"], ours["max"].after["bytes"]
        print(
            f"{name:<18}{ours['max'].before['kernels']:>7}{ours['vertical'].after['kernels']:>7}"
            f"{kernels:>6}{own + library:>6} = {own:>3} + {library:<3}"
            f"{kernels / max(own + library, 1) - 1:>+7.0%}"
            f"{ours['vertical'].after['bytes'] / 2**20:>10.1f} MiB{size / 2**20:>8.1f}"
            f"{read / 2**20:>10.1f}{size / max(read, 1) - 1:>+7.0%}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
