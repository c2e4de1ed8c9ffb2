"""A sample of torch's operator database: all operators priced, FLOPs equal to FlopCounterMode's."""

import pytest

pytest.importorskip("torch")

import verify_ops

# Contractions, named tuples as results, and kinds of rules; `make verify-ops` checks all entries.
CHOSEN = (
    "addmm",
    "cummax",
    "einsum",
    "fft.rfft2",
    "linalg.eigh",
    "linalg.matrix_power",
    "linalg.multi_dot",
    "linalg.qr",
    "linalg.solve",
    "linalg.svd",
    "max.reduction_with_dim",
    "nn.functional.conv_transpose2d",
    "nn.functional.scaled_dot_product_attention",
    "sort",
    "special.i1e",
)


@pytest.mark.parametrize("name", CHOSEN)
def test_operator(name):
    (op,) = [op for op in verify_ops.op_db if verify_ops.full_name(op) == name]
    with verify_ops.quiet():
        rows = verify_ops.rows_of(op, 2)
    assert [(row.outcome, row.reason) for row in rows] == [("priced", "")] * len(rows), rows


def test_an_operator_without_a_rule_is_found():
    (op,) = [op for op in verify_ops.op_db if op.name == "nonzero"]
    with verify_ops.quiet():
        (row,) = verify_ops.rows_of(op, 1)
    assert row.outcome == "partly"
    assert row.uncounted == ["aten.nonzero"]
    assert not verify_ops.report([row])
