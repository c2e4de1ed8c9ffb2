"""Replays recorded ops: rebuilds their inputs from recorded shapes, strides, types and scalars,
runs and times them, and compares with the recorded times. Written by `pyrometer replay`; needs
torch only.

usage: python replay.py [--device cpu|cuda] [--seconds S] [--json FILE] [--trace FILE] [--check]

--json FILE   write the results
--trace FILE  write a torch.profiler trace of the replayed ops, which `pyrometer learn` reads
--check       only run each op once, and compare the shapes of its outputs
"""

import argparse
import json
import math
import statistics
import sys
import time

import torch

OPS = []

for recorded_op in OPS:
    for list_name in ("types", "strides", "concrete"):
        recorded_op[list_name] = recorded_op[list_name] or []

MOST_ELEMENTS = 2**33
WARM_UP_RUNS, LEAST_RUNS, MOST_RUNS = 3, 10, 2000

TYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "c10::Half": torch.float16,
    "c10::BFloat16": torch.bfloat16,
    "long int": torch.int64,
    "long": torch.int64,
    "long long": torch.int64,
    "int": torch.int32,
    "short int": torch.int16,
    "short": torch.int16,
    "signed char": torch.int8,
    "unsigned char": torch.uint8,
    "bool": torch.bool,
    "c10::complex<float>": torch.complex64,
    "c10::complex<double>": torch.complex128,
    "c10::Float8_e4m3fn": torch.float8_e4m3fn,
    "c10::Float8_e5m2": torch.float8_e5m2,
}
# Numbers of c10::ScalarType.
SCALAR_TYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    9: torch.complex64,
    10: torch.complex128,
    11: torch.bool,
    15: torch.bfloat16,
}


class Rejected(Exception):
    """Why an op cannot be rebuilt."""


def storage_elements(dims, strides):
    if 0 in dims:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(dims, strides, strict=True))


def make_tensor(dims, strides, type_name, device, limit=None):
    """A tensor of values between 0.5 and 1.5; integers are below `limit`."""
    if type_name not in TYPES:
        raise Rejected(f"elements of the type {type_name or 'unknown'}")
    dtype = TYPES[type_name]
    if strides is None:
        strides = [1] * len(dims)
        for dim in reversed(range(len(dims) - 1)):
            strides[dim] = strides[dim + 1] * max(dims[dim + 1], 1)
    if len(strides) != len(dims) or min(strides, default=0) < 0:
        raise Rejected("strides that do not belong to the shape")
    count = storage_elements(dims, strides)
    if count > MOST_ELEMENTS:
        raise Rejected("a tensor that is too large")
    generator = torch.Generator(device=device).manual_seed(0)
    if dtype == torch.bool:
        flat = torch.rand(count, device=device, generator=generator) < 0.5
    elif dtype.is_floating_point or dtype.is_complex:
        flat = (torch.rand(count, device=device, generator=generator) + 0.5).to(dtype)
    else:
        high = max(1, min(limit if limit is not None else 4, torch.iinfo(dtype).max))
        low = 0 if limit is not None else 1
        high = max(high, low + 1)
        flat = torch.randint(low, high, (count,), device=device, generator=generator, dtype=dtype)
    view = flat.as_strided(dims, strides)
    if count < math.prod(dims):
        return view  # expanded: elements share memory
    return torch.empty_strided(dims, strides, dtype=dtype, device=device).copy_(view)


def index_limits(op):
    """Limits of the integers in tensors, by the position of the argument: valid indices."""
    name, dims = op["name"].split("::")[-1].rstrip("_"), op["dims"]

    def size(argument, dim):
        shape = dims[argument] if argument < len(dims) else []
        return (
            shape[dim]
            if shape and not isinstance(shape[0], list) and -len(shape) <= dim < len(shape)
            else 1
        )

    def scalar(argument, otherwise=0):
        text = op["concrete"][argument] if argument < len(op["concrete"]) else ""
        return int(text) if text.lstrip("-").isdigit() else otherwise

    if name in ("embedding", "embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"):
        limits = {1: size(0, 0)}
        if name != "embedding":
            limits[2] = 1  # offsets: every bag may begin at 0
        return limits
    if name in ("embedding_backward", "embedding_dense_backward"):
        return {1: scalar(2, 1)}
    if name in ("gather", "index_select", "take_along_dim"):
        dim = scalar(2 if name == "take_along_dim" else 1)
        return {1 if name == "take_along_dim" else 2: size(0, dim)}
    if name == "gather_backward":
        return {3: size(1, scalar(2))}
    if name in (
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "index_add",
        "index_copy",
        "index_fill",
        "index_reduce",
    ):
        return {2: size(0, scalar(1))}
    if name in ("take", "put"):
        return {1: math.prod(dims[0])}
    if name in (
        "nll_loss_forward",
        "nll_loss",
        "nll_loss_nd",
        "cross_entropy_loss",
        "nll_loss2d_forward",
        "nll_loss2d",
    ):
        return {1: size(0, 1 if len(dims[0]) > 1 else 0)}
    if name in ("nll_loss_backward", "nll_loss2d_backward"):
        return {2: size(1, 1 if len(dims[1]) > 1 else 0)}
    if name in ("max_pool2d_with_indices_backward",):
        return {7: size(1, -1) * size(1, -2)}
    if name in ("one_hot",):
        return {0: max(1, scalar(1, 1))}
    return {}


