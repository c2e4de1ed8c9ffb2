"""Keeps the rounds of bench/gpu.py in a file, so that a measurement can go on later: more rounds
make the intervals narrower, and each part stays short."""

import hashlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEASURED = ("bench", "include", "python", "src")  # folders whose change makes rounds incomparable
ENDINGS = (".c", ".cpp", ".h", ".hpp", ".py")


def hash_of_sources():
    digest = hashlib.sha256()
    for folder in MEASURED:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in ENDINGS and path.is_file():
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class KeptRounds:
    """The ratios of each model's rounds, by variant. Without a path nothing is kept."""

    def __init__(self, path: pathlib.Path | None, **conditions):
        self._path = path
        self._conditions = {"sources": hash_of_sources(), **conditions} if path else {}
        self._models = {}
        if path and path.exists():
            kept = json.loads(path.read_text())
            self._check(kept["conditions"])
            self._models = kept["models"]

    def _check(self, conditions):
        others = [name for name, value in self._conditions.items() if conditions[name] != value]
        if others:
            sys.exit(f"{self._path}: its rounds were measured with other {', '.join(others)}; "
                     "name another file or delete this one")  # fmt: skip

    def add(self, model, figures):
        """Adds the rounds of `figures`, and gives it those of earlier parts."""
        if not self._path:
            return
        earlier = self._models.get(model, {})
        if earlier and set(earlier) != set(figures.ways):
            sys.exit(f"{self._path}: it has rounds of other variants: {', '.join(earlier)}")
        for way, ratios in earlier.items():
            figures.ratios[way] = ratios + figures.ratios[way]
        self._models[model] = figures.ratios
        text = json.dumps({"conditions": self._conditions, "models": self._models})
        self._path.write_text(text + "\n")
        print(f"{model}: {len(figures.ratios[figures.ways[0]])} rounds with earlier ones",
              file=sys.stderr)  # fmt: skip
