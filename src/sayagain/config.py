"""Settings: every default in one place, overridden by sayagain.toml, then .env, then the environment, then flags.

`Settings` is the only definition: the command line takes its flags' defaults and help from here.
"""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
import msgspec.inspect

from sayagain.errors import UsageError

CONFIG_FILE = "sayagain.toml"
UNPREFIXED = {
    "db": "DATABASE_URL",
    "artifact_dir": "RUN_ARTIFACT_DIR",
    "artifact_hmac_key": "RUN_ARTIFACT_HMAC_KEY",
}
"""Settings whose variable is not simply SAYAGAIN_ and their name."""

TABLES = ("wyoming", "endpoints", "targets")
"""Settings that are tables: they have no variable of their own, and a later source adds to an earlier one."""

ENDPOINT_PREFIX = "SAYAGAIN_ENDPOINT_"
"""Beginning of the variables that give a provider another base URL."""

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
PositiveSeconds = Annotated[float, msgspec.Meta(ge=0.001, le=86_400)]
"""A millisecond to a day: no wait is meant to be shorter or longer, and none is infinite."""


def _doc(text: str) -> msgspec.Meta:
    return msgspec.Meta(extra={"help": text})


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a run can be told. Each field's help is its documentation; times are in seconds."""

    kind: Annotated[Literal["stt", "tts", "both"], _doc("What to benchmark: stt, tts or both.")] = "both"
    models: Annotated[
        str | None,
        _doc(
            "Targets, separated by commas: a provider, provider/model, a pattern such as 'piper/*', or "
            "wyoming/HOST:PORT. Default: every local engine that is installed."
        ),
    ] = None
    dataset: Annotated[
        str | None, _doc("Dataset ids or manifest paths, separated by commas. Default: the built-in ones.")
    ] = None
    sample: Annotated[PositiveInt | None, _doc("Take this many items of each dataset, chosen by the seed.")] = None
    seed: Annotated[int, _doc("Seed of the sample and of the order of the cases.")] = 0
    repeat: Annotated[PositiveInt, _doc("Run every case this many times.")] = 1
    concurrency: Annotated[PositiveInt, _doc("Cases in flight at once, over all targets.")] = 4
    provider_concurrency: Annotated[PositiveInt, _doc("Cases in flight at once for one provider.")] = 1
    judge: Annotated[
        bool, _doc("Let a local recognizer hear all synthesized speech, after everything timed is over.")
    ] = False
    attempts: Annotated[PositiveInt, _doc("Tries of a case whose failure may pass by itself.")] = 3
    connect_timeout: Annotated[PositiveSeconds, _doc("Seconds for a connection to be established.")] = 10.0
    idle_timeout: Annotated[PositiveSeconds, _doc("Seconds without any answer while one is due.")] = 15.0
    final_timeout: Annotated[PositiveSeconds, _doc("Seconds from the end of the stream to the last final.")] = 20.0
    case_timeout: Annotated[PositiveSeconds, _doc("Seconds for one attempt of a case as a whole.")] = 120.0
    grace: Annotated[PositiveSeconds, _doc("Seconds that cases in flight are given when the run is stopped.")] = (
        5.0
    )
    ledger_timeout: Annotated[PositiveSeconds, _doc("Seconds for which a refused ledger write is retried.")] = 30.0
    db: Annotated[str, _doc("Ledger: a database URL, SQLite or PostgreSQL.")] = "sqlite:///sayagain.db"
    artifact_dir: Annotated[
        str | None,
        _doc(
            "Where the JSONL artifact of each run goes: a directory, or a URL such as s3://BUCKET/PREFIX. Unset: "
            "none is written."
        ),
    ] = None
    require_artifact: Annotated[
        bool, _doc("Refuse to start when the artifact cannot be written, and exit with 1 when it was not.")
    ] = False
    artifact_hmac_key: Annotated[
        str | None, _doc("Key for the transcript digests in artifacts. Unset: plain SHA-256.")
    ] = None
    datasets_dir: Annotated[str, _doc("Directory of imported datasets, one folder each.")] = "datasets"
    calibration: Annotated[
        str, _doc("File with this machine's own timing error, which `sayagain calibrate` writes.")
    ] = "~/.local/state/sayagain/calibration.json"
    wyoming: Annotated[dict[str, str], _doc("Names for Wyoming servers: a table of name = 'HOST:PORT'.")] = {}
    targets: Annotated[
        dict[str, dict[str, str | int | float | bool]],
        _doc(
            "Settings that differ from the catalog's: a table of target = { setting = value }, in sayagain.toml."
        ),
    ] = {}
    endpoints: Annotated[
        dict[str, str],
        _doc("Other base URLs for providers: a table of provider = 'https://…', or SAYAGAIN_ENDPOINT_PROVIDER."),
    ] = {}


