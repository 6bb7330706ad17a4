import hashlib

import client_io
from deepgram import DeepgramClient
from deepgram.environment import DeepgramClientEnvironment
from deepgram.speak.v1.types import SpeakV1Text

environment = DeepgramClientEnvironment(
    base=client_io.HTTP, production=client_io.WEBSOCKET, agent=client_io.WEBSOCKET, agent_rest=client_io.HTTP
)
client = DeepgramClient(api_key=client_io.KEY, environment=environment)
audio, kinds, model = b"", [], None
with client.speak.v1.connect(model="aura-2-thalia-en", encoding="linear16", sample_rate=24000) as connection:
    connection.send_text(SpeakV1Text(text=client_io.text()))
    connection.send_flush()
    for message in connection:
        if isinstance(message, bytes):
            audio += message
            continue
        kinds.append(message.type)
        if message.type == "Metadata":
            model = message.model_name
        if message.type == "Flushed":
            connection.send_close()
client_io.answer(bytes=len(audio), sha256=hashlib.sha256(audio).hexdigest(), kinds=kinds, model=model)
