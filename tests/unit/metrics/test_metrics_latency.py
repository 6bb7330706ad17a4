"""STT latencies on traces that can be worked out by hand: t0 at 10 ms, speech from 500 to 2000 ms of the audio."""

from collections.abc import Callable

import pytest

from sayagain import metrics
from sayagain.records import EventKind, FailureKind, FinishedCase, Result, Status

Build = Callable[..., FinishedCase]

T0 = (10, EventKind.STREAM_STARTED)
END = (2510, EventKind.END_SENT)


def scored(finished: FinishedCase) -> dict[str, Result]:
    return {result.metric: result for result in metrics.score(finished)}


def test_ttft_counts_from_the_start_of_speech_not_of_audio(stt_case: Build) -> None:
    events = [T0, (760, EventKind.PARTIAL, "put"), END, (2600, EventKind.FINAL, "put the kettle on")]
    ttft = scored(stt_case(events, transcript="put the kettle on"))["ttft"]
    assert ttft.value == pytest.approx(760 - 10 - 500)
    assert ttft.detail == {"since_audio_start_ms": 750.0, "partial": 1.0}


def test_ttft_ignores_events_that_hold_only_white_space(stt_case: Build) -> None:
    events = [T0, (600, EventKind.PARTIAL, ""), (700, EventKind.PARTIAL, " \n"), (900, EventKind.PARTIAL, "put")]
    assert scored(stt_case(events))["ttft"].value == pytest.approx(900 - 10 - 500)


def test_a_provider_without_partials_has_its_first_final_as_first_text(stt_case: Build) -> None:
    events = [T0, END, (2600, EventKind.FINAL, "put the kettle on")]
    ttft = scored(stt_case(events, transcript="put the kettle on"))["ttft"]
    assert ttft.value == pytest.approx(2600 - 10 - 500)
    assert ttft.detail is not None
    assert ttft.detail["partial"] == 0


def test_text_before_speech_gives_a_negative_ttft(stt_case: Build) -> None:
    events = [T0, (110, EventKind.PARTIAL, "hm"), END, (2600, EventKind.FINAL, "hm")]
    assert scored(stt_case(events, transcript="hm"))["ttft"].value == pytest.approx(-400)


def test_a_final_after_the_end_of_speech_gives_a_positive_ttfs(stt_case: Build) -> None:
    events = [T0, END, (2600, EventKind.FINAL, "put the kettle on")]
    results = scored(stt_case(events, transcript="put the kettle on"))
    assert results["ttfs"].value == pytest.approx(2600 - 10 - 2000)
    assert results["finalization"].value == pytest.approx(90)
    assert results["audio_to_final"].value == pytest.approx(2590)


def test_a_final_before_the_end_of_speech_and_of_the_stream_is_negative_and_not_clamped(stt_case: Build) -> None:
    events = [T0, (1710, EventKind.FINAL, "put the kettle"), END]
    results = scored(stt_case(events, transcript="put the kettle"))
    assert results["ttfs"].value == pytest.approx(-300)
    assert results["finalization"].value == pytest.approx(-800)


def test_the_last_of_several_finals_counts_even_when_they_are_not_in_order_of_time(stt_case: Build) -> None:
    events = [
        T0,
        (2800, EventKind.FINAL, "kettle on"),
        (1500, EventKind.FINAL, "put the"),
        (900, EventKind.PARTIAL, "put"),
        END,
    ]
    results = scored(stt_case(events, transcript="put the kettle on"))
    assert results["audio_to_final"].value == pytest.approx(2790)
    assert results["ttft"].value == pytest.approx(900 - 10 - 500)


def test_an_empty_final_after_the_last_words_does_not_move_the_final(stt_case: Build) -> None:
    events = [T0, END, (2600, EventKind.FINAL, "put the kettle on"), (3400, EventKind.FINAL, " ")]
    results = scored(stt_case(events, transcript="put the kettle on"))
    assert results["finalization"].value == pytest.approx(90)


