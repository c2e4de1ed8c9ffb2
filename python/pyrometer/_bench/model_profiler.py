"""ModelProfiler: runs a model and reports its time, its resource use and recommendations."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from pyrometer import _core
from pyrometer._bench import (
    engines,
    evidence,
    language_model,
    metrics,
    recommendations,
    recorded_calls,
    resources,
    timing,
    variants,
)
from pyrometer._bench.recommendations import Evidence
from pyrometer._bench.results import BenchmarkResults, Results, as_in_baseline
from pyrometer._error import Error
from pyrometer._helper.example_inputs import Inputs, as_inputs
from pyrometer._output_files import refuse_inputs

RESOURCE_RUNS = 20  # of the untimed pass that samples memory
RECORDINGS = 5  # the quickest is analysed: others may have been interrupted
GPU_RESOURCE_SECONDS = (
    0.5  # length of that pass on a GPU, whose driver updates its use a few times per second
)


class ModelProfiler:
    """Measures a model on this machine.

        profiler = pyrometer.ModelProfiler("models/bert", device="cpu", precision="fp32")
        results = profiler.profile(tokens, num_runs=100, warmup_runs=10)
        results["latency"]["mean"]  # ms

    Args:
        model_path: a folder of transformers, a .pt2, .onnx or TorchScript file, "file.py:function"
            that builds a module; or an nn.Module or another callable.
        device: "cpu" or "cuda"; None: cuda where available.
        precision: "fp32", "fp16", "bf16" or "int8" (dynamic quantisation, on the CPU).
        autocast: use autocast for 16-bit precision instead of casting the weights.

    Raises:
        Error: the device is missing, the model cannot be read, or a package is missing.
        FileNotFoundError: no such file.
        ValueError: the model does not support the precision.
    """

    __module__ = "pyrometer"

    def __init__(
        self,
        model_path: Any,
        device: str | None = None,
        precision: str = "fp32",
        *,
        autocast: bool = False,
    ) -> None:
        self._model = model_path
        self._autocast = autocast
        self.device = engines.choose_device(device)
        self.precision = precision
        self._engine = engines.load(model_path, self.device, precision, autocast)
        self._given: Inputs | None = None
        self._bench: _core.Bench | None = None
        self._under_way: tuple[_core.Bench, int | None, _core.Loop | None] | None = None
        self._cold: timing.ColdCache | None = None
        self.results: Results | BenchmarkResults | None = None

    def profile(
        self,
        input_data: Any = None,
        num_runs: int | None = 100,
        warmup_runs: int | None = 10,
        detailed_analysis: bool = False,
        *,
        batch_size: int | None = None,
        preprocess: Callable[[], Any] | None = None,
        postprocess: Callable[[Any], Any] | None = None,
        rate_per_s: float = 0,
        min_runs: int = 0,
        max_runs: int = 0,
        max_time_s: float | None = None,
        deepest_percentile: float = 0,
        cold_cache: bool = False,
        try_variants: bool = False,
        only_times: bool = False,
    ) -> Results:
        """Measures latency, throughput, memory, utilization and cost of one call.

        Args:
            input_data: a tensor, a tuple of arguments or a dict of keyword arguments; or the path
                of a model, which replaces the current one. Default: the previous inputs, else
                inputs made from the model's signature, with the shapes of the last loaded
                baseline where those fit.
            num_runs: number of timed iterations; None: until the interval of the median is narrow.
            warmup_runs: number of warm-up iterations; None: until two windows agree, or 10 if
                num_runs is given.
            detailed_analysis: add layers, operators and memory from a recording, and
                recommendations.
            batch_size: set dim 0 of the inputs to this.
            preprocess: called without arguments, returns the model's input; timed separately.
            postprocess: called with the model's output; timed separately.
            rate_per_s: start iterations on a schedule of this rate, and time each from its
                scheduled start.
            min_runs, max_runs: limits with num_runs=None.
            max_time_s: stop after this many seconds of calls, also with num_runs; the result has
                the actual number of runs. None: 60 with num_runs=None, else no limit.
            deepest_percentile: with num_runs=None: 0.99 requests the 299 runs that p99 requires.
            cold_cache: empty the caches before every call: on a GPU its L2, else the CPU's.
            try_variants: with detailed_analysis: run the recommended changes and report the gain.
            only_times: skip FLOPs and activations, which require an export and a recording.
        """
        if isinstance(input_data, str | os.PathLike):
            self._load(input_data)
            input_data = None
        inputs = self._settle(input_data, batch_size, like_baseline=True)
        limits = {"min_runs": min_runs, "max_runs": max_runs, "deepest": deepest_percentile}
        loop = timing.make_loop(num_runs, warmup_runs, rate_per_s, max_time_s, **limits)
        bench = self._new_bench()
        settings = {"device": self.device, "precision": self.precision}
        engine = self._engine
        index, placed = self._begin(bench, engine, engine.name, inputs, settings)
        self._add_cold(bench, index, engine, cold_cache)
        measured = self._measure(bench, index, engine, placed, loop, max_time_s)
        if preprocess is not None or postprocess is not None:
            measured["stages_ms"] = self._measure_stages(
                bench, index, placed, num_runs, max_time_s, preprocess, postprocess
            )
        if language_model.is_language_model(engine):
            measured |= language_model.add_phases(bench, index, engine, placed, max_time_s)
        if not only_times:
            wanted = (detailed_analysis, try_variants)
            self._analyse(bench, index, placed, loop, measured, *wanted)
        return self._finish(bench)

    def _analyse(
        self, bench: Any, index: int, placed: Inputs, loop: Any, measured: Mapping[str, Any],
        detailed: bool, tries: bool,
    ) -> None:  # fmt: skip
        """Adds the results of one export and one recording to the times."""
        costs = self._add_cost(bench, index, placed)
        recorded = self._record(bench, index, placed, detailed)
        metrics.add_memory_per_sample(bench, index, self._engine, placed)
        if not detailed:
            return
        rows = recommendations.recommend(self._evidence(placed, loop, costs, recorded, measured))
        if tries:
            rows = variants.try_all(self._engine, self._model, placed, rows)
        bench.table(index, "Recommendations", recommendations.COLUMNS, rows)

    def benchmark(
        self,
        configurations: Sequence[Mapping[str, Any]],
        input_data: Any = None,
        num_runs: int | None = 100,
        warmup_runs: int | None = 10,
        *,
        min_runs: int = 0,
        max_runs: int = 0,
        max_time_s: float | None = None,
        deepest_percentile: float = 0,
        cold_cache: bool = False,
    ) -> BenchmarkResults:
        """Measures each configuration, such as {"batch_size": 8, "precision": "fp16"}; "device" and
        "num_runs" are also valid keys. A configuration that runs out of memory, or that the model
        or the machine does not support, gets status "failed" and a message; the others continue.

        The result's `knee` is the batch from which a doubling gains less than 10%.
        """
        if not configurations:
            raise ValueError("no configurations")
        base = self._settle(input_data, None)
        bench = self._new_bench()
        loaded: dict[tuple[str, str], Any] = {(self.device, self.precision): self._engine}
        for configuration in configurations:
            known = {"batch_size", "precision", "device", "num_runs", "warmup_runs"}
            if set(configuration) - known:
                odd = ", ".join(sorted(set(configuration) - known))
                raise ValueError(f"configuration: invalid {odd}; valid: {', '.join(sorted(known))}")
            runs = configuration.get("num_runs", num_runs)
            warmup = configuration.get("warmup_runs", warmup_runs)
            limits = {"min_runs": min_runs, "max_runs": max_runs, "deepest": deepest_percentile}
            loop = timing.make_loop(runs, warmup, 0, max_time_s, **limits)
            self._configure(bench, loaded, dict(configuration), base, loop, max_time_s, cold_cache)
        self._finish(bench, many=True)
        assert isinstance(self.results, BenchmarkResults)
        self.results.knee = knee = metrics.find_knee(self.results)
        metrics.tell_knee(bench, self.results, knee)
        self.results = BenchmarkResults(json.loads(bench.report("json")), knee)
        return self.results

    def profile_layers(
        self,
        input_data: Any = None,
        layer_names: Sequence[str] | None = None,
        num_runs: int = 10,
    ) -> dict[str, Any]:
        """Time, memory and work of layers, selected by name: a part of a layer's path or class,
        ignoring case. Without names every layer has an entry. A name without a matching layer gets
        an empty entry with a note that lists the layers."""
        engine, placed = self._recordable(input_data)
        recorded = recorded_calls.record(engine, placed, num_runs)
        flops = self._flops_by_module(placed)
        return recorded_calls.layers_by_name(recorded, layer_names, num_runs, flops)

    def memory_profile(
        self,
        track_allocations: bool = True,
        track_deallocations: bool = True,
        memory_snapshots: bool = True,
        input_data: Any = None,
    ) -> dict[str, Any]:
        """Tensor memory during one call: peak, holders at the peak, allocations and frees, and the
        timeline. In bytes."""
        engine, placed = self._recordable(input_data)
        recorded = recorded_calls.record(engine, placed, 1)
        return recorded_calls.memory(
            recorded, track_allocations, track_deallocations, memory_snapshots
        )

    def gpu_profile(
        self,
        track_kernels: bool = True,
        track_memory_transfers: bool = True,
        profile_nvtx: bool = False,
        input_data: Any = None,
    ) -> dict[str, Any]:
        """Reports kernels, copies, gaps and waits on the GPU during one call.

        profile_nvtx runs one more call with every operator marked for Nsight Systems. The marks are
        visible only if this program runs under nsys.
        """
        if not self._engine.on_gpu:
            raise Error(
                "gpu_profile() requires a GPU, but this profiler runs on the CPU; "
                "use profile_layers() and memory_profile() there",
                "unsupported",
            )
        engine, placed = self._recordable(input_data)
        recorded = recorded_calls.record(engine, placed, 1)
        found = recorded_calls.gpu(recorded, track_kernels, track_memory_transfers)
        if profile_nvtx:
            recorded_calls.mark(engine, placed)
            found["nvtx"] = "one more call ran with its operators marked"
        return found

    def recommendations(self) -> list[dict[str, Any]]:
        """The recommendations of the last profile(detailed_analysis=True)."""
        results = self._last()
        return list(results.get("recommendations", ())) if isinstance(results, Results) else []

    def generate_html_report(
        self,
        output_path: str | os.PathLike[str],
        include_graphs: bool = True,
        include_details: bool = True,
    ) -> str:
        """Writes the last results as one self-contained HTML page; returns its path."""
        self._last()
        refuse_inputs(output_path, self._model)
        text = self._bench.report("html", include_graphs, include_details)
        with open(output_path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(output_path)

    def export_json(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Writes the last results with every sample, for load_baseline() and `pyrometer diff`;
        returns the written document."""
        whole = self._last().to_json()
        refuse_inputs(path, self._model)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1, allow_nan=False)
            file.write("\n")
        return whole

    def export_csv(self, path: str | os.PathLike[str]) -> str:
        """Writes the last results with one row per metric; returns the path."""
        self._last()
        refuse_inputs(path, self._model)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self._bench.report("csv"))
        return os.fspath(path)

    def _last(self) -> Results | BenchmarkResults:
        if self.results is None:
            raise RuntimeError("no results yet: call profile() or benchmark() first")
        return self.results

    def _load(self, model: Any) -> None:
        same = isinstance(self._model, str | os.PathLike) and os.fspath(self._model) == os.fspath(
            model
        )
        if same:
            return
        self._engine = engines.load(model, self.device, self.precision, self._autocast)
        self._model, self._given = model, None

    def _settle(
        self, input_data: Any, batch_size: int | None, like_baseline: bool = False
    ) -> Inputs:
        if input_data is not None:
            self._given = as_inputs(input_data)
        inputs = self._given
        if inputs is None and like_baseline and batch_size is None:
            inputs = as_in_baseline(self._engine)
        if inputs is None:
            inputs = self._engine.make_inputs(batch_size)
        return inputs if batch_size is None else _resize(inputs, batch_size)

    def _new_bench(self) -> _core.Bench:
        bench = _core.Bench()
        bench.environment("torch", torch.__version__)
        bench.environment("torch threads", str(torch.get_num_threads()))
        self._under_way = (bench, None, None)
        return bench

    def _begin(
        self, bench: Any, engine: Any, name: str, inputs: Inputs, settings: Mapping[str, Any]
    ) -> tuple[int, Inputs]:
        """Starts a result with its settings and inputs; returns the inputs on the device."""
        index = bench.add(name, engine.kind, engine.path, float(max(inputs.batch_size(), 1)))
        for key, value in settings.items():
            bench.parameter(index, key, str(value))
        placed = engine.place(inputs)
        bench.parameter(index, "inputs", placed.describe())
        engine.verify(placed)
        if engine.doubt is not None:
            bench.warn(f"{name}: {engine.doubt}")
        for key, value in (
            ("device", engine.device),
            ("precision", engine.precision),
            ("precision is", engine.how),
            ("precision ran", engine.ran or "not verified: nothing was converted"),
            ("inputs", placed.describe()),
            ("inputs are", inputs.origin),
        ):
            bench.fact(index, key, value)
        return index, placed

    def _add_cold(self, bench: Any, index: int, engine: Any, cold: bool) -> None:
        """Sets the cache state for the following measurement."""
        self._cold = timing.ColdCache(engine) if cold else None
        bench.parameter(index, "cache", "cold" if cold else "warm")
        if self._cold is not None:
            bench.fact(index, "caches are", self._cold.text)

    def _configure(
        self, bench: Any, loaded: dict[tuple[str, str], Any], configuration: dict[str, Any],
        base: Inputs, loop: Any, max_time_s: float | None, cold: bool,
    ) -> None:  # fmt: skip
        """Measures one configuration; stores a failure in its result."""
        device = configuration.get("device", self.device)
        precision = configuration.get("precision", self.precision)
        settings = {
            key: value
            for key, value in configuration.items()
            if key in ("batch_size", "precision", "device")
        }
        text = " ".join(f"{key}={value}" for key, value in settings.items())
        name = f"{self._engine.name} {text}".strip()
        before = bench.count()
        try:
            if (device, precision) not in loaded:
                chosen = engines.choose_device(device)
                loaded[device, precision] = engines.load(
                    self._model, chosen, precision, self._autocast
                )
            engine = loaded[device, precision]
            size = configuration.get("batch_size")
            inputs = base if size is None else _resize(base, int(size))
            index, placed = self._begin(bench, engine, name, inputs, settings)
            self._add_cold(bench, index, engine, cold)
            self._measure(bench, index, engine, placed, loop, max_time_s)
            metrics.add_memory_per_sample(bench, index, engine, placed)
        except Exception as error:
            guidance = self._explain(error, configuration)
            if bench.count() == before:
                bench.add(name, self._engine.kind, self._engine.path, 1.0)
                for key, value in settings.items():
                    bench.parameter(before, key, str(value))
            bench.set_status(before, "failed", guidance)
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def _explain(self, error: Exception, configuration: Mapping[str, Any]) -> str:
        if not resources.is_out_of_memory(error):
            return f"{type(error).__name__}: {_first_line(error)}"
        size = configuration.get("batch_size")
        ways = []
        if size and int(size) > 1:
            ways.append(f"a batch below {size}")
        if configuration.get("precision", self.precision) == "fp32":
            ways.append("precision bf16 or fp16")
        ways.append("a shorter sequence or smaller images")
        ways.append("gradient checkpointing where it trains")
        if self.device.startswith("cuda"):
            ways.append("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
        return f"out of memory ({_first_line(error)}); try {', '.join(ways)}"

    def _measure(
        self, bench: Any, index: int, engine: Any, placed: Inputs, loop: Any,
        max_time_s: float | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Times the calls, then samples memory in untimed calls; returns the resource use."""
        run = engine.bind(placed)
        reset = resources.reset_peaks(engine)
        with engine.running():
            begun = _core.process_use_begin()
            self._under_way = (bench, index, loop)
            timing.run_loop(loop, engine, run, self._cold)
            used = _core.process_use_end(begun)
            bench.loop(index, loop)
            self._under_way = (bench, index, None)
            if self._cold is not None:
                self._cold = None  # its buffer is not memory of the model
                reset = resources.reset_peaks(engine)
            sampler = resources.Sampler(engine)
            with sampler.sampling():
                _run_untimed(engine, run, max_time_s)
        held = metrics.add_memory(bench, index, engine, sampler, reset)
        use = metrics.add_use(bench, index, used, sampler)
        metrics.add_rates(bench, index, placed)
        return {"calls_timed": len(loop.latency_ms()), **held, **use}

    def _measure_stages(
        self, bench: Any, index: int, placed: Inputs, num_runs: int | None,
        max_time_s: float | None, preprocess: Callable[[], Any] | None,
        postprocess: Callable[[Any], Any] | None,
    ) -> dict[str, float]:  # fmt: skip
        """Times the stages around the model separately and together; returns means in ms."""
        engine, means = self._engine, {}
        with engine.running():
            output = engine.bind(placed)()

            def everything() -> Any:
                inputs = placed
                if preprocess is not None:
                    inputs = engine.place(as_inputs(preprocess()))
                found = engine.bind(inputs)()
                return found if postprocess is None else postprocess(found)

            stages: dict[str, Callable[[], Any]] = {"end_to_end": everything}
            if preprocess is not None:
                stages["preprocess"] = preprocess
            if postprocess is not None:
                stages["postprocess"] = lambda: postprocess(output)
            for name, run in stages.items():
                loop = timing.make_loop(num_runs, 2, 0, max_time_s)
                timing.run_loop(loop, engine, run)
                bench.metric(index, name, "ms", False, loop.latency_ms())
                means[name] = _core.mean(loop.latency_ms())
        return means

    def _price(self, placed: Inputs) -> Any:
        """Predicts the cost of the call; raises an Error with the reason if that is impossible."""
        from pyrometer._cost.cost import cost

        engine = self._engine
        if engine.kind == "onnx":
            shapes = {name: list(tensor.shape) for name, tensor in placed.tensors()}
            return cost(engine.runs, input_shapes=shapes)
        if engine.priced is None:
            raise Error(engine.why_not_priced or "there is no graph", "unsupported")
        if engine.kind == "pt2":
            batch = placed.batch_size()
            try:
                return cost(engine.path, batch=batch)
            except ValueError:
                return cost(engine.path)
        parameter = next(iter(engine.priced.parameters()), None)

        def as_priced(tensor: Any) -> Any:
            if parameter is None or not isinstance(tensor, torch.Tensor):
                return tensor
            dtype = parameter.dtype if tensor.dtype.is_floating_point else tensor.dtype
            return tensor.to(parameter.device, dtype)

        inputs = placed.map(as_priced)
        return cost(engine.priced, inputs.args, kwargs=inputs.kwargs)

    def _add_cost(self, bench: Any, index: int, placed: Inputs) -> Any:
        engine = self._engine
        found = None
        try:
            found = self._price(placed)
        except Exception as error:
            bench.fact(index, "no flops", _first_line(error))
        if found is not None:
            bench.metric(index, "flops", "FLOP", False, found.total_flops)
            bench.metric(index, "macs", "MAC", False, found.total_macs)
            bench.rate(index, "latency", "flop_rate", "FLOP/s", found.total_flops)
        params, weights = engine.parameters(), engine.weight_bytes()
        if params is not None:
            bench.metric(index, "params", "parameters", False, params)
        if weights is not None:
            bench.metric(index, "weights", "bytes", False, weights)
        size, what = engine.size_bytes()
        if size is not None:
            bench.metric(index, "size_on_disk", "bytes", False, size)
        bench.fact(index, "size is", what)
        return found

    def _record(self, bench: Any, index: int, placed: Inputs, detailed: bool) -> Any:
        """Records activation memory; with `detailed` layers and operators too."""
        engine = self._engine
        if engine.kind in ("onnx",):
            bench.fact(index, "no recording", "the recorder sees torch, not onnxruntime")
            return None
        try:
            recorded = recorded_calls.record_undisturbed(
                engine, placed, RECORDINGS if detailed else 1
            )
        except Error as error:
            bench.fact(index, "no recording", _first_line(error))
            return None
        activations = recorded_calls.activation_bytes(recorded, engine)
        if activations is not None:
            bench.metric(index, "activation_memory", "bytes", False, activations)
        if detailed:
            recorded_calls.add_tables(bench, index, recorded)
        return recorded

    def _evidence(
        self, placed: Inputs, loop: Any, costs: Any, recorded: Any, measured: Mapping[str, Any]
    ) -> Evidence:
        """Collects the evidence for recommendations; runs larger batches for it."""
        times = variants.larger_batches(self._engine, placed)
        present = times.get(placed.batch_size(), _core.median(loop.latency_ms()))
        return evidence.gather(self._engine, placed, present, times, costs, recorded, measured)

    def _recordable(self, input_data: Any) -> tuple[Any, Inputs]:
        if self._engine.kind == "onnx":
            raise Error("the recorder sees torch, not onnxruntime", "unsupported")
        return self._engine, self._engine.place(self._settle(input_data, None))

    def _flops_by_module(self, placed: Inputs) -> Mapping[str, int]:
        try:
            return self._price(placed).by_module("flops")
        except Exception:
            return {}

    def _rescue(self) -> bool:
        """Makes the partial results of an interrupted run the last results; False: no results."""
        bench, index, loop = self._under_way or (None, None, None)
        if bench is None or index is None or (loop is not None and not loop.latency_ms()):
            return False
        if loop is not None:
            bench.loop(index, loop)
        bench.set_status(index, "interrupted", "what was measured until then")
        self._finish(bench, many=bench.count() > 1)
        return True

    def _finish(self, bench: Any, many: bool = False) -> Any:
        self._under_way = None
        bench.finish()
        document = json.loads(bench.report("json"))
        self._bench = bench
        self.results = BenchmarkResults(document, None) if many else Results(document)
        return self.results


def _run_untimed(engine: Any, run: Callable[[], Any], max_time_s: float | None) -> None:
    """Runs untimed calls while memory and utilization are sampled."""
    wait = engine.synchronize()
    start = time.perf_counter()
    least_s = GPU_RESOURCE_SECONDS if engine.on_gpu else 0
    most_s = float("inf") if max_time_s is None else max_time_s / 2
    runs, seconds = 0, 0.0
    while runs == 0 or ((runs < RESOURCE_RUNS or seconds < least_s) and seconds < most_s):
        run()
        runs += 1
        if wait is not None:
            wait()
        seconds = time.perf_counter() - start


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _resize(inputs: Inputs, batch_size: int) -> Inputs:
    if batch_size < 1:
        raise ValueError("batch_size must be at least 1")
    return inputs.resized(batch_size)
