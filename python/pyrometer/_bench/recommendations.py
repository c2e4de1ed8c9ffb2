"""Recommendations: a table of rules, each a number that was measured, the threshold from which it
is worth a word, and what to do. Thresholds are those of other tools where they have any, named
behind them; "own" are ours. What the analysis of traces finds in the recording follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

COLUMNS = ["subject", "recommendation", "evidence", "gain", "try", "outcome"]

CONTRACTIONS = ("mm", "linear", "conv", "attention", "matmul", "mkldnn")
LINEAR = ("addmm", "linear", "bmm", "mm")
ELEMENTWISE = (
    "add", "mul", "sub", "div", "relu", "gelu", "silu", "sigmoid", "tanh", "norm", "softmax",
    "dropout", "clamp", "exp", "pow", "copy_", "hardswish", "hardtanh", "where", "mean", "rsqrt",
)  # fmt: skip
MEBIBYTE = 2**20
KNEE_GAIN = 0.10  # a doubling of the batch that gains less is past the knee
WAITS = 0.30  # share of a call from which on a model waits
ITSELF = 0.002  # share of the time below which an operator does nothing itself


@dataclass
class Evidence:
    """What is known of a model after profiling it; None: not known."""

    kind: str = "module"
    precision: str = "fp32"
    on_gpu: bool = False
    batch_size: int = 1
    call_ms: float = 0.0
    batch_ms: dict[int, float] = field(default_factory=dict)  # of a call, by batch; run in turn
    half_type: tuple[str, str] | None = None  # a 16-bit type that is fast here, and why
    ops: list[tuple[str, float, int]] = field(default_factory=list)  # name, share, calls
    outside: float = 0.0  # share of a call that is in no operator
    classes: frozenset[str] = frozenset()  # of the layers
    channels_last: bool = False
    flops: int | None = None
    moved_bytes: int | None = None  # read and written by all operators
    weight_bytes: int | None = None
    zero_share: float | None = None  # of weights that are exactly 0
    activation_bytes: int | None = None
    device_bytes: int | None = None
    allocations: int = 0  # of one call
    allocated_bytes: int = 0
    fragmentation: float | None = None
    unused_bytes: int = 0  # that the fragmentation is of
    threads: int = 1
    usable: int = 1  # processors
    cpu_percent: float | None = None
    waiting: float | None = None  # share of a call in which no thread of it could compute
    gpu_percent: float | None = None
    disk_read_bytes: int = 0
    calls_timed: int = 0
    stages_ms: dict[str, float] = field(default_factory=dict)
    first_token_ms: float | None = None
    token_ms: float | None = None
    caches: bool | None = None  # config.use_cache
    cache_bytes: int | None = None  # of keys and values at the length that was run
    attention: str | None = None  # how transformers computes it
    findings: list[dict[str, Any]] = field(default_factory=list)

    def share(self, words: tuple[str, ...], but: tuple[str, ...] = ()) -> tuple[float, int]:
        """Of operators' own time, and calls, of those whose name has one of the words. Operators
        that only call others are no calls of their own."""
        found = [
            row
            for row in self.ops
            if any(word in _base(row[0]) for word in words)
            and not any(word in _base(row[0]) for word in but)
        ]
        calls = sum(row[2] for row in found if row[1] >= ITSELF)
        return sum(row[1] for row in found), calls


def _base(name: str) -> str:
    return name.split("::")[-1]


@dataclass
class Found:
    """A number with what it was seen in, and what following the advice may gain."""

    amount: float
    evidence: str
    gain: str
    variant: str = ""
    advice: str = ""  # where it depends on what was seen


@dataclass(frozen=True)
class Rule:
    subject: str
    least: float  # of the amount
    advice: str
    measure: Callable[[Evidence], Found | None]
    covers: tuple[str, ...] = ()  # findings of the recording that say the same


def _mebibytes(size: float) -> str:
    return f"{size / MEBIBYTE:.1f} MiB"


def _best_batch(e: Evidence) -> tuple[int, float, str] | None:
    """Of the batches that were run: the smallest that comes within 10% of the best throughput, what
    it gains, and what was seen."""
    rates = {size: size / ms for size, ms in sorted(e.batch_ms.items()) if ms > 0}
    if len(rates) < 2 or e.batch_size not in rates:
        return None
    best = max(rates.values())
    knee = min(size for size, rate in rates.items() if rate * (1 + KNEE_GAIN) >= best)
    seen = ", ".join(f"batch {size}: {e.batch_ms[size]:.3g} ms" for size in rates)
    if knee == max(rates):
        seen += "; larger ones were not run"
    return knee, rates[knee] / rates[e.batch_size] - 1, seen


def _batch(e: Evidence) -> Found | None:
    found = _best_batch(e)
    if found is None:
        return None
    knee, gain, seen = found
    return Found(gain, seen, f"{gain:.0%} throughput (measured)", f"batch={knee}",
                 f"raise the batch from {e.batch_size} to {knee}; benchmark() finds the knee",
                 )  # fmt: skip


def _dynamic_batching(e: Evidence) -> Found | None:
    found = _best_batch(e) if e.batch_size <= 4 else None
    if found is None:
        return None
    knee, gain, seen = found
    return Found(gain, seen, f"{gain:.0%} throughput with {knee} requests at once (measured)")


def _waiting_share(e: Evidence) -> float:
    """Of a call; by the use of the processor where the scheduler does not say it better."""
    if e.on_gpu:
        return 0.0
    if e.waiting is not None:
        return e.waiting
    return 0.0 if e.cpu_percent is None else max(0.0, 1 - e.cpu_percent / 100)


def _waiting(e: Evidence) -> Found | None:
    share = _waiting_share(e)
    return Found(share, f"{share:.0%} of a call no thread of this process computes",
                 f"up to {share:.0%} of the time (estimate)")  # fmt: skip


def _use(e: Evidence) -> Found | None:
    if not e.on_gpu or e.gpu_percent is None:
        return None
    idle = 1 - e.gpu_percent / 100
    seen = f"the GPU is busy {e.gpu_percent:.0f}% of the time"
    advice = ""
    if e.cpu_percent is not None:
        seen += f", processors {e.cpu_percent:.0f}%"
        if e.cpu_percent >= 90 and e.gpu_percent < 10:
            advice = "the host holds the GPU up: move work there, or CUDA graphs, torch.compile"
    return Found(idle, seen, f"up to {idle:.0%} of the time (estimate)", "", advice)


def _precision(e: Evidence) -> Found | None:
    if e.precision != "fp32" or e.kind in ("onnx", "callable") or e.half_type is None:
        return None
    share, calls = e.share(CONTRACTIONS)
    can, why = e.half_type
    seen = f"{share:.0%} of the operators' time in {calls} products and convolutions; {why}"
    return Found(share, seen, f"up to {share / 2:.0%} of the time (estimate)", f"precision={can}",
                 f'precision="{can}"')  # fmt: skip


def _quantisation(e: Evidence) -> Found | None:
    if e.precision != "fp32" or e.on_gpu or e.kind not in ("module", "huggingface"):
        return None
    share, _ = e.share(LINEAR, but=("conv",))
    weights = e.weight_bytes or 0
    return Found(
        share,
        f"{share:.0%} of the operators' time in linear layers; weights are {_mebibytes(weights)}",
        f"up to {_mebibytes(weights * 0.75)} of memory (estimate); check the accuracy",
        "precision=int8",
    )


def _weight_memory(e: Evidence) -> Found | None:
    if not e.weight_bytes or not e.device_bytes or e.precision == "int8":
        return None
    share = e.weight_bytes / e.device_bytes
    return Found(
        share,
        f"weights {_mebibytes(e.weight_bytes)} of {_mebibytes(e.device_bytes)}, "
        f"activations {_mebibytes(e.activation_bytes or 0)}",
        f"{_mebibytes(e.weight_bytes * (0.75 if e.precision == 'fp32' else 0.5))} (estimate); "
        "check the accuracy",
    )


def _pruning(e: Evidence) -> Found | None:
    if e.zero_share is None:
        return None
    zeros, weights = e.zero_share, e.weight_bytes or 0
    return Found(zeros, f"{zeros:.0%} of the weights are 0, and are multiplied all the same",
                 f"up to {_mebibytes(weights * zeros)} and {zeros:.0%} of the products (estimate)",
                 )  # fmt: skip


def _fusion(e: Evidence) -> Found | None:
    share, calls = e.share(ELEMENTWISE, but=CONTRACTIONS)
    if calls < 5:
        return None
    return Found(share, f"{share:.0%} of the operators' time in {calls} elementwise and norm calls",
                 f"up to {share / 2:.0%} of the time (estimate)", "compile")  # fmt: skip


def _dispatch(e: Evidence) -> Found | None:
    if e.on_gpu or e.kind not in ("module", "huggingface"):
        return None  # on a GPU the findings about launches say it better
    share = max(0.0, e.outside - _waiting_share(e))  # a model that waits is not small
    return Found(share, f"{share:.0%} of a call is spent outside of operators, in Python and "
                 "dispatch", f"up to {share:.0%} of the time (estimate)", "compile")  # fmt: skip


def _folding(e: Evidence) -> Found | None:
    if e.kind != "module" or not any(name.startswith("Conv") for name in e.classes):
        return None
    share, calls = e.share(("batch_norm",))
    return Found(share, f"{share:.0%} of the operators' time in {calls} batch norms",
                 f"up to {share:.0%} of the time (estimate)", "fold")  # fmt: skip


def _layout(e: Evidence) -> Found | None:
    if "Conv2d" not in e.classes or e.channels_last or e.kind not in ("module", "huggingface"):
        return None
    share, calls = e.share(("conv",))
    return Found(share, f"{share:.0%} of the operators' time in {calls} convolutions",
                 "not estimated", "channels_last")  # fmt: skip


def _attention(e: Evidence) -> Found | None:
    if e.attention != "eager":
        return None
    share, calls = e.share(("softmax", "bmm", "baddbmm", "matmul"))
    return Found(share, f"attention is computed step by step: {share:.0%} of the operators' time "
                 f"in {calls} products and softmaxes",
                 f"up to {share / 2:.0%} of the time, and the matrix of scores (estimate)",
                 "attention=sdpa")  # fmt: skip


def _cache_off(e: Evidence) -> Found | None:
    if e.caches is not False or not e.first_token_ms or not e.token_ms:
        return None
    saved = 1 - e.token_ms / e.first_token_ms
    return Found(saved, f"config.use_cache is off: a token takes {e.first_token_ms:.3g} ms without "
                 f"the cache and {e.token_ms:.3g} ms with it",
                 f"{saved:.0%} of the time per token (measured)")  # fmt: skip


def _cache_size(e: Evidence) -> Found | None:
    if not e.cache_bytes or not e.weight_bytes:
        return None
    ratio = e.cache_bytes / e.weight_bytes
    return Found(ratio, f"keys and values of the tokens take {_mebibytes(e.cache_bytes)}, "
                 f"weights {_mebibytes(e.weight_bytes)}",
                 f"{_mebibytes(e.cache_bytes / 2)} with 8 bits (estimate)")  # fmt: skip


def _more_threads(e: Evidence) -> Found | None:
    if e.on_gpu:
        return None
    return Found(e.usable / max(e.threads, 1), f"{e.threads} threads on {e.usable} usable "
                 "processors", "not estimated", f"threads={e.usable}",
                 f"raise torch.set_num_threads() to {e.usable}")  # fmt: skip


def _fewer_threads(e: Evidence) -> Found | None:
    if e.on_gpu:
        return None
    return Found(e.threads / max(e.usable, 1), f"{e.threads} threads on {e.usable} usable "
                 "processors", "not estimated", f"threads={e.usable}",
                 f"lower torch.set_num_threads() to {e.usable}")  # fmt: skip


def _idle_threads(e: Evidence) -> Found | None:
    if e.on_gpu or e.cpu_percent is None or not 1 < e.threads <= e.usable:
        return None
    if _waiting_share(e) >= WAITS:
        return None  # threads are idle because the call waits, whatever their number
    idle = 1 - e.cpu_percent / (100 * e.threads)
    fewer = max(1, round(e.cpu_percent / 100))
    return Found(idle, f"{e.threads} threads use {e.cpu_percent / 100:.1f} processors",
                 "the processors for other copies of the model (estimate)", f"threads={fewer}",
                 f"torch.set_num_threads({fewer}), and a copy of the model for each of the "
                 "processors left, or a larger batch")  # fmt: skip


def _memory_bound(e: Evidence) -> Found | None:
    if e.on_gpu or not e.flops or not e.moved_bytes:
        return None  # a GPU's findings know its bandwidth
    intensity = e.flops / e.moved_bytes
    seen = f"{intensity:.2g} FLOPs for each byte that is moved; {_mebibytes(e.moved_bytes)} a call"
    return Found(1 / intensity, seen, "half of the bytes with 16-bit types (estimate)")


def _compute_bound(e: Evidence) -> Found | None:
    share, _ = e.share(CONTRACTIONS)
    if not e.flops or not e.moved_bytes or share < 0.8 or e.batch_size < 1:
        return None
    intensity = e.flops / e.moved_bytes
    rate = e.flops / (e.call_ms / 1e3) if e.call_ms > 0 else 0
    return Found(intensity, f"{intensity:.0f} FLOPs for each byte, {share:.0%} of the time in "
                 f"products; {rate / 1e9:.3g} GFLOP/s are reached",
                 "as many FLOPs as are left out (estimate)")  # fmt: skip


def _stage(name: str) -> Callable[[Evidence], Found | None]:
    def measure(e: Evidence) -> Found | None:
        whole = e.stages_ms.get("end_to_end")
        part = e.stages_ms.get(name)
        if not whole or part is None:
            return None
        share = min(part / whole, 1.0)
        seen = f"{part:.3g} of {whole:.3g} ms from end to end"
        return Found(share, seen, f"up to {share:.0%} of the time (estimate)")

    return measure


def _reading(e: Evidence) -> Found | None:
    each = e.disk_read_bytes / max(e.calls_timed, 1)
    return Found(each, f"{_mebibytes(e.disk_read_bytes)} were read from disks in "
                 f"{e.calls_timed} calls", "not estimated")  # fmt: skip


def _checkpointing(e: Evidence) -> Found | None:
    if not e.weight_bytes or not e.activation_bytes:
        return None
    return Found(e.activation_bytes / e.weight_bytes, f"activations "
                 f"{_mebibytes(e.activation_bytes)}, weights {_mebibytes(e.weight_bytes)}",
                 "most of the activations kept for the backward, for a second forward (estimate)",
                 )  # fmt: skip


def _sharding(e: Evidence) -> Found | None:
    if not e.weight_bytes or not e.device_bytes:
        return None
    held = e.weight_bytes + (e.activation_bytes or 0)
    return Found(held / e.device_bytes, f"weights {_mebibytes(e.weight_bytes)} and activations "
                 f"{_mebibytes(e.activation_bytes or 0)}, of {_mebibytes(e.device_bytes)}",
                 "fits (estimate)")  # fmt: skip


def _pooling(e: Evidence) -> Found | None:
    if not e.activation_bytes or e.allocations < 100:
        return None
    again = e.allocated_bytes / e.activation_bytes
    how = (
        "CUDA graphs, which keep their memory, or torch.compile"
        if e.on_gpu
        else "an allocator that keeps blocks (jemalloc, tcmalloc by LD_PRELOAD), or torch.compile"
    )
    return Found(again, f"{e.allocations} allocations a call, {again:.0f} times the peak in all",
                 "not estimated", "", how)  # fmt: skip


def _fragmentation(e: Evidence) -> Found | None:
    if e.fragmentation is None or e.unused_bytes < 64 * MEBIBYTE:
        return None
    how = (
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and sizes that stay the same"
        if e.on_gpu
        else "jemalloc or tcmalloc by LD_PRELOAD, or MALLOC_TRIM_THRESHOLD_=131072"
    )
    return Found(e.fragmentation, f"{_mebibytes(e.unused_bytes)} are held and not used, "
                 f"{e.fragmentation:.0%}", f"{_mebibytes(e.unused_bytes)} (estimate)", "", how,
                 )  # fmt: skip


RULES = (
    Rule("batch size", 0.10, "", _batch),  # own: the knee
    Rule("dynamic batching", 0.10, "collect requests that arrive together into one call",
         _dynamic_batching),  # own
    Rule("GPU use", 0.30, "a larger batch, or several models on this GPU", _use),  # SageMaker: 70%
    Rule("precision", 0.30, "", _precision,
         ("full-precision", "no-tensor-cores")),  # own
    Rule("quantisation", 0.50, 'precision="int8": linear layers are quantised as they run',
         _quantisation),  # own
    Rule("weights in memory", 0.50, "quantise the weights alone (8 or 4 bits), or offload them",
         _weight_memory),  # own
    Rule("pruning", 0.50, "drop whole channels (torch.nn.utils.prune.ln_structured), or store "
         "weights sparse (2:4: torch.sparse.to_sparse_semi_structured)", _pruning),  # own
    Rule("operator fusion", 0.10, "torch.compile: chains of elementwise operators become one",
         _fusion, ("fusible-chains",)),  # own
    Rule("dispatch", 0.30, "torch.compile, or a larger batch: the model is small for its calls",
         _dispatch),  # own
    Rule("waiting", WAITS, "the model waits, for a sleep, a lock, a disk, a network or another "
         "process: capture(with_stack=True) shows where; serve other requests meanwhile, from more "
         "threads or processes", _waiting),  # own
    Rule("norm folding", 0.03, "fold batch norms into the convolutions before them "
         "(torch.nn.utils.fusion.fuse_conv_bn_eval)", _folding),  # own
    Rule("memory layout", 0.30, "model.to(memory_format=torch.channels_last), inputs too", _layout,
         ("layout-conversions",)),  # own
    Rule("attention", 0.10, 'attn_implementation="sdpa" when the model is loaded: fused, without '
         "the matrix of scores", _attention),  # own
    Rule("key-value cache", 0.10, "generate with use_cache=True", _cache_off),  # own
    Rule("size of the cache", 1.0, "a quantised cache, grouped-query attention, or shorter "
         "contexts", _cache_size),  # own: as large as the weights
    Rule("threads", 1.01, "", _more_threads),
    Rule("threads", 1.01, "", _fewer_threads),
    Rule("idle threads", 0.50, "", _idle_threads),  # tb_plugin: use under 50%
    Rule("memory bound", 0.10, "move fewer bytes: 16-bit types, torch.compile, a larger batch for "
         "each reading of the weights", _memory_bound),  # own: under 10 FLOPs a byte
    Rule("compute bound", 50, "fewer FLOPs: a lower precision, a smaller or pruned model, smaller "
         "inputs", _compute_bound),  # own: the bands of `pyrometer cost`
    Rule("preprocessing", 0.05, "prepare the next request while this one runs, in other processes "
         "or on the GPU", _stage("preprocess")),  # tb_plugin: data loading over 5%
    Rule("postprocessing", 0.05, "do it on the device, or while the next request runs",
         _stage("postprocess")),  # as above
    Rule("reading from disk", 64 * 1024, "read before: warm the cache of files, keep weights "
         "resident, more memory", _reading),  # own
    Rule("gradient checkpointing", 1.0, "torch.utils.checkpoint on repeated blocks where it trains",
         _checkpointing),  # own
    Rule("model sharding", 0.90, "spread the weights over several devices (FSDP, tensor parallel)",
         _sharding, ("memory-nearly-full",)),  # tb_plugin: 90%
    Rule("memory pooling", 10, "", _pooling),  # own
    Rule("fragmentation", 0.20, "", _fragmentation, ("fragmentation",)),  # own
)  # fmt: skip


def _apply(rule: Rule, evidence: Evidence) -> list[str] | None:
    found = rule.measure(evidence)
    if found is None or found.amount < rule.least:
        return None
    return [
        rule.subject, found.advice or rule.advice, found.evidence, found.gain, found.variant, "",
    ]  # fmt: skip


def _from_findings(evidence: Evidence, said: set[str]) -> Iterator[list[str]]:
    for finding in evidence.findings:
        if finding["id"] in said:
            continue
        gain = finding["gain_ns"]
        yield [
            finding["title"], finding["advice"], finding["evidence"],
            "not estimated" if gain is None else f"{gain / 1e6:.3g} ms (estimate)", "", "",
        ]  # fmt: skip


def recommend(evidence: Evidence) -> list[list[str]]:
    """Rows of what is worth doing, in the order of the rules; none was tried yet."""
    rows = []
    said: set[str] = set()
    for rule in RULES:
        row = _apply(rule, evidence)
        if row is None:
            continue
        said.update(rule.covers)
        rows.append(row)
    return [*rows, *_from_findings(evidence, said)]
