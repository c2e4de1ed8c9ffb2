"""ModelProfiler and `pyrometer bench --device cuda` on a GPU."""

import contextlib
import importlib.util
import io
import json
import os
import runpy
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.utils import benchmark

import pyrometer
from gpu.checks import ROOT, TOOL, check, raises, skip
from pyrometer import ModelProfiler, detect_regressions, load_baseline


class Net(nn.Module):
    """Large enough not to be launch-bound."""

    def __init__(self, width=4096):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.act = nn.GELU()
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return self.second(self.act(self.first(x)))


def matrix_flops(rows, width=4096):
    return 2 * 2 * rows * width * width


def test_profile():
    net, x = Net(), torch.randn(2048, 4096)
    profiler = ModelProfiler(net)
    check("device=None is cuda", profiler.device == "cuda")
    check("the user's module stays where it was", next(net.parameters()).device.type == "cpu")
    means = {}
    for precision, dtype in (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")):
        results = ModelProfiler(net, precision=precision).profile(x, num_runs=50)
        latency = means[precision] = results["latency"]["mean"]
        check(f"{precision}: a latency", latency > 0 and results["latency"]["n"] == 50,
              f"{latency:.4f} ms")  # fmt: skip
        check(f"{precision}: inputs", results["inputs"]["tensors"] == f"0: {dtype}[2048, 4096]",
              results["inputs"]["tensors"])  # fmt: skip
        rate = results["compute"]["flops_per_second"]
        check(f"{precision}: FLOP/s below any chip's", rate and 1e12 < rate < 3e15,
              f"{rate / 1e12:.1f} TFLOP/s")  # fmt: skip
        expected = matrix_flops(2048)
        check(f"{precision}: FLOPs", abs(results["compute"]["flops"] / expected - 1) < 0.01,
              f"{results['compute']['flops']}, of products {expected}")  # fmt: skip
        use = results["use"]
        check(f"{precision}: use of the GPU", (use["gpu_percent"] or 0) > 0 or use["gpu_reason"],
              f"{use['gpu_percent']} %, {use['gpu_reason']}")  # fmt: skip
    check("16 bits are faster than 32", means["fp16"] < means["fp32"] > means["bf16"], str(means))


def test_autocast():
    net, x = Net(), torch.randn(2048, 4096)
    cast = ModelProfiler(net, precision="bf16").profile(x, num_runs=50)
    auto = ModelProfiler(net, precision="bf16", autocast=True).profile(x, num_runs=50)
    check("how: cast", cast["precision"]["how"] == "weights and inputs cast to bfloat16",
          cast["precision"]["how"])  # fmt: skip
    check("how: autocast", auto["precision"]["how"] == "autocast to bfloat16",
          auto["precision"]["how"])  # fmt: skip
    check("autocast keeps float32 inputs", "float32" in auto["inputs"]["tensors"])
    ratio = auto["latency"]["p50"] / cast["latency"]["p50"]
    check("autocast pays for casting in every call", ratio > 1.02, f"{ratio:.2f} times the time")
    more = auto["memory"]["peak"] - cast["memory"]["peak"]
    check("and holds more", more > 0, f"{more / 2**20:.1f} MiB more")


def test_memory():
    net, x = Net(), torch.randn(2048, 4096)
    profiler = ModelProfiler(net, device="cuda")
    results = profiler.profile(x, num_runs=20, only_times=True)
    peak = results["memory"]["peak"]
    check("the peak is torch's", peak == torch.cuda.max_memory_allocated(),
          f"{peak} and {torch.cuda.max_memory_allocated()}")  # fmt: skip
    check("peak above average", peak >= (results["memory"]["average"] or 0) > 0,
          str(results["memory"]))  # fmt: skip
    weights = sum(p.numel() * p.element_size() for p in net.parameters())
    check("weights", profiler._engine.weight_bytes() == weights)
    results = profiler.profile(x, num_runs=20)
    activations, one = results["memory"]["activations"], 2048 * 4096 * 4
    # The hidden values before and after the GELU; then those, or these and the output.
    check("activations are two tensors", activations and 2 * one <= activations <= 2.2 * one,
          f"{activations} of {2 * one}")  # fmt: skip
    found = profiler.memory_profile(True, True, True)
    check("memory_profile: the device", "cuda:0" in found["devices"], str(list(found["devices"])))
    device = found["devices"].get("cuda:0", {})
    told = {key: device.get(key) for key in ("allocations", "deallocations", "peak")}
    check("memory_profile: allocations", device.get("allocations", 0) >= 3, str(told))


class Copying(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1024, 1024)

    def forward(self, x):
        return self.linear(x.to(self.linear.weight.device)).cpu()


def test_gpu_profile():
    profiler = ModelProfiler(Net(), device="cuda", precision="fp16")
    found = profiler.gpu_profile(
        track_kernels=True,
        track_memory_transfers=True,
        profile_nvtx=True,
        input_data=torch.randn(512, 4096),
    )
    kernels = {row["name"]: row["calls"] for row in found["kernels"]}
    check("kernels", sum(kernels.values()) >= 3, str(list(kernels))[:300])
    check("with profile_nvtx too", "nvtx" in found)
    check("the device is named", "NVIDIA" in str(found["device"]), str(found["device"]))
    check("busy time", 0 < found["busy_ms"] <= found["span_ms"],
          f"{found['busy_ms']:.3f} of {found['span_ms']:.3f} ms")  # fmt: skip
    less = profiler.gpu_profile(False, False)
    check("not asked for: not there", not {"kernels", "memory_transfers"} & less.keys())
    copying = ModelProfiler(lambda x: x.cuda().add(1).cpu(), device="cpu")
    check("no GPU, no gpu_profile", raises(pyrometer.Error, copying.gpu_profile))
    module = Copying()
    copying = ModelProfiler(module, device="cuda")
    found = copying.gpu_profile(input_data=torch.randn(256, 1024))
    kinds = {row["kind"]: row["bytes"] for row in found["memory_transfers"]}
    check("the copy to the host", kinds.get("DtoH pageable") == 256 * 1024 * 4, str(kinds))
    layers = profiler.profile_layers(layer_names=["first", "second"])
    check("profile_layers by the device's clock",
          all(entry["clock"] == "device" and entry["mean_ms"] > 0 for entry in layers.values()),
          str({name: entry["mean_ms"] for name, entry in layers.items()}))  # fmt: skip


class Wide(nn.Module):
    """Allocates 2 GiB per sample."""

    def forward(self, x):
        return x.new_empty((x.shape[0], 2**29)).sum()


def test_out_of_memory():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(min(1.0, 12 * 2**30 / total))
    try:
        profiler = ModelProfiler(Wide(), device="cuda")
        results = profiler.benchmark(
            [{"batch_size": size} for size in (1, 16, 2)], torch.randn(1, 8), num_runs=20
        )
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    states = [result["status"] for result in results]
    only = states[1] == "failed" and "failed" not in (states[0], states[2])
    check("out of memory ends that configuration only", only, str(states))
    message = results[1]["message"] or ""
    check("with ways out", "out of memory" in message and "a batch below 16" in message, message)
    check(
        "the knee is that of the others", results.knee["fp32 cuda"]["throughput"].keys() == {1, 2}
    )


def test_benchmark():
    """Both measure one call between synchronizations; in one run, in turn."""
    net, x = Net().cuda().eval(), torch.randn(2048, 4096, device="cuda")
    profiler = ModelProfiler(net, device="cuda")
    check("a module that is there is not copied", profiler._engine.module is net)
    ours, theirs = [], []
    for _ in range(5):
        ours.append(profiler.profile(x, num_runs=100, only_times=True)["latency"]["p50"])
        with torch.inference_mode():
            timer = benchmark.Timer("net(x)", globals={"net": net, "x": x})
            # One synchronized call per measurement, like a request.
            taken = [timer.timeit(1).mean * 1e3 for _ in range(100)]
        theirs.append(statistics.median(taken))
    ratio = statistics.median(ours) / statistics.median(theirs)
    check("agrees with torch.utils.benchmark within 3%", abs(ratio - 1) < 0.03,
          f"ours {statistics.median(ours):.4f} ms, torch's {statistics.median(theirs):.4f} ms, "
          f"ratio {ratio:.4f}")  # fmt: skip


def test_recommendations(tmp_path):
    profiler = ModelProfiler(Net(1024), device="cuda")
    results = profiler.profile(
        torch.randn(8, 1024), num_runs=20, detailed_analysis=True, try_variants=True
    )
    rows = results["recommendations"]
    for row in rows:
        print(f"      {row['subject']}: {row['evidence']} | {row['gain']}")
    check("recommendations of a small fp32 model", "precision" in {row["subject"] for row in rows})
    check("a larger batch was tried", any("run here" in row["gain"] for row in rows))
    profiler.generate_html_report(tmp_path / "report.html")
    check("the page", "<svg" in (tmp_path / "report.html").read_text())


def test_files(tmp_path):
    net = Net(256).eval()
    torch.export.save(torch.export.export(net, (torch.randn(8, 256),)), tmp_path / "net.pt2")
    results = ModelProfiler(tmp_path / "net.pt2", device="cuda").profile(num_runs=20)
    check(".pt2 on the device", results["engine"] == "pt2" and results["latency"]["mean"] > 0,
          f"{results['latency']['mean']:.4f} ms")  # fmt: skip
    torch.jit.save(torch.jit.trace(net, torch.randn(8, 256)), tmp_path / "net.pt")
    profiler = ModelProfiler(tmp_path / "net.pt", device="cuda", precision="fp16")
    results = profiler.profile(torch.randn(8, 256), num_runs=20)
    check("TorchScript in fp16", "float16" in results["inputs"]["tensors"])


def save_bert(folder):
    import transformers

    config = transformers.BertConfig(
        vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=256,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


def test_session(tmp_path):
    if importlib.util.find_spec("transformers") is None:
        skip("transformers is not there")
    path = save_bert(tmp_path / "bert-base-uncased")
    out = io.StringIO()
    before = sys.argv
    sys.argv = ["model_profiling.py", path, str(tmp_path / "base.json")]
    try:
        with contextlib.redirect_stdout(out):
            found = runpy.run_path(str(ROOT / "examples" / "python" / "model_profiling.py"))
    finally:
        sys.argv = before
    results = found["results"]
    check("the example session ran in fp16 on the device",
          results["device"] == "cuda" and results["precision"]["asked"] == "fp16",
          out.getvalue().splitlines()[0])  # fmt: skip
    check("tokens", results["inputs"]["tensors"] == "0: int64[32, 128]")
    check("its page", (tmp_path / "bert_profiling_report.html").stat().st_size > 10000)


def ask_smi(*names):
    """Numbers from nvidia-smi; None if it is missing."""
    query = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run([*query, "--id=0"], capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split(",")]
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def test_clocks():
    """The results contain the driver's data about the GPU; watching it has no overhead."""
    net, x = Net(), torch.randn(2048, 4096)
    profiler = ModelProfiler(net, device="cuda", precision="bf16")
    results = profiler.profile(x, num_runs=200, only_times=True)
    gpu = results["gpu"]
    print(f"      {gpu}")
    check("the GPU was watched", gpu is not None and gpu["looks"] > 0)
    check("clocks", 0 < gpu["clock_min_mhz"] <= gpu["clock_mhz"] <= gpu["clock_limit_mhz"])
    check("power", 0 < gpu["power_w"] <= 1.2 * gpu["power_cap_w"] < 3000)
    if (smi := ask_smi("clocks.max.sm", "power.limit")) is not None:
        check("as nvidia-smi says", smi == [gpu["clock_limit_mhz"], gpu["power_cap_w"]], str(smi))
    check(
        "as many samples as were asked for",
        results["latency"]["n"] == 200,
        f"{results['latency']['discarded']} discarded, {gpu['reasons'] or 'no reasons'}",
    )
    text = profiler._bench.report("text")
    check("in the text", "power cap" in text and "Discarded:" in text and "Throttled:" in text)
    check("precision that ran", results["precision"]["ran"] == "bfloat16",
          results["precision"]["ran"])  # fmt: skip
    check("no int8 on the GPU", raises(ValueError, lambda: ModelProfiler(net, precision="int8")))


def test_cold_cache():
    """32 MiB of weights, which stay in the L2 cache of a large GPU between calls."""
    net, x = Net(2048), torch.randn(1, 2048)
    profiler = ModelProfiler(net, device="cuda")
    warm = profiler.profile(x, num_runs=300, only_times=True)
    cold = profiler.profile(x, num_runs=300, only_times=True, cold_cache=True)
    facts = cold.document["benchmarks"][0]["facts"]
    check("the L2 is emptied", "(L2)" in facts.get("caches are", ""), facts.get("caches are"))
    ratio = cold["latency"]["p50"] / warm["latency"]["p50"]
    print(f"a cold call takes {ratio:.3f} times a warm one; make bench compares times")
    check("the buffer is no memory of the model",
          abs(cold["memory"]["peak"] - warm["memory"]["peak"]) < 2**20,
          f"{cold['memory']['peak']} and {warm['memory']['peak']}")  # fmt: skip
    check("other settings", cold["parameters"]["cache"] == "cold")
    results = ModelProfiler(Net(), device="cuda").profile(torch.randn(512, 4096), num_runs=20)
    each, one = results["memory"]["per_sample"], 4096 * 4
    check("memory per sample: the input and two to three values", 2.9 * one <= each <= 4.1 * one,
          f"{each} bytes, {each / one:.2f} times a row")  # fmt: skip


def test_throttling(tmp_path):
    """Replaces the driver's library, in other processes, by a stub that simulates a hot GPU."""
    import shutil

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        skip("no C compiler")
    stub = tmp_path / "libnvml_stub.so"
    source = ROOT / "tests" / "unit" / "bench" / "nvml_stub.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", stub, source], check=True)
    (tmp_path / "model.py").write_text(MODEL.replace("2048", "8192"))
    # 10 samples of warm-up, 5 steady ones, and 2 throttled ones.
    played = {"PYRO_NVML": str(stub), "PYRO_STUB_GPU": "15*1980:0,2*1980:0x40,1980:0"}
    os.environ.update(played)
    try:
        words = ("--device", "cuda", "--batch-size", "4096", "--runs", "20", "--warmup", "10")
        done = bench(tmp_path, *words, "--format", "json")
        result = json.loads(done.stdout)["benchmarks"][0] if done.stdout else {}
        check("three samples beside two hot looks are discarded", result.get("discarded") == 3,
              f"{result.get('discarded')}, {result.get('gpu')} {done.stderr[-300:]}")  # fmt: skip
        latency = next((m for m in result.get("metrics", ()) if m["name"] == "latency"), {})
        check("and taken again", latency.get("n") == 20)
        os.environ["PYRO_STUB_GPU"] = "1980:0x40"
        done = bench(tmp_path, *words)
        check("a GPU that stays hot is measured and told",
              "throttled samples had to be kept" in " ".join(done.stdout.split()),
              done.stderr[-300:])  # fmt: skip
    finally:
        for name in played:
            os.environ.pop(name, None)


