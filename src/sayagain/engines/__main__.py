"""Run one engine as a Wyoming server: `python -m sayagain.engines NAME [--option…]`.

It loads the engine, warms it up, and only then prints one line of JSON with its port on stdout. It serves until
its stdin ends; in a terminal that is Ctrl-D. An engine that cannot be loaded is one line with the reason, and
exit code 1.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from sayagain.engines.interface import EngineError, SttEngine, TtsEngine
from sayagain.engines.lifetime import follow_parent, take_stdout
from sayagain.engines.registry import ENGINES, EngineInfo, find, load_attribute
from sayagain.engines.server import OpenSession, listen, serve_forever
from sayagain.engines.sessions import SttSession, TtsSession
from sayagain.errors import UsageError
from sayagain.records import Setting


def main(arguments: Sequence[str]) -> int:
    """Load the engine that the arguments name and serve it; return an exit code only when it cannot be loaded."""
    info, settings = _parse(arguments)
    announce = take_stdout()
    follow_parent()
    started = time.perf_counter()
    try:
        open_session, version = load(info, settings)
        listener = listen()
    except Exception as error:  # the parent is owed one line, whatever went wrong
        announce({"ready": False, "error": info.why_missing() or f"{type(error).__name__}: {error}"})
        return 1
    announce(
        {
            "ready": True,
            "port": listener.getsockname()[1],
            "engine": info.name,
            "engine_version": version,
            "model": info.model,
            "load_s": round(time.perf_counter() - started, 3),
        }
    )
    return serve_forever(listener, open_session)


def load(info: EngineInfo, settings: dict[str, Setting]) -> tuple[OpenSession, str]:
    """Load and warm up an engine; return what opens a session with it, and its version.

    Raises whatever the engine raises, and EngineError when it is not an engine.
    """
    implementation = load_attribute(info.implementation)
    engine = implementation(**settings) if callable(implementation) else None
    if isinstance(engine, SttEngine):
        engine.warm_up()
        return lambda send: SttSession(engine, info, send), engine.version
    if isinstance(engine, TtsEngine):
        engine.warm_up()
        return lambda send: TtsSession(engine, info, send), engine.version
    raise EngineError(f"{info.implementation} makes neither an SttEngine nor a TtsEngine")


def _parse(arguments: Sequence[str]) -> tuple[EngineInfo, dict[str, Setting]]:
    """Parse the command line: an engine and its own settings as options."""
    engines = {info.name: info for info in ENGINES}
    parser = argparse.ArgumentParser(prog="python -m sayagain.engines", description="Run an engine as a server.")
    if arguments and ":" in arguments[0]:
        try:
            engines[arguments[0]] = find(arguments[0])
        except UsageError as error:
            parser.error(str(error))
    commands = parser.add_subparsers(dest="name", required=True)
    for name, info in engines.items():
        command = commands.add_parser(name, help=info.description)
        for setting, default in info.settings.items():
            option = f"--{setting.replace('_', '-')}"
            command.add_argument(option, type=type(default), default=default, help="default: %(default)s")
    settings = vars(parser.parse_args(arguments))
    return engines[settings.pop("name")], settings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
