"""pyrometer.ray(): a function as the ranks of a training run, on the nodes of a Ray cluster. Ray is
imported when such a function is called and not before."""

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
# What ranks print comes by way of files that Ray reads now and then; a cluster that ends takes the
# last lines with it.
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

    A call starts one process a GPU (or `workers_per_node` processes on CPUs) on each of
    `num_nodes` nodes, with the variables that torch.distributed wants, calls the function with the
    same arguments in all of them and waits. Files that they write below output_dir come to the
    caller's output_dir; no storage is shared. Inside of such a process the function is itself.

    Args:
        num_nodes: how many nodes, each a different one.
        gpus_per_node: GPUs, and with them ranks, on each.
        workers_per_node: ranks on each node when there are no GPUs; 1 by default.
        cpus_per_worker: CPUs that Ray sets aside for a rank.
        output_dir: the folder whose files are brought; by default that of the profiler below,
            or ./profiler_logs. Relative to the current folder, or absolute.
        return_all: a call gives the list of all ranks' values, instead of rank 0's.
        address: of the cluster; by default the one in use, that of RAY_ADDRESS, one that runs on
            this machine, or else a new one of this machine for the time of the call.
        runtime_env: Ray's, for the ranks.
        wait_s: how long to wait for resources that others use.
        grace_s: how long ranks may take to end when another one failed.

    Raises:
        The first rank's exception, of its own type; a note says which rank it was.
        Error: the cluster is too small, or a rank's process died.
        ImportError: there is no ray.
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
        raise ValueError(f"cpus_per_worker: {cpus_per_worker!r} is not more than 0")

    def decorate(function: Callable[..., Any]) -> OnRay:
        if not callable(function):
            raise TypeError(f"ray is for functions, not {function!r:.100}")
        return OnRay(function, settings)

    return decorate


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: {value!r} is not a whole number of {least} or more")
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
    """A function that is spread over the cluster when it is called."""

    def __init__(self, function: Callable[..., Any], settings: Settings) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.settings = settings
        _check_folder(self.output_dir)

    @property
    def output_dir(self) -> str:
        """Where files come to."""
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
            f"output_dir: {output_dir} leads out of the folder that a rank has for itself; "
            "give an absolute path"
        )


def _import_ray() -> Any:
    try:
        import ray as real
    except ImportError as error:
        raise ImportError(f"pyrometer.ray needs Ray: pip install ray ({error})") from None
    return real


@contextlib.contextmanager
def _connected(settings: Settings) -> Iterator[bool]:
    """A cluster to use; True where it was made for this call, and ends with it."""
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
    except ValueError:  # so Ray says that there is a cluster, whose CPUs are given
        real.init(address=settings.address)
        is_ours = False
    try:
        yield is_ours
    finally:
        if is_ours:
            time.sleep(LOGS_S)
        real.shutdown()


def _check_address(address: str | None) -> None:
    """Ray itself tries an address where nobody answers for minutes."""
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
    """Says at once what the cluster can never give."""
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
        "no running cluster was found, so there is this machine alone: start one with "
        "'ray start', or set RAY_ADDRESS"
        if is_ours
        else "add nodes with 'ray start', or ask for less"
    )
    raise Error(
        f"the Ray cluster is too small: asked for {plural(settings.num_nodes, 'node')} with "
        f"{describe(settings.bundle)} each; there {'is' if len(nodes) == 1 else 'are'} "
        f"{plural(len(nodes), 'node')} ({there}); {advice}",
        "cluster",
    )
