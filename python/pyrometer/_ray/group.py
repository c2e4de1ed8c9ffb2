"""Places, starts, awaits and ends the ranks of one call of a function under pyrometer.ray."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import secrets
import sys
from collections.abc import Callable
from typing import Any

import ray
from ray import cloudpickle
from ray.exceptions import RayActorError, RayError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from pyrometer import _env
from pyrometer._error import Error
from pyrometer._ray import files
from pyrometer._ray.settings import Settings, describe, plural
from pyrometer._ray.worker import INSIDE, NodeAgent, Rank

# Time for the other ranks to fail after the first: a peer notices a closed connection before the
# driver notices the death of the process that closed it.
SETTLE_S = 1.0
_CONSEQUENCE = re.compile(r"gloo|nccl|connection (closed|reset|refused)|Dist\w*Error", re.I)
# Variables of the caller's environment that enable capturing. Paths are invalid on other machines.
_CARRIED = ("PYROMETER", "PYROMETER_DEBUG", "CHISEL_BACKEND_RUN", "CHISEL_DEBUG")


class RankTraceback(Exception):
    """The traceback of a rank's exception as text, set as the cause of that exception."""

    def __str__(self) -> str:
        return "\n" + self.args[0]


@dataclasses.dataclass
class Member:
    """A rank as the driver sees it."""

    rank: int
    node: int
    actor: Any
    address: str = ""
    process: int = 0
    gpus: tuple[str, ...] = ()
    outcome: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"rank {self.rank} (pid {self.process} on {self.address})"


def pack(function: Callable[..., Any], arguments: tuple, keywords: dict[str, Any]) -> bytes:
    try:
        return cloudpickle.dumps((function, arguments, keywords))
    except Exception as error:
        error.add_note("pyrometer.ray: cannot send the function or its arguments to the ranks")
        raise


