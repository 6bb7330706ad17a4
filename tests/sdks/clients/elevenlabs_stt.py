import asyncio
import base64

import client_io
from elevenlabs import AsyncElevenLabs
from elevenlabs.realtime import AudioFormat, RealtimeEvents


async def main() -> None:
    client = AsyncElevenLabs(api_key=client_io.KEY, base_url=client_io.WEBSOCKET)
    connection = await client.speech_to_text.realtime.connect(
        {"model_id": "scribe_v2_realtime", "audio_format": AudioFormat.PCM_16000, "sample_rate": 16000}
    )
    partial, committed = asyncio.Event(), asyncio.Event()
    models, partials, finals, errors = [], [], [], []
    connection.on(RealtimeEvents.SESSION_STARTED, lambda event: models.append(event["config"]["model_id"]))
    connection.on(RealtimeEvents.PARTIAL_TRANSCRIPT, lambda event: partials.append(event["text"]))
    connection.on(RealtimeEvents.COMMITTED_TRANSCRIPT, lambda event: finals.append(event["text"]))
    connection.on(RealtimeEvents.PARTIAL_TRANSCRIPT, lambda _: partial.set())
    connection.on(RealtimeEvents.COMMITTED_TRANSCRIPT, lambda _: committed.set())
    connection.on(RealtimeEvents.ERROR, errors.append)
    for chunk in client_io.chunks():
        await connection.send({"audio_base_64": base64.b64encode(chunk).decode()})
    await asyncio.wait_for(partial.wait(), 10)
    await connection.commit()
    await asyncio.wait_for(committed.wait(), 10)
    await connection.close()
    client_io.answer(model=models, partials=partials, finals=finals, errors=[str(error) for error in errors])


asyncio.run(main())
