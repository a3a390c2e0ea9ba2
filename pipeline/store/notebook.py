"""Draw what a notebook shows of results: a histogram of identities, a few lines of SVG."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT, BINS = 320, 60, 40

Shares = npt.NDArray[np.float64]


def shares(tables: Iterable[Any]) -> Shares:
    """Give the identity of each row that has one: the column, or what the counts say."""
    found = []
    for table in tables:
        if "identity" in table.column_names:
            found.append(table["identity"].to_numpy())
        elif "matches" in table.column_names:
            matches = table["matches"].to_numpy()
            columns = matches + table["mismatches"].to_numpy() + table["gap_letters"].to_numpy()
            found.append(matches / np.maximum(1, columns))
    values = np.concatenate([np.empty(0), *found]).astype(np.float64)
    return np.asarray(values[np.isfinite(values)])


def identities(values: Shares) -> str:
    """Draw how many of some identities lie where, from the least to 1; empty where there are none."""
    if not len(values):
        return ""
    low = min(float(values.min()), 0.99)
    counts = np.histogram(values, BINS, (low, 1.0))[0]
    step = WIDTH / BINS
    bars = "".join(
        f'<rect x="{place * step:.1f}" y="{HEIGHT - tall:.1f}" width="{step - 1:.1f}" height="{tall:.1f}" fill="#0072b2">'
        f"<title>{low + place * (1 - low) / BINS:.3f} or more: {count:,}</title></rect>"
        for place, count in enumerate(counts.tolist())
        if (tall := max(1.0, HEIGHT * count / counts.max())) and count
    )
    axis = f'<text x="0" y="{HEIGHT + 14}">{low:.2f}</text><text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">1</text>'
    middle = f'<text x="{WIDTH / 2}" y="{HEIGHT + 14}" text-anchor="middle">identity (median {np.median(values):.3f})</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT + 20}" font-size="11" font-family="sans-serif">{bars}{axis}{middle}</svg>'
