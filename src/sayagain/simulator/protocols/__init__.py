"""The protocols the stand-in speaks: one small file each, without sockets, clocks or faults.

A dialect says how one provider's server greets, understands, answers and complains. The conversation around it is
the same for all and lives in `sayagain.simulator.stt` and `sayagain.simulator.tts`.
"""

from sayagain.simulator.protocols.base import Dialect
from sayagain.simulator.protocols.stt_assemblyai import AssemblyAi
from sayagain.simulator.protocols.stt_cartesia import CartesiaStt
from sayagain.simulator.protocols.stt_deepgram import Deepgram
from sayagain.simulator.protocols.stt_deepgram_flux import DeepgramFlux
from sayagain.simulator.protocols.stt_elevenlabs import ElevenLabsStt
from sayagain.simulator.protocols.stt_gladia import Gladia
from sayagain.simulator.protocols.stt_openai_batch import OpenAiBatch
from sayagain.simulator.protocols.stt_openai_realtime import OpenAiRealtime
from sayagain.simulator.protocols.stt_soniox import Soniox
from sayagain.simulator.protocols.stt_speechmatics import Speechmatics
from sayagain.simulator.protocols.tts_cartesia import CartesiaTts
from sayagain.simulator.protocols.tts_deepgram import DeepgramTts
from sayagain.simulator.protocols.tts_elevenlabs import ElevenLabsTts
from sayagain.simulator.protocols.tts_hume import Hume
from sayagain.simulator.protocols.tts_openai import OpenAiSpeech
from sayagain.simulator.protocols.tts_rime import Rime

PROTOCOLS: dict[str, type[Dialect]] = {
    "stt-deepgram": Deepgram,
    "stt-deepgram-flux": DeepgramFlux,
    "stt-assemblyai": AssemblyAi,
    "stt-openai-realtime": OpenAiRealtime,
    "stt-elevenlabs": ElevenLabsStt,
    "stt-speechmatics": Speechmatics,
    "stt-gladia": Gladia,
    "stt-soniox": Soniox,
    "stt-cartesia": CartesiaStt,
    "stt-openai-batch": OpenAiBatch,
    "tts-openai": OpenAiSpeech,
    "tts-elevenlabs": ElevenLabsTts,
    "tts-cartesia": CartesiaTts,
    "tts-deepgram": DeepgramTts,
    "tts-rime": Rime,
    "tts-hume": Hume,
}
"""Every protocol by its name, which is also the name of its default endpoint."""
