import client_io
from deepgram import DeepgramClient
from deepgram.environment import DeepgramClientEnvironment

environment = DeepgramClientEnvironment(
    base=client_io.HTTP, production=client_io.WEBSOCKET, agent=client_io.WEBSOCKET, agent_rest=client_io.HTTP
)
client = DeepgramClient(api_key=client_io.KEY, environment=environment)
finals, events, first = [], [], None
with client.listen.v2.connect(model="flux-general-en", encoding="linear16", sample_rate=16000) as connection:
    first = type(connection.recv()).__name__
    for chunk in client_io.chunks():
        connection.send_media(chunk)
    events.append(connection.recv().event)
    for _ in range(10):
        connection.send_media(bytes(client_io.CHUNK))
    for message in connection:
        if message.type == "TurnInfo":
            events.append(message.event)
            if message.event == "EndOfTurn":
                finals.append(message.transcript)
                trigger = message.trigger
                connection.send_close_stream()
client_io.answer(finals=finals, first=first, events=events, trigger=trigger)
