"""Prompt turns are asked for while something is measured, and given back."""

import pytest

from sayagain.promptness import TURN_NS, change_turn, promptness


def test_turns_are_short_inside_and_as_before_outside() -> None:
    before = change_turn(1_000_000)
    if before is None:
        pytest.skip("no turn can be asked for here")
    try:
        with promptness():
            assert change_turn(TURN_NS) == TURN_NS
        assert change_turn(before) == 1_000_000
    finally:
        change_turn(before)


def test_where_none_can_be_asked_for_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    assert change_turn(TURN_NS) is None
    with promptness():
        pass
