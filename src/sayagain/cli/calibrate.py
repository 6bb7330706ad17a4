"""`sayagain calibrate`: this machine's own timing error, measured against a stand-in on it."""

import json

import click

from sayagain.cli import options
from sayagain.config import load_settings


@click.command()
@options.setting("calibration", metavar="FILE")
@click.option(
    "--streams",
    default="1,8,32",
    show_default=True,
    metavar="N,N,...",
    help="How many streams at once, one measurement each.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(calibration: str | None, streams: str, as_json: bool) -> int:
    """Measure how far this machine's timestamps are off, and keep it for later runs.

    Runs sayagain against a stand-in on this machine that notes when it really spoke, for about a minute. Run it
    while the machine does what it does when it measures. Later runs carry the result in
    their headers; docs/methodology.md says what the numbers mean.
    """
    import msgspec

    from sayagain.calibration.measuring import calibrate
    from sayagain.calibration.store import save
    from sayagain.calibration.truth import METRICS
    from sayagain.records import CalibrationLevel

    try:
        numbers = [int(part) for part in streams.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or max(numbers) > 1024:
        raise click.UsageError("--streams takes numbers from 1 to 1024 with commas between them, such as 1,8,32.")
    settings = load_settings({"calibration": calibration})

    def tell(level: CalibrationLevel) -> None:
        if not as_json:
            cells = "  ".join(f"{level.p50_ms[name]:7.2f} /{level.p99_ms[name]:7.2f}" for name in METRICS)
            click.echo(f"{level.streams:>7}  {cells}")

    if not as_json:
        click.echo("reported minus true, ms, p50 / p99")
        click.echo(f"{'streams':>7}  " + "  ".join(f"{name:^16}" for name in METRICS))
    _quiet()
    found = calibrate(numbers, tell)
    path = save(found, settings.calibration)
    click.echo(json.dumps(msgspec.to_builtins(found), indent=2) if as_json else f"kept in {path}")
    return 0


def _quiet() -> None:
    """Log nothing but trouble: the runs that are measured are nobody's."""
    import logging

    import structlog

    from sayagain import logs

    logs.configure()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
