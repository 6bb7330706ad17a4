"""Reading recordings where no test has any."""

from pathlib import Path

from sayagain.records import AudioFormat, Item


async def no_recording(root: Path, item: Item, audio_format: AudioFormat) -> bytes:
    """Fail: nobody asks for a recording here."""
    raise AssertionError(f"{item.id} was read from {root} as {audio_format}")
