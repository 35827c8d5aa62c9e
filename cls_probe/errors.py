"""The one family of errors that cls-probe raises for what a user can mend.

Every message says what came, what was expected and what to do next. The command line
shows these errors as one line with exit code 2; any other exception is a bug.
"""


class ClsProbeError(Exception):
    """Base of all errors that a user can mend."""


class InputError(ClsProbeError):
    """Rows, arrays or options that cannot be used."""


class EncoderError(ClsProbeError):
    """A model or tokenizer that cannot be loaded or gives unusable vectors."""


class StoreError(ClsProbeError):
    """A vector store that is missing, incomplete, damaged or made for something else."""


class MissingDependencyError(ClsProbeError):
    """An optional package that the request needs and that is not installed."""


def check_seed(seed: int) -> None:
    """Refuse a seed that not every random generator takes."""
    if not 0 <= seed < 2**32:
        raise InputError(f"seed is {seed}; expected 0 to {2**32 - 1}")