class Group:
    """A placement group, an agent per node and an actor per rank; all end with the block."""

    def __init__(self, settings: Settings, output_dir: str) -> None:
        self.settings = settings
        self.output_dir = output_dir
        self.target = os.path.abspath(output_dir)
        self.members: list[Member] = []
        self.agents: list[Any] = []
        self.roots: list[str] = []
        self.failures: list[Member] = []
        self._placement: Any = None

    def __enter__(self) -> Group:
        strategy = "STRICT_SPREAD" if self.settings.num_nodes > 1 else "STRICT_PACK"
        bundles = [self.settings.bundle for _ in range(self.settings.num_nodes)]
        self._placement = placement_group(bundles, strategy=strategy)
        try:
            if not self._placement.wait(self.settings.wait_s):
                raise Error(
                    f"the Ray cluster is busy: requested {plural(len(bundles), 'node')} with "
                    f"{describe(bundles[0])} each; {describe(ray.available_resources())} "
                    f"free in all after {self.settings.wait_s:g} s",
                    "cluster",
                )
            self._start()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        self._release()

    def _start(self) -> None:
        """A node is a bundle; the ranks of a node are consecutive."""
        settings = self.settings
        for node in range(settings.num_nodes):
            place = PlacementGroupSchedulingStrategy(self._placement, node)
            agent = ray.remote(NodeAgent).options(num_cpus=0, scheduling_strategy=place)
            rank = ray.remote(Rank).options(
                num_cpus=settings.cpus_per_worker,
                num_gpus=1 if settings.gpus_per_node else 0,
                runtime_env=settings.runtime_env,
                scheduling_strategy=place,
            )
            self.agents.append(agent.remote())
            for _ in range(settings.workers_per_node):
                self.members.append(Member(len(self.members), node, rank.remote()))
        try:
            for member, found in zip(
                self.members,
                ray.get([member.actor.describe.remote() for member in self.members]),
                strict=True,
            ):
                member.address, member.process = found["address"], found["process"]
                member.gpus = tuple(found["gpus"])
        except RayError as error:
            raise Error(f"cannot start the ranks: {error}", "cluster") from error

    def run(self, call: bytes) -> Any:
        """Returns rank 0's value, or all values; raises the exception of a rank."""
        folders = self._prepare_folders()
        port = ray.get(self.members[0].actor.open_port.remote())
        sent = ray.put(call)
        running = {
            member.actor.run.remote(self._orders(member, port, folders[member.rank]), sent): member
            for member in self.members
        }
        try:
            self._wait(running)
        except BaseException:  # the caller was interrupted
            self._interrupt(running)
            self._collect(running, self.settings.grace_s)
            raise
        finally:
            self._end()
            self._bring_files()
        if self.failures:
            self._raise_failure()
        values = [self._load(member) for member in self.members if member.outcome["data"]]
        return values if self.settings.return_all else values[0]

    def _prepare_folders(self) -> dict[int, str]:
        token = None
        if os.path.isabs(self.output_dir):
            token = f".pyrometer-{secrets.token_hex(8)}"
            try:
                os.makedirs(self.target, exist_ok=True)
                open(os.path.join(self.target, token), "x").close()
            except OSError:
                token = None
        ranks = [
            [member.rank for member in self.members if member.node == node]
            for node in range(len(self.agents))
        ]
        try:
            found = ray.get(
                [
                    agent.prepare.remote(of_node, self.output_dir, token)
                    for agent, of_node in zip(self.agents, ranks, strict=True)
                ]
            )
        finally:
            if token is not None:
                os.unlink(os.path.join(self.target, token))
        self.roots = [os.path.dirname(next(iter(folders.values()))) for folders in found]
        return {rank: folder for folders in found for rank, folder in folders.items()}

    def _orders(self, member: Member, port: int, folder: str) -> dict[str, Any]:
        first = self.members[0]
        local = [one for one in self.members if one.node == member.node]
        environment = {name: os.environ[name] for name in _CARRIED if name in os.environ}
        environment |= {
            INSIDE: "1",
            "MASTER_ADDR": first.address,
            "MASTER_PORT": str(port),
            "RANK": str(member.rank),
            "WORLD_SIZE": str(len(self.members)),
            "LOCAL_RANK": str(member.rank - local[0].rank),
            "LOCAL_WORLD_SIZE": str(len(local)),
            "NODE_RANK": str(member.node),
            "GROUP_RANK": str(member.node),
        }
        if member.gpus:
            # All GPUs of the node, so that a rank uses cuda:LOCAL_RANK as under torchrun.
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpu for one in local for gpu in one.gpus)
        return {
            "environment": environment,
            "is_spread": len(self.agents) > 1,
            "address": member.address,
            "folder": folder,
            "output_dir": self.output_dir,
            "search_path": [one for one in sys.path if one],
            "wants_value": member.rank == 0 or self.settings.return_all,
        }

    def _wait(self, running: dict[Any, Member]) -> None:
        """Waits until all ranks have ended, or for `grace_s` after one failed and the others were
        interrupted."""
        while running and not self.failures:
            self._collect(running, None, 1)
        self._collect(running, SETTLE_S)
        if running:
            self._interrupt(running)
            self._collect(running, self.settings.grace_s)

    def _collect(
        self, running: dict[Any, Member], timeout_s: float | None, count: int | None = None
    ) -> None:
        """Waits for `count` ranks, or all, and removes the ended ones from `running`."""
        if not running:
            return
        done, _ = ray.wait(list(running), num_returns=count or len(running), timeout=timeout_s)
        for reference in done:
            member = running.pop(reference)
            member.outcome = _outcome(reference)
            if "data" not in member.outcome:
                self.failures.append(member)

    def _interrupt(self, running: dict[Any, Member]) -> None:
        """Raises KeyboardInterrupt in the running ranks, so that their `finally` blocks run."""
        for node, agent in enumerate(self.agents):
            agent.interrupt.remote([one.process for one in running.values() if one.node == node])

    def _end(self) -> None:
        """Ends the processes; those that returned run their exit handlers first."""
        ending = []
        for member in self.members:
            if member.outcome is None:
                ray.kill(member.actor)
            else:
                ending.append(member.actor.__ray_terminate__.remote())
        if ending:
            ray.wait(ending, num_returns=len(ending), timeout=self.settings.grace_s)

    def _bring_files(self) -> None:
        """Copies the files of all nodes. A failure is reported but does not fail the call."""
        taken: dict[str, int] = {}
        for node, agent in enumerate(self.agents):
            address = next(one.address for one in self.members if one.node == node)
            where = f"{self.roots[node]} on {address}"
            try:
                files.bring(agent, self.target, taken)
                left = ray.get(agent.remove.remote())
            except OSError as error:
                _env.say(f"cannot copy the files of ranks from {where}: {error}")
            except RayError as error:
                _env.say(f"the files of ranks are lost or still in {where}: {_first_line(error)}")
            else:
                if left:
                    _env.say(
                        f"{plural(len(left), 'file')} outside {self.output_dir} "
                        f"({left[0]}, ...) not copied from {where}"
                    )
        if taken:
            _env.say(
                f"{plural(len(taken), 'file')} of {plural(len(self.members), 'rank')} "
                f"in {os.path.relpath(self.target)}"
            )

    def _raise_failure(self) -> None:
        """Raises the failure that explains the others: a dead process first, then an exception of
        the function itself."""
        real = [one for one in self.failures if not one.outcome.get("interrupted")]
        first = min(real or self.failures, key=_order_of_blame)
        notes = [f"pyrometer.ray: raised on {first}, one of {plural(len(self.members), 'rank')}"]
        notes += [
            f"pyrometer.ray: {one} also failed: {one.outcome['summary'].splitlines()[0]}"
            for one in real
            if one is not first
        ]
        error, cause = _exception_of(first)
        for note in notes:
            error.add_note(note)
        raise error from cause

    def _load(self, member: Member) -> Any:
        try:
            return cloudpickle.loads(member.outcome["data"])
        except Exception as error:
            raise Error(f"cannot unpickle the value of {member}: {error}", "cluster") from error

    def _release(self) -> None:
        for actor in [member.actor for member in self.members] + self.agents:
            with contextlib.suppress(RayError):
                ray.kill(actor)
        remove_placement_group(self._placement)


