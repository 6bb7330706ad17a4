import hashlib

import client_io
from elevenlabs import ElevenLabs

client = ElevenLabs(api_key=client_io.KEY, base_url=client_io.HTTP)
audio = b"".join(
    client.text_to_speech.convert_realtime(
        "voice-1", text=iter([client_io.text()]), model_id="eleven_flash_v2_5", output_format="pcm_24000"
    )
)
client_io.answer(bytes=len(audio), sha256=hashlib.sha256(audio).hexdigest())
