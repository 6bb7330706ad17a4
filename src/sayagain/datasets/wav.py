"""What a WAV file says about its own length, and what to believe.

A program that streams a WAV cannot know its length when it writes the header: it leaves 0, the largest number
or a number near it, in the data chunk's size. libsndfile believes a 0. A file cut short by a broken copy says
more than it holds, and libsndfile reads what is there without a word. Both are settled here.

Layout: Multimedia Programming Interface and Data Specifications 1.0 (IBM and Microsoft, 1991), RIFF WAVE.
"""

import struct
from collections.abc import Iterator

_PLACEHOLDER = 0x7FFF0000
"""Sizes from here on stand for "unknown" when the file is shorter: writers leave 0x7FFFF000 and larger numbers."""


def with_known_length(content: bytes) -> bytes:
    """Return a WAV file whose header states the length of its data; anything else comes back as it is.

    Raises:
        ValueError: The header promises more audio than the file holds, and is no streaming writer's placeholder.
    """
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        return content
    data = next((chunk for chunk in _chunks(content, 12) if chunk[0] == b"data"), None)
    if data is None:
        return content
    _, start, stated = data
    held = len(content) - start
    if 0 < stated <= held or held == 0 or (stated == 0 and _only_chunks(content, start)):
        return content
    if 0 < stated < _PLACEHOLDER:
        raise ValueError(f"is cut short: its header promises {stated} bytes of audio and it holds {held}")
    repaired = bytearray(content)
    struct.pack_into("<I", repaired, 4, len(content) - 8)
    struct.pack_into("<I", repaired, start - 4, held)
    return bytes(repaired)


def _chunks(content: bytes, offset: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield each chunk's id, where its body starts and the size it states; bodies are padded to even sizes."""
    while offset + 8 <= len(content):
        name, size = struct.unpack_from("<4sI", content, offset)
        yield name, offset + 8, size
        offset += 8 + size + size % 2


def _only_chunks(content: bytes, offset: int) -> bool:
    """Say whether what follows is well-formed chunks to the very end, so that a size of 0 before it is true."""
    end = offset
    for name, start, size in _chunks(content, offset):
        if not (name.isascii() and name.decode("ascii").isprintable()):
            return False
        end = start + size + size % 2
    return end - len(content) in (0, 1)
