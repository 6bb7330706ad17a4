import threading

import client_io
from assemblyai.streaming.v3 import (
    StreamingClient,
    StreamingClientOptions,
    StreamingEvents,
    StreamingParameters,
)

partial = threading.Event()
begun, turns, ended, errors = [], [], [], []
client = StreamingClient(StreamingClientOptions(api_key=client_io.KEY, api_host=client_io.WEBSOCKET))
client.on(StreamingEvents.Begin, lambda _, event: begun.append(event.configuration.model))
client.on(StreamingEvents.Turn, lambda _, event: turns.append(event))
client.on(StreamingEvents.Turn, lambda *_: partial.set())
client.on(StreamingEvents.Termination, lambda _, event: ended.append(event.audio_duration_seconds))
client.on(StreamingEvents.Error, lambda _, error: errors.append(error.code))
client.on(StreamingEvents.Error, lambda *_: partial.set())
client.connect(
    StreamingParameters(sample_rate=16000, format_turns=True, speech_model="universal-streaming-english")
)
client.stream(client_io.chunks())
partial.wait(10)
client.disconnect(terminate=True)
client_io.answer(
    model=begun,
    partials=[turn.transcript for turn in turns if not turn.end_of_turn],
    finals=[turn.transcript for turn in turns if turn.end_of_turn and turn.turn_is_formatted],
    ends=[turn.turn_order for turn in turns if turn.end_of_turn],
    terminated=len(ended),
    errors=errors,
)
