"""Raw PCM out of a stream of pieces: stray WAV headers removed, samples whole, no byte of audio lost or invented.

Providers asked for raw PCM sometimes send a WAV header first, or one for each sentence, with a length of 0 or
4294967295 because it was written before the length was known; and they cut the stream anywhere, between the two
bytes of a sample too. RIFF: Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft, 1991.
"""

import struct

from sayagain.records import AudioFormat

MAX_HEADER = 1 << 16
"""Bytes a header may take before its data; a longer one is refused."""

_UNKNOWN_LENGTH = 0x7FFF_0000
"""A data length from here on, or 0, says that its writer did not know the length."""

_PCM, _EXTENSIBLE = 1, 0xFFFE
_TRAILERS = (b"LIST", b"id3 ", b"ID3 ", b"fact", b"cue ", b"smpl", b"bext", b"PEAK")
_RIFF, _WAVE = b"RIFF", b"WAVE"


class WavStream:
    """Takes the pieces of one answer as they come and gives back its PCM.

    `format` is what the last header named, or None while there was none.
    """

    def __init__(self, frame_bytes: int = 2) -> None:
        self.format: AudioFormat | None = None
        self._frame_bytes = frame_bytes
        self._buffer = b""
        self._part = b""
        self._remaining: int | None = None
        self._skip = 0

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return the PCM that is certain by now, in whole samples.

        What is held back is less than one sample, or what may be the beginning of a header. Raises ValueError when
        a header names anything but PCM, or does not end.
        """
        self._buffer += data
        return self._whole(self._drain(last=False))

    def finish(self) -> bytes:
        """Return what was held back, now that nothing follows; half a sample at the very end is dropped."""
        return self._whole(self._drain(last=True))

    def _whole(self, pcm: bytes) -> bytes:
        pcm = self._part + pcm
        size = len(pcm) - len(pcm) % self._frame_bytes
        self._part = pcm[size:]
        return pcm[:size]

    def _drain(self, last: bool) -> bytes:
        """Return the audio in the buffer; keep what cannot be told yet from a header or a trailing chunk."""
        audio = bytearray()
        while self._buffer:
            if self._skip or self._remaining == 0:
                if not self._past_data(last):
                    break
                continue
            start, complete = _find_header(self._buffer)
            if last and not complete:
                start = len(self._buffer)
            if start:
                audio += self._take(start)
            elif not self._parse_header():
                if last:
                    self._buffer = b""
                break
        return bytes(audio)

    def _take(self, size: int) -> bytes:
        """Take audio off the buffer, no further than a known length reaches."""
        if self._remaining is not None:
            size = min(size, self._remaining)
            self._remaining -= size
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _past_data(self, last: bool) -> bool:
        """Step over a chunk that follows data of a known length; return whether there is more to look at.

        What follows and is no chunk is audio all the same: the length was that of a first piece.
        """
        if self._skip:
            skipped = min(self._skip, len(self._buffer))
            self._buffer, self._skip = self._buffer[skipped:], self._skip - skipped
        elif len(self._buffer) < 8 and not last:
            return False
        elif len(self._buffer) >= 8 and self._buffer[:4] in _TRAILERS:
            size = int.from_bytes(self._buffer[4:8], "little")
            self._skip = 8 + size + size % 2
        else:
            self._remaining = None
        return True

    def _parse_header(self) -> bool:
        """Take a header off the front of the buffer; return False when it is not complete."""
        header = _read_header(self._buffer)
        if header is None:
            if len(self._buffer) > MAX_HEADER:
                raise ValueError("a WAV header does not end")
            return False
        size, self.format, length = header
        self._frame_bytes = self.format.frame_bytes
        self._remaining = None if length == 0 or length >= _UNKNOWN_LENGTH else length
        self._buffer = self._buffer[size:]
        return True


def _find_header(data: bytes) -> tuple[int, bool]:
    """Return where the first header begins, or what may become one (with False), or the end of the data."""
    start = data.find(_RIFF)
    while start >= 0:
        mark = data[start + 8 : start + 12]
        if _WAVE.startswith(mark):
            return start, len(mark) == len(_WAVE)
        start = data.find(_RIFF, start + 1)
    for size in range(min(3, len(data)), 0, -1):
        if _RIFF.startswith(data[-size:]):
            return len(data) - size, False
    return len(data), False


def _read_header(data: bytes) -> tuple[int, AudioFormat, int] | None:
    """Return a header's size, its format and the length of its data; None when it is not complete."""
    at, audio_format = 12, None
    while len(data) >= at + 8:
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8
        if kind == b"data":
            if audio_format is None:
                raise ValueError("a WAV header names no format")
            return at, audio_format, size
        if kind == b"fmt ":
            if len(data) < at + size:
                return None
            audio_format = _read_format(data[at : at + size])
        at += size + size % 2
        if at > MAX_HEADER:
            raise ValueError("a WAV header does not end")
    return None


def _read_format(chunk: bytes) -> AudioFormat:
    if len(chunk) < 16:
        raise ValueError("a WAV header is damaged")
    tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if tag == _EXTENSIBLE and len(chunk) >= 26:
        tag = int.from_bytes(chunk[24:26], "little")
    if tag != _PCM or bits % 8 or min(bits, channels, rate) <= 0:
        raise ValueError("the audio is not PCM")
    return AudioFormat(rate=rate, width=bits // 8, channels=channels)