def index_limit(op, position, index, limits):
    """For lists of indices: the size of the dim that each indexes."""
    name = op["name"].split("::")[-1].rstrip("_")
    if (
        name in ("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put")
        and position == 1
    ):
        return op["dims"][0][index] if index < len(op["dims"][0]) else 1
    return limits.get(position)


def split_list(text):
    inside = text.strip()[1:-1].strip()
    return [item.strip() for item in inside.split(",")] if inside else []


def read_number(text):
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        return float(text)


def read_scalar(text, kind, device):
    """The value of an argument that is not a tensor."""
    if text in ("", "None", "null"):
        return None
    if kind == "str":
        return text
    if kind == "ScalarType":
        number = int(text)
        if number not in SCALAR_TYPES:
            raise Rejected(f"the element type number {number}")
        return SCALAR_TYPES[number]
    if kind == "MemoryFormat":
        formats = [
            torch.contiguous_format,
            torch.preserve_format,
            torch.channels_last,
            torch.channels_last_3d,
        ]
        return formats[int(text)]
    if kind == "Device":
        return torch.device(device)
    if kind in ("Layout", "Generator", "Stream"):
        return None
    if text.startswith("["):
        return [read_number(item) for item in split_list(text)]
    try:
        return read_number(text)
    except ValueError:
        raise Rejected(f"the value {text[:40]} of an argument") from None


def argument_kind(argument):
    """ "Tensor?" becomes "Tensor", "int[2]" "int[]"."""
    text = str(argument.type).replace("Optional[", "").replace("List[", "")
    return text.rstrip("]?")


def is_list(argument):
    return "List[" in str(argument.type)


def build_argument(op, position, argument, device, limits):
    dims = op["dims"][position] if position < len(op["dims"]) else []
    type_name = op["types"][position] if position < len(op["types"]) else ""
    strides = op["strides"][position] if position < len(op["strides"]) else None
    text = op["concrete"][position] if position < len(op["concrete"]) else ""
    if argument_kind(argument) == "Tensor":
        if is_list(argument) and dims and isinstance(dims[0], list):
            all_strides = strides if strides else [None] * len(dims)
            optional = "List[Optional" in str(argument.type)

            def element(index, shape, stride):
                if optional and not shape:
                    return None
                kind = element_type(op, type_name)
                limit = index_limit(op, position, index, limits)
                return make_tensor(shape, stride or None, kind, device, limit)

            pairs = zip(dims, all_strides, strict=False)
            return [element(index, *pair) for index, pair in enumerate(pairs)]
        if is_list(argument):
            raise Rejected("a list of tensors whose shapes were not recorded")
        if type_name not in TYPES:
            number = (
                read_scalar(text, "Scalar", device)
                if type_name in ("Scalar", "ScalarList")
                else None
            )
            if number is not None:
                return number
            if type_name in ("", "None"):
                return None
        return make_tensor(
            dims, strides or None, type_name, device, index_limit(op, position, 0, limits)
        )
    return read_scalar(text, argument_kind(argument), device)


def element_type(op, type_name):
    """Traces may leave out the type of a list: it is that of the op's other tensors."""
    if type_name in TYPES:
        return type_name
    if op["name"].split("::")[-1].startswith(("index", "_index", "_unsafe_index")):
        return "long int"
    known = [name for name in op["types"] if name in TYPES]
    return known[0] if known else "float"


def overloads(name):
    space, _, rest = name.partition("::")
    packet = getattr(getattr(torch.ops, space), rest.split(".")[0], None)
    if packet is None:
        raise Rejected("an op that this torch does not have")
    return [getattr(packet, overload) for overload in packet.overloads()]


