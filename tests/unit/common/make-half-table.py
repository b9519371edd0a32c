#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes what Python knows of half precision, as little-endian binary:

all 65,536 values as doubles, then pairs of a double and the half it rounds to: each border between two
neighbouring halves, and the doubles just below and just above it.

usage: make-half-table.py OUTPUT
"""
import math
import struct
import sys


def value(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def rounded(number):
    try:
        return struct.unpack("<H", struct.pack("<e", number))[0]
    except OverflowError:
        # Python refuses what IEEE 754 rounds to infinity.
        return 0xfc00 if number < 0 else 0x7c00


def neighbour(number, up):
    bits = struct.unpack("<q", struct.pack("<d", number))[0]
    return struct.unpack("<d", struct.pack("<q", bits + (1 if up else -1)))[0]


def main():
    numbers = [1e300, math.inf, 5e-324, 1e-300, 65504.0, 65519.999, 65520.0, 65536.0, 0.0]
    for bits in range(0x7c00):
        low, high = value(bits), value(bits + 1) if bits < 0x7bff else 65536.0
        middle = (low + high) / 2
        numbers += [low, neighbour(middle, False), middle, neighbour(middle, True)]
    with open(sys.argv[1], "wb") as file:
        for bits in range(0x10000):
            file.write(struct.pack("<d", value(bits)))
        for number in numbers:
            for signed in (number, -number):
                file.write(struct.pack("<dQ", signed, rounded(signed)))


main()
