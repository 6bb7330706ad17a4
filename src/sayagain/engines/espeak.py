"""eSpeak NG: formant synthesis through the C interface of its shared library, which the wheel brings.

Source of every name and number: speak_lib.h of eSpeak NG 1.52. Only ever imported inside the engine's process.
"""

import ctypes
import re

from sayagain.engines.interface import Emit, EngineError, TtsEngine
from sayagain.records import AudioFormat

AUDIO_OUTPUT_SYNCHRONOUS = 2
INITIALIZE_DONT_EXIT = 0x8000
RATE_PARAMETER = 1
CHARS_UTF8 = 1
BUFFER_MS = 50
SynthCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Espeak(TtsEngine):
    """Loads the library with an American English voice, at a speed in words per minute.

    The library's oscillators run on from one text to the next, so the same text gives the same bytes only in a
    fresh process; between texts the audio differs by a few samples.
    """

    def __init__(self, words_per_minute: int = 175) -> None:
        import espeakng_loader

        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        self._declare()
        data = espeakng_loader.get_data_path().encode()
        rate = self._library.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, BUFFER_MS, data, INITIALIZE_DONT_EXIT)
        if rate <= 0:
            raise EngineError(f"espeak-ng could not be initialized (error {rate})")
        self._check(self._library.espeak_SetVoiceByName(b"en-us"))
        self._check(self._library.espeak_SetParameter(RATE_PARAMETER, words_per_minute, 0))
        self.audio_format = AudioFormat(rate=rate)
        self.version = _version(self._library.espeak_Info(None))
        self._emit: Emit = _ignore
        # Kept for as long as the library may call it.
        self._callback = SynthCallback(self._on_audio)
        self._library.espeak_SetSynthCallback(self._callback)

    def warm_up(self) -> None:
        """Speak a word to nobody."""
        self.synthesize("Ready.", _ignore)

    def synthesize(self, text: str, emit: Emit) -> None:
        """Speak a text; the library calls back with each buffer as it fills it."""
        self._emit = emit
        encoded = text.encode()
        try:
            self._check(self._library.espeak_Synth(encoded, len(encoded) + 1, 0, 0, 0, CHARS_UTF8, None, None))
        finally:
            self._emit = _ignore

    def _on_audio(self, samples: int | None, count: int, _events: int | None) -> int:
        """Hand a buffer over; a result other than 0 makes the library stop."""
        if not samples or count <= 0:
            return 0
        return 0 if self._emit(ctypes.string_at(samples, count * self.audio_format.width)) else 1

    def _declare(self) -> None:
        unsigned, pointer = ctypes.c_uint, ctypes.c_void_p
        self._library.espeak_Info.restype = ctypes.c_char_p
        self._library.espeak_Synth.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            unsigned,
            ctypes.c_int,
            unsigned,
            unsigned,
            pointer,
            pointer,
        ]

    def _check(self, error: int) -> None:
        if error != 0:
            raise EngineError(f"espeak-ng reported error {error}")


def _ignore(_pcm: bytes) -> bool:
    return True


def _version(info: bytes | None) -> str:
    """Return the number at the start of the library's description of itself."""
    found = re.match(r"[\d.]+", (info or b"").decode())
    return found.group() if found else "unknown"
