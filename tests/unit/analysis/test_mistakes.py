"""Which words a target gets wrong, against hand counts and against the scores of the same cases."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sayagain.analysis.mistakes import Mistake, Mistakes, count_mistakes
from sayagain.ledger import CaseView
from sayagain.metrics.accuracy import align
from sayagain.metrics.accuracy import mistakes as edits
from sayagain.records import Attempt, Failure, FailureKind, Item, Phase, Status, Trace

LOST = Failure(kind=FailureKind.CONNECTION_LOST, phase=Phase.RECEIVE, message="gone")
WORDS = st.lists(st.sampled_from(["put", "the", "kettle", "on", "off", "a"]), max_size=8)


def item(text: str, language: str = "en") -> Item:
    return Item(id=text, text=text, sha256="0" * 64, language=language)


def view(
    one: Item, heard: str | None, *, target: str = "stt:acme/ear", failure: Failure | None = None
) -> CaseView:
    attempt = Attempt(number=1, trace=Trace(started="", transcript=heard), failure=failure)
    return CaseView(
        position=0,
        case_id="c",
        target=target,
        item_id=one.id,
        item_digest=one.digest,
        repeat=0,
        status=Status.FAILED if failure else Status.SUCCEEDED,
        failure=failure,
        transcript=heard,
        started="",
        connect_ms=None,
        loop_lag_ms=0.0,
        attempts=(attempt,),
    )


def counted(pairs: Sequence[tuple[Item, str | None]], most: int = 20) -> Mistakes:
    return count_mistakes([view(*pair) for pair in pairs], {one.digest: one for one, _ in pairs}, most)


def test_mistakes_are_those_one_would_make_by_hand_the_most_frequent_first() -> None:
    kettle, lamp = item("Put the kettle on."), item("Put the lamp out.")
    found = counted([(kettle, "put a kettle on"), (lamp, "put a lamp out now"), (kettle, "kettle on"), (lamp, "")])
    (target,) = found.targets
    assert (target.metric, target.cases, target.reference) == ("wer", 4, 16)
    assert (target.substitutions, target.deletions, target.insertions) == (2, 6, 1)
    assert target.most_substituted == (Mistake(said="the", heard="a", count=2),)
    assert target.most_inserted == (Mistake(said=None, heard="now", count=1),)
    assert [(m.said, m.count) for m in target.most_deleted] == [("put", 2), ("the", 2), ("lamp", 1), ("out", 1)]


def test_formats_that_mean_the_same_are_no_mistakes() -> None:
    (target,) = counted([(item("ten o'clock, don't be late"), "10:00 do not be late")]).targets
    assert (target.substitutions, target.deletions, target.insertions) == (0, 0, 0)


def test_all_mistakes_are_counted_also_those_that_are_not_listed() -> None:
    (target,) = counted([(item("one fish two birds"), "red cat blue dogs")], most=1).targets
    assert target.substitutions == 4
    assert len(target.most_substituted) == 1


def test_a_language_without_spaces_is_aligned_by_character_and_apart_from_one_with() -> None:
    found = counted([(item("今日は", "ja"), "明日は"), (item("good day"), "good way")])
    by_metric = {target.metric: target for target in found.targets}
    assert by_metric["cer"].most_substituted == (Mistake(said="今", heard="明", count=1),)
    assert by_metric["wer"].most_substituted == (Mistake(said="day", heard="way", count=1),)


def test_failed_cases_and_speech_synthesis_have_no_transcript_to_align() -> None:
    one = item("put the kettle on")
    cases = [view(one, "put", failure=LOST), view(one, None), view(one, "put", target="tts:acme/mouth")]
    assert count_mistakes(cases, {one.digest: one}, 5).targets == ()


def test_a_transcript_whose_reference_is_not_here_is_counted_as_such() -> None:
    found = count_mistakes([view(item("put the kettle on"), "put the kettle on")], {}, 5)
    assert (found.targets, found.without_reference) == ((), 1)


@given(WORDS, WORDS)
def test_mistakes_are_exactly_those_that_the_score_counts(said: list[str], heard: list[str]) -> None:
    counts, pairs = align(said, heard), list(edits(said, heard))
    assert sum(None not in pair for pair in pairs) == counts.substitutions
    assert sum(pair[1] is None for pair in pairs) == counts.deletions
    assert sum(pair[0] is None for pair in pairs) == counts.insertions
    left = [word for word in said if word not in {pair[0] for pair in pairs}]
    assert all(word in heard for word in left)
