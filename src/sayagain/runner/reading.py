"""The child process that reads recordings, decodes them and brings them into the format that is sent.

Run as `python -m sayagain.runner.reading`. It answers each `Wanted` on its standard input with a `Found`, in
order, and ends when its input ends.
"""

from pathlib import Path

import msgspec

from sayagain import logs
from sayagain.datasets import read_pcm
from sayagain.failures import classify
from sayagain.records import Phase
from sayagain.runner.messages import standard_streams
from sayagain.runner.recordings import Found, Wanted

NICENESS = 5
"""How much this process stands back: less than the recorder, because a case waits for it."""


def main() -> None:
    """Serve one run."""
    inbox, outbox = standard_streams(NICENESS)
    logs.configure()
    decoder = msgspec.msgpack.Decoder(Wanted)
    while messages := inbox.take(1):
        outbox.put(_found(decoder.decode(messages[0])))


def _found(wanted: Wanted) -> Found:
    try:
        pcm = read_pcm(Path(wanted.root), wanted.item, wanted.audio_format)
    except Exception as error:
        return Found(number=wanted.number, failure=classify(error, Phase.PREPARE))
    return Found(number=wanted.number, pcm=pcm)


if __name__ == "__main__":
    main()
