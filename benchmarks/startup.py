"""How long a user waits for `sayagain --help` and `import sayagain`, beside the interpreter doing nothing.

    python benchmarks/startup.py [--runs N]

Prints the median wall time of whole processes, run in turn so that a drifting machine disturbs all alike. Exits
with 1 when the help takes more than 150 ms where the bare interpreter takes 16 (their ratio counts).
"""

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import sayagain": ["-c", "import sayagain"],
    "sayagain --help": ["-m", "sayagain", "--help"],
    "sayagain run --help": ["-m", "sayagain", "run", "--help"],
}
MOST = 150 / 16
"""The help may cost this many times what the bare interpreter costs."""


def elapsed_ms(args: list[str]) -> float:
    """Return the wall time of one process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *args], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs + 1):
        for name, args in COMMANDS.items():
            times[name].append(elapsed_ms(args))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    bare = medians["python -c pass"]
    for name, median in medians.items():
        print(f"{name:<20} {median:7.1f} ms   {median / bare:5.1f} x bare")
    return 0 if medians["sayagain --help"] / bare <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
