"""pyrometer.Profiler: wraps a model, behaves like it, and builds its graph."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn

from pyrometer import _core, _env
from pyrometer._capture import functional_marks, passes, tensor_roles
from pyrometer._capture.session import session
from pyrometer._capture.settings import Settings
from pyrometer._error import Error
from pyrometer._graph.graph import EXTENSIONS, Graph, check_granularity, choose
from pyrometer._output_files import refuse_inputs

# Attributes in which a module holds its parts; shared with the wrapped model, so both are one tree.
_SHARED = (
    "_parameters",
    "_buffers",
    "_modules",
    "_non_persistent_buffers_set",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_OWN = frozenset(
    {
        "granularity",
        "token_kwarg",
        "auto_profile",
        "capture_ops",
        "graph",
        "detail_graph",
        "tokens_per_second",
        "training",
    }
)
_FLAGS = (
    _core.RECORD_LAYERS
    | _core.RECORD_OPS
    | _core.RECORD_SHAPES
    | _core.RECORD_OUTPUTS
    | _core.RECORD_STORAGES
)


class Profiler(nn.Module):
    """Wraps a model; calling it calls the model.

        prof = pyrometer.Profiler(model, granularity="layer")
        prof.profile_once(x)
        prof.graph.stats()
        prof.export("model_profile")

    Attributes, `.to`, `.eval`, parameters and the keys of state_dict() are those of the model, so
    a part of a model can be wrapped in place: `model.model = Profiler(model.model)`.

    Args:
        model: any nn.Module.
        granularity: the nodes of `graph`: "module" stops at the blocks that the model repeats,
            "layer" goes to the leaves and shows the operators between them.
        token_kwarg: the keyword argument for tokens ("input_ids"); a single positional tensor is
            passed under this name, and `tokens_per_second` counts its elements.
        auto_profile: build the graph on the first call.
        capture_ops: let profile_once also build `detail_graph` from the same pass.
    """

    __module__ = "pyrometer"

    def __init__(
        self,
        model: nn.Module,
        granularity: str = "module",
        token_kwarg: str | None = None,
        auto_profile: bool = True,
        capture_ops: bool = False,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"Profiler wraps an nn.Module, not {type(model).__name__}")
        super().__init__()
        own = self.__dict__
        own["_wrapped"] = model
        for name in _SHARED:
            if name in model.__dict__:
                own[name] = model.__dict__[name]
        own["training"] = model.training
        own["granularity"] = check_granularity(granularity)
        own["token_kwarg"] = token_kwarg
        own["auto_profile"] = auto_profile
        own["capture_ops"] = capture_ops
        own["graph"] = None
        own["detail_graph"] = None
        own["tokens_per_second"] = None

    # Delegated to the model.

    def __getattr__(self, name: str) -> Any:
        wrapped = self.__dict__.get("_wrapped")
        if wrapped is None:
            raise AttributeError(name)
        return getattr(wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or "_wrapped" not in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._wrapped, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._wrapped, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._wrapped)})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "graph": None, "detail_graph": None}

    def train(self, mode: bool = True) -> Profiler:
        self.__dict__["training"] = mode
        self._wrapped.train(mode)
        return self

    def _apply(self, *args: Any, **kwargs: Any) -> Profiler:
        self._wrapped._apply(*args, **kwargs)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Profiler:
        self._wrapped.to(*args, **kwargs)
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped.load_state_dict(*args, **kwargs)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._wrapped._load_from_state_dict(*args, **kwargs)

    def extra_repr(self) -> str:
        return f"granularity={self.granularity!r} of {type(self._wrapped).__name__}"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if not self.auto_profile or self.graph is not None or torch.compiler.is_compiling():
            args, kwargs = self._with_tokens(args, kwargs)
            return self._wrapped(*args, **kwargs)
        problem = _why_not()
        if problem is not None:
            self.auto_profile = False
            _env.say(f"cannot build the graph of {type(self._wrapped).__name__}: {problem}")
            args, kwargs = self._with_tokens(args, kwargs)
            return self._wrapped(*args, **kwargs)
        return self.profile_once(*args, **kwargs)

    # Profiling.

    def profile_once(self, *args: Any, **kwargs: Any) -> Any:
        """Runs one forward and builds `graph` from it; returns the model's output.

        Raises the model's exceptions, and Error if operators cannot be observed.
        """
        return self._profile([(args, kwargs)], detail="aten" if self.capture_ops else None)

    def profile_detail(self, *args: Any, level: str = "high", **kwargs: Any) -> Any:
        """Runs one forward and builds `detail_graph`, the graph of its operators.

        Operators that return no tensor (dim, item) are left out. With level="high", a function of
        torch.nn.functional that calls several operators is one node; with "aten", every operator
        that the program called is a node.
        """
        choose("level", level, ("high", "aten"))
        with functional_marks.marks() if level == "high" else contextlib.nullcontext():
            program, output = self._run([(args, kwargs)], all_ops=True)
        self.detail_graph = Graph(program, "op", level)
        return output

    def profile_passes(self, inputs: Iterable[Any]) -> None:
        """Runs a forward for each of `inputs` (a tensor, a tuple of arguments or a dict of
        keywords). Every node of `graph` has the number of passes, the median and the 95th
        percentile."""
        calls = [_as_call(one) for one in inputs]
        if not calls:
            raise ValueError("profile_passes requires at least one input")
        self._profile(calls, detail="aten" if self.capture_ops else None)

    def _profile(self, calls: list[Any], detail: str | None) -> Any:
        program, output = self._run(calls, all_ops=detail is not None)
        self.graph = Graph(program, self.granularity)
        if detail is not None:
            self.detail_graph = Graph(program, "op", detail)
        return output

    def _run(self, calls: list[Any], all_ops: bool) -> tuple[Any, Any]:
        """Records the calls; operators of the first call only, unless `all_ops`."""
        problem = _why_not()
        if problem is not None:
            raise Error(problem)
        prepared = [self._with_tokens(args, kwargs) for args, kwargs in calls]
        devices = _cuda_devices(self._wrapped)
        # In a graph of modules, ops are not nodes: they need not synchronize.
        shows_ops = all_ops or self.granularity == "layer"
        with _recording(devices if shows_ops else ()) as recording:
            tensor_roles.note_inputs(self._wrapped, *prepared[0])
            begin = time.perf_counter()
            with _synchronised(devices):
                for index, (args, kwargs) in enumerate(prepared):
                    if index == 1 and not all_ops:
                        recording.stop_ops()
                    output = self._wrapped(*args, **kwargs)
            seconds = time.perf_counter() - begin
        self._count_tokens(prepared, seconds)
        return recording.program(), output

    def _with_tokens(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        name = self.token_kwarg
        if name and len(args) == 1 and isinstance(args[0], torch.Tensor) and name not in kwargs:
            return (), {name: args[0], **kwargs}
        return args, kwargs

    def _count_tokens(self, calls: list[Any], seconds: float) -> None:
        tokens = [kwargs.get(self.token_kwarg) for _, kwargs in calls] if self.token_kwarg else []
        counts = [one.numel() for one in tokens if isinstance(one, torch.Tensor)]
        self.tokens_per_second = sum(counts) / seconds if counts and seconds > 0 else None

    # Results.

    def get_graphs(self) -> dict[str, Graph | None]:
        return {"module_graph": self.graph, "detail_graph": self.detail_graph}

    def export(
        self,
        base_path: str | os.PathLike[str],
        module_include_edges: bool = True,
        detail_include_edges: bool = True,
        include_stats: bool = True,
        overwrite_module: bool = False,
        format: str = "text",
    ) -> list[str]:
        """Writes `<base>_module.txt` and, if a detail graph exists, `<base>_detail.txt`
        (docs/reference/graph-format.md); returns the paths of the written files.

        Args:
            base_path: folder and beginning of the names.
            module_include_edges, detail_include_edges: False leaves the edges out.
            include_stats: False leaves the totals out.
            overwrite_module: False keeps an existing module file.
            format: "text", "dot", "json", "graphml" or "svg"; it sets the extension.

        Raises:
            Error: nothing was profiled yet.
            ValueError: an output file is source code of this program.
        """
        choose("format", format, tuple(EXTENSIONS))
        if self.graph is None and self.detail_graph is None:
            raise Error("nothing to export: call profile_once() first")
        chosen = []
        for graph, what, edges, overwrite in (
            (self.graph, "module", module_include_edges, overwrite_module),
            (self.detail_graph, "detail", detail_include_edges, True),
        ):
            path = f"{os.fspath(base_path)}_{what}.{EXTENSIONS[format]}"
            if graph is not None and (overwrite or not os.path.exists(path)):
                refuse_inputs(path)
                chosen.append((graph, path, edges))
        for graph, path, edges in chosen:
            graph.save(path, format, edges=edges, stats=include_stats)
        return [path for _, path, _ in chosen]


def _as_call(one: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(one, dict):
        return (), one
    return (one, {}) if isinstance(one, tuple) else ((one,), {})


def _why_not() -> str | None:
    """Why a graph cannot be recorded now; None if it can."""
    from pyrometer._capture import observer_build

    settings = session.settings
    if settings is not None and not settings.temporary:
        return "a recording is already running; a process can have only one at a time"
    try:
        observer_build.load()
    except observer_build.Unavailable as error:
        return f"tracking tensors requires the observer of ops: {error}"
    return None


class _Recording:
    """A recording in a temporary file, which is deleted once its program is read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._program: Any = None

    def stop_ops(self) -> None:
        from pyrometer._capture import observer_build

        observer_build.stop()

    def program(self) -> Any:
        return self._program

    def read(self) -> None:
        self._program = _core.program_of_recording(self.path)


