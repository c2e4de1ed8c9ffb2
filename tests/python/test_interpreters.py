"""Interpreters without support for capturing say so in one sentence, but read models and traces."""

import pathlib
import re
import sys

import pytest

import pyrometer
from pyrometer._testing import doctor, env

ROOT = next(path for path in pathlib.Path(__file__).parents if (path / "CMakeLists.txt").exists())
TRACE = ROOT / "tests/files/trace/good-1-training.json"


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_versions_that_are_captured_in(minor):
    assert env.why_no_capture((3, minor, 1), has_gil=True) is None


@pytest.mark.parametrize(
    ("version", "has_gil", "words"),
    [
        ((3, 14, 0), True, "works in Python 3.11 to 3.13; this is Python 3.14"),
        ((4, 0, 0), True, "works in Python 3.11 to 3.13; this is Python 4.0"),
        ((3, 13, 1), False, "the global interpreter lock; this is a free-threaded Python 3.13"),
        ((3, 14, 0), False, "the global interpreter lock; this is a free-threaded Python 3.14"),
    ],
)
def test_versions_that_are_refused(monkeypatch, tmp_path, version, has_gil, words):
    sentence = env.why_no_capture(version, has_gil)
    assert words in sentence and "\n" not in sentence
    monkeypatch.setattr(env, "why_no_capture", lambda: sentence)
    with pytest.raises(pyrometer.Error, match=re.escape(sentence)):
        with pyrometer.capture(tmp_path / "run.pyro"):
            pass
    assert not list(tmp_path.iterdir())
    check = next(one for one in doctor.look_around() if one["name"] == "python")
    assert check["state"] == "problem" and sentence in check["text"]
    assert pyrometer.cost("resnet18").total("macs") == 1814073344
    assert pyrometer.trace(TRACE).events > 0


def test_this_interpreter_is_judged_by_its_own_version():
    expected = sys.version_info[:2] <= (3, 13) and getattr(sys, "_is_gil_enabled", lambda: True)()
    assert (env.why_no_capture() is None) == expected


def test_documents_agree_with_what_is_refused():
    newest = ".".join(map(str, env.NEWEST_CAPTURED))
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert named == ["3.11", "3.12", newest]
    assert f"CPython 3.11, 3.12 or {newest}" in (ROOT / "docs/guides/capture.md").read_text()
