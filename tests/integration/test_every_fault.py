"""Every fault, in every protocol that can have it, ends as the right failure: one run, each at its own place."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sayagain.providers.catalog import entries
from sayagain.records import Limits
from support.fault_table import FAULTS, HARMLESS, TRUNCATED, expected, possible
from support.rehearsal import TEXT, Place, protocol_of, recorded, run

LIMITS = Limits(
    connect_timeout_s=4,
    idle_timeout_s=3,
    final_timeout_s=8,
    case_timeout_s=60,
    attempts=2,
    concurrency=48,
    provider_concurrency=48,
)
QUICK = {
    "stt": {"first_partial": 0, "partial_interval": 0, "finalization": 20, "fallback": TEXT},
    "tts": {"first_audio": 0, "chunk_interval": 0, "ms_per_character": 20, "chunk_ms": 40},
}
PLACES = [
    Place(entry, label, fault)
    for entry in entries()
    for label, fault in FAULTS.items()
    if possible(protocol_of(entry), label)
]
FAILING = [place for place in PLACES if expected(protocol_of(place.entry), place.label) is not None]
HARMED = [place for place in PLACES if place.label in HARMLESS]


def named(place: Place) -> str:
    return f"{place.entry.target().name}-{place.label}"


class Rehearsal:
    """The artifact of the run, and the stand-in's record."""

    def __init__(self, lines: list[dict[str, Any]], truth: list[dict[str, Any]]) -> None:
        self.summary = lines[-1]
        self.truth = truth
        self.rows: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            if line["record"] == "result":
                self.rows.setdefault(line["target"], []).append(line)

    def injected(self, place: Place) -> set[str]:
        """Return the faults that the stand-in really injected at a place."""
        lines = (line for line in self.truth if line["endpoint"] == place.endpoint)
        return {line["fault"] for line in lines if line["event"] == "fault"}

    def requests(self, place: Place) -> int:
        """Return how often a place was asked for a transcription or for speech."""
        lines = (line for line in self.truth if line["endpoint"] == place.endpoint)
        return sum(1 for line in lines if line["event"] == "request")


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    folder: Path = tmp_path_factory.mktemp("rehearsal")
    lines = run(folder, PLACES, LIMITS, QUICK)
    return Rehearsal(lines, recorded(folder))


@pytest.mark.parametrize("place", FAILING, ids=named)
def test_a_fault_ends_as_its_failure(rehearsal: Rehearsal, place: Place) -> None:
    want = expected(protocol_of(place.entry), place.label)
    assert want is not None
    rows = rehearsal.rows[place.target.key]
    assert {row["status"] for row in rows} == {"failed"}, "no metric of a failed case has a value"
    assert {row["value"] for row in rows} == {None}
    (failure,) = {tuple(row["failure"][key] for key in ("kind", "code", "retryable")) for row in rows}
    assert failure == (want.kind, want.code, want.retryable)
    assert {row["failure"]["phase"] for row in rows} <= {*want.phases}
    assert {row["attempts"] for row in rows} == {LIMITS.attempts if want.retryable else 1}


@pytest.mark.parametrize("place", HARMED, ids=named)
def test_a_fault_that_does_no_harm_changes_nothing(rehearsal: Rehearsal, place: Place) -> None:
    rows = {row["metric"]: row for row in rehearsal.rows[place.target.key]}
    assert {row["status"] for row in rows.values()} == {"succeeded"}
    assert all(row["attempts"] == 1 for row in rows.values())
    if "wer" in rows:
        assert rows["wer"]["value"] == 0


VOICES = [entry.target().name for entry in entries() if entry.target().benchmark == "tts"]


@pytest.mark.parametrize("voice", VOICES)
def test_synthesized_audio_is_whole_however_it_was_cut(rehearsal: Rehearsal, voice: str) -> None:
    lengths = {
        place.label: row["detail"]["audio_ms"]
        for place in PLACES
        if place.entry.target().name == voice and place.label in HARMLESS | {TRUNCATED}
        for row in rehearsal.rows[place.target.key]
        if row["metric"] == "rtf"
    }
    assert lengths["odd-chunks"] == lengths["wav-header"] == lengths["late"]
    assert lengths["late"] == pytest.approx(2 * lengths[TRUNCATED], abs=1)


def test_words_that_are_missing_are_a_poor_score_and_no_failure(rehearsal: Rehearsal) -> None:
    rates = {
        place.target.key: row["value"]
        for place in PLACES
        if place.label == TRUNCATED
        for row in rehearsal.rows[place.target.key]
        if row["metric"] == "wer"
    }
    assert rates
    assert set(rates.values()) == {50.0}


def test_all_that_was_asked_for_was_injected_and_nothing_else(rehearsal: Rehearsal) -> None:
    for place in PLACES:
        kind = place.fault["kind"]
        if kind == "refused":  # nobody answers at a closed port, so nobody can record it
            assert rehearsal.injected(place) == set()
        else:
            assert rehearsal.injected(place) == {kind}, named(place)


def test_the_provider_was_asked_once_for_each_attempt_that_is_reported(rehearsal: Rehearsal) -> None:
    for place in PLACES:
        if place.fault["kind"] not in ("refused", "tls_failure"):
            reported = {row["attempts"] for row in rehearsal.rows[place.target.key]}
            assert {rehearsal.requests(place)} == reported, named(place)


def test_the_buckets_name_every_fault_that_was_injected_and_none_that_was_not(rehearsal: Rehearsal) -> None:
    assert rehearsal.summary["failures_unlisted"] == 0
    wanted: Counter[tuple[str, str | None]] = Counter()
    targets: dict[tuple[str, str | None], set[str]] = {}
    for place in FAILING:
        want = expected(protocol_of(place.entry), place.label)
        assert want is not None
        wanted[want.kind, want.code] += 1
        targets.setdefault((want.kind, want.code), set()).add(place.target.key)
    found: Counter[tuple[str, str | None]] = Counter()
    reached: dict[tuple[str, str | None], set[str]] = {}
    for bucket in rehearsal.summary["buckets"]:
        found[bucket["kind"], bucket["code"]] += bucket["count"]
        reached.setdefault((bucket["kind"], bucket["code"]), set()).update(bucket["targets"])
    assert found == wanted
    assert reached == targets
    assert rehearsal.summary["cases"]["failed"] == len(FAILING)
    assert rehearsal.summary["cases"]["not_run"] == 0