def test_an_answer_of_an_empty_final_has_a_time_but_no_first_text(stt_case: Build) -> None:
    results = scored(stt_case([T0, END, (2600, EventKind.FINAL, "")], transcript=""))
    assert results["finalization"].value == pytest.approx(90)
    assert results["ttft"].status is Status.SUCCEEDED
    assert results["ttft"].value is None
    assert results["ttft"].reason
    assert results["wer"].value == 100


def test_partials_do_not_stand_in_for_a_final(stt_case: Build) -> None:
    events = [T0, (900, EventKind.PARTIAL, "put"), (2400, EventKind.PARTIAL, "put the kettle on"), END]
    results = scored(stt_case(events, transcript=None))
    assert results["ttft"].value == pytest.approx(390)
    for name in ("ttfs", "finalization", "audio_to_final", "wer", "cer"):
        failure = results[name].failure
        assert failure is not None
        assert failure.kind is FailureKind.SCORING
        assert results[name].value is None


def test_an_item_that_does_not_say_where_its_speech_is_fails_only_what_is_counted_from_there(
    stt_case: Build,
) -> None:
    events = [T0, END, (2600, EventKind.FINAL, "put the kettle on")]
    results = scored(stt_case(events, transcript="put the kettle on", speech=None))
    assert {name for name, result in results.items() if result.status is Status.FAILED} == {"ttft", "ttfs"}


def test_an_item_in_which_nothing_is_said_has_no_zero_point_and_that_is_no_failure(stt_case: Build) -> None:
    events = [T0, END, (2600, EventKind.FINAL, "thank you")]
    results = scored(stt_case(events, transcript="thank you", text=" ", speech=None))
    assert all(result.status is Status.SUCCEEDED for result in results.values())
    for name in ("ttft", "ttfs", "wer", "cer"):
        assert results[name].value is None
        assert results[name].reason
    assert results["wer"].detail == {"S": 0, "D": 0, "I": 2, "N": 0}


def test_a_trace_without_an_end_of_stream_message_fails_finalization_only(stt_case: Build) -> None:
    results = scored(stt_case([T0, (2600, EventKind.FINAL, "put the kettle on")], transcript="put the kettle on"))
    assert [name for name, result in results.items() if result.status is Status.FAILED] == ["finalization"]


def test_a_trace_that_never_started_its_stream_fails_what_is_counted_from_t0(stt_case: Build) -> None:
    results = scored(stt_case([END, (2600, EventKind.FINAL, "put the kettle on")], transcript="put the kettle on"))
    failed = {name for name, result in results.items() if result.status is Status.FAILED}
    assert failed == {"ttft", "ttfs", "audio_to_final"}


def test_rtfx_is_the_audio_duration_over_the_whole_time_with_its_two_parts(stt_case: Build) -> None:
    events = [T0, (110, EventKind.END_SENT), (510, EventKind.FINAL, "put the kettle on")]
    results = scored(stt_case(events, transcript="put the kettle on", settings={"mode": "batch"}))
    assert results["rtfx"].value == pytest.approx(2.5 / 0.5)
    assert results["rtfx"].detail == {"audio_ms": 2500.0, "upload_ms": 100.0, "after_upload_ms": 400.0}


@pytest.mark.parametrize("duration_s", [None, 0.0])
def test_rtfx_of_an_item_without_a_duration_fails_alone(stt_case: Build, duration_s: float | None) -> None:
    events = [T0, (110, EventKind.END_SENT), (510, EventKind.FINAL, "put the kettle on")]
    finished = stt_case(events, transcript="put the kettle on", settings={"mode": "batch"}, duration_s=duration_s)
    results = scored(finished)
    assert [name for name, result in results.items() if result.status is Status.FAILED] == ["rtfx"]


def test_an_instant_final_gives_no_infinite_rtfx(stt_case: Build) -> None:
    events = [T0, (10, EventKind.END_SENT), (10, EventKind.FINAL, "put the kettle on")]
    results = scored(stt_case(events, transcript="put the kettle on", settings={"mode": "batch"}))
    assert results["rtfx"].status is Status.FAILED
