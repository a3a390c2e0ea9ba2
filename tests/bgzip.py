"""BGZF as bgzip writes it."""

import zlib


def bgzf(data: bytes, block: int = 65_280) -> bytes:
    """Compress as bgzip would (SAM specification, section 4.1), by `block` bytes of text."""
    out = b""
    for begin in [*range(0, len(data), block), len(data)]:
        piece = data[begin : begin + block]
        deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = deflater.compress(piece) + deflater.flush()
        header = bytes.fromhex("1f8b08040000000000ff060042430200") + (len(body) + 25).to_bytes(2, "little")
        out += header + body + zlib.crc32(piece).to_bytes(4, "little") + len(piece).to_bytes(4, "little")
    return out
