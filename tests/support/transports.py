"""A transport without a server, for whoever tests what goes on around an attempt."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sayagain.transports.base import Session, Transport


class Ready(Transport, Session):
    """Ready at any time and its own session; what an attempt does is for a subclass to say."""

    async def prepare(self) -> None:
        """Do nothing."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Offer itself."""
        yield self

    async def aclose(self) -> None:
        """Do nothing."""
