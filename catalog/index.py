"""Writes the index of the catalog: what each skeleton says of itself, and its cost by the tool.

usage: python -m catalog.index [--tool build/pyrometer] [--dir catalog/skeletons]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from catalog import archive

ROOT = pathlib.Path(__file__).resolve().parents[1]


def row(tool: str, path: pathlib.Path) -> dict:
    """What the index says of one skeleton."""
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--tool", default=tool, help="the tool, build/pyrometer if not given")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "catalog" / "skeletons")
    options = parser.parse_args()
    paths = [path for path in sorted(options.dir.glob("*.pt2")) if ".decode" not in path.name]
    rows = sorted((row(options.tool, path) for path in paths), key=lambda found: found["name"])
    lines = ",\n".join(json.dumps(found, separators=(",", ":")) for found in rows)
    (options.dir.parent / "index.json").write_text(f'{{"models":[\n{lines}\n]}}\n')
    print(f"{len(rows)} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
