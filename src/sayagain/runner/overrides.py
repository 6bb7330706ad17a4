"""Settings of a target that the local configuration gives another value than the catalog's.

They are written in sayagain.toml, for a target or a pattern of targets; the last table that matches wins:

    [targets."deepgram/nova-3"]
    endpointing = 300

What results is the target's effective settings: it is in the artifact, it is part of every case's id, and a replay
compares it.
"""

import difflib
from collections.abc import Iterable

import msgspec

from sayagain.config import Settings
from sayagain.errors import UsageError
from sayagain.records import Setting, Target
from sayagain.runner.naming import matches, nearest


def with_overrides(target: Target, settings: Settings, fixed: Iterable[str] = ()) -> Target:
    """Return the target with the configured values of its settings; those that are `fixed` cannot be changed.

    Raises:
        UsageError: The target has no such setting, or the value is of another kind than the catalog's.
    """
    effective = dict(target.settings)
    for name, values in settings.targets.items():
        if matches(name, target):
            for setting, value in values.items():
                if setting not in target.settings or setting in fixed:
                    known = ", ".join(key for key in target.settings if key not in fixed) or "none"
                    raise UsageError(f"{target.name} has no setting {setting!r} to change; it has: {known}.")
                effective[setting] = _like(target, setting, value)
    return msgspec.structs.replace(target, settings=effective)


def require_meaning(settings: Settings, known: Iterable[Target]) -> None:
    """Raise UsageError when a table of settings means no target, or an endpoint no provider.

    A misspelt one would change nothing, silently; a misspelt endpoint would send a key to the real provider.

    Wyoming servers are not asked: theirs are looked at when the server is.
    """
    targets = list(known)
    for name in settings.targets:
        if "wyoming/" not in name and not any(matches(name, target) for target in targets):
            near = ", ".join(nearest(name, targets))
            raise UsageError(f"[targets.{name!r}] in sayagain.toml matches no target. Nearest: {near}.")
    providers = sorted({target.provider for target in targets})
    for name in settings.endpoints:
        if name not in providers:
            near = ", ".join(difflib.get_close_matches(name, providers) or providers)
            raise UsageError(f"An endpoint is configured for {name!r}, which is no provider. Nearest: {near}.")


def _like(target: Target, setting: str, value: Setting) -> Setting:
    default = target.settings[setting]
    numbers = isinstance(default, int | float) and isinstance(value, int | float)
    same = type(value) is type(default) or (
        numbers and not isinstance(default, bool) and not isinstance(value, bool)
    )
    if default is not None and not same:
        raise UsageError(
            f"The setting {setting} of {target.name} is {default!r} in the catalog; {value!r} is of another kind."
        )
    return value
