"""Writes small traces without profiler steps: one for every source of inferred steps, and near
misses that show no loop. `make.py` rewrites them, `make.py --check` compares."""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
PLANTED = HERE.parent / "planted" / "make.py"
_spec = importlib.util.spec_from_file_location("planted", PLANTED)
planted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(planted)
Trace, MAP, PRODUCT = planted.Trace, planted.MAP, planted.PRODUCT
LOAD = planted.LOADER.format("SingleProcess")


def start_up(t, until):
    """Imports, the first call of the runtime, and weights that are filled."""
    t.add("python_function", "<frozen importlib._bootstrap>(1165): _find_and_load", 0, until // 2)
    t.add("cuda_runtime", "cudaFree", until // 2, until // 4)
    t.op("aten::normal_", until * 3 // 4, until // 8)


def training_step(t, at, loads=1, kernels=True):
    """1000 us: a batch, a forward and a backward op, an update, and a number for the log."""
    for i in range(loads):
        t.add("user_annotation", LOAD, at + 10 * i, 8)
    number = {"Sequence number": at}
    shapes = {"Input Dims": [[8, 16], [4, 16]], "Input type": ["float", "float"]}
    t.add("cpu_op", "aten::linear", at + 100, 200, **number, **shapes, **{"Fwd thread id": 0})
    backward = "autograd::engine::evaluate_function: AddmmBackward0"
    t.add("cpu_op", backward, at + 400, 200, **number, **{"Fwd thread id": 1})
    if kernels:
        t.kernel(at + 150, 300)
        t.kernel(at + 460, 200, MAP)
    t.add("user_annotation", "Optimizer.step#SGD.step", at + 700, 100)
    t.op("aten::add_", at + 710, 50)
    t.op("aten::item", at + 850, 20)


def from_optimizer():
    t = Trace()
    start_up(t, 4000)
    for i in range(4):
        training_step(t, 4000 + 1000 * i)
    return t


def optimizer_without_loader():
    t = Trace()
    start_up(t, 4000)
    for i in range(4):
        training_step(t, 4000 + 1000 * i, loads=0)
    return t


def on_the_host():
    t = Trace()
    t.device = None
    for i in range(3):
        training_step(t, 1000 * i, kernels=False)
    return t


def one_update():
    t = Trace()
    start_up(t, 4000)
    training_step(t, 4000)
    return t


def updates_in_backward():
    """An optimizer in hooks of the backward updates every parameter on its own: one step."""
    t = Trace()
    t.op("aten::linear", 0, 100)
    t.op("autograd::engine::evaluate_function: AddmmBackward0", 200, 700)
    for i in range(6):
        t.add("user_annotation", "Optimizer.step#SGD.step", 210 + 100 * i, 50)
    return t


def from_loader():
    """Inference; the data loader is asked once more at the end."""
    t = Trace()
    for i in range(5):
        t.add("user_annotation", LOAD, 1000 * i, 100)
        if i < 4:
            t.op("aten::linear", 1000 * i + 200, 300, [[8, 16], [4, 16]])
            t.kernel(1000 * i + 300, 400)
    return t


def module(calls, blocks=3):
    t = Trace()
    start_up(t, 2000)
    for i in range(calls):
        at = 2000 + 1000 * i
        t.add("python_function", "nn.Module: Net_0", at, 100 + 200 * blocks)
        for block in range(blocks):
            t.add("python_function", f"nn.Module: Block_{block}", at + 10 + 200 * block, 150)
            t.op("aten::linear", at + 20 + 200 * block, 100, [[8, 16], [4, 16]])
            t.kernel(at + 50 + 200 * block, 100)
        t.op("aten::argmax", at + 200 + 200 * blocks, 50)
    return t


def kernels(steps, copies):
    """Two kernels of an embedding, four layers of two, and a head; a copy per step."""
    t = Trace()
    t.kernel(10, 20, "void fill_kernel()")
    for i in range(steps):
        at = 1000 + 1000 * i
        if copies:
            t.copy(at, 5, 4096)
        t.kernel(at + 20, 20, "void embedding_kernel()")
        for layer in range(4):
            t.kernel(at + 60 + 100 * layer, 40)
            t.kernel(at + 110 + 100 * layer, 20, MAP)
        t.kernel(at + 500, 60, "void softmax_kernel()")
    return t


def layers_that_synchronize():
    """One pass through eight layers, each of which waits for the device: no loop."""
    t = Trace()
    t.copy(0, 5, 4096)
    t.kernel(20, 20, "void embedding_kernel()")
    for layer in range(8):
        at = 100 + 100 * layer
        t.kernel(at, 20)
        t.kernel(at + 25, 20, MAP)
        t.kernel(at + 50, 20, "void topk_kernel()")
        t.add("cuda_runtime", "cudaStreamSynchronize", at + 60, 20)
    t.kernel(900, 60, "void norm_kernel()")
    t.kernel(970, 60, "void softmax_kernel()")
    return t


def graph_replays():
    """A training step captured as a graph, with its optimizer, and replayed."""
    t = Trace()
    t.add("cuda_runtime", "cudaStreamBeginCapture", 0, 5)
    for i in range(2):
        t.add("user_annotation", "Optimizer.step#SGD.step", 100 + 200 * i, 100)
    t.add("cuda_runtime", "cudaStreamEndCapture", 500, 5)
    for i in range(4):
        at = 1000 + 500 * i
        t.correlation += 1
        t.add("cuda_runtime", "cudaGraphLaunch", at, 20, correlation=t.correlation)
        for k, name in enumerate(["void first_kernel()", PRODUCT, MAP, PRODUCT, MAP]):
            args = {"device": 0, "stream": 7, "correlation": t.correlation}
            t.add("kernel", name, at + 30 + 60 * k, 50, 0, 7, **args)
    return t


def annotated():
    t = Trace()
    for i in range(4):
        t.add("user_annotation", f"iteration {10 + i}", 1000 * i, 900)
        t.add("user_annotation", f"iteration {10 + i} inner", 1000 * i + 10, 100)
        t.op("aten::linear", 1000 * i + 100, 300)
        t.kernel(1000 * i + 200, 300)
    return t


def requests(length, name="request", numbers=range(4)):
    """A range that repeats, with a nested one, in a program without a device; names may count."""
    t = Trace()
    t.op("aten::empty", 0, 10)
    for i in range(4):
        t.add("user_annotation", name.format(numbers[i]), 1000 * (i + 1), length)
        t.add("user_annotation", "tokenize", 1000 * (i + 1) + 10, 100)
        t.op("aten::linear", 1000 * (i + 1) + 120, 200)
    return t


def leak(grows):
    """Every step of a loop without marks keeps a tensor, or frees what it allocates."""
    t = Trace(memory=10 << 30)
    live = 1 << 20
    for i in range(12):
        at = 1000 * i
        training_step(t, at, loads=0)
        live += 1 << 20
        t.memory(at + 120, 1 << 20, live, 64 << 20, address=4096 + i)
        if not grows:
            live -= 1 << 20
            t.memory(at + 650, -(1 << 20), live, 64 << 20, address=4096 + i)
    return t


def attention(t, at, tokens, layers=2, heads=8, kv_heads=2, size=64):
    for layer in range(layers):
        dims = [[tokens, heads, size], [tokens, kv_heads, size], [tokens, kv_heads, size]]
        name = "vllm::unified_attention_with_output"
        t.op(name, at + 20 * layer, 10, dims, [planted.BF16] * 3)


def vllm(shapes, with_both=False):
    """A prefill, a mixed step, four decode steps, and one with half the batch after a pause.

    The host launches each step in 100 us; the device works for 800 us. SGLang can write names of
    both grammars (`with_both`), one in the other."""
    t = Trace()
    none = "sq0sk0sqsq0sqsk0"
    prompt, both = "sq512sk512sqsq262144sqsk262144", "sq256sk256sqsq65536sqsk65536"
    steps = [
        (f"execute_512_context_1({prompt})_generation_0({none})", 512),
        (f"execute_258_context_1({both})_generation_2(sq2sk600sqsq2sqsk600)", 258),
    ]
    for i in range(4):
        keys = 2000 + 4 * i
        sums = f"sq4sk{keys}sqsq4sqsk{keys}"
        steps.append((f"execute_4_context_0({none})_generation_4({sums})", 4))
    steps.append((f"execute_2_context_0({none})_generation_2(sq2sk500sqsq2sqsk500)", 2))
    for i, (name, tokens) in enumerate(steps):
        at = 1000 * i + (5000 if i == 6 else 0)
        t.add("user_annotation", name, at, 100)
        if with_both:
            t.add("user_annotation", "step[DECODE bs=4]", at + 5, 90)
        if shapes:
            attention(t, at + 10, tokens)
        t.kernel(at + 100, 800, launched=at + 80)
    return t


def sglang():
    t = Trace()
    names = [
        "step[EXTEND bs=2 toks=300 c_sq=300 c_sqsq=50000 c_sqsk=50000 c_sk=300]",
        "step[MIXED bs=3 c=1 g=2 c_sq=100 c_sk=100 c_sqsq=10000 c_sqsk=10000 "
        "g_sq=2 g_sk=302 g_sqsq=2 g_sqsk=302]",
        "step[IDLE bs=0]",
        "step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=304 g_sk=304]",
        "step[TARGET_VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=1248 g_sk=312]",
        "step[DECODE bs=2]",
    ]
    for i, name in enumerate(names):
        t.add("user_annotation", name, 1000 * i, 500)
        t.kernel(1000 * i + 100, 600, launched=1000 * i + 50)
    return t


def other_annotations():
    """Names that only look like those of serving engines."""
    t = Trace()
    for i, name in enumerate(["execute_model", "step[1]", "execute_context_x(1)_generation_2(2)",
                              "step[DECODE]", "execute_context_0(0)_generation_0(0)"]):  # fmt: skip
        t.add("user_annotation", name, 1000 * i, 500)
        t.kernel(1000 * i + 100, 600, launched=1000 * i + 50)
    return t


TRACES = {
    "optimizer": from_optimizer(),
    "optimizer-without-loader": optimizer_without_loader(),
    "host": on_the_host(),
    "optimizer-once.miss": one_update(),
    "optimizer-in-backward.miss": updates_in_backward(),
    "loader": from_loader(),
    "module": module(5),
    "module-once.miss": module(1, blocks=12),
    "kernels": kernels(6, copies=True),
    "kernels-of-layers.miss": layers_that_synchronize(),
    "kernels-without-host.miss": kernels(1, copies=True),
    "graph-replays": graph_replays(),
    "annotated": annotated(),
    "requests": requests(900),
    "requests-short.miss": requests(400),
    "requests-of-gloo.miss": requests(900, "gloo:all_reduce"),
    "requests-numbered": requests(900, "batch {}"),
    "requests-of-layers.miss": requests(900, "layer {}"),
    "requests-of-stages.miss": requests(900, "step {}", (1, 2, 1, 2)),
    "vllm": vllm(shapes=True),
    "vllm-without-shapes": vllm(shapes=False),
    "sglang": sglang(),
    "serving.miss": other_annotations(),
    "sglang-both": vllm(False, with_both=True),
    "leak": leak(True),
    "leak.miss": leak(False),
}


def main():
    stale = []
    for name, trace in TRACES.items():
        path = HERE / f"{name}.json"
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != trace.text():
                stale.append(path.name)
        else:
            path.write_text(trace.text())
    if stale:
        sys.exit(f"not as make.py writes them: {', '.join(stale)}")


if __name__ == "__main__":
    main()
