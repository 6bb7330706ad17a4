"""Who ran it: the program, its build, and the contract that gives its numbers their meaning."""

import platform
import secrets
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import sayagain
from sayagain.artifact.schema import SCHEMA_VERSION
from sayagain.metrics import METRICS, NORMALIZER
from sayagain.records import RunnerInfo, content_digest


def new_run_id() -> str:
    """Return an id that sorts by time and that two machines will not both choose."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def contract(adapters: Iterable[str]) -> str:
    """Return the digest of every version that gives a number its meaning.

    It covers the artifact's major version, each metric, the normalizer and each adapter of the run, and nothing
    that cannot change a number: a newer build with the same contract measures the same things.
    """
    metrics = {name: info.version for name, info in METRICS.items()}
    return content_digest([SCHEMA_VERSION.split(".")[0], metrics, NORMALIZER, sorted(set(adapters))])


def runner_info(adapters: Iterable[str]) -> RunnerInfo:
    """Describe this program for a run's header, without naming the machine."""
    return RunnerInfo(
        name="sayagain",
        version=sayagain.__version__,
        sha=_checkout_sha(),
        python=platform.python_version(),
        platform=f"{platform.system()}-{platform.machine()}",
        contract=contract(adapters),
    )


def _checkout_sha() -> str | None:
    """Return the commit of the checkout this runs from, or None when it was installed from a package."""
    root = Path(sayagain.__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None