MODEL = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(4)])
    def forward(self, x):
        return self.layers(x)
"""


FP16 = ("--device", "cuda", "--precision", "fp16", "--batch-size", "64", "--runs", "20")


def bench(folder, *words, limit_s=100):
    """Each measured process imports torch and starts CUDA, which takes most of the time."""
    command = [TOOL, "bench", "--python", sys.executable, "--model-path", "model.py:Model", *words]
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          timeout=limit_s)  # fmt: skip
    print(f"      bench {' '.join(words)}: {time.perf_counter() - begun:.1f} s", flush=True)
    return done


def test_tool(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    limits = ("--threshold", "latency:10s", "throughput:1samples/s", "memory:1TiB")
    done = bench(tmp_path, *FP16, *limits, "--output-dir", "out")
    check("bench --device cuda passes", done.returncode == 0, done.stderr.strip()[-300:])
    whole = json.loads((tmp_path / "out" / "results.json").read_text())
    check("its GPU is in the fingerprint", "NVIDIA" in str(whole["environment"]["gpu"]),
          f"{whole['environment']['gpu']}, {whole['environment']['gpu_driver']}")  # fmt: skip
    done = bench(tmp_path, *FP16, "--threshold", "latency:1ns")
    check("and fails", done.returncode == 1, done.stderr.strip()[-300:])
    done = bench(tmp_path, "--device", "cuda:99")
    check("no such GPU", done.returncode == 2 and "cuda:99" in done.stderr, done.stderr.strip())
    base = load_baseline(tmp_path / "out" / "results.json")
    check("a result is no regression of itself", not detect_regressions(base, base))


def test_tool_against(tmp_path):
    """Ten processes one after the other, which take most of three minutes."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "slow.py").write_text(MODEL.replace("range(4)", "range(16)"))
    done = bench(tmp_path, *FP16, "--against", "slow.py:Model", "--processes", "5",
                 "--format", "json", limit_s=300)  # fmt: skip
    verdict = json.loads(done.stdout)["comparison"]["verdict"] if done.stdout else done.stderr
    check("--against a model with four times the layers", verdict == "improved", verdict[-300:])
