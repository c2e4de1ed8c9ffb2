"""Times kernels over sizes for `pyrometer doctor --calibrate`: products, convolutions, attention,
elementwise work, reductions, norms, lookups and copies. `pyrometer map` predicts from them.

Every row has the work as the operator table counts it (`pyrometer cost`): FLOPs, bytes read and
written, and for products m rows and n columns of sums over k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Row = dict[str, Any]
Case = tuple[Row, Callable[[], Any]]

# Rows, summed elements and columns of linear layers.
PRODUCTS = {
    "cpu": [
        (m, k, n)
        for k, n in ((64, 64), (256, 256), (768, 768), (768, 3072), (3072, 768), (2048, 1000))
        for m in (1, 8, 64, 200, 1600)
    ],
    "cuda": [
        (m, k, n)
        for k, n in ((256, 256), (768, 768), (1024, 4096), (4096, 1024), (4096, 4096), (8192, 8192))
        for m in (1, 8, 64, 512, 4096, 32768)
    ],
}
# Channels in and out, filter, stride, groups, and height and width of the input.
CONVOLUTIONS = [
    (3, 64, 7, 2, 1, 224),
    (3, 32, 3, 2, 1, 224),
    (3, 96, 4, 4, 1, 224),
    (3, 768, 16, 16, 1, 224),
    (64, 64, 3, 1, 1, 56),
    (128, 128, 3, 1, 1, 28),
    (256, 256, 3, 1, 1, 14),
    (512, 512, 3, 1, 1, 7),
    (128, 128, 3, 2, 1, 56),
    (64, 256, 1, 1, 1, 56),
    (256, 64, 1, 1, 1, 56),
    (512, 128, 1, 1, 1, 28),
    (256, 1024, 1, 1, 1, 14),
    (1024, 2048, 1, 2, 1, 14),
    (512, 2048, 1, 1, 1, 7),
    (16, 96, 1, 1, 1, 112),
    (96, 24, 1, 1, 1, 56),
    (320, 1280, 1, 1, 1, 7),
    (32, 32, 3, 1, 32, 112),
    (96, 96, 3, 2, 96, 112),
    (144, 144, 3, 1, 144, 56),
    (240, 240, 5, 1, 240, 28),
    (576, 576, 3, 1, 576, 14),
    (384, 384, 7, 1, 384, 14),
    (256, 256, 3, 1, 32, 56),
    (1024, 1024, 3, 1, 32, 14),
]
BATCHES = {"cpu": (1, 8), "cuda": (1, 8, 64)}
# Heads over all sequences, queries, keys, width of a head.
ATTENTION = {
    "cpu": [
        (12, 32, 32, 64),
        (12, 128, 128, 64),
        (12, 197, 197, 64),
        (96, 197, 197, 64),
        (96, 49, 49, 32),
    ],
    "cuda": [
        (12, 197, 197, 64),
        (768, 197, 197, 64),
        (32, 2048, 2048, 128),
        (256, 1, 2048, 128),
        (64, 4096, 4096, 128),
    ],
}
ELEMENTS = {
    "cpu": (1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24),
    "cuda": (1 << 14, 1 << 20, 1 << 23, 1 << 26, 1 << 28),
}


def products(bench: Any, dtype: Any) -> Iterator[Case]:
    linear = bench.torch.nn.functional.linear
    for m, k, n in PRODUCTS[bench.kind]:
        x, w = bench.random(m, k, dtype=dtype), bench.random(n, k, dtype=dtype)
        bias = bench.random(n, dtype=dtype)
        size = dtype.itemsize
        row = {
            "kind": "gemv" if 1 in (m, n) else "gemm",
            "m": m,
            "n": n,
            "k": k,
            "flops": 2 * m * n * k + m * n,
            "bytes": size * (m * k + n * k + n + m * n),
        }
        yield row, lambda x=x, w=w, bias=bias: linear(x, w, bias)


def convolutions(bench: Any, dtype: Any) -> Iterator[Case]:
    conv2d = bench.torch.nn.functional.conv2d
    for inputs, outputs, kernel, stride, groups, side in CONVOLUTIONS:
        for batch in BATCHES[bench.kind]:
            x = bench.random(batch, inputs, side, side, dtype=dtype)
            w = bench.random(outputs, inputs // groups, kernel, kernel, dtype=dtype)
            pad = kernel // 2 if stride < kernel else 0
            places = batch * ((side + 2 * pad - kernel) // stride + 1) ** 2
            depth = inputs // groups * kernel * kernel
            row = {
                "kind": "conv",
                "m": places * groups,
                "n": outputs // groups,
                "k": depth,
                "flops": 2 * places * outputs * depth,
                "bytes": dtype.itemsize * (x.numel() + w.numel() + places * outputs),
            }
            yield row, lambda x=x, w=w, s=stride, p=pad, g=groups: conv2d(x, w, None, s, p, 1, g)


def attention(bench: Any, dtype: Any) -> Iterator[Case]:
    attend = bench.torch.nn.functional.scaled_dot_product_attention
    for heads, queries, keys, width in ATTENTION[bench.kind]:
        q = bench.random(1, heads, queries, width, dtype=dtype)
        k = bench.random(1, heads, keys, width, dtype=dtype)
        scores = heads * queries * keys
        row = {
            "kind": "attention",
            "m": heads * queries,
            "n": keys,
            "k": width,
            "flops": scores * (4 * width + 6),
            "bytes": dtype.itemsize * 2 * (q.numel() + k.numel()),
        }
        yield row, lambda q=q, k=k: attend(q, k, k)


def rows_of(x: Any) -> Any:
    return x.view(-1, 256) if x.numel() >= 256 else x.view(1, -1)


def elementwise(bench: Any, dtype: Any) -> Iterator[Case]:
    """With their FLOPs per element and how many tensors of that size are read and written."""
    torch, functional = bench.torch, bench.torch.nn.functional
    kinds = (
        ("elementwise", 1, 2, functional.relu),
        ("elementwise", 1, 3, lambda x: torch.add(x, x.detach())),
        ("elementwise", 5, 2, functional.gelu),
        ("elementwise", 5, 2, functional.silu),
        ("softmax", 5, 2, lambda x: torch.softmax(rows_of(x), -1)),
        ("norm", 5, 2, lambda x: functional.layer_norm(rows_of(x), rows_of(x).shape[1:])),
        ("reduction", 1, 1, lambda x: rows_of(x).mean(-1)),
        ("copy", 0, 2, torch.clone),
        ("copy", 0, 2, lambda x: rows_of(x).t().contiguous()),
    )
    for count in ELEMENTS[bench.kind]:
        x = bench.random(count, dtype=dtype)
        other = bench.random(count, dtype=dtype)
        for kind, flops, tensors, run in kinds:
            row = {"kind": kind, "m": 0, "n": 0, "k": 0, "flops": flops * count}
            row["bytes"] = tensors * count * dtype.itemsize
            if tensors == 3:
                yield row, lambda x=x, other=other: torch.add(x, other)
            else:
                yield row, lambda x=x, run=run: run(x)


def images(bench: Any, dtype: Any) -> Iterator[Case]:
    """Batch norm, pooling and lookups have their own sizes."""
    torch, functional = bench.torch, bench.torch.nn.functional
    size = dtype.itemsize
    for channels, side in ((64, 112), (64, 56), (256, 56), (512, 28), (1024, 14), (2048, 7)):
        for batch in BATCHES[bench.kind]:
            x = bench.random(batch, channels, side, side, dtype=dtype)
            mean, scale = (
                bench.empty(channels, dtype=dtype).fill_(0),
                bench.empty(channels, dtype=dtype).fill_(1),
            )
            row = {"m": 0, "n": 0, "k": 0}
            yield (
                {**row, "kind": "norm", "flops": 2 * x.numel(), "bytes": 2 * size * x.numel()},
                lambda x=x, mean=mean, scale=scale: functional.batch_norm(
                    x, mean, scale, scale, mean
                ),
            )
            yield (
                {**row, "kind": "reduction", "flops": x.numel(), "bytes": size * x.numel()},
                lambda x=x: functional.adaptive_avg_pool2d(x, 1),
            )
            if side == 112:
                written = x.numel() // 4
                yield (
                    {
                        **row,
                        "kind": "reduction",
                        "flops": 9 * written,
                        "bytes": size * (x.numel() + written),
                    },
                    lambda x=x: functional.max_pool2d(x, 3, 2, 1),
                )
    for rows, count, width in ((30000, 128, 768), (30000, 4096, 768)):
        table = bench.random(rows, width, dtype=dtype)
        index = torch.randint(0, rows, (count,), device=bench.device)
        yield (
            {
                "kind": "embedding",
                "m": 0,
                "n": 0,
                "k": 0,
                "flops": 0,
                "bytes": 2 * size * count * width + 8 * count,
            },
            lambda index=index, table=table: functional.embedding(index, table),
        )


def types_of(bench: Any) -> list[tuple[str, Any]]:
    torch = bench.torch
    if bench.kind == "cpu":
        return [("float32", torch.float32)]
    return [("float32", torch.float32), ("tf32", torch.float32), ("bfloat16", torch.bfloat16)]


def measure(bench: Any, precision: Any) -> list[Row]:
    """`precision` sets what float32 products may round, as a context."""
    rows: list[Row] = []
    for name, dtype in types_of(bench):
        groups = [products, convolutions]
        if name != "tf32":
            groups += [attention, elementwise, images]
        with precision(bench.torch, name):
            for group in groups:
                for row, run in group(bench, dtype):
                    try:
                        seconds = bench.best_s(run)
                    except RuntimeError:  # too little memory, or no code for the type
                        continue
                    rows.append({**row, "dtype": name, "time_ns": round(seconds * 1e9)})
    return rows
