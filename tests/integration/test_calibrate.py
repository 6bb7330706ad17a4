"""`sayagain calibrate` measures, keeps what it found, and later runs carry it."""

import json

from support.commands import Cli, Standin


def test_a_run_after_a_calibration_carries_it_in_its_header(cli: Cli, standin: Standin) -> None:
    cli.env["SAYAGAIN_CALIBRATION"] = "calibration.json"
    found = cli.json("calibrate", "--streams", "2")
    (level,) = found["levels"]
    assert level["streams"] == 2
    for metric in ("ttft", "finalization", "ttfa", "pacing"):
        assert level["samples"][metric] >= 6
        assert level["p50_ms"][metric] <= level["p99_ms"][metric]
    assert found == json.loads((cli.folder / "calibration.json").read_text("utf-8"))
    cli.json("run", "--models", standin("ok"), "--kind", "tts", "--sample", "1")
    header = json.loads(cli.artifact().read_text("utf-8").splitlines()[0])
    assert header["calibration"] == found


def test_a_run_without_a_calibration_says_so(cli: Cli, standin: Standin) -> None:
    cli.env["SAYAGAIN_CALIBRATION"] = "nowhere.json"
    cli.json("run", "--models", standin("ok"), "--kind", "tts", "--sample", "1")
    assert json.loads(cli.artifact().read_text("utf-8").splitlines()[0])["calibration"] is None


def test_a_number_of_streams_that_is_none_is_wrong_usage(cli: Cli) -> None:
    for streams in ("0", "x", "", "1,,2", "100000"):
        assert "--streams" in cli("calibrate", "--streams", streams, code=2).stderr
