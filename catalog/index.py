"""Writes the index of the catalog: each skeleton's metadata and cost, and the aliases of models.

usage: python -m catalog.index [--tool build/pyrometer] [--dir catalog/skeletons]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from catalog import aliases, archive, models

ROOT = pathlib.Path(__file__).resolve().parents[1]


def row(tool: str, path: pathlib.Path) -> dict:
    """The index row of one skeleton."""
    extra = json.loads(archive.read_zstd(str(path))["extra/pyrometer.json"])
    command = [tool, "cost", str(path), "--format", "json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    cost = json.loads(finished.stdout)
    if cost["params"] != extra["params"]:
        raise ValueError(f"{path.name}: {cost['params']:,} parameters, not {extra['params']:,}")
    name, shape = next(iter(extra["default_shapes"].items()))
    return {
        "name": extra["name"],
        "family": extra["family"],
        "task": extra["task"],
        "params": extra["params"],
        "macs": cost["total_macs"],
        "input": {name: shape},
        "dims": list(dict.fromkeys(dim["what"] for dim in extra["dims"])),
    }


def cache_values(tool: str, name: str) -> int:
    """Number of values that one token adds to a language model's cache, from its decoding step."""
    command = [tool, "cost", name, "--decode", "--format", "json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    cost = json.loads(finished.stdout)
    size = {"float32": 4, "float16": 2, "bfloat16": 2}[cost["dtype"]]
    return cost["decode"]["kv_cache_bytes_per_past_token"] // size


def section(entries: dict) -> str:
    """A JSON object with one entry per line."""
    lines = (f"{json.dumps(key)}:{json.dumps(entries[key])}" for key in sorted(entries))
    return "{\n" + ",\n".join(lines) + "\n}"


def by_alias(names: dict[str, tuple[str, ...]], known: set[str]) -> dict[str, str]:
    """Aliases mapped to their models; ValueError if a model is missing.

    Models that are described but not exported have aliases already; they are left out.
    """
    names = {name: given for name, given in names.items() if name not in models.NOT_EXPORTED}
    unknown = sorted(set(names) - known)
    if unknown:
        raise ValueError(f"aliases for models missing in the catalog: {', '.join(unknown)}")
    return {alias: name for name, given in names.items() for alias in given}


def text(tool: str, rows: list[dict], decoding: list[str]) -> str:
    """The index: aliases, cache sizes, and one line per model."""
    known = {found["name"] for found in rows}
    lines = ",\n".join(json.dumps(found, separators=(",", ":")) for found in rows)
    caches = {name: cache_values(tool, name) for name in decoding}
    return (
        f'{{"aliases":{section(by_alias(aliases.SAME, known))},\n'
        f'"near":{section(by_alias(aliases.NEAR, known))},\n'
        f'"cache_values_per_token":{section(caches)},\n'
        f'"models":[\n{lines}\n]}}\n'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--tool", default=tool, help="Path of the tool; default: build/pyrometer.")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "catalog" / "skeletons")
    options = parser.parse_args()
    paths = [path for path in sorted(options.dir.glob("*.pt2")) if ".decode" not in path.name]
    rows = sorted((row(options.tool, path) for path in paths), key=lambda found: found["name"])
    decoding = [path.name.removesuffix(".decode.pt2") for path in options.dir.glob("*.decode.pt2")]
    (options.dir.parent / "index.json").write_text(text(options.tool, rows, decoding))
    print(f"{len(rows)} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
