"""A judged run with real engines: the round trip of what was synthesized, and the judge's floor."""

from pathlib import Path

import pytest

from support.commands import Cli, require_whole

pytestmark = pytest.mark.engines


def test_synthesized_speech_is_heard_by_the_judge_and_held_against_its_floor(cli: Cli, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    cli.env["TMPDIR"] = str(temporary)
    report = cli.json("run", "--models", "espeak", "--sample", "3", "--judge")
    require_whole(report)
    assert report["status"] == "succeeded"
    (target,) = report["targets"]
    heard = target["error_rates"]["intelligibility_wer"]
    assert target["metrics"]["intelligibility_wer"]["n"] == 3
    assert heard["percent"] < 60
    assert 0 < heard["floor_percent"] < 20
    assert list(temporary.iterdir()) == []
    cli("artifact", "verify", report["artifact"])
    shown = cli("runs", "show", "latest").stdout
    assert "its floor, pooled over human speech in the same run" in shown


def test_nothing_is_judged_unless_it_is_asked_for(cli: Cli) -> None:
    report = cli.json("run", "--models", "espeak", "--sample", "1")
    (target,) = report["targets"]
    assert "intelligibility_wer" not in target["metrics"]
