"""Writes the small traces of this folder again, byte for byte.

Each is a dialect or a defect that profilers have written; README.md says what each proves. Times
are in microseconds, as in the files themselves.
"""

import gzip
import json
import pathlib

HERE = pathlib.Path(__file__).parent
HOST, DEVICE, STREAM = 100, 0, 7
MAIN_THREAD, BACKWARD_THREAD = 100, 200
H100 = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85_000_000_000,
    "computeMajor": 9,
    "computeMinor": 0,
    "maxThreadsPerMultiprocessor": 2048,
    "numSms": 132,
}


class Trace:
    """Events as Kineto writes them today, and the ids that join them."""

    def __init__(self, **head):
        self.head = {"schemaVersion": 1, "deviceProperties": [H100], **head}
        self.events = []
        self.correlation = 0

    def add(self, category, name, start, duration, tid=MAIN_THREAD, pid=HOST, **args):
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": pid,
                "tid": tid,
                "ts": start,
                "dur": duration,
                "args": args,
            }
        )

    def op(self, name, start, duration, tid=MAIN_THREAD, **args):
        self.add("cpu_op", name, start, duration, tid, **args)

    def layer(self, name, start, duration):
        self.add("python_function", f"nn.Module: {name}", start, duration)

    def launch(self, start, kernel, at, duration, tid=MAIN_THREAD, category="kernel", **args):
        """A launch call of 5 us and the work that it starts."""
        self.correlation += 1
        call = {"kernel": "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync"}[category]
        self.add("cuda_runtime", call, start, 5, tid, correlation=self.correlation)
        if category == "kernel":
            args = {"grid": [264, 1, 1], "block": [256, 1, 1], **args}
        args = {"device": DEVICE, "stream": STREAM, "correlation": self.correlation, **args}
        self.add(category, kernel, at, duration, STREAM, DEVICE, **args)

    def write(self, name, mend=lambda text: text):
        self.head["traceEvents"] = self.events
        write(name, mend(json.dumps(self.head, indent=1)))


def write(name, text):
    data = text.encode("utf-8", "surrogateescape")
    if name.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    (HERE / name).write_bytes(data)


def training_step(trace, number, start):
    """Copy, forward of two layers, backward, optimizer: 100 us of device time in 1,000 us."""
    trace.add("user_annotation", f"ProfilerStep#{number}", start, 1000)
    trace.launch(start + 10, "Memcpy HtoD (Pageable -> Device)", start + 20, 10,
                 category="gpu_memcpy", bytes=65536)  # fmt: skip
    trace.add("python_function", "train.py(12): step", start + 50, 900)
    trace.layer("Net_0", start + 100, 200)
    for index, at in ((0, start + 110), (1, start + 210)):
        trace.layer(f"Linear_{index}", at, 80)
        trace.op("aten::linear", at + 5, 70, **{"Input Dims": [[8, 16], [16, 16], [16]],
                 "Input type": ["float", "float", "float"]})  # fmt: skip
        trace.op("aten::addmm", at + 10, 60, **{"Sequence number": 10 * number + index,
                 "Fwd thread id": 0, "Input Dims": [[16], [8, 16], [16, 16], [], []],
                 "Input type": ["float", "float", "float", "Scalar", "Scalar"]})  # fmt: skip
        trace.launch(at + 20, "ampere_sgemm_32x32_tn", at + 30, 20)
    for index, at in ((1, start + 400), (0, start + 500)):
        node = "autograd::engine::evaluate_function: AddmmBackward0"
        join = {"Sequence number": 10 * number + index, "Fwd thread id": 1}
        trace.op(node, at, 80, BACKWARD_THREAD, **join)
        trace.op("AddmmBackward0", at + 5, 70, BACKWARD_THREAD, **join)
        trace.op("aten::mm", at + 10, 50, BACKWARD_THREAD, **{"Input Dims": [[16, 8], [8, 16]],
                 "Input type": ["float", "float"]})  # fmt: skip
        trace.launch(at + 20, "ampere_sgemm_32x32_nt", at + 30, 15, BACKWARD_THREAD)
    trace.add("user_annotation", "Optimizer.step#SGD.step", start + 700, 100)
    trace.op("aten::_foreach_add_", start + 710, 50)
    trace.launch(start + 720, "multi_tensor_apply_kernel", start + 730, 10)
    trace.op("aten::item", start + 850, 90)
    trace.launch(start + 860, "reduce_kernel", start + 870, 10)
    trace.add("cuda_runtime", "cudaStreamSynchronize", start + 880, 50)


