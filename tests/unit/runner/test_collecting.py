"""A run leaves the garbage collector as it found it."""

import gc

import pytest

from sayagain.runner.collecting import RARELY, rare_full_collections


def test_full_collections_are_rare_inside_and_as_before_outside() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()

    def fail_inside() -> None:
        with rare_full_collections():
            assert gc.get_threshold() == (*before[:2], RARELY)
            assert gc.get_freeze_count() > frozen
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_inside()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
