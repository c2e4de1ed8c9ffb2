"""Text encoders and encoder-decoders, from their published configurations."""

from typing import Any

import torch

from catalog import transformers_build
from catalog.entry import Entry, Input
from catalog.model import Model, Published

_CHECKPOINT = "tensors in the checkpoint {}, weights that are shared counted once"


# Maximum sequence length of classes for which export cannot know it.
_POSITIONS = {"BartModel": 1024, "RobertaModel": 512, "XLMRobertaModel": 512}


def _tokens(length: int, vocabulary: int, most: int | None) -> Input:
    return Input(
        (1, length),
        torch.int64,
        dynamic=(0, 1),
        high=vocabulary,
        axes=("batch", "sequence"),
        bounds={"sequence": (1, most)} if most else {},
    )


def _model(
    name: str,
    display_name: str,
    family: str,
    task: str,
    kind: tuple[str, str],
    options: dict[str, Any],
    params: int,
    repository: str,
    same_as: str | None = None,
) -> Model:
    class_name, config_name = kind
    most = _POSITIONS.get(class_name)
    arguments: dict[str, Any] = {"input_ids": _tokens(128, 30000, most)}
    if task == "text to text":
        arguments |= {"decoder_input_ids": _tokens(64, 30000, most), "use_cache": False}
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    entry = Entry(
        name=name,
        display_name=display_name,
        family=family,
        package="transformers",
        builder=f"transformers.{class_name}(transformers.{config_name}({shown}))",
        build=lambda: transformers_build.build(class_name, (config_name, options)),
        arguments=arguments,
        by_name=True,
    )
    published = Published(params, _CHECKPOINT.format(repository))
    return Model(entry, task, published, same_as=same_as)


def _like_bert(
    width: int, layers: int, heads: int, inner: int, vocabulary: int = 30522, **more
) -> dict[str, Any]:
    return {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
        **more,
    }


_ROBERTA = {"max_position_embeddings": 514, "type_vocab_size": 1}


def _encoders() -> list[Model]:
    bert = ("BertModel", "BertConfig")
    roberta = ("RobertaModel", "RobertaConfig")
    multilingual = ("XLMRobertaModel", "XLMRobertaConfig")
    base, large = _like_bert(768, 12, 12, 3072), _like_bert(1024, 24, 16, 4096)
    small = _like_bert(384, 12, 12, 1536)
    rows = [
        ("bert_base", "BERT base", "bert", bert, base, 109482240, "bert-base-uncased"),
        ("bert_large", "BERT large", "bert", bert, large, 335141888, "bert-large-uncased"),
        (
            "roberta_base",
            "RoBERTa base",
            "roberta",
            roberta,
            _like_bert(768, 12, 12, 3072, 50265, **_ROBERTA),
            124645632,
            "FacebookAI/roberta-base",
        ),
        (
            "roberta_large",
            "RoBERTa large",
            "roberta",
            roberta,
            _like_bert(1024, 24, 16, 4096, 50265, **_ROBERTA),
            355359744,
            "FacebookAI/roberta-large",
        ),
        (
            "distilroberta_base",
            "DistilRoBERTa base",
            "roberta",
            roberta,
            _like_bert(768, 6, 12, 3072, 50265, **_ROBERTA),
            82118400,
            "distilbert/distilroberta-base",
        ),
        (
            "xlm_roberta_base",
            "XLM-RoBERTa base",
            "roberta",
            multilingual,
            _like_bert(768, 12, 12, 3072, 250002, **_ROBERTA),
            278043648,
            "FacebookAI/xlm-roberta-base",
        ),
        (
            "xlm_roberta_large",
            "XLM-RoBERTa large",
            "roberta",
            multilingual,
            _like_bert(1024, 24, 16, 4096, 250002, **_ROBERTA),
            559890432,
            "FacebookAI/xlm-roberta-large",
        ),
        (
            "distilbert_base",
            "DistilBERT base",
            "bert",
            ("DistilBertModel", "DistilBertConfig"),
            {},
            66362880,
            "distilbert/distilbert-base-uncased",
        ),
        (
            "minilm_l6_v2",
            "MiniLM-L6-v2",
            "bert",
            bert,
            _like_bert(384, 6, 12, 1536),
            22713216,
            "sentence-transformers/all-MiniLM-L6-v2",
        ),
        (
            "minilm_l12_v2",
            "MiniLM-L12-v2",
            "bert",
            bert,
            small,
            33360000,
            "sentence-transformers/all-MiniLM-L12-v2",
        ),
        (
            "bge_small_en",
            "BGE small",
            "bert",
            bert,
            small,
            33360000,
            "BAAI/bge-small-en-v1.5",
            "minilm_l12_v2",
        ),
        (
            "bge_base_en",
            "BGE base",
            "bert",
            bert,
            base,
            109482240,
            "BAAI/bge-base-en-v1.5",
            "bert_base",
        ),
        (
            "bge_large_en",
            "BGE large",
            "bert",
            bert,
            large,
            335141888,
            "BAAI/bge-large-en-v1.5",
            "bert_large",
        ),
    ]
    return [
        _model(name, title, family, "text encoder", kind, options, params, repository, *same)
        for name, title, family, kind, options, params, repository, *same in rows
    ]