def _settings(path: str) -> Settings:
    """One file: it is read and deleted at once."""
    from pyrometer._capture import collector

    has_kernels = collector.way(None) in ("auto", "collector")
    return Settings(
        path=path,
        flags=_FLAGS | (_core.RECORD_DEVICES if has_kernels else 0),
        overwrite=True,
        devices=has_kernels,
        one_file=True,
        gpu_sampling=0,
    )


@contextlib.contextmanager
def _recording(devices: Iterable[torch.device]) -> Iterator[_Recording]:
    """Records; ops synchronize with the devices."""
    from pyrometer._capture import observer_build

    if session.settings is not None:
        passes.finisher.finish()
        session.stop()  # of decorated models; it starts again when one is called
    handle, path = tempfile.mkstemp(prefix="pyrometer-", suffix=".pyro")
    os.close(handle)
    try:
        recording = _Recording(path)
        with observer_build.waiting_for(sum(1 << (one.index or 0) for one in devices)):
            session.start(_settings(path))
            try:
                yield recording
            finally:
                session.stop()
        recording.read()
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _cuda_devices(model: nn.Module) -> set[torch.device]:
    """The GPUs that hold weights of a model."""
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return set()
    return {one.device for one in (*model.parameters(), *model.buffers()) if one.is_cuda}


@contextlib.contextmanager
def _synchronised(devices: set[torch.device]) -> Iterator[None]:
    """On a GPU every module waits for its own work, so that its time is its own."""
    if not devices:
        yield
        return

    def wait(*_: Any) -> None:
        for device in devices:
            torch.cuda.synchronize(device)

    hooks: list[Callable[..., Any]] = [
        nn.modules.module.register_module_forward_pre_hook(wait),
        nn.modules.module.register_module_forward_hook(wait),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
