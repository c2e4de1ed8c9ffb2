"""pyrometer.ray(): runs a function as the ranks of a training run on a Ray cluster. Ray is imported
only when such a function is called."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import socket
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer._error import Error
from pyrometer._ray.settings import DEFAULT_OUTPUT_DIR, Settings, describe, plural
from pyrometer._ray.worker import INSIDE

CONNECT_S = 5.0
# Ray polls the files that the ranks print to; the last lines are lost if the cluster ends before it
# reads them.
LOGS_S = 0.5


def ray(
    num_nodes: Any = 1,
    gpus_per_node: int = 0,
    workers_per_node: int | None = None,
    *,
    cpus_per_worker: float = 1,
    output_dir: str | os.PathLike[str] | None = None,
    return_all: bool = False,
    address: str | None = None,
    runtime_env: dict[str, Any] | None = None,
    wait_s: float = 60.0,
    grace_s: float = 10.0,
) -> Any:
    """Runs a function as the ranks of a distributed training run, on Ray.

        @ray(num_nodes=2, gpus_per_node=4)
        @profiler(output_dir="./profiles")
        def train(args): ...

    A call starts one process per GPU (or `workers_per_node` processes on CPUs) on each of
    `num_nodes` nodes, with the environment variables of torch.distributed. It calls the function
    with the same arguments in every process and waits. Files that the ranks write below output_dir
    are copied to the caller's output_dir; no shared storage is needed. Inside such a process a
    call of the function just calls it.

    Args:
        num_nodes: number of nodes; each is a different machine.
        gpus_per_node: number of GPUs, and so of ranks, per node.
        workers_per_node: number of ranks per node without GPUs; 1 by default.
        cpus_per_worker: CPUs that Ray reserves per rank.
        output_dir: the folder whose files are copied to the caller; by default that of the
            decorated profiler, or ./profiler_logs. Absolute, or relative to the current folder.
        return_all: return the list of all ranks' values instead of rank 0's value.
        address: the address of the cluster; by default the connected cluster, RAY_ADDRESS, a
            cluster that runs on this machine, or a new local one for the duration of the call.
        runtime_env: Ray's runtime_env for the ranks.
        wait_s: how long to wait for resources in use by others.
        grace_s: how long the other ranks may take to end after one failed.

    Raises:
        The exception of the first rank that failed, with its own type and a note that names the
            rank.
        Error: the cluster is too small, or a rank's process died.
        ImportError: Ray is not installed.
    """
    if callable(num_nodes):
        return ray()(num_nodes)
    settings = Settings(
        num_nodes=_count("num_nodes", num_nodes, 1),
        gpus_per_node=_count("gpus_per_node", gpus_per_node, 0),
        workers_per_node=_workers(gpus_per_node, workers_per_node),
        cpus_per_worker=cpus_per_worker,
        output_dir=None if output_dir is None else os.fspath(output_dir),
        return_all=return_all,
        address=address,
        runtime_env=runtime_env,
        wait_s=wait_s,
        grace_s=grace_s,
    )
    if not cpus_per_worker > 0:
        raise ValueError(f"cpus_per_worker: must be greater than 0, not {cpus_per_worker!r}")

    def decorate(function: Callable[..., Any]) -> OnRay:
        if not callable(function):
            raise TypeError(f"ray can only decorate functions, not {function!r:.100}")
        return OnRay(function, settings)

    return decorate


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: must be an integer of at least {least}, not {value!r}")
    return value


def _workers(gpus_per_node: int, workers_per_node: int | None) -> int:
    if workers_per_node is None:
        return gpus_per_node or 1
    _count("workers_per_node", workers_per_node, 1)
    if gpus_per_node not in (0, workers_per_node):
        raise ValueError(
            f"workers_per_node: {workers_per_node} with gpus_per_node={gpus_per_node}; "
            "every GPU has one worker"
        )
    return workers_per_node


class OnRay:
    """A function that runs on the cluster when it is called."""

    def __init__(self, function: Callable[..., Any], settings: Settings) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.settings = settings
        _check_folder(self.output_dir)

    @property
    def output_dir(self) -> str:
        """The caller's folder that receives the files."""
        if self.settings.output_dir is not None:
            return self.settings.output_dir
        function = self.function
        while function is not None:
            found = getattr(function, "output_dir", None)
            if isinstance(found, (str, os.PathLike)):
                return os.fspath(found)
            function = getattr(function, "__wrapped__", None)
        return DEFAULT_OUTPUT_DIR

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if INSIDE in os.environ:
            return self.function(*arguments, **keywords)
        _import_ray()
        from pyrometer._ray.group import Group, pack

        call = pack(self.function, arguments, keywords)
        with _connected(self.settings) as is_ours:
            _check_size(self.settings, is_ours)
            with Group(self.settings, self.output_dir) as group:
                return group.run(call)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)


def _check_folder(output_dir: str) -> None:
    if os.pardir in output_dir.split(os.sep):
        raise ValueError(
            f"output_dir: {output_dir} leads out of the rank's folder; use an absolute path"
        )


def _import_ray() -> Any:
    try:
        import ray as real
    except ImportError as error:
        raise ImportError(f"pyrometer.ray requires Ray: pip install ray ({error})") from None
    return real


@contextlib.contextmanager
def _connected(settings: Settings) -> Iterator[bool]:
    """Connects to a cluster; yields True if this call started it and must end it."""
    real = _import_ray()
    if real.is_initialized():
        yield False
        return
    address = settings.address or os.environ.get("RAY_ADDRESS")
    _check_address(address)
    cpus = max(os.cpu_count() or 1, math.ceil(settings.bundle["CPU"]))
    try:
        real.init(address=settings.address, num_cpus=cpus, include_dashboard=False)
        is_ours = True
    except ValueError:  # Ray found a running cluster and rejects num_cpus
        real.init(address=settings.address)
        is_ours = False
    try:
        yield is_ours
    finally:
        if is_ours:
            time.sleep(LOGS_S)
        real.shutdown()


def _check_address(address: str | None) -> None:
    """Fails early: Ray retries an unreachable address for minutes."""
    found = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address or "")
    if found is None:
        return
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise Error(
            f"no Ray cluster answers at {address}: {error}; is 'ray start --head' running there?",
            "cluster",
        ) from None


def _check_size(settings: Settings, is_ours: bool) -> None:
    """Fails early if the cluster can never provide the resources."""
    real = _import_ray()
    nodes = [one["Resources"] for one in real.nodes() if one["Alive"]]
    fitting = [
        one
        for one in nodes
        if all(one.get(name, 0) >= amount for name, amount in settings.bundle.items())
    ]
    if len(fitting) >= settings.num_nodes:
        return
    there = "; ".join(describe(one) for one in nodes)
    advice = (
        "no running cluster was found, so only this machine is used: start one with "
        "'ray start', or set RAY_ADDRESS"
        if is_ours
        else "add nodes with 'ray start', or request less"
    )
    raise Error(
        f"the Ray cluster is too small: requested {plural(settings.num_nodes, 'node')} with "
        f"{describe(settings.bundle)} each; there {'is' if len(nodes) == 1 else 'are'} "
        f"{plural(len(nodes), 'node')} ({there}); {advice}",
        "cluster",
    )