def fits(op, schema):
    """Whether the recorded arguments can be those of an overload."""
    arguments = schema.arguments
    if len(op["dims"]) > len(arguments):
        return False
    for position, argument in enumerate(arguments):
        given = position < len(op["types"])
        type_name = op["types"][position] if given else ""
        is_tensor = type_name in TYPES
        if argument_kind(argument) == "Tensor":
            dims = op["dims"][position] if given else []
            nested = bool(dims) and isinstance(dims[0], list)
            unknown = given and type_name == "" and dims == []
            if not given or (is_list(argument) and unknown):
                continue
            if is_list(argument) != (nested or type_name == "TensorList"):
                return False
            if not is_list(argument) and not is_tensor and "Optional" not in str(argument.type):
                return False
        elif is_tensor:
            return False
        elif not given and not argument.has_default_value():
            return False
        elif (
            given
            and argument_kind(argument) in ("int", "float", "bool", "number")
            and "Optional" not in str(argument.type)
        ):
            text = op["concrete"][position] if position < len(op["concrete"]) else ""
            if text == "" and not argument.has_default_value():
                return False
    return True


def candidates(op):
    """Overloads that the recorded arguments fit; those without output arguments first."""
    found = [one for one in overloads(op["name"]) if fits(op, one._schema)]
    if not found:
        raise Rejected("arguments that no overload of this torch takes, or missing scalars")

    def order(one):
        arguments = one._schema.arguments
        return any(argument.is_out for argument in arguments), len(arguments)

    return sorted(found, key=order)


def build(function, op, device):
    """The arguments of an overload."""
    limits = index_limits(op)
    positional, keywords = [], {}
    for position, argument in enumerate(function._schema.arguments):
        if position >= len(op["dims"]):
            break
        value = build_argument(op, position, argument, device, limits)
        if value is None and argument_kind(argument) == "Device":
            value = None if "Optional" in str(argument.type) else torch.device(device)
        if value is None and argument.has_default_value() and "Optional" not in str(argument.type):
            value = argument.default_value
        if not argument.kwarg_only:
            positional.append(value)
        elif value is not None:
            keywords[argument.name] = value
    return positional, keywords


FAILURES = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)


# With autograd they take other ways: products fold batches, attention chooses another kernel.
GRADIENT_CHANGES = {"linear", "matmul", "einsum", "bilinear", "scaled_dot_product_attention",
                    "lstm", "gru", "rnn_tanh", "rnn_relu"}  # fmt: skip


def prepare(op, device):
    """A call of the op without arguments, and the shapes of its outputs: of the first overload that
    torch accepts."""
    failure = None
    watched = op["has_gradient"] and op["name"].split("::")[-1] in GRADIENT_CHANGES
    for function in candidates(op):
        try:
            positional, keywords = build(function, op, device)
            for one in positional if watched else ():
                if isinstance(one, torch.Tensor) and one.is_floating_point():
                    one.requires_grad_()

            def call(function=function, positional=positional, keywords=keywords):
                with torch.set_grad_enabled(watched):
                    return function(*positional, **keywords)

            shapes = output_shapes(call())
            synchronize(device)
            return call, shapes
        except FAILURES as error:
            failure = failure or error
    raise failure


def output_shapes(result):
    if isinstance(result, torch.Tensor):
        return [list(result.shape)]
    if isinstance(result, (list, tuple)):
        return [shape for one in result for shape in output_shapes(one)]
    return [[]]  # a number, or an output that was not asked for


