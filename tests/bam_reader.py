"""A plain reader of BAM and BGZF, written from SAM's specification: what a file holds, as the text of SAM."""

import gzip
import re
import struct
import zlib

END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def blocks(data: bytes) -> list[bytes]:
    """Unpack each block of BGZF; AssertionError for what section 4.1 does not allow."""
    assert data.endswith(END)
    found, at = [], 0
    while at < len(data):
        assert data[at : at + 4] == b"\x1f\x8b\x08\x04"
        extra, subfield, length, size = struct.unpack_from("<HHHH", data, at + 10)
        assert (extra, subfield, length) == (6, 0x4342, 2)
        found.append(zlib.decompress(data[at + 18 : at + size - 7], -15))
        assert struct.unpack_from("<II", data, at + size - 7) == (zlib.crc32(found[-1]), len(found[-1])) and len(found[-1]) <= 65536
        at += size + 1
    assert b"".join(found) == gzip.decompress(data) and found[-1] == b""
    return found


def text(data: bytes) -> str:
    """Write the lines of SAM of a BAM file, its header's first."""
    content = b"".join(blocks(data))
    assert content[:4] == b"BAM\1"
    (size,) = struct.unpack_from("<i", content, 4)
    header, at = content[8 : 8 + size].decode(), 8 + size
    (count,) = struct.unpack_from("<i", content, at)
    at += 4
    references = []
    for _ in range(count):
        (length,) = struct.unpack_from("<i", content, at)
        name = content[at + 4 : at + 3 + length].decode()
        assert content[at + 3 + length] == 0
        references.append((name, struct.unpack_from("<i", content, at + 4 + length)[0]))
        at += 8 + length
    said = [re.split("\t", line) for line in header.splitlines() if line.startswith("@SQ")]
    assert references == [(name[3:], int(length[3:])) for _, name, length in said]
    lines = []
    while at < len(content):
        (size,) = struct.unpack_from("<i", content, at)
        lines.append(_record(content[at + 4 : at + 4 + size], [name for name, _ in references]))
        at += 4 + size
    return header + "".join(lines)


