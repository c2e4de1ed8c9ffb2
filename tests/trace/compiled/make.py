"""Writes traces of compiled code and the files that say where its kernels come from, in every form
that torch has for them, and near misses. `make.py` rewrites them, `make.py --check` compares.

All are about one model: two blocks of a norm, two linear layers with a GELU between them, and a
residual sum. Inductor fuses the sum of the first block with the norm of the second."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
KEY = "fplantedforwardkey2345672345672345672345672345672345"
BACKWARD_KEY = "fplantedbackwardkey23456723456723456723456723456723"
OTHER_KEY = "fotherrunskey23456723456723456723456723456723456723"
SOURCE = "/home/user/model.py"
GEMM = "sm90_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8"
# Kernel or op of each call, microseconds, and its layers with the bytes that they write.
FORWARD = [
    ("triton_per_fused_native_layer_norm_0", 10, {"blocks.0.norm": 24576}),
    ("extern_kernels.addmm", 40, {"blocks.0.up": 32768}),
    ("triton_poi_fused_gelu_1", 6, {"blocks.0": 65536}),
    ("extern_kernels.addmm", 42, {"blocks.0.down": 8192}),
    ("triton_per_fused_add_native_layer_norm_2", 9, {"blocks.0": 8192, "blocks.1.norm": 24576}),
    ("extern_kernels.addmm", 41, {"blocks.1.up": 32768}),
    ("triton_poi_fused_gelu_1", 7, {"blocks.1": 65536}),
    ("extern_kernels.addmm", 43, {"blocks.1.down": 8192}),
    ("triton_poi_fused_add_3", 5, {"blocks.1": 8192}),
]
BACKWARD = [
    ("triton_per_fused_native_layer_norm_backward_0", 12, "addmm_3 primals_8"),
    ("extern_kernels.mm", 50, "buf1 primals_12"),
    ("extern_kernels.mm", 51, "buf2 primals_6"),
]


class Trace:
    def __init__(self):
        self.events = []
        self.correlation = 0

    def add(self, category, name, start, length, pid=1, tid=1, **args):
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
        self.events.append(event | {"ts": start, "dur": length, "args": args})

    def launch(self, name, start, length, at, **more):
        self.correlation += 1
        call = "cuLaunchKernelEx" if name.startswith("triton_") else "cudaLaunchKernel"
        self.add("cuda_runtime", call, at, 2, correlation=self.correlation)
        self.kernel(name, start, length, **more)

    def kernel(self, name, start, length, **more):
        args = {"device": 0, "stream": 7, "correlation": self.correlation}
        args |= {"grid": [264, 1, 1], "block": [128, 1, 1]} | more
        self.add("kernel", name, start, length, 0, 7, **args)

    def write(self, path, **more):
        device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 80 << 30,
                  "computeMajor": 9, "computeMinor": 0, "numSms": 132}  # fmt: skip
        lines = ",\n".join(json.dumps(event) for event in self.events)
        head = json.dumps({"schemaVersion": 1, "deviceProperties": [device]} | more)
        put(path, f'{head[:-1]}, "traceEvents": [\n{lines}\n]}}\n')


FILES = {}


def put(path, text):
    FILES[path] = text


def op_of(name):
    return name if name.startswith("triton_") else name.replace("extern_kernels.", "aten::")


def run_graph(trace, calls, start, key, rename=str, stacks=None, with_ops=True):
    """One call of a compiled graph from `start` on: its ops, launches and kernels."""
    if key:
        name = f"## Call CompiledFxGraph {key} ##"
        trace.add("user_annotation", name, start, len(calls) * 60 + 10)
    for number, (name, length, _) in enumerate(calls):
        at = start + 5 + number * 60
        kernel = rename(name) if name.startswith("triton_") else GEMM
        if with_ops:
            shapes = {}
            if name == "extern_kernels.addmm":
                up, down = [[256], [32, 64], [64, 256]], [[64], [32, 256], [256, 64]]
                dims = up if number % 4 == 1 else down
                shapes = {"Input Dims": dims, "Input type": ["float"] * 3}
            trace.add("cpu_op", rename(op_of(name)), at, 8, **shapes)
        more = {"stack": [stacks[number]]} if stacks else {}
        trace.launch(kernel, at + 5, length, at + 1, **more)


def region(trace, start, length, name="Torch-Compiled Region: 0/0"):
    trace.add("cpu_op", name, start, length)


def forward_trace(key=KEY, steps=2, **options):
    trace = Trace()
    for step in range(steps):
        region(trace, 100 + step * 1000, 600)
        run_graph(trace, FORWARD, 105 + step * 1000, key, **options)
    return trace


def framed_trace():
    trace = Trace()
    for step in range(2):
        start = 100 + step * 1000
        trace.add("python_function", "nn.Module: OptimizedModule_0", start, 700)
        trace.add("python_function", "nn.Module: Net_0", start + 2, 690)
        region(trace, start + 3, 650)
        run_graph(trace, FORWARD, start + 5, KEY)
    return trace


def training_trace():
    trace = forward_trace(steps=1)
    name = "CompiledFunctionBackward"
    trace.add("cpu_op", f"autograd::engine::evaluate_function: {name}", 1000, 400,
              **{"Sequence number": 7, "Fwd thread id": 1})  # fmt: skip
    trace.add("cpu_op", name, 1001, 390, **{"Sequence number": 7, "Fwd thread id": 1})
    run_graph(trace, BACKWARD, 1005, BACKWARD_KEY)
    return trace


def replayed_trace():
    """A CUDA graph of the forward, with the helper of a product that was split."""
    trace = Trace()
    for step in range(2):
        start = 100 + step * 1000
        region(trace, start, 200)
        trace.correlation += 1
        trace.add("cuda_runtime", "cudaGraphLaunch", start + 5, 9, correlation=trace.correlation)
        at = start + 20
        for number, (name, length, _) in enumerate(FORWARD):
            kernel = name if name.startswith("triton_") else GEMM
            trace.kernel(kernel, at, length)
            at += length + 1
            if number == 3:
                trace.kernel("void cublasLt::splitKreduce_kernel<32, 16, int>", at, 3)
                at += 4
    return trace


EAGER = ["embedding_kernel", GEMM, "softmax_warp_forward", GEMM, "vectorized_layer_norm_kernel",
         GEMM, "vectorized_elementwise_kernel", GEMM, GEMM]  # fmt: skip


def run_model(trace, start, is_eager):
    """A model of two layers; 5 kernels in the first one, 4 in the second."""
    trace.add("python_function", "nn.Module: Net_0", start, 490)
    trace.add("python_function", "nn.Module: Layer_0", start + 5, 200)
    trace.add("python_function", "nn.Module: Layer_1", start + 250, 200)
    for number, name in enumerate(EAGER):
        at = start + 10 + number * 30 + (100 if number >= 5 else 0)
        trace.correlation += 1
        trace.add("cuda_runtime", "cudaLaunchKernel", at, 2, correlation=trace.correlation)
        if is_eager:
            trace.kernel(name, at + 5, 10)


def served_trace():
    """Replays in another process run, outside of any module."""
    trace = Trace()
    for step in range(3):
        start = 100 + step * 1000
        trace.correlation += 1
        trace.add("cuda_runtime", "cudaGraphLaunch", start, 9, correlation=trace.correlation)
        for number, name in enumerate(EAGER):
            trace.kernel(name, start + 20 + number * 20, 10 + number)
    return trace


def captured_trace(with_kernels):
    trace = Trace()
    if with_kernels:
        run_model(trace, 100, True)
    trace.add("cuda_runtime", "cudaStreamBeginCapture", 1000, 5)
    run_model(trace, 1100, False)
    trace.add("cuda_runtime", "cudaStreamEndCapture", 2000, 5)
    return trace


# The texts of torch.


def dynamo_graph():
    inputs, lines = [], []
    for block in range(2):
        for layer in ("norm", "up", "down"):
            for name in ("weight", "bias"):
                inputs.append(
                    f"L_self_modules_blocks_modules_{block}_modules_{layer}_parameters_{name}_"
                )
    inputs.insert(0, "L_x_")
    types = ", ".join(f'{name}: "f32[64][1]cuda:0"' for name in inputs)
    lines.append("class GraphModule(torch.nn.Module):")
    lines.append(f"    def forward(self, {types}):")
    lines += [f"        {name.lower()} = {name}" for name in inputs]

    def node(line, function, name, expression):
        lines.append("")
        lines.append(f"        # File: {SOURCE}:{line} in {function}, code: ...")
        lines.append(f'        {name}: "f32[32, 64][64, 1]cuda:0" = {expression};  x = None')

    def parameter(block, layer, name):
        return f"l_self_modules_blocks_modules_{block}_modules_{layer}_parameters_{name}_"

    value = "l_x_"
    for block in range(2):
        end = f"_{block}" if block else ""
        weights = [(parameter(block, layer, "weight"), parameter(block, layer, "bias"))
                   for layer in ("norm", "up", "down")]  # fmt: skip
        norm = f"({value}, (64,), {weights[0][0]}, {weights[0][1]}, 1e-05)"
        up = f"(layer_norm{end}, {weights[1][0]}, {weights[1][1]})"
        down = f"(gelu{end}, {weights[2][0]}, {weights[2][1]})"
        first, second = ("linear_2", "linear_3") if block else ("linear", "linear_1")
        node(21, "forward", f"layer_norm{end}", f"torch.nn.functional.layer_norm{norm}")
        node(22, "forward", first, f"torch._C._nn.linear{up}")
        node(23, "forward", f"gelu{end}", "torch.nn.functional.gelu(linear, approximate = 'none')")
        node(24, "forward", second, f"torch._C._nn.linear{down}")
        node(24, "forward", f"x_{block + 1}", f"{value} + linear_1")
        value = f"x_{block + 1}"
    lines.append(f"        return ({value},)")
    return "\n".join(lines)


def compiled_graph():
    nodes = [("var_mean", None), ("mul", "32, 64"), ("mul_1", "32, 64"), ("add_1", "32, 64"),
             ("addmm", "32, 256"), ("gelu", "32, 512"), ("addmm_1", "32, 64"),
             ("add_2", "32, 64"), ("var_mean_1", None), ("mul_4", "32, 64"), ("mul_5", "32, 64"),
             ("add_3", "32, 64"), ("addmm_2", "32, 256"), ("gelu_1", "32, 512"),
             ("addmm_3", "32, 64"), ("add_4", "32, 64")]  # fmt: skip
    lines = ["class GraphModule(torch.nn.Module):", "    def forward(self, primals_1):"]
    for name, shape in nodes:
        kind = f': "f32[{shape}][64, 1]cuda:0"' if shape else ""
        lines.append(f"        {name}{kind} = torch.ops.aten.some.default(primals_1);  x = None")
    lines.append("        return (add_4,)")
    return "\n".join(lines)


SOURCES = ["layer_norm", "layer_norm, linear", "linear, gelu", "gelu, linear_1",
           "linear_1, x_1, layer_norm_1", "layer_norm_1, linear_2", "linear_2, gelu_1",
           "gelu_1, linear_3", "linear_3, x_2"]  # fmt: skip
POST = [["var_mean", "mul", "mul_1", "add_1"], ["addmm"], ["gelu", "view_1"], ["addmm_1"],
        ["add_2", "view_3", "var_mean_1", "mul_4", "mul_5", "add_3"], ["addmm_2"],
        ["gelu_1", "view_5"], ["addmm_3"], ["add_4", "view_7"]]  # fmt: skip
TO_PRE = {"var_mean": "layer_norm", "mul": "layer_norm", "mul_1": "layer_norm",
          "add_1": "layer_norm", "addmm": "linear", "view_1": "linear", "gelu": "gelu",
          "addmm_1": "linear_1", "view_3": "linear_1", "add_2": "x_1",
          "var_mean_1": "layer_norm_1", "mul_4": "layer_norm_1", "mul_5": "layer_norm_1",
          "add_3": "layer_norm_1", "addmm_2": "linear_2", "view_5": "linear_2",
          "gelu_1": "gelu_1", "addmm_3": "linear_3", "view_7": "linear_3",
          "add_4": "x_2"}  # fmt: skip
LINES = [21, 22, 23, 24, 24, 22, 23, 24, 24]


def stack(line):
    return f'  File "{SOURCE}", line {line}, in forward\n    y = ...\n        ^^^^^^^\n'


def wrapper(direction, with_handles=True, rename=str):
    calls = FORWARD if direction == "forward" else BACKWARD
    lines = [f"# AOT ID: ['0_{direction}']", "import torch", "",
             "# Topologically Sorted Source Nodes: [x_2], Original ATen: [aten.add]",
             "triton_poi_fused_add_3 = async_compile.triton('triton_poi_fused_add_3', '''",
             "def triton_poi_fused_add_3(in_ptr0):", "    extern_kernels.addmm(never)",
             "''', device_str='cuda')", "", "class Runner:", "    def call(self, args):",
             "        primals_1, primals_2 = args"]  # fmt: skip
    for number, (name, _, about) in enumerate(calls):
        lines.append("        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)")
        if direction == "forward":
            lines.append(f"        # Topologically Sorted Source Nodes: [{SOURCES[number]}], "
                         "Original ATen: [aten.some]")  # fmt: skip
        if with_handles:
            lines.append(f"        # [Provenance debug handles] {rename(name)}:{number + 1}")
        used = ", ".join(about.split()) if direction == "backward" else "buf0"
        if name.startswith("triton_"):
            lines.append("        stream0 = get_raw_stream(0)")
            lines.append(f"        {rename(name)}.run({used}, 2048, stream=stream0)")
        else:
            lines.append(f"        {name}({used}, out=buf0)")
        lines.append("        del buf0")
    lines += ["        return (buf0, )", "", "def benchmark_compiled_module(times=10):",
              "    extern_kernels.addmm(never)"]  # fmt: skip
    return "\n".join(lines)


def mappings():
    kernels = {f"{name}:{i + 1}": POST[i] for i, (name, _, _) in enumerate(FORWARD)}
    return json.dumps({"preToPost": {}, "postToPre": {a: [b] for a, b in TO_PRE.items()},
                       "cppCodeToPost": kernels, "postToCppCode": {}, "version": 2.0})  # fmt: skip


def stacks():
    return json.dumps({f"{name}:{i + 1}": [stack(LINES[i])]
                       for i, (name, _, _) in enumerate(FORWARD)})  # fmt: skip


def entry(about, payload, frame=0):
    head = about | {"frame_id": frame, "frame_compile_id": 0, "attempt": 0, "has_payload": "0" * 32}
    body = "".join(f"\t{line}\n" for line in payload.split("\n"))
    return (
        f"V1117 18:12:58.433000 5409 torch/_inductor/compile_fx.py:1624] {json.dumps(head)}\n{body}"
    )


def artifact(name, payload, encoding="string"):
    return entry({"artifact": {"name": name, "encoding": encoding}}, payload)


def log(key=KEY, with_provenance=True, with_backward=False, rename=str):
    parts = [
        'V1117 18:11:50.000000 5409 torch/_logging/structured.py:28] {"str": ["model.py", 0]}\n',
        entry({"chromium_event": {}}, '{\n"name": "fx_graph_cache_miss",\n"key": "wrong"\n}'),
        entry({"dynamo_output_graph": {"sizes": {"l_x_": [32, 64]}}}, dynamo_graph()),
        artifact("before_pre_grad_graph", dynamo_graph() + "\n\n # graph id: 139808172565584"),
        artifact("inductor_post_grad_graph", compiled_graph()),
        entry({"inductor_output_code": {"filename": "/tmp/x.py"}},
              wrapper("forward", with_provenance, rename)),
    ]  # fmt: skip
    if with_provenance:
        names = "inductor_provenance_tracking_"
        parts.append(artifact(names + "node_mappings", mappings(), "json"))
        parts.append(artifact(names + "kernel_stack_traces", stacks(), "json"))
    if key:
        cache = json.dumps({"cache_status_detailed": "full_miss", "key": key, "components": []})
        parts.append(artifact("fx_graph_cache_miss", cache, "json"))
    if with_backward:
        parts.append(entry({"inductor_output_code": {}}, wrapper("backward", with_provenance)))
        cache = json.dumps({"cache_status_detailed": "full_miss", "key": BACKWARD_KEY})
        parts.append(artifact("fx_graph_cache_miss", cache, "json"))
    return "".join(parts)


def note(key=KEY):
    calls = [{"name": name, "source": f"{SOURCE}:{LINES[i]}",
              "layers": [[path, size, "Block" if path.count(".") == 1 else "Linear"]
                         for path, size in layers.items()]}
             for i, (name, _, layers) in enumerate(FORWARD)]  # fmt: skip
    parts = []
    for number, some in enumerate((calls[:4], calls[4:])):
        parts.append(json.dumps({"graph": key, "backward": False, "part": number, "calls": some}))
    return {f"compiled_graph.0.{i}": text for i, text in enumerate(parts)}


def rename_other(name):
    return name.replace("fused", "fused_other")


def make():
    name = "dedicated_log_torch_trace_planted.log"
    forward_trace().write("graph-only.json")
    forward_trace(key=None).write("region-only.json")
    forward_trace().write("log/trace.json")
    put(f"log/{name}", log())
    forward_trace().write("comments/trace.json")
    put(f"comments/{name}", log(with_provenance=False))
    training_trace().write("backward/trace.json")
    put(f"backward/torch_trace/{name}", log(with_backward=True))
    replayed_trace().write("replay/trace.json")
    put(f"replay/{name}", log())
    framed_trace().write("frames/trace.json")
    put(f"frames/{name}", log())
    forward_trace().write("debug/trace.json")
    put("debug/torch_compile_debug/model_0/inductor_output_code_x.txt", wrapper("forward"))
    put("debug/torch_compile_debug/model_0/inductor_provenance_tracking_node_mappings.json",
        mappings())  # fmt: skip
    put("debug/torch_compile_debug/model_0/inductor_provenance_tracking_kernel_stack_traces.json",
        stacks())  # fmt: skip
    forward_trace().write("note.json", pyrometer=note())
    forward_trace(stacks=[stack(line) for line in LINES]).write("stacks.json")
    served_trace().write("capture-file/trace.json")
    captured_trace(True).write("capture-file/capture_traces/bs_2_rank0.json")
    served_trace().write("capture-launches/profiles/trace.json")
    captured_trace(False).write("capture-launches/capture_traces/bs_2.json")
    # Near misses.
    served_trace().write("no-capture/trace.json")
    forward_trace().write("no-capture/capture_traces/bs_2.json")
    put("no-capture/capture_traces/bs_4.json", '{"traceEvents": [')
    forward_trace().write("other-run/trace.json")
    put(f"other-run/{name}", log(key=OTHER_KEY))
    forward_trace(key=None).write("other-names/trace.json")
    put(f"other-names/{name}", log(key=None, rename=rename_other))
    forward_trace().write("truncated/trace.json")
    put(f"truncated/{name}", log()[:9000])
    forward_trace().write("hostile/trace.json")
    hostile = log().replace('"cppCodeToPost": {', '"cppCodeToPost": ' + "[" * 500 + "{")
    put(f"hostile/{name}", hostile.replace("parameters_weight_", "parameters_" + "x" * 3000))
    put("no-log.log", "this is no log\n" * 10)


def main():
    make()
    wrong = []
    for path, text in FILES.items():
        file = HERE / path
        if "--check" in sys.argv:
            if not file.exists() or file.read_text() != text:
                wrong.append(path)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if wrong:
        sys.exit(f"differ from make.py: {', '.join(wrong)}")


main()