def training():
    trace = Trace(baseTimeNanoseconds=1_700_000_000_000_000_000)
    for number, start in ((1, 1000), (2, 2100)):
        training_step(trace, number, start)
    total = 0
    for index, size in enumerate((4096, 8192, -4096, 2048)):
        total += size
        trace.events.append(
            {
                "ph": "i",
                "s": "t",
                "cat": "cpu_instant_event",
                "name": "[memory]",
                "pid": HOST,
                "tid": MAIN_THREAD,
                "ts": 1125 + 10 * index,
                "args": {
                    "Addr": 1000 + (0 if size < 0 else index),
                    "Bytes": size,
                    "Device Type": 1,
                    "Device Id": 0,
                    "Total Allocated": total,
                    "Total Reserved": 2097152,
                },
            }
        )
    return trace


def annotations():
    """No Python frames: layers come from the user's record_function ranges."""
    trace = Trace()
    for index, path in enumerate(("stem.conv", "stem.norm", "head")):
        at = 100 + 100 * index
        trace.add("user_annotation", f"fwd|{path}", at, 90)
        trace.op("aten::relu", at + 10, 60, **{"Sequence number": index, "Fwd thread id": 0})
        trace.launch(at + 20, "elementwise_kernel", at + 40, 30)
    return trace


def cpu_only():
    trace = Trace()
    trace.head["deviceProperties"] = []
    trace.layer("Net_0", 100, 300)
    trace.layer("Linear_0", 110, 100)
    trace.op("aten::linear", 120, 80, **{"Input Dims": [[32, 100], [50, 100], [50]],
             "Input type": ["float", "float", "float"]})  # fmt: skip
    trace.op("aten::addmm", 130, 60)
    trace.layer("ReLU_0", 250, 50)
    trace.op("aten::relu", 260, 30, **{"Input Dims": [[32, 50]], "Input type": ["float"]})
    return trace


def bare_array():
    """The exporter before Kineto: a list, with text for processes."""
    return [
        {"name": name, "ph": "X", "ts": start, "dur": duration, "tid": 1, "pid": "CPU functions",
         "args": {}}
        for name, start, duration in (("aten::add", 10.5, 4.25), ("aten::mul", 20, 3))
    ]  # fmt: skip


def names_of_2021():
    trace = Trace()
    base = 1_620_000_000_000_000
    trace.add(
        "Operator", "aten::relu", base + 100, 60, **{"Input dims": [[4, 4]], "external id": 3}
    )
    trace.add("Runtime", "cudaLaunchKernel", base + 110, 8, correlation=9, **{"external id": 3})
    trace.add("Kernel", "relu_kernel", base + 130, 25, STREAM, DEVICE, correlation=9, device=0,
              stream=7, **{"external id": 3})  # fmt: skip
    trace.add("Memset", "Memset (Device)", base + 160, 2, STREAM, DEVICE, correlation=10, device=0,
              stream=7, bytes=512)  # fmt: skip
    return trace


