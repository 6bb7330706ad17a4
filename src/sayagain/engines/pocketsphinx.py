"""PocketSphinx: streaming recognition with hidden Markov models and a trigram language model."""

from importlib.metadata import version
from typing import Any

from sayagain.engines.interface import SPEECH_FORMAT, Progress, SttEngine, Utterance

BLOCK_BYTES = 2 * SPEECH_FORMAT.rate // 10
"""Audio handed to the decoder at once: 0.1 s."""


class PocketSphinx(SttEngine):
    """Loads the models of the wheel. `update_interval_s`: new audio, in seconds, after which it is asked again."""

    def __init__(self, update_interval_s: float = 0.1) -> None:
        from pocketsphinx import Decoder

        self.version = version("pocketsphinx")
        self._update_bytes = int(SPEECH_FORMAT.rate * SPEECH_FORMAT.frame_bytes * update_interval_s)
        self._decoder = Decoder(samprate=float(SPEECH_FORMAT.rate), loglevel="ERROR")
        self._channel = self._decoder.get_cmn(False)

    def warm_up(self) -> None:
        """Decode half a second of silence."""
        utterance = self.begin()
        utterance.accept(bytes(5 * BLOCK_BYTES))
        utterance.finish()
        utterance.close()

    def begin(self) -> Utterance:
        """Start an utterance from the model's own estimate of the channel.

        The decoder carries its estimate (the cepstral mean) from one utterance to the next; without this,
        what it hears would depend on what it heard before.
        """
        self._decoder.set_cmn(self._channel)
        return PocketSphinxUtterance(self._decoder, self._update_bytes)


class PocketSphinxUtterance(Utterance):
    """One utterance of the decoder; it completes no segment before the end."""

    def __init__(self, decoder: Any, update_bytes: int) -> None:
        self._decoder = decoder
        self._update_bytes = update_bytes
        self._new_bytes = 0
        self._hypothesis = ""
        self._open = True
        decoder.start_utt()

    def accept(self, pcm: bytes) -> Progress:
        """Decode audio and, when enough of it is new, ask for the best path so far."""
        for start in range(0, len(pcm), BLOCK_BYTES):
            self._decoder.process_raw(pcm[start : start + BLOCK_BYTES], False, False)
        self._new_bytes += len(pcm)
        if self._new_bytes >= self._update_bytes:
            self._new_bytes = 0
            self._hypothesis = self._best_path()
        return Progress(hypothesis=self._hypothesis)

    def finish(self) -> Progress:
        """End the utterance: the decoder searches it a second time and rescores the lattice."""
        self._open = False
        self._decoder.end_utt()
        text = self._best_path()
        return Progress(segments=(text,) if text else (), hypothesis=text)

    def close(self) -> None:
        """End an utterance that was abandoned: the decoder takes no other before."""
        if self._open:
            self._decoder.end_utt()

    def _best_path(self) -> str:
        found = self._decoder.hyp()
        return found.hypstr if found is not None else ""
