"""Notes in the recording which modules the kernels of torch.compile come from.

While a recording runs, Inductor's provenance is on: it then knows the nodes of every kernel, and
the nodes know their modules. The user's setting is restored afterwards. What was compiled under an
earlier recording of this process is kept, and noted again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import threading
from typing import Any

from pyrometer import _core, _env

_DEBUG, _OUTPUT = "torch._inductor.debug", "torch._inductor.output_code"
_MOST_GRAPHS = 512  # in one recording
_PART_BYTES = 48_000  # the recorder cuts longer texts
_LOCAL = re.compile(r"^[LG]\[(?:'[^']*'|\"[^\"]*\")\]")
_ITEM = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\"|(\d+))\]")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# Nodes that only change how memory is read: they are in a kernel because of what reads them.
_VIEWS = re.compile(
    r"(_unsafe_view|view|reshape|permute|transpose|expand|squeeze|unsqueeze|select|slice|getitem|"
    r"as_strided|alias|detach|t|inductor_lookup_seed_default|lift_fresh_copy)(_\d+)?$"
)

_graphs: dict[str, dict[str, Any]] = {}  # by key, in order: what earlier recordings learned
_pending = threading.local()  # the graph that this thread has compiled and not yet named


def module_path(text: str) -> str:
    """`blocks.0.attn` of `L['self'].blocks.0.attn` or `L['self']._modules['blocks']...`."""
    path = _LOCAL.sub("", text)
    path = _ITEM.sub(lambda found: "." + next(part for part in found.groups() if part), path)
    parts = [part for part in path.split(".") if part and part not in ("_modules", "_orig_mod")]
    if parts and parts[0] == "self":
        parts = parts[1:]
    return ".".join(parts)


def _bytes_of(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(_bytes_of(one) for one in value)
    try:
        return int(value.nbytes)
    except Exception:  # no tensor, or a size that is not a number yet
        return 0


def _module_of(node: Any) -> tuple[str, str] | None:
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return None
    path, kind = list(stack.values())[-1]
    return module_path(str(path)), kind if isinstance(kind, str) else kind.__name__


def _source_of(node: Any) -> str:
    frames = _FRAME.findall(node.stack_trace or "")
    return f"{frames[-1][0]}:{frames[-1][1]}" if frames else ""


def _describe_call(name: str, nodes: list[Any]) -> dict[str, Any]:
    own = [node for node in nodes if not _VIEWS.match(node.name)] or nodes
    layers: dict[str, list[Any]] = {}
    heaviest, source = -1, ""
    for node in own:
        module = _module_of(node)
        if module is None:
            continue
        size = _bytes_of(node.meta.get("val"))
        layers.setdefault(module[0], [module[0], 0, module[1]])[1] += size
        if size > heaviest:
            heaviest, source = size, _source_of(node)
    call: dict[str, Any] = {"name": name}
    if source:
        call["source"] = source
    call["layers"] = list(layers.values())
    return call


def describe_graph(graph: Any, kernels: dict[str, list[str]]) -> dict[str, Any]:
    """`kernels`: the nodes of each "kernel:handle", in the order of the wrapper's calls."""
    nodes = {node.name: node for node in graph.graph.nodes}
    calls = []
    for name, names in kernels.items():
        known = [nodes[one] for one in names if one in nodes]
        calls.append(_describe_call(name.rsplit(":", 1)[0], known))
    return {"backward": bool(graph.is_backward), "calls": calls}


def parts_of(key: str, graph: dict[str, Any]) -> list[str]:
    """The JSON of a graph, in texts that the recorder does not cut."""
    parts: list[str] = []
    calls: list[str] = []
    size = 0

    def finish() -> None:
        head = json.dumps({"graph": key, "backward": graph["backward"], "part": len(parts)})
        parts.append(f'{head[:-1]}, "calls": [{", ".join(calls)}]}}')
        calls.clear()

    for call in graph["calls"]:
        text = json.dumps(call)
        if calls and size + len(text) > _PART_BYTES:
            finish()
            size = 0
        calls.append(text)
        size += len(text) + 2
    finish()
    return parts


def _cache_file(key: str) -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "pyrometer", "compiled", f"{key}.json")


def _store(key: str, graph: dict[str, Any]) -> None:
    """Inductor's cache keeps no modules: they are kept here for runs that find a graph there."""
    path = _cache_file(key)
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=os.path.dirname(path), suffix=".tmp", delete=False
        ) as file:
            json.dump(graph, file)
        os.replace(file.name, path)


