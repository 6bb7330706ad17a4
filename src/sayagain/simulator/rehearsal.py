"""A command that meets the stand-in wherever it would have met a provider.

Every provider of the catalog is given the stand-in's address and a key that is none, in the environment of that
command alone: nothing it asks for can reach a provider or cost anything, and no real key is shown to anybody.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from sayagain.config import ENDPOINT_PREFIX
from sayagain.errors import UsageError
from sayagain.providers.catalog import entries

SCENARIOS = Path(__file__).parent / "scenarios"
"""Scenarios that come with sayagain, named without their ending."""

NO_KEY = "no-key-in-a-rehearsal"
"""What the command has in place of a provider's key."""


def scenario_file(named: Path | None) -> Path | None:
    """Return the file of a scenario: the one that is named, or one that comes with sayagain and has this name."""
    if named is None or named.exists() or len(named.parts) > 1:
        return named
    bundled = SCENARIOS / f"{named}.toml"
    return bundled if bundled.is_file() else named


def environment(base: str) -> dict[str, str]:
    """Return this process's environment with the stand-in at `base`, a URL, in place of every provider."""
    changed = dict(os.environ)
    for provider in {entry.provider.provider: entry.provider for entry in entries()}.values():
        changed[ENDPOINT_PREFIX + provider.provider.upper().replace("-", "_")] = base
        changed |= dict.fromkeys(provider.keys, NO_KEY)
    return changed


async def rehearse(command: Sequence[str], base: str) -> int:
    """Run a command that meets the stand-in at `base`, and return its exit code: 128 + the signal that ended it.

    SIGTERM is passed on; Ctrl-C reaches the command from the terminal, and this process waits for its end.

    Raises:
        UsageError: The command cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment(base))
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}.") from error
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, process.send_signal, signal.SIGTERM)
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    code = await process.wait()
    return 128 - code if code < 0 else code