def _record(data: bytes, references: list[str]) -> str:
    number, place, name_size, quality, bin_, operations, flag, letters, other, other_place, template = struct.unpack_from("<iiBBHHHiiii", data)
    assert (other, other_place) == (-1, -1)
    at = 32 + name_size
    name = data[32 : at - 1].decode()
    words = struct.unpack_from(f"<{operations}I", data, at)
    at += 4 * operations
    packed = data[at : at + (letters + 1) // 2]
    at += len(packed)
    sequence = "".join("=ACMGRSVTWYHKDBN"[half] for byte in packed for half in (byte >> 4, byte & 15))[:letters]
    qualities = data[at : at + letters]
    at += letters
    tags = []
    while at < len(data):
        tag, kind = data[at : at + 2].decode(), chr(data[at + 2])
        at += 3
        if kind == "i":
            tags.append(f"{tag}:i:{struct.unpack_from('<i', data, at)[0]}")
            at += 4
        elif kind == "Z":
            stop = data.index(0, at)
            tags.append(f"{tag}:Z:{data[at:stop].decode()}")
            at = stop + 1
        else:
            assert (tag, kind, chr(data[at])) == ("CG", "B", "I")
            (count,) = struct.unpack_from("<I", data, at + 1)
            assert words[0] == letters << 4 | 4 and words[1] & 15 == 3 and len(words) == 2
            span = words[1] >> 4
            words = struct.unpack_from(f"<{count}I", data, at + 5)
            assert span == sum(word >> 4 for word in words if word & 15 in (0, 2, 7, 8))
            at += 5 + 4 * count
    cigar = "".join(f"{word >> 4}{'MIDNSHP=X'[word & 15]}" for word in words) or "*"
    span = sum(word >> 4 for word in words if word & 15 in (0, 2, 7, 8))
    assert bin_ == _bin(place, place + max(1, span) if place >= 0 else 0)
    shown = "*" if not letters or set(qualities) == {255} else "".join(chr(33 + value) for value in qualities)
    reference = "*" if number < 0 else references[number]
    fields = [name, flag, reference, place + 1, quality, cigar, "*", 0, template, sequence or "*", shown, *tags]
    return "\t".join(map(str, fields)) + "\n"


def _bin(start: int, stop: int) -> int:
    """Compute reg2bin of section 5.3."""
    stop -= 1
    for shift, first in ((14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)):
        if start >> shift == stop >> shift:
            return (first + (start >> shift)) & 0xFFFF
    return 0


def query(data: bytes, index: bytes, contig: int, start: int, stop: int) -> list[str]:
    """Find the names of records that overlap [start, stop) of a contig, by number: nothing is read but what the index (BAI, CSI) says. Section 5.3."""
    shift, depth, contigs, _ = parsed_index(index)
    bins, windows = contigs[contig]
    least = windows[start >> shift] if start >> shift < len(windows) else 0
    chunks = []
    for level in range(depth + 1):
        first, width = ((1 << 3 * level) - 1) // 7, shift + 3 * (depth - level)
        for number in range(first + (start >> width), first + (stop - 1 >> width) + 1):
            offset, found = bins.get(number, (0, []))
            chunks += [(begin, end) for begin, end in found if end > max(least, offset if number == first + (start >> width) and level == depth else 0)]
    names, joined = [], []
    for begin, end in sorted(chunks):  # some of which have bytes in common
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    for begin, end in joined:
        for record in _records_between(data, begin, end):
            number, place = struct.unpack_from("<ii", record)
            name_size, operations = record[8], struct.unpack_from("<H", record, 12)[0]
            words = struct.unpack_from(f"<{operations}I", record, 32 + name_size)
            span = sum(word >> 4 for word in words if word & 15 in (0, 2, 7, 8))
            assert number == contig
            if place < stop and place + span > start:
                names.append(record[32 : 31 + name_size].decode())
    return names


def parsed_index(index: bytes) -> tuple[int, int, list[tuple[dict[int, tuple[int, list[tuple[int, int]]]], list[int]]], int]:
    """Shift, depth, of each contig its bins (least offset, chunks) and its windows, and how many records have no place."""
    bai = index[:4] == b"BAI\1"
    content = index if bai else b"".join(blocks(index))
    assert bai or content[:4] == b"CSI\1"
    shift, depth, extra = (14, 5, 0) if bai else struct.unpack_from("<3i", content, 4)
    at = 4 if bai else 16 + extra
    (count,) = struct.unpack_from("<i", content, at)
    at += 4
    contigs = []
    for _ in range(count):
        (size,) = struct.unpack_from("<i", content, at)
        at += 4
        bins, windows = {}, []
        for _ in range(size):
            (number,) = struct.unpack_from("<I", content, at)
            (least,) = (0,) if bai else struct.unpack_from("<Q", content, at + 4)
            at += 4 if bai else 12
            (chunks,) = struct.unpack_from("<i", content, at)
            places = struct.unpack_from(f"<{2 * chunks}Q", content, at + 4)
            assert number not in bins
            bins[number] = least, list(zip(places[::2], places[1::2], strict=True))
            at += 4 + 16 * chunks
        if bai:
            (size,) = struct.unpack_from("<i", content, at)
            windows = list(struct.unpack_from(f"<{size}Q", content, at + 4))
            at += 4 + 8 * size
        contigs.append((bins, windows))
    assert at + 8 == len(content)
    return shift, depth, contigs, struct.unpack_from("<Q", content, at)[0]


def _records_between(data: bytes, begin: int, end: int) -> list[bytes]:
    """Read the records between two virtual places."""
    found, held, here = [], b"", []  # here: (bytes held before, place in the file) of each block
    at, skip = begin >> 16, begin & 0xFFFF
    while at <= end >> 16:
        (size,) = struct.unpack_from("<H", data, at + 16)
        content = zlib.decompress(data[at + 18 : at + size - 7], -15)
        here.append((len(held), at))
        held += content
        at += size + 1
    place = skip
    stop = next(before for before, block in here if block == end >> 16) + (end & 0xFFFF)
    while place < stop:
        while place + 4 > len(held):
            raise AssertionError("a record goes on behind its chunk")
        (size,) = struct.unpack_from("<i", held, place)
        found.append(held[place + 4 : place + 4 + size])
        place += 4 + size
    assert place == stop
    return found
