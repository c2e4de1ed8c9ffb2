"""Small hand-written modules, each for one operator or one form of a graph."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from catalog.entry import Entry, Input
from zoo import graph_forms, modules, rare_modules


def _entry(
    name: str,
    build: Callable[[], nn.Module],
    *inputs,
    device: str = "cpu",
    plain: Callable[[], nn.Module] | None = None,
    **named,
) -> Entry:
    arguments = named or {f"x{position}": given for position, given in enumerate(inputs)}
    return Entry(
        name=name,
        display_name=name,
        family="layers",
        package="torch",
        builder=f"zoo.layers: {name}",
        build=build,
        arguments=arguments,
        by_name=bool(named),
        device=device,
        plain=plain,
    )


def _recurrent() -> list[Entry]:
    def steps_first(width: int) -> Input:
        return Input((12, 1, width), dynamic=(1,), other=(12, 4, width))

    def batch_first(width: int) -> Input:
        return Input((1, 12, width), dynamic=(0,), other=(4, 12, width))

    return [
        _entry("lstm", lambda: nn.LSTM(32, 48, num_layers=2), steps_first(32)),
        _entry("lstm_batch_first", lambda: nn.LSTM(32, 48, batch_first=True), batch_first(32)),
        _entry(
            "lstm_bidirectional", lambda: nn.LSTM(32, 48, 2, bidirectional=True), steps_first(32)
        ),
        _entry("lstm_projected", lambda: nn.LSTM(32, 48, 2, proj_size=20), steps_first(32)),
        _entry("lstm_unbatched", lambda: nn.LSTM(32, 48), Input((12, 32))),
        _entry(
            "lstm_cell", lambda: nn.LSTMCell(32, 48), Input((1, 32), dynamic=(0,), other=(6, 32))
        ),
        _entry("gru", lambda: nn.GRU(32, 48, num_layers=2), steps_first(32)),
        _entry(
            "gru_bidirectional",
            lambda: nn.GRU(32, 48, bidirectional=True, batch_first=True, bias=False),
            batch_first(32),
        ),
        _entry("rnn_tanh", lambda: nn.RNN(32, 48, num_layers=2), steps_first(32)),
        _entry("lstm_tagger", modules.Tagger, Input((1, 20), torch.int64, (0,), (3, 20), 1000)),
    ]


def _convolutions() -> list[Entry]:
    line = Input((1, 16, 100), dynamic=(0, 2), other=(3, 16, 77))
    plane = Input((1, 16, 30, 40), dynamic=(0, 2, 3), other=(3, 16, 25, 33))
    cube = Input((1, 8, 10, 12, 14), dynamic=(0, 2, 3, 4), other=(2, 8, 9, 11, 13))
    return [
        _entry("conv1d", lambda: nn.Conv1d(16, 24, 5, stride=2, padding=2), line),
        _entry("conv1d_grouped", lambda: nn.Conv1d(16, 32, 3, groups=8, dilation=2), line),
        _entry("conv2d_grouped", lambda: nn.Conv2d(16, 32, 3, padding=1, groups=4), plane),
        _entry("conv2d_depthwise", lambda: nn.Conv2d(16, 16, 3, groups=16, bias=False), plane),
        _entry("conv2d_dilated", lambda: nn.Conv2d(16, 20, 3, dilation=3, stride=2), plane),
        _entry("conv2d_same", lambda: nn.Conv2d(16, 20, (3, 5), padding="same"), plane),
        _entry(
            "conv2d_reflect", lambda: nn.Conv2d(16, 20, 3, padding=1, padding_mode="reflect"), plane
        ),
        _entry("conv3d", lambda: nn.Conv3d(8, 12, 3, padding=1, groups=2), cube),
        _entry("conv_transposed1d", lambda: nn.ConvTranspose1d(16, 24, 4, stride=2), line),
        _entry(
            "conv_transposed2d",
            lambda: nn.ConvTranspose2d(16, 24, 3, stride=2, output_padding=1, groups=4, dilation=2),
            plane,
        ),
        _entry("conv_transposed3d", lambda: nn.ConvTranspose3d(8, 12, 2, stride=2), cube),
        _entry(
            "unet", modules.UNet, Input((1, 3, 64, 64), dynamic=(0, 2, 3), other=(2, 3, 96, 128))
        ),
        _entry(
            "diffusion_unet",
            modules.DiffusionUNet,
            Input((1, 4, 32, 32), dynamic=(0,), other=(3, 4, 32, 32)),
            Input((1,), torch.int64, (0,), (3,), 1000),
            Input((1, 8, 64), dynamic=(0,), other=(3, 8, 64)),
        ),
    ]


def _contractions() -> list[Entry]:
    def matrix(rows: int, columns: int) -> Input:
        return Input((4, rows, columns), dynamic=(0,), other=(7, rows, columns))

    return [
        _entry(
            "linear_forms",
            modules.LinearForms,
            Input((4, 10, 24), dynamic=(0, 1), other=(5, 6, 24)),
        ),
        _entry("matmul_forms", modules.MatmulForms, matrix(10, 12), matrix(12, 14), Input((12,))),
        _entry(
            "einsum_forms",
            modules.EinsumForms,
            Input((2, 5, 3, 8)),
            Input((2, 7, 3, 8)),
            Input((8, 6)),
        ),
        _entry("bilinear", modules.BilinearNet, Input((6, 10)), Input((6, 12))),
        _entry("tensordot", modules.TensorDot, Input((3, 4, 5)), Input((4, 5, 6))),
        _entry("baddbmm", modules.BatchedAdd, matrix(6, 9), matrix(6, 8), matrix(8, 9)),
    ]


def _attention() -> list[Entry]:
    sequence = Input((2, 24, 64), dynamic=(0, 1), other=(3, 40, 64))
    return [
        _entry("mha", modules.SelfAttention, sequence),
        _entry(
            "mha_cross",
            modules.CrossAttention,
            Input((24, 2, 64), dynamic=(0, 1), other=(30, 3, 64)),
            Input((18, 2, 48), dynamic=(0, 1), other=(20, 3, 48)),
        ),
        _entry(
            "transformer_encoder",
            lambda: nn.TransformerEncoder(
                nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True), 2
            ),
            sequence,
        ),
        _entry(
            "transformer",
            lambda: nn.Transformer(64, 4, 2, 2, 128),
            Input((20, 2, 64), dynamic=(1,), other=(20, 3, 64)),
            Input((12, 2, 64), dynamic=(1,), other=(12, 3, 64)),
        ),
        _entry("sdpa_causal", modules.CausalAttention, sequence),
        _entry("sdpa_grouped_query", modules.GroupedQueryAttention, sequence),
        _entry("sdpa_masked", modules.MaskedAttention, sequence),
        _entry("attention_eager", modules.EagerAttention, sequence),
        _entry("moe_dense", modules.DenseMixture, Input((6, 32), dynamic=(0,), other=(11, 32))),
        _entry("moe_grouped", modules.GroupedMixture, Input((16, 32))),
    ]


def _embeddings_and_norms() -> list[Entry]:
    ids = Input((2, 9), torch.int64, (0, 1), (5, 7), 100)
    return [
        _entry("embedding_bag", lambda: nn.EmbeddingBag(100, 16, mode="sum"), ids),
        _entry("embedding_bag_mean", lambda: nn.EmbeddingBag(100, 16), ids),
        _entry(
            "norms", modules.Norms, Input((2, 8, 10, 12), dynamic=(0, 2, 3), other=(3, 8, 9, 7))
        ),
        _entry(
            "pools", modules.Pools, Input((1, 8, 24, 32), dynamic=(0, 2, 3), other=(2, 8, 32, 40))
        ),
        _entry(
            "resampling",
            modules.Resampling,
            Input((1, 4, 16, 20), dynamic=(0,), other=(3, 4, 16, 20)),
        ),
        _entry("activations", modules.Activations, Input((3, 20), dynamic=(0,), other=(7, 20))),
        _entry("indexing", modules.Indexing, Input((8, 16), dynamic=(0,), other=(12, 16))),
        _entry("reductions", modules.Reductions, Input((4, 6, 10), dynamic=(0,), other=(9, 6, 10))),
        _entry("fourier", modules.Fourier, Input((2, 64), dynamic=(0,), other=(5, 64))),
        _entry("integer_only", modules.IntegerOnly, Input((3, 8), torch.int64, (0,), (5, 8), 50)),
        _entry(
            "mixed_precision", modules.MixedPrecision, Input((3, 32), dynamic=(0,), other=(5, 32))
        ),
    ]


def _graph_forms() -> list[Entry]:
    row = Input((2, 16), dynamic=(0,), other=(5, 16))
    return [
        _entry("tied_weights", graph_forms.TiedAutoencoder, row),
        _entry("tied_weights_meta", graph_forms.TiedAutoencoder, row, device="meta"),
        _entry("reused_module", graph_forms.Reused, row),
        _entry("unused_parameters", graph_forms.Unused, row),
        _entry("several_outputs", graph_forms.SeveralOutputs, row),
        _entry(
            "dict_inputs",
            graph_forms.DictInputs,
            features={"dense": row, "ids": Input((2, 4), torch.int64, (0,), (5, 4), 30)},
            scale=2.0,
        ),
        _entry("constants", graph_forms.Constants, row),
        _entry("mutated_buffer", graph_forms.MutatedBuffer, row),
        _entry("cond", graph_forms.Branches, Input((4, 16)), plain=graph_forms.PlainBranches),
        _entry("scan", graph_forms.Scanned, Input((10, 3, 16)), plain=graph_forms.PlainScanned),
        _entry("while_loop", graph_forms.Looped, Input((4, 16)), plain=graph_forms.PlainLooped),
        _entry("map_loop", graph_forms.Mapped, Input((5, 3, 16)), plain=graph_forms.PlainMapped),
        _entry(
            "data_dependent",
            graph_forms.DataDependent,
            Input((12, 16)),
            plain=graph_forms.PlainDataDependent,
        ),
        _entry("scalar_input", graph_forms.ScalarInput, Input((), torch.float32), row),
        _entry("odd_names", graph_forms.OddNames, row),
        _entry("functional_only", lambda: modules.Lambda(functional.gelu), row),
    ]


def _rare() -> list[Entry]:
    row = Input((2, 16), dynamic=(0,), other=(5, 16))
    cache = Input((2, 4, 30, 16), dynamic=(0, 2), other=(3, 4, 50, 16))
    return [
        _entry("custom_operator", rare_modules.CustomOperator, row),
        _entry("quantized_linear", rare_modules.QuantizedLinear, Input((32, 64))),
        _entry(
            "unfolded",
            rare_modules.Unfolded,
            Input((1, 8, 12, 14), dynamic=(0,), other=(3, 8, 12, 14)),
        ),
        _entry("vmapped", rare_modules.Vmapped, row),
        _entry("complex_linear", rare_modules.ComplexLinear, row),
        _entry(
            "graph_layer",
            rare_modules.GraphLayer,
            Input((10, 16)),
            Input((2, 25), torch.int64, high=10),
        ),
        _entry(
            "weight_norms",
            rare_modules.WeightNorms,
            Input((2, 8, 20), dynamic=(0, 2), other=(3, 8, 15)),
        ),
        _entry(
            "cached_step",
            rare_modules.CachedStep,
            Input((2, 1, 64), dynamic=(0,), other=(3, 1, 64)),
            cache,
            cache,
        ),
        _entry("unbatched", rare_modules.Unbatched, Input((3, 12, 12))),
        _entry(
            "chained_products",
            rare_modules.ChainedProducts,
            Input((6, 7)),
            Input((7, 9)),
            Input((9, 5)),
        ),
    ]


def entries() -> list[Entry]:
    """All of them."""
    return [
        *_recurrent(),
        *_convolutions(),
        *_contractions(),
        *_attention(),
        *_embeddings_and_norms(),
        *_graph_forms(),
        *_rare(),
    ]