def _load(key: str) -> dict[str, Any] | None:
    try:
        with open(_cache_file(key), encoding="utf-8") as file:
            graph = json.load(file)
        return graph if isinstance(graph["calls"], list) and "backward" in graph else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class _AtImport:
    """Calls back after a module was imported: most programs import Inductor when they first
    compile."""

    def __init__(self, callbacks: dict[str, Any]) -> None:
        """By name of the module; called at once if it is imported already."""
        self._waiting = dict(callbacks)
        for name in callbacks:
            if name in sys.modules:
                self._waiting.pop(name)()
        if self._waiting:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        callback = self._waiting.pop(name, None)
        if callback is None:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                callback()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def remove(self) -> None:
        self._waiting.clear()
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)  # type: ignore[arg-type]


class Watch:
    """Watches compilation during one session."""

    def __init__(self) -> None:
        self._level: int | None = None  # of the user
        self._noted = 0
        self._dump: Any = None
        self._post_compile: Any = None
        self._call: Any = None
        for key, graph in list(_graphs.items()):
            self._note(key, graph)
        self._import = _AtImport({_DEBUG: self._install, _OUTPUT: self._watch_keys})

    def _install(self) -> None:
        """Never fails: torch's private parts may change."""
        try:
            from torch._inductor import config

            debug = sys.modules[_DEBUG]
            if not hasattr(debug, "_inductor_triton_kernel_to_post_grad_node_info"):
                return
            self._dump = debug.dump_inductor_provenance_info
            self._level = config.trace.provenance_tracking_level
            debug.dump_inductor_provenance_info = self._watch_dump(self._dump)
            if self._level == 0:
                config.trace.provenance_tracking_level = 1
        except Exception as error:
            _env.debug(f"modules of compiled code are not recorded: {error}")

    def _watch_dump(self, dump: Any) -> Any:
        def watched(*args: Any, **kwargs: Any) -> Any:
            try:
                self._take_graph()
            except Exception as error:
                _env.debug(f"cannot describe a compiled graph: {error}")
            return dump(*args, **kwargs)

        return watched

    def _take_graph(self) -> None:
        from torch._inductor.virtualized import V

        debug = sys.modules[_DEBUG]
        kernels = debug._inductor_triton_kernel_to_post_grad_node_info
        _pending.graph = describe_graph(V.graph, kernels)

    def _watch_keys(self) -> None:
        """The key of a graph is known where it is finished, compiled or from the cache."""
        CompiledFxGraph = getattr(sys.modules[_OUTPUT], "CompiledFxGraph", None)
        if not hasattr(CompiledFxGraph, "post_compile"):
            return
        original = self._post_compile = CompiledFxGraph.post_compile
        watch = self

        def post_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
            watch._finish_graph(getattr(self, "_fx_graph_cache_key", None))
            return original(self, *args, **kwargs)

        CompiledFxGraph.post_compile = post_compile
        self._mark_calls(CompiledFxGraph)

    def _mark_calls(self, CompiledFxGraph: Any) -> None:
        """Marks the calls of graphs as torch does while its own profiler runs."""
        from torch._C._profiler import _RecordFunctionFast
        from torch.autograd import profiler

        original = self._call = CompiledFxGraph.__call__

        def __call__(self: Any, inputs: Any) -> Any:
            if profiler._is_profiler_enabled:
                return original(self, inputs)
            key = getattr(self, "_fx_graph_cache_key", None)
            with _RecordFunctionFast(
                f"## Call CompiledFxGraph {key} ##", keyword_values={"scope": "user_scope"}
            ):
                return original(self, inputs)

        CompiledFxGraph.__call__ = __call__

    def _finish_graph(self, key: str | None) -> None:
        try:
            graph = getattr(_pending, "graph", None)
            _pending.graph = None
            if graph is not None and key:
                _store(key, graph)
            elif graph is None and key:
                graph = _graphs.get(key) or _load(key)
            if graph is None:  # from Inductor's cache, compiled without us
                return
            key = key or f"graph {len(_graphs)}"
            is_new = key not in _graphs
            _graphs[key] = graph
            if is_new:
                self._note(key, graph)
        except Exception as error:
            _env.debug(f"cannot keep a compiled graph: {error}")

    def _note(self, key: str, graph: dict[str, Any]) -> None:
        if self._noted >= _MOST_GRAPHS:
            return
        name = key if not key.startswith("graph ") else ""
        for number, text in enumerate(parts_of(name, graph)):
            _core.recorder_property(f"compiled_graph.{self._noted}.{number}", text)
        self._noted += 1

    def stop(self) -> None:
        self._import.remove()
        with contextlib.suppress(Exception):
            if self._level is not None:
                from torch._inductor import config

                config.trace.provenance_tracking_level = self._level
            if self._dump is not None:
                sys.modules[_DEBUG].dump_inductor_provenance_info = self._dump  # type: ignore[attr-defined]
            if self._post_compile is not None:
                CompiledFxGraph = sys.modules[_OUTPUT].CompiledFxGraph
                CompiledFxGraph.post_compile = self._post_compile
                if self._call is not None:
                    CompiledFxGraph.__call__ = self._call
