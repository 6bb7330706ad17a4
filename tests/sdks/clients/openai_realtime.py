import base64

import client_io
from openai import OpenAI

client = OpenAI(api_key=client_io.KEY, base_url=f"{client_io.HTTP}/v1")
deltas, finals, model = [], [], None
with client.realtime.connect(extra_query={"intent": "transcription"}) as connection:
    connection.session.update(
        session={
            "type": "transcription",
            "audio": {
                "input": {
                    "format": {"type": "audio/pcm", "rate": 24000},
                    "transcription": {"model": "gpt-4o-transcribe", "language": "en"},
                    "turn_detection": None,
                }
            },
        }
    )
    for chunk in client_io.chunks():
        connection.input_audio_buffer.append(audio=base64.b64encode(chunk).decode())
    for event in connection:
        if event.type == "session.updated":
            model = event.session.audio.input.transcription.model
        elif event.type == "conversation.item.input_audio_transcription.delta":
            deltas.append(event.delta)
            if len(deltas) == 1:
                connection.input_audio_buffer.commit()
        elif event.type == "conversation.item.input_audio_transcription.completed":
            finals.append(event.transcript)
            break
client_io.answer(finals=finals, joined="".join(deltas), model=model)
