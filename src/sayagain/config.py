"""Settings: every default in one place, overridden by sayagain.toml, then .env, then the environment, then flags.

`Settings` is the only definition: the command line takes its flags' defaults and help from here.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from sayagain.errors import UsageError

CONFIG_FILE = "sayagain.toml"
UNPREFIXED = {
    "db": "DATABASE_URL",
    "artifact_dir": "RUN_ARTIFACT_DIR",
    "artifact_hmac_key": "RUN_ARTIFACT_HMAC_KEY",
}
"""Settings whose variable is not simply SAYAGAIN_ and their name."""

PositiveInt = Annotated[int, msgspec.Meta(ge=1)]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]


def _doc(text: str) -> msgspec.Meta:
    return msgspec.Meta(extra={"help": text})


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a run can be told. Each field's help is its documentation; times are in seconds."""

    kind: Annotated[str, _doc("What to benchmark: stt, tts or both.")] = "both"
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
    sample: Annotated[
        PositiveInt | None, _doc("Take this many items of each dataset, chosen by the seed.")
    ] = None
    seed: Annotated[int, _doc("Seed of the sample and of the order of the cases.")] = 0
    repeat: Annotated[PositiveInt, _doc("Run every case this many times.")] = 1
    concurrency: Annotated[PositiveInt, _doc("Cases in flight at once, over all targets.")] = 4
    provider_concurrency: Annotated[PositiveInt, _doc("Cases in flight at once for one provider.")] = 1
    attempts: Annotated[PositiveInt, _doc("Tries of a case whose failure may pass by itself.")] = 3
    connect_timeout: Annotated[PositiveSeconds, _doc("Seconds for a connection to be established.")] = 10.0
    idle_timeout: Annotated[PositiveSeconds, _doc("Seconds without any answer while one is due.")] = 15.0
    final_timeout: Annotated[
        PositiveSeconds, _doc("Seconds from the end of the stream to the last final.")
    ] = 20.0
    case_timeout: Annotated[PositiveSeconds, _doc("Seconds for one attempt of a case as a whole.")] = 120.0
    grace: Annotated[
        PositiveSeconds, _doc("Seconds that cases in flight are given when the run is stopped.")
    ] = 5.0
    ledger_timeout: Annotated[
        PositiveSeconds, _doc("Seconds for which a refused ledger write is retried.")
    ] = 30.0
    db: Annotated[str, _doc("Ledger: a database URL, SQLite or PostgreSQL.")] = "sqlite:///sayagain.db"
    artifact_dir: Annotated[
        str | None, _doc("Directory for the JSONL artifact of each run. Unset: none is written.")
    ] = None
    artifact_hmac_key: Annotated[
        str | None, _doc("Key for the transcript digests in artifacts. Unset: plain SHA-256.")
    ] = None
    datasets_dir: Annotated[str, _doc("Directory of imported datasets, one folder each.")] = "datasets"
    wyoming: Annotated[dict[str, str], _doc("Names for Wyoming servers: a table of name = 'HOST:PORT'.")] = {}


def variable(name: str) -> str:
    """Return the environment variable that sets a field of `Settings`."""
    return UNPREFIXED.get(name, f"SAYAGAIN_{name.upper()}")


def help_for(name: str) -> str:
    """Return the documentation of a field of `Settings`, with its variable."""
    field = _FIELDS[name]
    assert isinstance(field.type, msgspec.inspect.Metadata)
    return f"{(field.type.extra or {})['help']} [env: {variable(name)}]"


def default_for(name: str) -> Any:
    """Return the built-in default of a field of `Settings`."""
    return _FIELDS[name].default
