# SPDX-License-Identifier: MIT
"""PNG files written by the format's specification: every colour type, bit depth and interlace."""
import struct
import zlib

GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
DEPTHS = {GRAY: [1, 2, 4, 8, 16], RGB: [8, 16], PALETTE: [1, 2, 4, 8], GRAY_ALPHA: [8, 16], RGB_ALPHA: [8, 16]}
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}
# First column, first row, and distances of the seven passes.
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pack_row(pixels, depth):
    """A row of pixels (tuples of samples) as bytes, most significant bit first."""
    if depth == 16:
        return b"".join(struct.pack(">H", sample) for pixel in pixels for sample in pixel)
    number = bits = 0
    for pixel in pixels:
        for sample in pixel:
            number = number << depth | sample
            bits += depth
    number <<= -bits % 8
    return number.to_bytes((bits + 7) // 8, "big")


def paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda byte: abs(guess - byte))


def filter_row(kind, row, above, step):
    out = bytearray([kind])
    for i, byte in enumerate(row):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = [0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner)][kind]
        out.append((byte - guess) & 0xff)
    return bytes(out)


def filtered(rows, depth, channels):
    """All five filters take turns."""
    step = max(1, depth * channels // 8)
    above = bytes(len(rows[0]))
    out = b""
    for y, row in enumerate(rows):
        out += filter_row(y % 5, row, above, step)
        above = row
    return out


def passes(pixels):
    height, width = len(pixels), len(pixels[0])
    for x, y, step_x, step_y in ADAM7:
        rows = [pixels[row][x::step_x] for row in range(y, height, step_y)]
        if rows and x < width:
            yield rows


def make(pixels, colour, depth, interlaced=False, palette=None, transparent=None, extra=b""):
    """pixels[y][x] is a tuple of samples; transparent is tRNS's contents."""
    height, width = len(pixels), len(pixels[0])
    channels = CHANNELS[colour]
    data = b""
    for part in passes(pixels) if interlaced else [pixels]:
        data += filtered([pack_row(row, depth) for row in part], depth, channels)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
    if palette is not None:
        out += chunk(b"PLTE", bytes(sample for entry in palette for sample in entry))
    if transparent is not None:
        out += chunk(b"tRNS", transparent)
    packed = zlib.compress(data)
    half = len(packed) // 2
    return out + chunk(b"IDAT", packed[:half]) + chunk(b"IDAT", packed[half:]) + chunk(b"IEND", b"")
