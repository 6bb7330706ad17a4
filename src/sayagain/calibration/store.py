"""Where this machine's calibration is kept: one small JSON file that `sayagain calibrate` writes and runs read."""

import os
from pathlib import Path

import msgspec

from sayagain.errors import SayagainError
from sayagain.logs import logger
from sayagain.records import Calibration, RunnerInfo


def save(calibration: Calibration, file: str) -> Path:
    """Write a calibration, in place of any earlier one; return where.

    Raises:
        SayagainError: It cannot be written there.
    """
    path = Path(file).expanduser()
    content = msgspec.json.format(msgspec.json.encode(calibration), indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_bytes(content + b"\n")
        draft.replace(path)
    except OSError as error:
        raise SayagainError(
            f"The calibration cannot be written to {path}: {error.strerror}. Set SAYAGAIN_CALIBRATION."
        ) from error
    return path


def stored(file: str, runner: RunnerInfo) -> Calibration | None:
    """Return the calibration of this machine, or None when there is none.

    One that cannot be read, or that was made under another Python or operating system, is none; a warning says so.
    """
    path = Path(file).expanduser()
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Calibration)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        logger().warning(
            "calibration_ignored", path=str(path), reason=f"it cannot be read: {type(error).__name__}"
        )
        return None
    if (found.python, found.platform) != (runner.python, runner.platform):
        logger().warning(
            "calibration_ignored", path=str(path), reason="it was made under another Python or operating system"
        )
        return None
    return found
