"""An attempt that is over leaves nothing that holds its trace, and its audio, until garbage is collected."""

import gc
import weakref
from collections.abc import AsyncIterator, Iterator

import pytest

from sayagain.failures import let_go
from sayagain.transports.tracing import Tracer
from standins.network_standin import application
from support.socket_provider import SPEECH, UPLOAD, WEBSOCKET, Kind, attempts, serving


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving(application([])) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("kind", [WEBSOCKET, UPLOAD, SPEECH], ids=["websocket", "upload", "speech"])
@pytest.mark.parametrize("word", ["ok", "close-1008", "drop", "garbage", "empty"])
async def test_a_trace_is_gone_with_the_last_who_holds_it(url: str, kind: Kind, word: str) -> None:
    tracer = Tracer()
    remembered = weakref.ref(tracer)
    async with attempts(f"{url}/{word}", kind) as attempt:
        try:
            await attempt(tracer)
        except Exception as error:
            let_go(error)
        del tracer
        del attempt
    assert remembered() is None
