"""Messages between a run and its children survive any way in which bytes arrive."""

import os
import time
from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sayagain.runner.messages import Inbox, framed
from sayagain.runner.recorder import Ack


def numbers(messages: list[bytes]) -> list[int]:
    return [msgspec.msgpack.decode(message, type=Ack).cases for message in messages]


def sent(*pieces: bytes, ended: bool = True) -> Inbox:
    """Return an inbox that is given the pieces, read one by one, and the end."""
    reading, writing = os.pipe()
    inbox = Inbox(reading)
    for piece in pieces:
        os.write(writing, piece)
        if piece:
            inbox._read()
    if ended:
        os.close(writing)
    return inbox


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20), st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_of_the_stream_gives_the_same_messages(cases: list[int], cuts: list[int]) -> None:
    stream = b"".join(framed(Ack(cases=number)) for number in cases)
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    inbox = sent(*(stream[start:end] for start, end in pairwise(places)))
    assert numbers(inbox.take(100)) == cases
    assert inbox.take(100) == []
    os.close(inbox._descriptor)


def test_a_message_that_was_cut_off_is_none() -> None:
    inbox = sent(framed(Ack(cases=1)) + framed(Ack(cases=2))[:-1])
    assert numbers(inbox.take(5)) == [1]
    assert inbox.take(5) == []


def test_no_more_are_taken_than_were_asked_for() -> None:
    inbox = sent(b"".join(framed(Ack(cases=number)) for number in range(5)))
    assert [numbers(inbox.take(2)) for _ in range(4)] == [[0, 1], [2, 3], [4], []]


def test_what_is_there_is_not_held_back_when_nothing_is_due() -> None:
    inbox = sent(framed(Ack(cases=1)), ended=False)
    assert numbers(inbox.take(5)) == [1]


def test_more_is_waited_for_until_it_is_due() -> None:
    due_s = time.monotonic() + 0.05
    assert numbers(sent(framed(Ack(cases=1)), ended=False).take(5, due_s)) == [1]
    assert time.monotonic() >= due_s
