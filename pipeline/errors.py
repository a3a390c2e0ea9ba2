"""What can be wrong with an input or a run directory: one type for each exit status of the command."""

MOST_NAME = 65_536
"""Bytes that a name may have."""

MOST_HEADER = 1 << 20
"""Bytes of a header line, its name and what follows."""

MOST_RECORD = 1 << 30
"""Bytes of a record that is read in sequence, whatever it is compressed to: the longest pair that is aligned has half as many."""

SHORT_NAME = f"a name of at most {MOST_NAME:,} bytes"
SHORT_HEADER = f"a header line of at most {MOST_HEADER:,} bytes"
SHORTEN = "shorten it, or end the line before it"


def shown(value: object) -> str:
    """Write a name or another value as messages have it: quoted, and only the beginning of a long one."""
    if isinstance(value, str):
        return repr(value) if len(value) <= 80 else f"{value[:40]!r}... of {len(value)} letters"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:40]}..."


class InputError(ValueError):
    """Bad input (65): says file, record, line, what was expected, what was found and the way out, in one line."""

    def __init__(
        self,
        file: str,
        expected: str,
        found: str,
        way_out: str = "",
        *,
        record: int | None = None,
        line: int | None = None,
    ) -> None:
        self.file, self.record, self.line = file, record, line
        where = ", ".join(f"{word} {number}" for word, number in (("record", record), ("line", line)) if number is not None)
        message = f"{file}{': ' + where if where else ''}: expected {expected}, found {found}"
        super().__init__(f"{message}; {way_out}" if way_out else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword arguments do not pickle by themselves, and this one comes from workers.
        return (_restore_input_error, (self.args[0], self.file, self.record, self.line))


def _restore_input_error(message: str, file: str, record: int | None, line: int | None) -> InputError:
    error = InputError.__new__(InputError)
    Exception.__init__(error, message)
    error.file, error.record, error.line = file, record, line
    return error


class MissingInput(FileNotFoundError):
    """No such input, or nothing in it (66). It has a message alone, no `errno`: what looks at errors of the system lets it pass."""


class CannotWrite(Exception):
    """The output or the run directory cannot be written, seen or locked (73)."""


class OutputClosed(Exception):
    """Who reads the output has gone, as `| head` does (141, as of SIGPIPE): there is nothing to say, and nobody to say it to."""


class DiskFull(Exception):
    """No space left where the run writes (74): free some, then run the same command again."""


class ManifestMismatch(Exception):
    """The run directory belongs to other inputs, parameters or another layout, or is damaged (78): says the way out."""


class Damaged(ManifestMismatch):
    """A file of a run directory is not what was written (78): names it. What can be made again is, by the next call of the same run."""

    def __init__(self, path: str, found: str, way_out: str = "run the same command again, which makes it anew, or start again with --new") -> None:
        super().__init__(path, found, way_out)
        self.path, self.found = path, found

    def __str__(self) -> str:
        return ": ".join(self.args[:2]) + f"; {self.args[2]}"
