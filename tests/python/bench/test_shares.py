"""A share means the same in Python as on the command line: 0.1 and "10%" are a tenth."""

import pathlib

import pytest

import pyrometer
from pyrometer import _core

RESULTS = pathlib.Path(__file__).parents[3] / "fuzz" / "corpus" / "bench" / "good-1-command.json"


def test_numbers_and_percentages_agree():
    assert _core.share("10%") == pytest.approx(_core.share(0.1)) == pytest.approx(0.1)
    both = [
        pyrometer.detect_regressions(RESULTS, RESULTS, delta=delta, noise=noise)
        for delta, noise in ((0.1, 0.01), ("10%", "1%"))
    ]
    assert both[0] == both[1] == []


@pytest.mark.parametrize("share", [2, 5.0, "2", "ten", -0.1, float("nan")])
def test_what_is_no_share_is_refused_with_what_to_write(share):
    with pytest.raises(ValueError, match="share"):
        pyrometer.detect_regressions(RESULTS, RESULTS, delta=share)
    with pytest.raises(ValueError, match="share"):
        pyrometer.ranks([], late=share)


def test_late_takes_a_percentage(tmp_path):
    with pytest.raises(pyrometer.Error, match="no trace of any rank"):
        pyrometer.ranks(tmp_path, late="5%")
