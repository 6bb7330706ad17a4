"""Measuring one load, and this machine: the errors of a client's timestamps at several numbers of streams."""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from sayagain.calibration.client import run_sayagain
from sayagain.calibration.load import Load, recorded, standing_in, write_datasets
from sayagain.calibration.truth import METRICS, Errors, Reported, errors
from sayagain.errors import SayagainError
from sayagain.records import Calibration, CalibrationLevel
from sayagain.report.progress import Silence
from sayagain.runner.identity import runner_info
from sayagain.transports.pacing import wall_time

Client = Callable[[Load, str, Path, tuple[Path, Path]], Reported]
"""Runs a load against the stand-in at a base URL, in a folder with the two manifests, and says what it saw."""

LEAST_CASES = 6
"""Cases in each direction at the fewest streams."""

ROUNDS = 2
"""How often each stream is used."""


def measure(load: Load, client: Client, counts: Callable[[int], bool] = lambda instant_ns: True) -> Errors:
    """Run a load against a stand-in of its own and return the errors of what the client reported.

    Only moments are taken that `counts` accepts, each an instant of `now_ns`; it is asked when all is over.
    """
    with tempfile.TemporaryDirectory(prefix="sayagain-") as name:
        folder = Path(name)
        manifests = write_datasets(folder, load)
        with standing_in(folder) as base:
            reported = client(load, base, folder, manifests)
        return errors(reported, recorded(folder), counts)


def calibrate(streams: Iterable[int], told: Callable[[CalibrationLevel], None]) -> Calibration:
    """Measure this machine at each number of streams; `told` is called with each level as it is known.

    Raises:
        SayagainError: The stand-in did not start, or too much was lost to say anything.
    """
    levels = []
    for number in streams:
        found = measure(Load(streams=number, cases=max(LEAST_CASES, ROUNDS * number)), _sayagain)
        levels.append(level_of(number, found))
        told(levels[-1])
    runner = runner_info(())
    return Calibration(
        measured=wall_time(),
        version=runner.version,
        python=runner.python,
        platform=runner.platform,
        levels=tuple(levels),
    )


def level_of(streams: int, found: Errors) -> CalibrationLevel:
    """Return what errors come to: the 50th and the 99th percentile of each metric.

    Raises:
        SayagainError: There is a metric without a single error.
    """
    empty = [metric for metric in METRICS if not found.ms[metric]]
    if empty:
        raise SayagainError(
            f"Nothing is known of {', '.join(empty)} at {streams} streams: every case was lost. "
            "Try again while the machine is quiet, or with fewer streams."
        )
    return CalibrationLevel(
        streams=streams,
        samples={metric: len(found.ms[metric]) for metric in METRICS},
        p50_ms={metric: percentile(found.ms[metric], 50) for metric in METRICS},
        p99_ms={metric: percentile(found.ms[metric], 99) for metric in METRICS},
    )


def percentile(values: list[float], rank: float) -> float:
    """Return a percentile, interpolated linearly, to the microsecond."""
    return round(float(np.percentile(values, rank)), 3)


def _sayagain(load: Load, base: str, folder: Path, manifests: tuple[Path, Path]) -> Reported:
    return run_sayagain(load, base, folder, manifests, Silence())