def synchronize(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def host_times(run, seconds):
    """Nanoseconds of each run, by the sampling loop of pyrometer where that is installed."""
    try:
        from pyrometer import _core

        loop = _core.Loop(min_runs=LEAST_RUNS, max_runs=MOST_RUNS, max_time_s=max(seconds, 0.01))
        loop.run(run)
        return [sample * 1e6 for sample in loop.latency_ms()]
    except ImportError:
        pass
    for _ in range(WARM_UP_RUNS):
        run()
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < LEAST_RUNS or (len(samples) < MOST_RUNS and time.perf_counter() < end):
        start = time.perf_counter_ns()
        run()
        samples.append(time.perf_counter_ns() - start)
    return samples


def device_times(run, seconds, between=None):
    """Nanoseconds of device work per run, by torch.profiler, as the trace recorded them. `between`
    is called before each run, and not counted."""
    for _ in range(WARM_UP_RUNS):
        run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    once = max(time.perf_counter() - start, 1e-6)
    runs = max(LEAST_RUNS, min(200, int(seconds / once)))
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        for number in range(runs):
            if between:
                between()
            with torch.profiler.record_function(f"pyrometer.replay {number}"):
                run()
        torch.cuda.synchronize()
    return per_run(profile, runs)


EVICTION = "FillFunctor<unsigned char>"  # the kernel of evict()


def evict():
    """Fills the device's cache with other data."""
    if not hasattr(evict, "block"):
        size = torch.cuda.get_device_properties(0).L2_cache_size
        evict.block = torch.empty(4 * max(size, 2**20), dtype=torch.uint8, device="cuda")
    evict.block.fill_(1)


def per_run(profile, runs):
    """Mean device time of a run."""
    total = 0
    for event in profile.events():
        if (
            "cuda" in str(event.device_type).lower()
            and not event.name.startswith("pyrometer.replay")
            and EVICTION not in event.name
        ):
            total += event.time_range.elapsed_us() * 1000
    return [total / runs]


def measure(call, device, seconds):
    """Nanoseconds with the inputs in the device's cache as far as they fit, and without them there;
    the second is None on the host."""
    if not device.startswith("cuda"):
        return statistics.median(host_times(call, seconds)), None
    warm = statistics.median(device_times(call, seconds))
    return warm, statistics.median(device_times(call, seconds / 2, evict))


def replay(op, arguments):
    """A dict with what came out."""
    result = {
        "name": op["name"],
        "dims": op["dims"],
        "recorded_ns": op["recorded_ns"],
        "replayed_ns": None,
        "replayed_cold_ns": None,
        "rejected": None,
        "shapes_equal": None,
    }
    device = arguments.device or op["device"]
    try:
        call, shapes = prepare(op, device)
        if op["outputs"] is not None:
            recorded = list(flat_shapes(op["outputs"]))
            result["shapes_equal"] = shapes[: len(recorded)] == recorded
            result["shapes"] = [shapes, recorded]
        if not arguments.check:
            times = measure(call, device, arguments.seconds)
            result["replayed_ns"], result["replayed_cold_ns"] = times
    except Rejected as reason:
        result["rejected"] = str(reason)
    except FAILURES as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        result["rejected"] = f"torch: {text[:160]}"
    return result


def flat_shapes(dims):
    """Shapes of tensors in a recorded list, also in nested ones."""
    for one in dims:
        if isinstance(one, list) and one and isinstance(one[0], list):
            yield from flat_shapes(one)
        elif isinstance(one, list):
            yield one


def shape_text(op):
    return ", ".join("x".join(map(str, shape)) for shape in flat_shapes(op["dims"]) if shape)


def show(number, op, result):
    def text(ns):
        return "-" if ns is None else f"{ns / 1000:.1f} us"

    line = f"{number:>3}  {op['name']:<42.42} {shape_text(op):<40.40} "
    if result["rejected"]:
        print(f"{line} rejected: {result['rejected']}")
        return
    cold = result["replayed_cold_ns"]
    ratio = (
        ""
        if not result["replayed_ns"] or not op["recorded_ns"]
        else f"{result['replayed_ns'] / op['recorded_ns']:6.2f}x"
        + (f", cold cache {text(cold)} {cold / op['recorded_ns']:.2f}x" if cold else "")
    )
    equal = {None: "", True: "", False: " output shapes differ"}[result["shapes_equal"]]
    recorded, replayed = text(op["recorded_ns"]), text(result["replayed_ns"])
    print(f"{line} recorded {recorded:>12}  replayed {replayed:>12} {ratio}{equal}")


def write_trace(path, arguments):
    """A torch.profiler trace of every op, for `pyrometer learn`."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with (
        torch.profiler.profile(activities=activities, record_shapes=True) as profile,
        torch.no_grad(),
    ):
        for op in OPS:
            device = arguments.device or op["device"]
            try:
                call, _ = prepare(op, device)
                for _ in range(LEAST_RUNS):
                    call()
                synchronize(device)
            except (Rejected, *FAILURES):
                continue
    profile.export_chrome_trace(path)


def main():
    parser = argparse.ArgumentParser(description="Replays recorded ops.")
    parser.add_argument("--device", help="cpu or cuda; default: that of the recording")
    parser.add_argument("--seconds", type=float, default=0.2, help="time per op (default 0.2)")
    parser.add_argument("--json", help="write the results")
    parser.add_argument("--trace", help="write a trace of the replayed ops for pyrometer learn")
    parser.add_argument("--check", action="store_true", help="run once, compare output shapes")
    arguments = parser.parse_args()
    if (
        not torch.cuda.is_available()
        and not arguments.device
        and any(op["device"] != "cpu" for op in OPS)
    ):
        sys.exit(
            "replay: the ops ran on a device that this machine lacks; --device cpu runs them here"
        )
    results = []
    for number, op in enumerate(OPS, 1):
        results.append(replay(op, arguments))
        show(number, op, results[-1])
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"torch": torch.__version__, "ops": results}, file, indent=1)
    if arguments.trace:
        write_trace(arguments.trace, arguments)
    return 0 if any(result["rejected"] is None for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
