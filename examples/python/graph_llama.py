"""Wraps the inner model of a Hugging Face LLaMA in place; generate() works as before.

Uses a tiny model with random weights, so nothing is downloaded. Pass a name to use another:

    python graph_llama.py [FOLDER] [MODEL]
"""

import os
import sys

import torch
import transformers

from pyrometer import Profiler


def load(name: str | None) -> transformers.LlamaForCausalLM:
    if name is not None:
        return transformers.LlamaForCausalLM.from_pretrained(name)
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=160,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=256,
    )
    return transformers.LlamaForCausalLM(config)


def main(folder: str = ".", name: str | None = None) -> None:
    model = load(name).eval()
    tokens = torch.randint(0, model.config.vocab_size, (1, 12))
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    base = os.path.join(folder, "llama_profile")

    model.model = Profiler(
        model.model,
        granularity="module",
        token_kwarg="input_ids",
        auto_profile=False,
        capture_ops=False,
    )
    with torch.no_grad():
        model.model.profile_once(**inputs)
        model.model.export(base, module_include_edges=True, overwrite_module=True)
        model.model.profile_detail(**inputs)
        model.model.export(base, detail_include_edges=True, overwrite_module=False)
    model.model.graph.stats()
    print(f"{model.model.tokens_per_second:.0f} tokens/s while profiling")
    print(model.generate(**inputs, max_new_tokens=8, do_sample=False).shape)


if __name__ == "__main__":
    main(*sys.argv[1:3])