def variable(name: str) -> str:
    """Return the environment variable that sets a field of `Settings`."""
    return UNPREFIXED.get(name, f"SAYAGAIN_{name.upper()}")


def help_for(name: str) -> str:
    """Return the documentation of a field of `Settings`."""
    kind = _field(name).type
    while isinstance(kind, msgspec.inspect.Metadata):
        if "help" in (kind.extra or {}):
            return str((kind.extra or {})["help"])
        kind = kind.type
    raise KeyError(name)


def default_for(name: str) -> Any:
    """Return the built-in default of a field of `Settings`."""
    field = _field(name)
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


def load_settings(
    flags: Mapping[str, Any], *, folder: Path | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Resolve the settings of one command, later sources winning: file, .env, environment, flags.

    Args:
        flags: What was said on the command line, by field name; None means not said.
        folder: Where sayagain.toml and .env are looked for; the current folder unless said.
        environ: The environment; the process's own unless said.

    Raises:
        UsageError: A source holds an unknown setting or a value of the wrong kind; it names which.
    """
    folder = folder or Path()
    settings = Settings()
    for source, values in (
        (CONFIG_FILE, _from_file(folder / CONFIG_FILE)),
        (".env", _from_variables(_dotenv(folder / ".env"))),
        ("the environment", _from_variables(os.environ if environ is None else environ)),
        ("the command line", {name: value for name, value in flags.items() if value is not None}),
    ):
        settings = _overlay(settings, values, source)
    return settings


def local_secrets(folder: Path | None = None, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return every configured value that must never be printed, by variable name.

    A variable is a secret when its name says so (KEY, TOKEN, SECRET, PASSWORD, CREDENTIAL); the password inside
    a database URL is one too.
    """
    variables = _dotenv((folder or Path()) / ".env") | dict(os.environ if environ is None else environ)
    found = {name: value for name, value in variables.items() if value and is_secret(name)}
    url = urlsplit(variables.get(UNPREFIXED["db"], ""))
    if url.password:
        found |= {"password of DATABASE_URL": url.password, "password, decoded": unquote(url.password)}
    return found


def is_secret(name: str) -> bool:
    """Tell whether the value of a variable of this name must never be printed."""
    return any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"))


@cache
def _fields() -> dict[str, msgspec.inspect.Field]:
    struct = msgspec.inspect.type_info(Settings)
    assert isinstance(struct, msgspec.inspect.StructType)  # noqa: S101 - narrows the type for the checker
    return {field.name: field for field in struct.fields}


def _field(name: str) -> msgspec.inspect.Field:
    return _fields()[name]


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Correct it or move it away.") from error


def _dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values

    try:
        values = dotenv_values(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Correct it or move it away.") from error
    return {name: value for name, value in values.items() if value is not None}


def _from_variables(variables: Mapping[str, str]) -> dict[str, Any]:
    """An empty variable counts as unset: that is how a container file or a shell turns one off."""
    names = {variable(name): name for name in _fields() if name not in TABLES}
    given = {name: value.strip() for name, value in variables.items() if value.strip()}
    endpoints = {
        name.removeprefix(ENDPOINT_PREFIX).lower().replace("_", "-"): value
        for name, value in given.items()
        if name.startswith(ENDPOINT_PREFIX)
    }
    return {names[name]: given[name] for name in given if name in names} | (
        {"endpoints": endpoints} if endpoints else {}
    )


def _overlay(settings: Settings, values: Mapping[str, Any], source: str) -> Settings:
    known = msgspec.to_builtins(settings)
    tables = {name: known[name] | values[name] for name in TABLES if isinstance(values.get(name), dict)}
    merged = known | dict(values) | tables
    try:
        return msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {error}. `sayagain run --help` explains each setting.") from error
