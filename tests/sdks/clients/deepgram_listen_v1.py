import client_io
from deepgram import DeepgramClient
from deepgram.environment import DeepgramClientEnvironment

environment = DeepgramClientEnvironment(
    base=client_io.HTTP, production=client_io.WEBSOCKET, agent=client_io.WEBSOCKET, agent_rest=client_io.HTTP
)
client = DeepgramClient(api_key=client_io.KEY, environment=environment)
partials, finals, kinds, models = [], [], [], []
with client.listen.v1.connect(
    model="nova-3", encoding="linear16", sample_rate=16000, interim_results=True
) as connection:
    for chunk in client_io.chunks():
        connection.send_media(chunk)
    partials.append(connection.recv().channel.alternatives[0].transcript)
    connection.send_keep_alive()
    connection.send_finalize()
    connection.send_close_stream()
    for message in connection:
        kinds.append(type(message).__name__)
        if message.type == "Results":
            (finals if message.is_final else partials).append(message.channel.alternatives[0].transcript)
            models.append(message.metadata.model_info.arch)
client_io.answer(partials=partials, finals=finals, last=kinds[-1], model=models[-1])
