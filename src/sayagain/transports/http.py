"""The HTTP transport: one POST an attempt, answered by a body of audio as it is made, or by one JSON object.

Connections are kept between attempts; the trace says whether one was reused. A piece of a body is stamped with the
instant at which the event loop was handed the latest data of the connection, before that was parsed. Pieces that
arrive while this program is busy are read as one and carry the instant of the last.
"""

import asyncio
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
import msgspec

from sayagain.failures import failed
from sayagain.providers.access import Access, EndOfBody, Head, HttpError, HttpFrame, HttpRequest, Upload, text
from sayagain.providers.network import NetworkCodec, StreamedTts, UploadStt, audio_format_for
from sayagain.records import Case, EventKind, FailureKind, Limits, Phase, Target
from sayagain.transports.base import Channel, Session
from sayagain.transports.connecting import Contact, NetworkTransport, contacting, is_secure, proxy_for, translated
from sayagain.transports.conversation import listen, refusal, require_transcript, synthesize
from sayagain.transports.sending import Outlet
from sayagain.transports.tracing import Tracer

HttpCodec = type[UploadStt] | type[StreamedTts]


class HttpChannel(Channel[HttpFrame]):
    """One request and its answer."""

    def __init__(
        self, session: aiohttp.ClientSession, codec: NetworkCodec, tracer: Tracer, limits: Limits
    ) -> None:
        self.opening_s = limits.connect_timeout_s
        self._session = session
        self._codec = codec
        self._tracer = tracer
        self._contact = Contact()
        self._asking: asyncio.Task[aiohttp.ClientResponse] | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._complete = False

    @property
    def ready_ns(self) -> int:
        """The instant from which the connection could carry the request."""
        return self._contact.connected_ns or self._contact.started_ns

    def sent_at(self) -> int:
        """Return the instant at which the last byte of the request was handed to the operating system."""
        return self._contact.sent_ns

    async def send(self, frame: HttpFrame) -> None:
        """Connect, or take a connection that is there, and send a request.

        Raises a `CaseFailedError` when it cannot be sent; an answer that comes before that is no error yet.
        """
        if not isinstance(frame, HttpRequest):
            raise TypeError("only a request can be sent")
        headers, body = await _encoded(frame)
        self._contact = Contact(len(body))
        with contacting(self._contact):
            self._asking = asyncio.create_task(self._ask(frame, headers, body))
        leaving = asyncio.create_task(self._contact.sent.wait())
        try:
            await asyncio.wait({self._asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            self._note_connection(frame)
        if not self._contact.sent.is_set():
            await self._asking

    async def receive(self) -> tuple[int, HttpFrame] | None:
        """Return the head of the answer, then its body as it comes, then its end; None after that.

        Raises a `CaseFailedError` when the answer refuses the request or the connection ends within it.
        """
        if self._complete or self._asking is None:
            return None
        if self._response is None:
            self._response = await self._asking
            self._require_success(self._response)
            head = {name.lower(): value for name, value in self._response.headers.items()}
            return self._contact.answered_ns or self._contact.arrived_ns(), Head(self._response.status, head)
        try:
            data = await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise translated(error, self._tracer.phase) from None
        self._complete = not data
        return self._contact.arrived_ns(), data or EndOfBody()

    async def close(self) -> None:
        """Let the connection go: back for the next attempt when the answer is complete, closed otherwise."""
        if self._asking is not None and not self._asking.done():
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        if self._response is not None and not self._complete:
            self._response.close()

    async def _ask(self, request: HttpRequest, headers: dict[str, str], body: bytes) -> aiohttp.ClientResponse:
        try:
            return await self._session.request(
                request.method,
                request.url,
                headers=headers,
                data=body or None,
                allow_redirects=False,
                proxy=proxy_for(request.url),
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            phase = Phase.CONNECT if self._contact.connected_ns is None else self._tracer.phase
            raise translated(error, phase) from None

    def _note_connection(self, request: HttpRequest) -> None:
        if self._contact.connected_ns is not None:
            self._tracer.connection = self._contact.connection(secure=is_secure(request.url))
            self._tracer.mark(EventKind.CONNECTED, at_ns=self._contact.connected_ns)

    def _require_success(self, response: aiohttp.ClientResponse) -> None:
        if response.version is not None and self._tracer.connection is not None:
            version = f"{response.version.major}.{response.version.minor}"
            self._tracer.connection = msgspec.structs.replace(self._tracer.connection, http_version=version)
        if response.status >= 300:
            error = http_error(response.status, self._contact.refusal, response.headers.get("Retry-After"))
            raise refusal(self._codec.http_refusal(error), self._tracer.phase)


class HttpSession(Session):
    """One attempt over HTTP."""

    def __init__(self, session: aiohttp.ClientSession, codec: HttpCodec, access: Access) -> None:
        self._session = session
        self._codec = codec
        self._access = access

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        """Build the codec, send the request and read the answer."""
        codec = self._codec(case.target, case.item, self._access)
        channel = HttpChannel(self._session, codec, tracer, limits)
        try:
            if isinstance(codec, UploadStt):
                await upload(channel, codec, pcm, tracer, limits)
            else:
                await synthesize(channel, codec, case.item.text, tracer, limits)
        finally:
            await channel.close()


class HttpTransport(NetworkTransport):
    """Reaches one target over HTTP, with connections of its own."""

    def __init__(self, codec: HttpCodec, target: Target, access: Access, limits: Limits) -> None:
        super().__init__(limits)
        self._codec = codec
        self._access = access
        if issubclass(codec, UploadStt):
            self.audio_format = audio_format_for(codec, target)
            self.joiner = codec.joiner

    def attempt_with(self, client: aiohttp.ClientSession) -> Session:
        """Return an attempt that builds the codec anew."""
        return HttpSession(client, self._codec, self._access)


async def upload(channel: HttpChannel, codec: UploadStt, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
    """Send a whole recording at once and read the transcript.

    The stream starts when the connection is there. Raises a `CaseFailedError` when the provider refuses, answers
    with nothing, or does not answer within the final timeout; errors of the channel pass through.
    """
    tracer.phase = Phase.SEND
    at_ns = await Outlet(channel, limits).send(codec.audio(pcm))
    tracer.mark(EventKind.STREAM_STARTED, at_ns=channel.ready_ns)
    tracer.mark(EventKind.AUDIO_SENT, at_ns=at_ns, size=len(pcm))
    tracer.mark(EventKind.END_SENT, at_ns=at_ns)
    tracer.phase = Phase.FINISH
    patience = asyncio.timeout(limits.final_timeout_s)
    try:
        async with patience:
            await listen(channel, codec.receive, tracer)
    except TimeoutError:
        if not patience.expired():
            raise
        raise failed(
            FailureKind.FINAL_TIMEOUT,
            Phase.FINISH,
            f"no complete answer within {limits.final_timeout_s:g} s of the upload",
        ) from None
    require_transcript(tracer, codec.joiner)


def http_error(status: int, body: bytes, retry_after: str | None) -> HttpError:
    """Return what an answer that refuses said."""
    return HttpError(status, body, retry_after_s(retry_after))


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds a `Retry-After` header asks for (RFC 9110, 10.2.3: seconds or a date), or None."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value.strip()[:9])
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


async def _encoded(request: HttpRequest) -> tuple[dict[str, str], bytes]:
    """Return a request's headers and its whole body, so that the instant at which it has left is known."""
    headers = dict(request.headers)
    if request.form is not None:
        form = aiohttp.FormData(default_to_multipart=True)
        for name, value in request.form.items():
            if isinstance(value, Upload):
                form.add_field(name, value.content, filename=value.name, content_type=value.content_type)
            elif value is not None:
                form.add_field(name, text(value))
        payload = form()
        headers["Content-Type"] = payload.headers["Content-Type"]
        return headers, await payload.as_bytes()
    if request.json is None:
        return headers, b""
    headers["Content-Type"] = "application/json"
    return headers, msgspec.json.encode(request.json)