def _outcome(reference: Any) -> dict[str, Any]:
    try:
        return ray.get(reference)
    except RayActorError as error:
        return {"died": True, "text": str(error), "summary": _first_line(error)}
    except RayError as error:
        return {"text": str(error), "summary": _first_line(error)}


def _order_of_blame(member: Member) -> tuple[bool, bool]:
    outcome = member.outcome
    return not outcome.get("died"), bool(_CONSEQUENCE.search(outcome.get("summary", "")))


def _exception_of(member: Member) -> tuple[BaseException, BaseException | None]:
    outcome = member.outcome
    if outcome.get("died"):
        message = f"{member} died before the function returned: {_exit_detail(outcome['text'])}"
        return Error(message, "cluster"), None
    if "text" not in outcome:
        return Error(f"{member}: {outcome['summary']}", "cluster"), None
    cause = RankTraceback(f"on {member}:\n{outcome['text']}")
    if outcome.get("error"):
        with contextlib.suppress(Exception):
            error = cloudpickle.loads(outcome["error"])
            if isinstance(error, BaseException):
                return error, cause
    return Error(f"{member} raised {outcome['summary']}", "cluster"), cause


def _exit_detail(text: str) -> str:
    """The relevant first sentences of Ray's long report."""
    found = re.search(r"Worker exit detail: (.*)", text, re.DOTALL)
    detail = " ".join((found.group(1) if found else text).split())
    return detail[:300]


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
