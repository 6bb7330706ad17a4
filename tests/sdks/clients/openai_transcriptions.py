import io
import wave

import client_io
from openai import OpenAI

file = io.BytesIO()
with wave.open(file, "wb") as wav:
    wav.setnchannels(1)
    wav.setsampwidth(2)
    wav.setframerate(16000)
    wav.writeframes(client_io.pcm())
client = OpenAI(api_key=client_io.KEY, base_url=f"{client_io.HTTP}/v1", max_retries=0)
plain = client.audio.transcriptions.create(model="whisper-1", file=("a.wav", file.getvalue()))
verbose = client.audio.transcriptions.create(
    model="whisper-1", file=("a.wav", file.getvalue()), response_format="verbose_json"
)
client_io.answer(finals=[plain.text], verbose=verbose.text, seconds=verbose.duration)
