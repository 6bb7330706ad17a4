"""A run keeps the interpreter still, and leaves it as it found it."""

import gc
import sys

import psutil
import pytest

from sayagain.stillness import RARELY, SWITCH_S, YOUNG, stillness


def test_the_interpreter_is_still_inside_and_as_before_outside() -> None:
    before, frozen, switch_s = gc.get_threshold(), gc.get_freeze_count(), sys.getswitchinterval()

    def fail_inside() -> None:
        with stillness():
            assert gc.get_threshold() == (YOUNG, before[1], RARELY)
            assert gc.get_freeze_count() > frozen
            assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_inside()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
    assert sys.getswitchinterval() == switch_s


def test_no_file_stays_open_that_made_room_for_others() -> None:
    before = psutil.Process().num_fds()
    with stillness():
        assert psutil.Process().num_fds() == before
