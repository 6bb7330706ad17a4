import asyncio

import client_io
from speechmatics.rt import (
    AsyncClient,
    AudioEncoding,
    AudioFormat,
    ServerMessageType,
    TranscriptionConfig,
)


async def main() -> None:
    partials, finals, ended = [], [], []
    partial = asyncio.Event()
    async with AsyncClient(api_key=client_io.KEY, url=f"{client_io.WEBSOCKET}/v2") as client:
        client.on(
            ServerMessageType.ADD_PARTIAL_TRANSCRIPT,
            lambda message: partials.append(message["metadata"]["transcript"]),
        )
        client.on(
            ServerMessageType.ADD_TRANSCRIPT, lambda message: finals.append(message["metadata"]["transcript"])
        )
        client.on(ServerMessageType.ADD_PARTIAL_TRANSCRIPT, lambda _: partial.set())
        client.on(ServerMessageType.END_OF_TRANSCRIPT, ended.append)
        await client.start_session(
            transcription_config=TranscriptionConfig(language="en", enable_partials=True),
            audio_format=AudioFormat(
                encoding=AudioEncoding.PCM_S16LE, sample_rate=16000, chunk_size=client_io.CHUNK
            ),
        )
        for chunk in client_io.chunks():
            await client.send_audio(chunk)
        await asyncio.wait_for(partial.wait(), 10)
        await client.stop_session()
    client_io.answer(partials=partials, finals=["".join(finals).strip()], ended=len(ended))


asyncio.run(main())
