import asyncio

import client_io
from gladiaio_sdk import GladiaClient


async def main() -> None:
    client = GladiaClient(api_key=client_io.KEY, api_url=client_io.HTTP)
    session = client.live_v2_async().start_session(
        {
            "encoding": "wav/pcm",
            "bit_depth": 16,
            "sample_rate": 16000,
            "channels": 1,
            "model": "solaria-1",
            "messages_config": {
                "receive_partial_transcripts": True,
                "receive_final_transcripts": True,
                "receive_acknowledgments": True,
            },
        }
    )
    partial, ended = asyncio.Event(), asyncio.Event()
    messages, codes, errors = [], [], []

    def finish(message):
        codes.append(message.code)
        ended.set()

    def take(message):
        messages.append(message)
        if message.type == "transcript":
            partial.set()

    session.on("message", take)
    session.on("error", lambda error: errors.append(str(error)))
    session.on("ended", finish)
    for chunk in client_io.chunks():
        session.send_audio(chunk)
    await asyncio.wait_for(partial.wait(), 10)
    session.stop_recording()
    await asyncio.wait_for(ended.wait(), 15)
    transcripts = [message.data for message in messages if message.type == "transcript"]
    client_io.answer(
        partials=[data.utterance.text for data in transcripts if not data.is_final],
        finals=[data.utterance.text for data in transcripts if data.is_final],
        acknowledged=sum(message.type == "audio_chunk" for message in messages),
        codes=codes,
        errors=errors,
    )


asyncio.run(main())
