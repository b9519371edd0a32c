#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tools' images: PNG against known pixels, JPEG against PIL, scaling against the formula and PIL.

usage: test-image.py COMMON-TOOL
"""
import io
import os
import random
import struct
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import png_file  # noqa: E402
from tap import Tap  # noqa: E402

TOOL = sys.argv[1]
SIZES = [(1, 1), (3, 2), (9, 5), (16, 16), (37, 19)]


def tool(data, *size):
    """Pixels of an image file as an array, or (for files refused) the message."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
        with open(source, "wb") as file:
            file.write(data)
        command = [TOOL, "resize" if size else "image", source, target] + [str(side) for side in size]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 1 and not os.path.exists(target):
            return result.stderr
        if result.returncode:
            raise RuntimeError("exit status %d: %s" % (result.returncode, result.stderr))
        width, height = (int(word) for word in result.stdout.split())
        with open(target, "rb") as file:
            return numpy.frombuffer(file.read(), numpy.uint8).reshape(height, width, 3)


def differ(array, expected, tolerance):
    if isinstance(array, str):
        return "refused: " + array
    if array.shape != expected.shape:
        return "shape %s, expected %s" % (array.shape, expected.shape)
    distance = numpy.abs(array.astype(float) - expected)
    if distance.max() <= tolerance:
        return ""
    where = numpy.unravel_index(distance.argmax(), distance.shape)
    return "differs by %g at %s: %s, expected %s" % (distance.max(), where, array[where], expected[where])


# ------------------------------------------------------------------------- PNG
def random_pixels(dice, colour, depth, width, height):
    return [[tuple(dice.randrange(1 << depth) for _ in range(png_file.CHANNELS[colour]))
             for _ in range(width)] for _ in range(height)]


def expected_pixel(pixel, colour, depth, palette, transparent):
    """Samples scaled to 8 bits, then laid over white; the sum is exact, not rounded."""
    top, alpha = (1 << depth) - 1, 1.0
    if colour == png_file.PALETTE:
        samples = [float(sample) for sample in palette[pixel[0]]]
        if transparent is not None and pixel[0] < len(transparent):
            alpha = transparent[pixel[0]] / 255
    else:
        samples = [float(round(255 * sample / top)) for sample in pixel]
        if colour in (png_file.GRAY_ALPHA, png_file.RGB_ALPHA):
            alpha = samples.pop() / 255
        elif transparent is not None:
            key = struct.unpack(">%dH" % len(pixel), transparent)
            alpha = 0.0 if key == pixel else 1.0
        if len(samples) == 1:
            samples *= 3
    return [alpha * sample + 255 * (1 - alpha) for sample in samples]


def check_png(seed, colour, depth, size, interlaced, with_key):
    dice = random.Random(seed)
    width, height = size
    pixels = random_pixels(dice, colour, depth, width, height)
    palette = transparent = None
    if colour == png_file.PALETTE:
        palette = [[dice.randrange(256) for _ in range(3)] for _ in range(1 << depth)]
        if with_key:
            transparent = bytes(dice.randrange(256) for _ in range(1 << depth - 1))
    elif with_key:
        transparent = b"".join(struct.pack(">H", sample) for sample in pixels[0][0])
    data = png_file.make(pixels, colour, depth, interlaced, palette, transparent)
    expected = numpy.array([[expected_pixel(pixel, colour, depth, palette, transparent)
                             for pixel in row] for row in pixels])
    return differ(tool(data), expected, 0.501)


def test_png(tap):
    seed = 0
    for colour, depths in png_file.DEPTHS.items():
        for depth in depths:
            for interlaced in (False, True):
                for with_key in (False, True):
                    if with_key and colour in (png_file.GRAY_ALPHA, png_file.RGB_ALPHA):
                        continue
                    for size in SIZES:
                        seed += 1
                        name = "PNG of colour type %d, depth %d, %dx%d" % (colour, depth, *size)
                        name += ", interlaced" * interlaced + ", with tRNS" * with_key
                        tap.run(name, check_png, seed, colour, depth, size, interlaced, with_key)


