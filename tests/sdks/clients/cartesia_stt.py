import client_io
from cartesia import Cartesia

client = Cartesia(api_key=client_io.KEY, base_url=client_io.HTTP)
final, partials, kinds = "", [], []
with client.stt.manual_finalize.websocket(
    model="ink-whisper", encoding="pcm_s16le", sample_rate=16000, language="en"
) as connection:
    for chunk in client_io.chunks():
        connection.send_raw(chunk)
    partials.append(connection.recv().text)
    connection.send("finalize")
    connection.send("close")
    for event in connection:
        kinds.append(event.type)
        if event.type == "transcript":
            if event.is_final:
                final += event.text
            else:
                partials.append(event.text)
client_io.answer(finals=[final], partials=partials, kinds=kinds[-3:])
