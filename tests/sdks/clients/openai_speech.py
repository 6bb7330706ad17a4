import hashlib

import client_io
from openai import OpenAI

client = OpenAI(api_key=client_io.KEY, base_url=f"{client_io.HTTP}/v1", max_retries=0)
audio = b""
with client.audio.speech.with_streaming_response.create(
    model="gpt-4o-mini-tts", voice="alloy", input=client_io.text(), response_format="pcm"
) as response:
    for chunk in response.iter_bytes():
        audio += chunk
client_io.answer(bytes=len(audio), sha256=hashlib.sha256(audio).hexdigest())