def check_gamma(extra):
    """Colour spaces change nothing: the samples are what counts."""
    pixels = random_pixels(random.Random(5), png_file.RGB, 8, 9, 5)
    data = png_file.make(pixels, png_file.RGB, 8, extra=extra)
    return differ(tool(data), numpy.array(pixels), 0)


def check_pil_png(mode):
    """PIL as a second reader and writer."""
    dice = numpy.random.default_rng(7)
    colours = dice.integers(0, 256, (19, 23, 3), dtype=numpy.uint8)
    picture = Image.fromarray(colours).convert(mode)
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    stream.seek(0)
    return differ(tool(stream.getvalue()), numpy.array(Image.open(stream).convert("RGB")), 0)


# ------------------------------------------------------------------------ JPEG
def photograph(width, height):
    """Smooth, so that compression loses little."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x / 9.0 + y / 23.0), numpy.cos(x / 17.0 - y / 11.0), numpy.sin((x + y) / 31.0)]
    return numpy.stack([127 + 100 * wave for wave in waves], axis=2).astype(numpy.uint8)


def check_jpeg(mode, size, options):
    picture = Image.fromarray(photograph(*size)).convert(mode)
    stream = io.BytesIO()
    picture.save(stream, "JPEG", **options)
    stream.seek(0)
    decoded = tool(stream.getvalue())
    wrong = differ(decoded, numpy.array(Image.open(stream).convert("RGB")), 0)
    if not wrong and options.get("quality") == 95:
        loss = numpy.abs(decoded.astype(float) - numpy.array(picture.convert("RGB"))).mean()
        wrong = "" if loss < 4 else "the picture is %g away from the one that was written" % loss
    return wrong


def jpeg_bytes(**options):
    stream = io.BytesIO()
    Image.fromarray(photograph(64, 48)).save(stream, "JPEG", **options)
    return stream.getvalue()


def cmyk_jpeg():
    stream = io.BytesIO()
    Image.new("CMYK", (8, 8), (1, 2, 3, 4)).save(stream, "JPEG")
    return stream.getvalue()


# --------------------------------------------------------------------- scaling
def axis(size, target):
    position = (numpy.arange(target) + 0.5) * size / target - 0.5
    low = numpy.floor(position)
    weight = position - low
    low = low.astype(int)
    return low.clip(0, size - 1), (low + 1).clip(0, size - 1), weight


def scaled(pixels, width, height):
    """Bilinear, half-pixel centres, edges repeated: in double precision, not rounded."""
    y0, y1, fy = axis(pixels.shape[0], height)
    x0, x1, fx = axis(pixels.shape[1], width)
    fx, fy = fx[None, :, None], fy[:, None, None]
    pixels = pixels.astype(float)
    top = pixels[y0][:, x0] * (1 - fx) + pixels[y0][:, x1] * fx
    low = pixels[y1][:, x0] * (1 - fx) + pixels[y1][:, x1] * fx
    return top * (1 - fy) + low * fy


def check_scaling(size, target):
    dice = numpy.random.default_rng(size[0] * 1000 + target[0])
    pixels = dice.integers(0, 256, (size[1], size[0], 3), dtype=numpy.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    array = tool(stream.getvalue(), *target)
    wrong = differ(array, scaled(pixels, *target), 0.501)
    if wrong or target[0] < size[0] or target[1] < size[1]:
        return wrong
    # Enlarging, PIL's filter is the same; its weights have fewer bits.
    other = Image.fromarray(pixels).resize(target, Image.Resampling.BILINEAR)
    return differ(array, numpy.array(other).astype(float), 1)


# --------------------------------------------------------------------- refusals
def check_refused(data, reason, *size):
    answer = tool(data, *size)
    if not isinstance(answer, str):
        return "was taken"
    return "" if reason in answer else "the message is: " + answer


def huge_png(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_file.chunk(b"IHDR", header) + png_file.chunk(b"IDAT", b"")


def check_extra_bytes():
    """Some cameras leave bytes between parts; nothing of the picture is missing."""
    jpeg = jpeg_bytes()
    return differ(tool(jpeg[:-2] + bytes(10) + jpeg[-2:]), tool(jpeg).astype(float), 0)


def many_scans():
    """A progressive file whose last scan comes again and again."""
    data = jpeg_bytes(progressive=True)
    start = data.rindex(b"\xff\xda")
    return data[:-2] + data[start:-2] * 400 + data[-2:]


def test_refusals(tap):
    png = png_file.make([[(1, 2, 3)] * 40] * 40, png_file.RGB, 8)
    jpeg = jpeg_bytes()
    broken = bytearray(png)
    broken[png.index(b"IDAT") + 8] ^= 0x10
    big = bytearray(jpeg)
    frame = jpeg.index(b"\xff\xc0")
    big[frame + 5:frame + 9] = struct.pack(">HH", 65000, 65000)
    for name, data, reason in [
            ("nothing", b"", "neither a PNG nor a JPEG"),
            ("text", b"hello, this is no image", "neither a PNG nor a JPEG"),
            ("a PNG's signature alone", png[:8], "damaged"),
            ("a cut PNG", png[:-30], "damaged"),
            ("a PNG with a wrong sum", bytes(broken), "damaged"),
            ("a PNG of 16385 columns", huge_png(16385, 1), ""),
            ("a PNG of 16000 x 16000", huge_png(16000, 16000), "16000 x 16000"),
            ("a PNG of 0 rows", huge_png(4, 0), "damaged"),
            ("a PNG of 2^32 - 1 columns", huge_png(0xffffffff, 1), ""),
            ("a JPEG's start alone", jpeg[:10], "JPEG"),
            ("a JPEG cut in its header", jpeg[:200], "JPEG"),
            ("a JPEG without its last byte", jpeg[:-1], "damaged"),
            ("a JPEG cut in its data", jpeg[:-200], "damaged"),
            ("a JPEG of 65000 x 65000", bytes(big), "65000 x 65000"),
            ("a JPEG in CMYK", cmyk_jpeg(), "cannot be decoded"),
            ("a JPEG with 400 scans more", many_scans(), "scans")]:
        tap.run("refuses " + name, check_refused, data, reason)
    tap.run("refuses to scale to nothing", check_refused, png, "0 x 5", 0, 5)
    tap.run("refuses to scale to 20000 columns", check_refused, png, "20000 x 5", 20000, 5)


def main():
    tap = Tap()
    test_png(tap)
    tap.run("PNG with gamma", check_gamma, png_file.chunk(b"gAMA", struct.pack(">I", 100000)))
    tap.run("PNG with sRGB", check_gamma, png_file.chunk(b"sRGB", b"\0"))
    tap.run("PNG with primaries", check_gamma, png_file.chunk(
        b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)))
    for mode in ["1", "L", "P", "RGB"]:
        tap.run("PNG by PIL, " + mode, check_pil_png, mode)
    for mode in ["L", "RGB"]:
        for size in [(1, 1), (17, 9), (64, 48), (200, 31)]:
            for options in [{"quality": 95}, {"quality": 30}, {"quality": 95, "subsampling": 0},
                            {"quality": 95, "progressive": True}, {"optimize": True},
                            {"subsampling": 1, "restart_marker_rows": 1}]:
                name = "JPEG %s %dx%d %s" % (mode, *size, options)
                tap.run(name, check_jpeg, mode, size, options)
    tap.run("JPEG with bytes too many", check_extra_bytes)
    for size, target in [((1, 1), (5, 4)), ((2, 2), (2, 2)), ((7, 5), (14, 10)), ((31, 17), (320, 48)),
                         ((100, 40), (13, 7)), ((64, 64), (1, 1)), ((50, 20), (51, 19)), ((3, 200), (48, 48))]:
        tap.run("scales %dx%d to %dx%d" % (*size, *target), check_scaling, size, target)
    test_refusals(tap)
    tap.exit()


main()
