"""Schema 1 of the artifact: its version, its three kinds of record and its JSON Schema.

A file of another major version is rejected. A newer minor version may add fields, which are ignored; adding a
kind of record or a value to a closed set, or changing what a field means, is a major change.
"""

from importlib.resources import files
from typing import Any

import msgspec

from sayagain.errors import UnsupportedSchemaError
from sayagain.records import ResultRow, RunHeader, Summary

SCHEMA_VERSION = "1.0"
SCHEMA_FILE = "schema-1.json"

ArtifactRecord = RunHeader | ResultRow | Summary
"""One line of an artifact; the field `record` says which: run, result or summary."""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of an artifact, generated from the records."""
    (line,), definitions = msgspec.json.schema_components([ArtifactRecord], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:sayagain:artifact:1",
        "title": f"A line of a sayagain artifact, schema {SCHEMA_VERSION}",
        **line,
        "$defs": definitions,
    }


def json_schema_text() -> str:
    """Return the JSON Schema as the text that is shipped and printed: indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode() + "\n"


def shipped_schema() -> str:
    """Return the JSON Schema that came with the installed package."""
    return files("sayagain.artifact").joinpath(SCHEMA_FILE).read_text(encoding="utf-8")


def check_version(version: str) -> None:
    """Raise UnsupportedSchemaError unless an artifact of this version (`major.minor`) can be read."""
    if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
        raise UnsupportedSchemaError(
            f"the artifact has schema {version[:20]!a}, and this version of sayagain reads {SCHEMA_VERSION}: "
            "use the version that wrote it, or a newer one"
        )
