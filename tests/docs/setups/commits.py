"""Makes a git repository with two commits of a program; the second one takes twice as long."""

import pathlib
import subprocess


def git(*words: str) -> None:
    identity = ["-c", "user.name=docs", "-c", "user.email=docs@example.invalid"]
    subprocess.run(["git", *identity, *words], check=True, capture_output=True)


git("init", "-b", "main")
for seconds in ("0.02", "0.04"):
    program = pathlib.Path("infer")
    program.write_text(f"#!/bin/sh\nexec sleep {seconds}\n")
    program.chmod(0o755)
    git("add", "infer")
    git("commit", "-m", f"take {seconds} s")
