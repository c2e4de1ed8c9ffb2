"""Language models without a key-value cache, from their published configurations.

Their scans are unrolled over the sequence, so its length is fixed.
"""

import torch

from catalog.language import checkpoint, language_model
from catalog.model import Model


def _mamba() -> list[Model]:
    """Mamba: its scan runs token by token."""
    found = []
    for name, display_name, width, layers, params in (
        ("mamba_130m", "Mamba 130M", 768, 24, 129135360),
    ):
        options = {
            "vocab_size": 50280,
            "hidden_size": width,
            "num_hidden_layers": layers,
            "tie_word_embeddings": True,
        }
        found.append(
            language_model(
                name,
                display_name,
                "mamba",
                ("MambaForCausalLM", "MambaConfig"),
                options,
                checkpoint(params, f"state-spaces/{name.replace('_', '-')}-hf"),
                None,
                torch.float32,
                (0,),
                length=32,
            )
        )
    return found


def _mamba2() -> list[Model]:
    """Mamba 2: its scan runs in chunks of 256 tokens."""
    found = []
    for name, title, width, layers, groups, vocabulary, tied, params, repository in (
        (
            "mamba2_130m",
            "Mamba 2 130M",
            768,
            24,
            1,
            50288,
            True,
            128989632,
            "state-spaces/mamba2-130m",
        ),
        (
            "mamba2_2_7b",
            "Mamba 2 2.7B",
            2560,
            64,
            1,
            50288,
            True,
            2702599680,
            "state-spaces/mamba2-2.7b",
        ),
        (
            "mamba_codestral_7b",
            "Mamba-Codestral 7B",
            4096,
            64,
            8,
            32768,
            False,
            7285403648,
            "mistralai/Mamba-Codestral-7B-v0.1",
        ),
    ):
        options = {
            "vocab_size": vocabulary,
            "hidden_size": width,
            "num_heads": 2 * width // 64,
            "num_hidden_layers": layers,
            "n_groups": groups,
            "tie_word_embeddings": tied,
        }
        found.append(
            language_model(
                name,
                title,
                "mamba",
                ("Mamba2ForCausalLM", "Mamba2Config"),
                options,
                checkpoint(params, repository),
                None,
                torch.bfloat16,
                (0,),
                length=256,
            )
        )
    return found


def _rwkv() -> list[Model]:
    """RWKV-4: its scan runs token by token, and every sixth layer halves the states."""
    options = {
        "vocab_size": 50277,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "attention_hidden_size": 768,
        "intermediate_size": 3072,
    }
    return [
        language_model(
            "rwkv_4_169m",
            "RWKV-4 169M",
            "rwkv",
            ("RwkvForCausalLM", "RwkvConfig"),
            options,
            checkpoint(169342464, "RWKV/rwkv-4-169m-pile"),
            None,
            torch.float32,
            (0,),
            period=6,
            length=16,
            named=True,
        )
    ]


def models() -> list[Model]:
    """All models of this file."""
    return [*_mamba(), *_mamba2(), *_rwkv()]
