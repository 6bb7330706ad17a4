import asyncio
import base64
import hashlib

import client_io
from hume import AsyncHumeClient
from hume.environment import HumeClientEnvironment
from hume.tts.types import PublishTts

environment = HumeClientEnvironment(
    base=client_io.HTTP,
    evi=f"{client_io.WEBSOCKET}/v0/evi",
    tts=f"{client_io.WEBSOCKET}/v0/tts",
    stream=f"{client_io.WEBSOCKET}/v0/stream",
)


async def main() -> None:
    client = AsyncHumeClient(api_key=client_io.KEY, environment=environment)
    audio, last = b"", []
    async with client.tts.stream_input.connect(
        api_key=client_io.KEY, format_type="pcm", no_binary=True, strip_headers=True, version="2"
    ) as connection:
        await connection.send_publish(PublishTts(text=client_io.text()))
        await connection.send_publish(PublishTts(close=True))
        async for message in connection:
            audio += base64.b64decode(message.audio)
            last.append(message.is_last_chunk)
    client_io.answer(bytes=len(audio), sha256=hashlib.sha256(audio).hexdigest(), last=last)


asyncio.run(main())
