"""Errors a user can act on: one line that says what was wrong, where, and what to do next, and an exit code."""


class SayagainError(Exception):
    """Base of every error that reaches a user as one line instead of a traceback. Exit code 1."""

    exit_code = 1


class UsageError(SayagainError):
    """What was asked for cannot be done as asked, or there is nothing to do. Exit code 2."""

    exit_code = 2


class DatasetError(UsageError):
    """A dataset cannot be used; `problems` names each item and what is wrong with it. Exit code 2."""

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join((message, *(f"  {problem}" for problem in problems))))
        self.problems = problems


class LedgerError(SayagainError):
    """The database refused; `transient` says whether the refusal may pass by itself. Exit code 1."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class MismatchError(SayagainError):
    """What would be replayed or compared is not what it was then. Exit code 3."""

    exit_code = 3


class UnsupportedSchemaError(MismatchError):
    """An artifact of a major version of the schema that this version does not read. Exit code 3."""


class CorruptArtifactError(SayagainError):
    """An artifact is damaged, torn or not an artifact. Exit code 4.

    `reason` says what is wrong, `line` (from 1) where, and `path` in which file; the last two can be unknown.
    """

    exit_code = 4

    def __init__(self, reason: str, line: int | None = None, path: str | None = None) -> None:
        place = ", ".join(part for part in (path, None if line is None else f"line {line}") if part)
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason
        self.line = line


class TornArtifactError(CorruptArtifactError):
    """An artifact ends before its summary; what is before the end can be whole. Exit code 4."""


class ArtifactWriteError(SayagainError):
    """An artifact could not be written; the message says what would mend it. Exit code 1."""


def fault_of(error: BaseException) -> str:
    """Name a fault of our own by its type and place, without its text, which may hold anything that was said."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
