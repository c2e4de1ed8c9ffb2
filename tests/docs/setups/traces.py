"""Copies two real traces of one model: run.json.gz and after.json.gz."""

import shutil

from blocks import ROOT

for name in ("run.json.gz", "after.json.gz"):
    shutil.copy(ROOT / "tests/files/trace/h200_resnet18_train.json.gz", name)
