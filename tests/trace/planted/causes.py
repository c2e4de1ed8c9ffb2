"""Planted traces of the causes in the account of lost time: for every cause a step that has it
(cause-<name>.hit.json) and a step that nearly has it, but does not (.miss.json)."""

from make import BF16, MAP, Trace

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"
END = 10000


def step(first=0, last=END):
    """A step that device work covers from its start to its end, but for what is between."""
    t = Trace()
    t.step(1, 0, END)
    t.kernel(-10, first + 10, launched=-20)
    t.kernel(last, END + 10 - last, launched=1)
    return t


def gap(launched, host=None, name="", start=4000, end=4500):
    """A gap; the work that ends it was launched at `launched`, and the host ran `host` in it."""
    t = step(start, end + 1000)
    if host:
        t.add(host, name, start + 1, launched - start - 2)
    t.kernel(end, 1000, launched=launched)
    return t


def work(category, covered):
    """Work of a kind, alone or beside a kernel."""
    t = step(END if covered else 4000, 5000)
    if category == "copy":
        t.copy(4000, 1000, 1 << 20, stream=8, launched=10)
    else:
        t.kernel(4000, 1000, ALL_REDUCE, stream=8, launched=10)
    return t


def compute(is_kernel):
    t = Trace()
    t.step(1, 0, END)
    if is_kernel:
        t.kernel(100, 1000, MAP)
    else:
        t.copy(100, 1000, 1 << 20)
    return t


def peers(longest):
    """Equal collectives of which one takes longer: it waited for a rank that came late."""
    t = step(1000, 5000)
    for i, length in enumerate((100, 100, longest, 100)):
        fields = {"Collective name": "allreduce", "In msg nelems": 1 << 20, "Group size": 8}
        fields |= {"Out msg nelems": 1 << 20, "dtype": "Float", "Process Group Name": "0"}
        t.work(
            "kernel", ALL_REDUCE, "cudaLaunchKernel", 1000 + i * 1000, length, launched=10,
            stream=9, grid=[24, 1, 1], block=[512, 1, 1], **fields,
        )  # fmt: skip
    return t


def unrecorded(wait):
    """The first copy of the file waits behind work that is not in it."""
    t = Trace()
    t.step(1, 0, END)
    t.copy(10 + wait, 5, 4096, launched=10)
    t.kernel(15 + wait, END - 15 - wait, launched=20)
    return t


def before_first(start):
    """The first launch comes some time after the start of the step, or at it."""
    t = Trace()
    t.step(1, 0, END)
    t.kernel(start + 5, END - start - 5, launched=start)
    return t


def after_last(end):
    t = Trace()
    t.step(1, 0, END)
    t.kernel(5, end - 5, launched=0)
    return t


def without_launch(*lost, later=None):
    """The launches of some work are not in the file: 2 is the last work, 3 the one after the gap.
    `later` is when the last work was launched, if that is not at the start."""
    t = gap(4490, "cpu_op", "aten::mm")
    for event in t.events:
        if (
            later is not None
            and event["cat"] == "cuda_runtime"
            and event["args"]["correlation"] == 2
        ):
            event["ts"] = later
    t.events = [
        e for e in t.events if e["cat"] != "cuda_runtime" or e["args"]["correlation"] not in lost
    ]
    return t


def on_host(category, name):
    """A run without a device: the time is in ops, in communication or in Python."""
    t = Trace()
    t.device = None
    t.step(1, 0, END)
    t.op("aten::mm", 0, 3000, [[64, 64], [64, 64]], [BF16, BF16])
    t.add(category, name, 3000, 7000)
    return t


def without_device_work(name):
    """Ops of a run whose device was not recorded."""
    t = Trace()
    t.device = None
    t.op("aten::mm", 0, 100, [[64, 64], [64, 64]], [BF16, BF16])
    t.op(name, 100, 5)
    return t


PLANTED = {
    "defect-no-device-events": (
        without_device_work("aten::record_stream"),
        without_device_work("aten::add"),
    ),
    "cause-compute": (compute(True), compute(False)),
    "cause-communication": {
        "hit": work("collective", covered=False),
        "hit2": on_host("cpu_op", "c10d::allreduce_"),
        "miss": work("collective", covered=True),
        "miss2": on_host("cpu_op", "aten::add"),
    },
    "cause-peer_wait": (peers(250), peers(190)),
    "cause-copy": (work("copy", covered=False), work("copy", covered=True)),
    "cause-python": {
        "hit": gap(4490, "python_function", "train.py(12): step"),
        "miss": gap(3900),  # the next work had been launched before the gap
    },
    "cause-ops": {
        "hit": gap(4490, "cpu_op", "aten::mm"),
        "hit2": on_host("cpu_op", "aten::add"),
        "hit3": without_launch(3, later=5400),  # the host launched nothing in the gap
        "miss": gap(4490, "python_function", "train.py(12): step"),
    },
    "cause-data_loading": {
        "hit": gap(4490, "user_annotation", LOADER),
        "miss": gap(4490, "user_annotation", "next batch"),
    },
    "cause-launch_latency": (gap(4450), gap(3900)),  # the other was queued before the gap
    # A stream works in order: the work of hit2 was launched before the last, at the start.
    "cause-queued": {"hit": gap(3900), "hit2": without_launch(3), "miss": gap(4450)},
    "cause-unrecorded": (unrecorded(800), unrecorded(90)),
    "cause-before_first": (before_first(1200), before_first(0)),
    "cause-after_last": (after_last(9000), after_last(END)),
    "cause-unknown": (without_launch(2, 3), without_launch(), without_launch(3)),
}
