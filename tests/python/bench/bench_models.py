"""Small models shared by the tests of this folder."""

import pytest
import torch
from torch import nn


def saved(folder, name, **settings):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**settings)
    model = {"Bert": "BertModel", "GPT2": "GPT2LMHeadModel"}[name]
    getattr(transformers, model)(config).save_pretrained(folder)
    return str(folder)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding_in = nn.Linear(64, 256)
        self.act = nn.ReLU()
        self.mlp_out = nn.Linear(256, 64)

    def forward(self, x):
        return self.mlp_out(self.act(self.embedding_in(x)))


def quick(profiler, *args, **settings):
    return profiler.profile(*args, **{"num_runs": 20, "warmup_runs": 2, **settings})
