#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes small whole files of one format and has damaged copies of them read.

usage: hostile-inputs.py HOSTILE-INPUTS npy|pb|png|jpg COUNT
"""
import io
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import onnx_file  # noqa: E402
import png_file  # noqa: E402
from onnx_file import field, varint  # noqa: E402

SHAPE = (1, 3, 4, 5)
random = numpy.random.default_rng(3)


# ------------------------------------------------------------------------ .npy
def npy_files():
    for number, name in enumerate(["float32", "float64", "float16", "uint8", "int16", "int64", "bool"]):
        array = random.integers(0, 2 if name == "bool" else 100, SHAPE).astype(name)
        stream = io.BytesIO()
        numpy.lib.format.write_array(stream, numpy.array(array, order="CF"[number % 2]),
                                     version=(1 + number % 3, 0))
        yield stream.getvalue()


# ---------------------------------------------------------------- TensorProto
def tensor(data_type, data, packed_dims=False):
    return onnx_file.tensor(data_type, SHAPE, data, packed_dims=packed_dims)


def pb_files():
    numbers = [int(number) for number in random.integers(0, 100, 60)]
    varints = b"".join(varint(number) for number in numbers)
    yield tensor(1, field(9, struct.pack("<60f", *numbers)))
    yield tensor(1, field(4, struct.pack("<60f", *numbers)), True)
    yield tensor(1, b"".join(varint(4 << 3 | 5) + struct.pack("<f", number) for number in numbers))
    yield tensor(10, field(9, struct.pack("<60e", *numbers)))
    yield tensor(10, field(5, varints))
    yield tensor(2, field(5, varints))
    yield tensor(3, b"".join(field(5, number) for number in numbers))
    yield tensor(6, field(5, varints), True)
    yield tensor(7, field(7, varints))
    yield tensor(7, field(9, struct.pack("<60q", *numbers)))
    yield tensor(9, field(9, bytes(number & 1 for number in numbers)))
    yield tensor(11, field(10, struct.pack("<60d", *numbers)))


# ---------------------------------------------------------------------- images
def png_files():
    for colour, depths in png_file.DEPTHS.items():
        for depth in depths:
            top = 1 << depth
            pixels = [[tuple(int(sample) for sample in random.integers(0, top, png_file.CHANNELS[colour]))
                       for _ in range(11)] for _ in range(9)]
            palette = transparent = None
            if colour == png_file.PALETTE:
                palette = [[int(sample) for sample in random.integers(0, 256, 3)] for _ in range(top)]
                transparent = bytes(top // 2)
            yield png_file.make(pixels, colour, depth, depth != 8, palette, transparent)


def jpg_files():
    pixels = random.integers(0, 256, (19, 21, 3)).astype(numpy.uint8)
    for mode in ["RGB", "L"]:
        for options in [{}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_rows": 1}]:
            stream = io.BytesIO()
            Image.fromarray(pixels).convert(mode).save(stream, "JPEG", **options)
            yield stream.getvalue()


def main():
    program, name, count = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, data in enumerate(globals()[name + "_files"]()):
            paths.append(os.path.join(folder, "%d.%s" % (number, name)))
            with open(paths[-1], "wb") as file:
                file.write(data)
        work = os.path.join(folder, "work." + name)
        status = subprocess.run([program, name, count, work] + paths).returncode
        if status not in (0, 1):
            kept = "%s-crash.%s" % (program, name)
            if os.path.exists(work):
                shutil.copy(work, kept)
            print("not ok 3 - ended by signal or with status %d; the file is %s" % (status, kept))
    sys.exit(1 if status else 0)


main()
