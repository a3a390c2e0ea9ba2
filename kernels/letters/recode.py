# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Bytes looked up in a table of 256, forward and backward: the loops, without the interpreter lock, of which readers of both sides need none at a time."""

from tidalign.kernels.runtime.numba_cache import jit


@jit
def forward(table, codes, found):
    """Write table[codes] to `found`."""
    for i in range(len(codes)):
        found[i] = table[codes[i]]


@jit
def backward(table, codes, found):
    """Write table[codes[::-1]] to `found`."""
    last = len(codes) - 1
    for i in range(len(codes)):
        found[i] = table[codes[last - i]]
