#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tools' .npy files against NumPy's: what it writes is read, what they write it reads.

usage: test-npy.py COMMON-TOOL
"""
import io
import os
import subprocess
import sys
import tempfile

import numpy

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from tap import Tap  # noqa: E402

TOOL = sys.argv[1]
DTYPES = ["float32", "float64", "float16", "uint8", "int8", "uint16", "int16", "int32", "int64", "bool"]
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (1, 3, 4, 5), (2, 1, 2, 1, 2, 1, 2, 3), (0,), (3, 0, 2)]
random = numpy.random.default_rng(20)


def sample(dtype, shape):
    raw = random.integers(0, 256, size=numpy.dtype(dtype).itemsize * int(numpy.prod(shape)), dtype=numpy.uint8)
    if dtype == "bool":
        raw &= 1
    return raw.view(dtype).reshape(shape)


def saved(array, version=(1, 0)):
    stream = io.BytesIO()
    numpy.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


def header_file(header, elements=b"", version=1):
    text = header.encode()
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + elements


def tool(command, data):
    """(exit status, stdout, stderr, output file or None)"""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out")
        with open(source, "wb") as file:
            file.write(data)
        result = subprocess.run([TOOL, command, source, target], capture_output=True, text=True)
        output = None
        if os.path.exists(target):
            with open(target, "rb") as file:
                output = file.read()
        return result.returncode, result.stdout, result.stderr, output


def shape_text(shape):
    return "x".join(str(dim) for dim in shape) or "scalar"


def reads(array, data):
    status, text, error, output = tool("read-npy", data)
    if status:
        return "refused: " + error
    if text.split() != [array.dtype.name, shape_text(array.shape)]:
        return "is said to be " + text
    if output != numpy.ascontiguousarray(array).tobytes():
        return "the elements differ"
    return ""


def writes(array):
    status, _, error, output = tool("copy-npy", saved(array))
    if status:
        return "refused: " + error
    if output.index(b"\n") % 64 != 63:
        return "the elements are not aligned to 64 bytes"
    again = numpy.load(io.BytesIO(output), allow_pickle=False)
    if again.dtype != array.dtype or again.shape != array.shape or again.tobytes() != array.tobytes():
        return "NumPy reads %s %s" % (again.dtype, again.shape)
    return ""


def refused(data, reason):
    status, _, error, output = tool("read-npy", data)
    if status != 1 or output is not None:
        return "exit status %d" % status
    return "" if reason in error else "the message is: " + error


def main():
    tap = Tap()
    for dtype in DTYPES:
        for shape in SHAPES:
            array = sample(dtype, shape)
            name = "%s %s" % (dtype, shape_text(shape))
            tap.run("reads " + name, reads, array, saved(array))
            fortran = numpy.array(array, order="F")
            tap.run("reads %s in Fortran order" % name, reads, array, saved(fortran))
            tap.run("writes " + name, writes, array)
    for version in [(1, 0), (2, 0), (3, 0)]:
        array = sample("float32", (4, 5))
        tap.run("reads version %d" % version[0], reads, array, saved(array, version))
    # A header of more than 65,535 bytes exists from version 2 on.
    array = sample("int16", (3, 2))
    wide = "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 2), }" + " " * 70000 + "\n"
    tap.run("reads a long header", reads, array, header_file(wide, array.tobytes(), 2))

    good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
    eight = bytes(8)
    tap.run("reads the header the next ones are made of", reads, numpy.zeros(2, "<f4"), header_file(good, eight))
    whole = saved(sample("float32", (3, 5)))
    bad = [
        ("nothing", b"", "no .npy file"),
        ("another magic", b"\x93NUMPX" + whole[6:], "no .npy file"),
        ("version 4", whole[:6] + b"\4" + whole[7:], "version 1 to 3"),
        ("a cut header", whole[:40], "header says"),
        ("a cut length of version 2", b"\x93NUMPY\2\0\1\0\0", "header says"),
        ("one byte too few", whole[:-1], "elements follow"),
        ("one byte too many", whole + b"\0", "elements follow"),
        ("big endian", saved(numpy.zeros(2, ">f4")), "little-endian"),
        ("complex numbers", saved(numpy.zeros(2, "c8")), "little-endian"),
        ("text", saved(numpy.array(["ab"])), "little-endian"),
        ("a structure", saved(numpy.zeros(2, [("a", "<f4")])), "little-endian"),
        ("a type that only starts like one", header_file(good.replace("<f4", "<f42"), eight), "little-endian"),
        ("no type", header_file("{'fortran_order': False, 'shape': (2,), }", eight), "descr"),
        ("a header that ends after a key", header_file("{'fortran_order': False, 'shape': (2,), 'descr'"), "descr"),
        ("a header that ends in its shape", header_file(good[:good.index("2,)") + 1]), "shape"),
        ("no order", header_file("{'descr': '<f4', 'shape': (2,), }", eight), "fortran_order"),
        ("a strange order", header_file(good.replace("False", "Maybe"), eight), "fortran_order"),
        ("no shape", header_file("{'descr': '<f4', 'fortran_order': False, }", eight), "shape"),
        ("a negative dimension", header_file(good.replace("(2,)", "(-2,)"), eight), "shape"),
        ("an endless shape", header_file(good[:good.index("2,)")] + "2,", eight), "shape"),
        ("nine dimensions", header_file(good.replace("(2,)", "(2,1,1,1,1,1,1,1,1)"), eight), "shape"),
        ("a dimension of 2^64", header_file(good.replace("2,)", "18446744073709551616,)"), eight), "shape"),
        ("sizes whose product is 2^64 and 8", header_file(good.replace("2,)", "4611686018427387906,)"), eight), "more than"),
        ("2^62 elements", header_file(good.replace("2,)", "4611686018427387904,)"), eight), "more than"),
        ("16 GiB of nothing", header_file(good.replace("2,)", "4294967296,)"), eight), "its shape needs"),
    ]
    for name, data, reason in bad:
        tap.run("refuses " + name, refused, data, reason)
    tap.exit()


main()
