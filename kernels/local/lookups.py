# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Emit what a column's letters score with the rows of a strip: letters are compared, or scores looked up in tables of the query."""

from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils

from tidalign.kernels.local.lanes import HAS_AVX512, PAIR_LANES, Lanes
from tidalign.kernels.runtime.vectors import I8, I32, I64, POINTER

_FEATURES = binding.get_host_cpu_features()
PERMUTES = bool(HAS_AVX512 and _FEATURES.get("avx512vbmi"))
"""Whether one instruction (vpermb) looks up all lanes in a table of 64 bytes."""

SHARES = PAIR_LANES in (16, 32) and bool(_FEATURES.get("avx2"))
"""Whether the scores of a row that all lanes have in common are looked up in one table, by that or by shuffles of 16 bytes (pshufb)."""

SHARED_BYTES = 64
"""Bytes of such a row's scores, one a letter of the target."""

STRIP_ROWS = 8
"""Rows of a strip: as many as there are bytes in a word."""

LETTERS = 40
"""Words of a pair's table: a letter of 33 and of padding, and its end on a line of 64 bytes."""


def _transposed(b: Any, words: list[Any], lanes: int) -> list[Any]:
    """Turn the words of all lanes (i64) into vectors of bytes r = 0..7."""
    if lanes % 16:
        return [_byte(b, words, r, lanes) for r in range(STRIP_ROWS)]
    rows = []
    for g in range(8):  # words 2g and 2g + 1 of each 16 lanes, so that shuffles stay within 128 bits
        row = ir.Constant(ir.VectorType(I64, lanes // 8), ir.Undefined)
        for group in range(lanes // 16):
            for i in range(2):
                row = b.insert_element(row, words[16 * group + 2 * g + i], ir.Constant(I32, 2 * group + i))
        rows.append(b.bitcast(row, ir.VectorType(I8, lanes)))
    for _ in range(4):
        pairs = [(rows[i], rows[i + 4], half) for i in range(4) for half in (0, 8)]
        rows = [b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, lanes), _interleaved(lanes, half))) for x, y, half in pairs]
    return rows


def _interleaved(lanes: int, half: int) -> list[int]:
    """Take of each 16 bytes the eight from `half` on, of two vectors in turn."""
    return [16 * group + half + i // 2 + lanes * (i & 1) for group in range(lanes // 16) for i in range(16)]


def _byte(b: Any, words: list[Any], r: int, lanes: int) -> Any:
    row = ir.Constant(ir.VectorType(I8, lanes), ir.Undefined)
    for lane, word in enumerate(words):
        row = b.insert_element(row, b.trunc(b.lshr(word, ir.Constant(I64, 8 * r)), I8), ir.Constant(I32, lane))
    return row


class Scores:
    """Emit the scores of a column's letters with those of the strip's rows."""

    def __init__(self, lanes: Lanes, query: Any, letters: Any, scores: list[Any], backwards: bool) -> None:
        self.lanes, self.query, self.letters, self.backwards = lanes, query, letters, backwards
        self.compared = [lanes.splat(score) for score in scores] if len(scores) == 2 else None
        self.shared = len(scores) == 3

    def rows(self, column: Any) -> list[Any]:
        lanes, b = self.lanes, self.lanes.b
        at = b.sub(self.letters, column) if self.backwards else b.add(self.letters, b.mul(column, ir.Constant(I64, lanes.count)))
        if self.compared:
            match, mismatch = self.compared
            letter = b.zext(lanes.load(at, vector=ir.VectorType(I8, lanes.count)), lanes.vector)
            return [b.select(b.icmp_unsigned("==", letter, lanes.load(self.query, r)), match, mismatch) for r in range(STRIP_ROWS)]
        if self.shared:
            return (self._permuted if PERMUTES else self._shuffled)(lanes.load(at, vector=ir.VectorType(I8, lanes.count)))
        words = []
        for lane in range(lanes.count):
            letter = b.load(b.inttoptr(b.add(at, ir.Constant(I64, lane)), POINTER), align=1, typ=I8)
            place = b.add(b.mul(b.zext(letter, I64), ir.Constant(I64, 8)), ir.Constant(I64, 8 * LETTERS * lane))
            words.append(b.load(b.inttoptr(b.add(self.query, place), POINTER), align=1, typ=I64))
        return [b.sext(row, lanes.vector) for row in _transposed(b, words, lanes.count)]

    def _permuted(self, letters: Any) -> list[Any]:
        """Take the scores of these letters with the query that all lanes have."""
        lanes, b = self.lanes, self.lanes.b
        wide, index = ir.VectorType(I8, SHARED_BYTES), ir.VectorType(I32, SHARED_BYTES)
        spread = b.shuffle_vector(letters, letters, ir.Constant(index, [place % lanes.count for place in range(SHARED_BYTES)]))
        narrow = ir.Constant(ir.VectorType(I32, lanes.count), list(range(lanes.count)))
        permute = cgutils.get_or_insert_function(b.module, ir.FunctionType(wide, [wide, wide]), "llvm.x86.avx512.permvar.qi.512")
        rows = []
        for r in range(STRIP_ROWS):
            table = b.load(b.inttoptr(b.add(self.query, ir.Constant(I64, SHARED_BYTES * r)), POINTER), align=1, typ=wide)
            found = b.call(permute, [table, spread])
            rows.append(b.sext(b.shuffle_vector(found, found, narrow), lanes.vector))
        return rows

    def _shuffled(self, letters: Any) -> list[Any]:
        """Take the same from three tables of 16 bytes: a shuffle takes the byte that the low four bits of a place say, and 0 where its highest bit is set."""
        lanes, b = self.lanes, self.lanes.b
        vector = ir.VectorType(I8, lanes.count)
        name = {16: "llvm.x86.ssse3.pshuf.b.128", 32: "llvm.x86.avx2.pshuf.b", 64: "llvm.x86.avx512.pshuf.b.512"}[lanes.count]
        shuffle = cgutils.get_or_insert_function(b.module, ir.FunctionType(vector, [vector, vector]), name)
        # Of a letter below 16 once these bits are turned, 0x70 + it has no highest bit; of any other it has.
        places = [b.add(b.xor(letters, _bytes(vector, turned)), _bytes(vector, 0x70)) for turned in (0, 16, 32)]
        short, index = ir.VectorType(I8, 16), ir.Constant(ir.VectorType(I32, lanes.count), [place % 16 for place in range(lanes.count)])
        rows = []
        for r in range(STRIP_ROWS):
            found = _bytes(vector, 0)
            for number, place in enumerate(places):
                table = b.load(b.inttoptr(b.add(self.query, ir.Constant(I64, SHARED_BYTES * r + 16 * number)), POINTER), align=1, typ=short)
                found = b.or_(found, b.call(shuffle, [b.shuffle_vector(table, table, index), place]))
            rows.append(b.sext(found, lanes.vector))
        return rows


def _bytes(vector: Any, value: int) -> Any:
    return ir.Constant(vector, [value] * vector.count)
