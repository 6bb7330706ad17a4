"""Which runs a run replays and which replay it. On SQLite and on PostgreSQL."""

from typing import Any

from sayagain.ledger import Ledger, Owner
from sayagain.records import ReplayOf, RunStatus


def begin(ledger: Ledger, make: Any, run_id: str, parent: str | None = None) -> None:
    link = None if parent is None else ReplayOf(run_id=parent, artifact_sha256="ab" * 32)
    ledger.insert_run(make.header(run_id, replay_of=link), Owner.current())


def test_ancestors_are_followed_to_the_first_and_replays_are_found(ledger: Ledger, make: Any) -> None:
    for run_id, parent in (("first", None), ("second", "first"), ("third", "second"), ("other", "first")):
        begin(ledger, make, run_id, parent)
    ledger.finalize("first", RunStatus.PARTIAL)
    assert [(one.run_id, one.status) for one in ledger.lineage("third").ancestors] == [
        ("second", RunStatus.RUNNING),
        ("first", RunStatus.PARTIAL),
    ]
    of_first = ledger.lineage("first")
    assert of_first.ancestors == ()
    assert [one.run_id for one in of_first.replays] == ["second", "other"]


def test_a_parent_that_is_elsewhere_is_named_all_the_same(ledger: Ledger, make: Any) -> None:
    begin(ledger, make, "child", "in another ledger")
    (parent,) = ledger.lineage("child").ancestors
    assert (parent.run_id, parent.status) == ("in another ledger", None)


def test_a_parent_is_found_by_its_whole_id_and_nothing_else(ledger: Ledger, make: Any) -> None:
    for run_id, parent in (("run-1", None), ("a", "latest"), ("b", "run"), ("c", "RUN-1"), ("d", "run_1")):
        begin(ledger, make, run_id, parent)
    for run_id in "abcd":
        assert [one.status for one in ledger.lineage(run_id).ancestors] == [None]
    assert ledger.lineage("run-1").replays == ()


def test_runs_that_name_each_other_end_the_search(ledger: Ledger, make: Any) -> None:
    begin(ledger, make, "hen", "egg")
    begin(ledger, make, "egg", "hen")
    assert [one.run_id for one in ledger.lineage("hen").ancestors] == ["egg"]


def test_a_name_full_of_signs_is_a_name(ledger: Ledger, make: Any) -> None:
    nasty = '%_"\\\u2028\x1b[red]'
    begin(ledger, make, nasty)
    begin(ledger, make, "child", nasty)
    assert [one.run_id for one in ledger.lineage(nasty).replays] == ["child"]
