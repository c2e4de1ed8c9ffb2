"""Shared by the examples of this folder: starts the processes and joins them."""

import os
import socket

import torch
import torch.distributed as dist

from pyrometer import profiler


def join() -> torch.device:
    """Joins the process group and returns this process's device. Under plain `python`
    the process is alone."""
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if not dist.is_initialized():
        if "RANK" not in os.environ:
            os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
            os.environ["MASTER_PORT"] = str(free_port())
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return device


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def add_arguments(parser) -> None:
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--profile", action="store_true", help="profile steps 3 to 5")
    parser.add_argument("--nsight", action="store_true", help="also mark these steps for nsys")
    parser.add_argument("--output-dir", default="./profiler_logs")
    parser.add_argument(
        "--num-nodes", type=int, default=1, help="number of nodes; more than one uses Ray"
    )
    parser.add_argument("--gpus-per-node", type=int, default=0)
    parser.add_argument("--workers-per-node", type=int, help="ranks per node without GPUs")


def run(train, args):
    """Trains here or, for several nodes, on a Ray cluster; profiles if requested."""
    train = profiler(
        enabled=args.profile or args.nsight,
        output_dir=args.output_dir,
        nsight_enabled=args.nsight,
    )(train)
    if args.num_nodes > 1:
        from pyrometer import ray

        train = ray(
            num_nodes=args.num_nodes,
            gpus_per_node=args.gpus_per_node,
            workers_per_node=args.workers_per_node,
        )(train)
    return train(args)
