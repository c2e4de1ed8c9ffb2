"""Fixtures with models for the tests of this folder."""

import pytest


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    from bench_models import saved

    return saved(
        tmp_path_factory.mktemp("models") / "bert-tiny",
        "Bert",
        vocab_size=1000,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )


@pytest.fixture
def net():
    import torch
    from bench_models import Net

    torch.manual_seed(0)
    return Net()