def rocm():
    trace = Trace()
    trace.head["deviceProperties"] = [{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}]
    trace.op("aten::mm", 100, 80)
    for index in range(2):
        trace.add("cuda_runtime", "hipLaunchKernel", 110 + 10 * index, 5, cid=209,
                  correlation=40 + index)  # fmt: skip
        # The second begins before the first has ended, on the same stream.
        trace.add("kernel", "Cijk_Alik_Bljk_BBS_BH", 130 + 20 * index, 40, 1, 2, device=2, stream=1,
                  correlation=40 + index)  # fmt: skip
    return trace


def collectives():
    trace = Trace(
        distributedInfo={
            "backend": "nccl",
            "rank": 1,
            "world_size": 4,
            "pg_count": 1,
            "pg_config": [],
        }
    )
    details = {
        "Collective name": "allreduce",
        "dtype": "Float",
        "In msg nelems": 1048576,
        "Out msg nelems": 1048576,
        "Group size": 4,
        "Process Group Name": "0",
    }
    trace.op("record_param_comms", 100, 30, **details)
    trace.launch(110, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 150, 100, **details)  # fmt: skip
    trace.op("aten::mm", 140, 30)
    trace.launch(145, "ampere_sgemm_128x64_nn", 160, 60, stream=8)
    trace.events[-1]["tid"] = 8
    return trace


def cuda_graph():
    trace = Trace()
    trace.add("cuda_runtime", "cudaGraphLaunch", 100, 20, correlation=5)
    for node in range(3):
        place = {"device": 0, "stream": 7, "graph id": 1, "graph node id": node + 1}
        at = 130 + 20 * node
        trace.add("kernel", f"fused_{node}", at, 15, STREAM, DEVICE, correlation=5, **place)
    return trace


def compiled():
    trace = Trace()
    trace.add("user_annotation", "Torch-Compiled Region: 0/0", 90, 100)
    trace.op("triton_poi_fused_add_relu_0", 100, 40, **{"Input Dims": [[64, 64], [64, 64]]})
    trace.add("cuda_driver", "cuLaunchKernel", 110, 6, correlation=77)
    trace.add("kernel", "triton_poi_fused_add_relu_0", 120, 12, STREAM, DEVICE, device=0, stream=7,
              correlation=77)  # fmt: skip
    return trace


def odd_names():
    trace = Trace()
    trace.op('say "hi" \\ \u00e9\u4e2d\U0001f525 \x1b[31m', 100, 10)
    trace.op("=cmd|' /C calc'!A0", 120, 10)
    trace.launch(122, "k<float, (lambda)#1>", 140, 5)
    return trace


def defects():
    """Defects found in real files, all in one trace."""
    trace = cpu_only()
    trace.op("aten::negative", 500, -4)
    trace.op("aten::without_end", 510, 0)
    trace.launch(520, "lonely_kernel", 530, 20)
    del trace.events[-2]
    return trace


def damage(text):
    """Makes valid JSON invalid in the ways that Kineto did."""
    text = text.replace('"aten::without_end"', '"aten::with"quote"')
    return text.replace('"dur": 80', '"dur": 80, "x": NaN')


def main():
    training().write("good-1-training.json")
    annotations().write("good-2-annotations.json")
    cpu_only().write("good-3-cpu-only.json")
    write("good-4-bare-array.json", json.dumps(bare_array()))
    names_of_2021().write("good-5-names-of-2021.json")
    rocm().write("good-6-rocm.json")
    collectives().write("good-7-collectives.json")
    cuda_graph().write("good-8-cuda-graph.json")
    compiled().write("good-9-compiled.json")
    odd_names().write("good-10-odd-names.json.gz")
    text = (HERE / "good-1-training.json").read_text()
    write("bad-1-truncated.json", text[: len(text) * 3 // 4])
    defects().write("bad-2-defects.json", damage)
    write("bad-3-empty.json", "")
    write("bad-4-no-events.json", '{"schemaVersion": 1, "traceEvents": []}')
    write("bad-5-not-a-trace.json", '{"model": "resnet18", "layers": [1, 2, 3]}')


if __name__ == "__main__":
    main()
