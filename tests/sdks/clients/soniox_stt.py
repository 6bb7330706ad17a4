import client_io
from soniox import SonioxClient
from soniox.types import RealtimeSTTConfig

client = SonioxClient(
    api_key=client_io.KEY,
    api_base_url=client_io.HTTP,
    websocket_base_url=f"{client_io.WEBSOCKET}/transcribe-websocket",
)
config = RealtimeSTTConfig(
    model="stt-rt-v4", audio_format="pcm_s16le", sample_rate=16000, num_channels=1, language_hints=["en"]
)
final, partials, finished, errors = "", [], 0, []
with client.realtime.stt.connect(config=config) as session:
    session.send_bytes(client_io.chunks(), finish=False)
    partials.append("".join(token.text for token in session.receive_event().tokens))
    session.finish()
    for event in session.receive_events():
        final += "".join(token.text for token in event.tokens if token.is_final)
        finished += event.finished
        if event.error_code is not None:
            errors.append(event.error_code)
client_io.answer(finals=[final], partials=partials, finished=finished, errors=errors)
