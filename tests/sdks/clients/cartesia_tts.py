import hashlib

import client_io
from cartesia import Cartesia

client = Cartesia(api_key=client_io.KEY, base_url=client_io.HTTP, websocket_base_url=client_io.WEBSOCKET)
audio, kinds = b"", []
with client.tts.websocket_connect() as connection:
    context = connection.context()
    context.send(
        model_id="sonic-3",
        transcript=client_io.text(),
        voice={"mode": "id", "id": "6ccbfb76-1fc6-48f7-b71d-91ac6298247b"},
        output_format={"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000},
        continue_=False,
    )
    for event in context.receive():
        kinds.append(event.type)
        if event.type == "chunk":
            audio += event.audio or b""
client_io.answer(bytes=len(audio), sha256=hashlib.sha256(audio).hexdigest(), last=kinds[-1])
