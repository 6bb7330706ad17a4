"""Whether the rows of each case follow each other, for any number of cases at sixteen bytes each."""

from array import array


class Grouping:
    """Remembers where each case begins, and finds a case that begins twice."""

    def __init__(self) -> None:
        self._cases = array("q")
        self._lines = array("q")

    def begin(self, case_id: str, line: int) -> None:
        """Note that a case begins at a line."""
        # Python's string hash is 64 bits wide and keyed anew in each process, so no file can aim at it.
        self._cases.append(hash(case_id))
        self._lines.append(line)

    def first_repeated(self) -> int | None:
        """Return the first line at which a case begins that had begun before, or None."""
        # numpy is imported where it is used: few who import this package verify anything.
        import numpy as np

        if not self._cases:
            return None
        cases = np.frombuffer(self._cases, dtype=np.int64)
        order = np.argsort(cases, kind="stable")
        again = order[1:][cases[order[1:]] == cases[order[:-1]]]
        return int(np.frombuffer(self._lines, dtype=np.int64)[again].min()) if len(again) else None