def _albert(width: int, heads: int, inner: int, layers: int) -> dict[str, Any]:
    return {
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
    }


def _deberta(width: int, layers: int, heads: int, inner: int) -> dict[str, Any]:
    return _like_bert(
        width,
        layers,
        heads,
        inner,
        128100,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        max_relative_positions=-1,
    )


def _other_encoders() -> list[Model]:
    albert = ("AlbertModel", "AlbertConfig")
    electra = ("ElectraModel", "ElectraConfig")
    deberta = ("DebertaV2Model", "DebertaV2Config")
    modern = ("ModernBertModel", "ModernBertConfig")
    rows = [
        (
            "albert_base_v2",
            "ALBERT base v2",
            "albert",
            albert,
            _albert(768, 12, 3072, 12),
            11683584,
            "albert/albert-base-v2",
        ),
        (
            "albert_large_v2",
            "ALBERT large v2",
            "albert",
            albert,
            _albert(1024, 16, 4096, 24),
            17683968,
            "albert/albert-large-v2",
        ),
        (
            "electra_small",
            "ELECTRA small",
            "electra",
            ("ElectraForPreTraining", "ElectraConfig"),
            {},
            13549057,
            "google/electra-small-discriminator",
        ),
        (
            "electra_base",
            "ELECTRA base",
            "electra",
            electra,
            {
                "embedding_size": 768,
                "hidden_size": 768,
                "intermediate_size": 3072,
                "num_attention_heads": 12,
            },
            108891648,
            "google/electra-base-discriminator",
        ),
        (
            "deberta_v3_base",
            "DeBERTa v3 base",
            "deberta",
            deberta,
            _deberta(768, 12, 12, 3072),
            183831552,
            "microsoft/deberta-v3-base",
        ),
        (
            "deberta_v3_large",
            "DeBERTa v3 large",
            "deberta",
            deberta,
            _deberta(1024, 24, 16, 4096),
            434012160,
            "microsoft/deberta-v3-large",
        ),
        (
            "modernbert_base",
            "ModernBERT base",
            "bert",
            modern,
            {},
            149014272,
            "answerdotai/ModernBERT-base",
        ),
        (
            "modernbert_large",
            "ModernBERT large",
            "bert",
            modern,
            {
                "hidden_size": 1024,
                "intermediate_size": 2624,
                "num_hidden_layers": 28,
                "num_attention_heads": 16,
            },
            394781696,
            "answerdotai/ModernBERT-large",
        ),
    ]
    return [
        _model(name, title, family, "text encoder", kind, options, params, repository)
        for name, title, family, kind, options, params, repository in rows
    ]


def _t5(width: int, inner: int, layers: int, heads: int, **more) -> dict[str, Any]:
    return {
        "vocab_size": 32128,
        "d_model": width,
        "d_ff": inner,
        "num_layers": layers,
        "num_heads": heads,
        "d_kv": 64,
        **more,
    }


_FLAN = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}


def _bart(width: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "vocab_size": 50265,
        "d_model": width,
        "encoder_layers": layers,
        "decoder_layers": layers,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": 4 * width,
        "decoder_ffn_dim": 4 * width,
    }


def _text_to_text() -> list[Model]:
    t5 = ("T5ForConditionalGeneration", "T5Config")
    bart = ("BartModel", "BartConfig")
    rows = [
        ("t5_small", "T5 small", "t5", t5, _t5(512, 2048, 6, 8), 60506624, "google-t5/t5-small"),
        ("t5_base", "T5 base", "t5", t5, _t5(768, 3072, 12, 12), 222903552, "google-t5/t5-base"),
        (
            "t5_large",
            "T5 large",
            "t5",
            t5,
            _t5(1024, 4096, 24, 16),
            737668096,
            "google-t5/t5-large",
        ),
        (
            "flan_t5_small",
            "Flan-T5 small",
            "t5",
            t5,
            _t5(512, 1024, 8, 6, **_FLAN),
            76961152,
            "google/flan-t5-small",
        ),
        (
            "flan_t5_base",
            "Flan-T5 base",
            "t5",
            t5,
            _t5(768, 2048, 12, 12, **_FLAN),
            247577856,
            "google/flan-t5-base",
        ),
        (
            "flan_t5_large",
            "Flan-T5 large",
            "t5",
            t5,
            _t5(1024, 2816, 24, 16, **_FLAN),
            783150080,
            "google/flan-t5-large",
        ),
        (
            "bart_base",
            "BART base",
            "bart",
            bart,
            _bart(768, 6, 12),
            139420416,
            "facebook/bart-base",
        ),
        (
            "bart_large",
            "BART large",
            "bart",
            bart,
            _bart(1024, 12, 16),
            406291456,
            "facebook/bart-large",
        ),
    ]
    return [
        _model(name, title, family, "text to text", kind, options, params, repository)
        for name, title, family, kind, options, params, repository in rows
    ]


def models() -> list[Model]:
    """All models of this file."""
    return [*_encoders(), *_other_encoders(), *_text_to_text()]
