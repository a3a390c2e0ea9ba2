"""Tell whole numbers among values of Python."""

from numbers import Integral


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number, of Python or NumPy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)
