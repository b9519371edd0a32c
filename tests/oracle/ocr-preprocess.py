#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the text recognizer's input from an image, by PP-OCR's rule.

usage: ocr-preprocess.py WIDTH IMAGE OUT.npy [IMAGE OUT.npy]...

Resized to 48 rows with the aspect kept (and at most WIDTH columns, where it is squeezed),
bilinear between pixel centres without smoothing, rounded to bytes; then (x/255 - 0.5)/0.5 in
planes of blue, green, red, and zeros to the right: float32 [1,3,48,WIDTH].
The angle classifier takes the same with WIDTH 192.
"""
import math
import sys

import numpy
from PIL import Image

HEIGHT = 48


def axis(size, wanted):
    """The two neighbours of every wanted sample and the weight of the second."""
    at = (numpy.arange(wanted) + 0.5) * (size / wanted) - 0.5
    at = numpy.clip(at, 0, size - 1)
    first = numpy.floor(at).astype(int)
    second = numpy.minimum(first + 1, size - 1)
    return first, second, at - first


def resize(pixels, height, width):
    top, bottom, down = axis(pixels.shape[0], height)
    left, right, across = axis(pixels.shape[1], width)
    down = down[:, None, None]
    across = across[None, :, None]
    rows = pixels[top] * (1 - down) + pixels[bottom] * down
    result = rows[:, left] * (1 - across) + rows[:, right] * across
    return numpy.floor(result + 0.5)


def preprocess(path, width):
    image = Image.open(path).convert("RGB")
    pixels = numpy.asarray(image, dtype=numpy.float64)
    columns = min(width, max(1, math.ceil(HEIGHT * image.width / image.height)))
    resized = resize(pixels, HEIGHT, columns)[:, :, ::-1].astype(numpy.float32)
    normal = (resized / numpy.float32(255) - numpy.float32(0.5)) / numpy.float32(0.5)
    tensor = numpy.zeros((1, 3, HEIGHT, width), dtype=numpy.float32)
    tensor[0, :, :, :columns] = normal.transpose(2, 0, 1)
    return tensor


def main():
    words = sys.argv[1:]
    if len(words) < 3 or len(words) % 2 == 0:
        sys.exit(__doc__)
    width = int(words[0])
    for path, out in zip(words[1::2], words[2::2]):
        numpy.save(out, preprocess(path, width))


main()
