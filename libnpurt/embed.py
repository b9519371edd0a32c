#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a file as a C array: embed.py INPUT OUTPUT NAME HEADER."""

import sys


def main():
    source, target, name, header = sys.argv[1:5]
    with open(source, "rb") as file:
        data = file.read()
    lines = [
        "".join(f"0x{byte:02x}," for byte in data[start : start + 16])
        for start in range(0, len(data), 16)
    ]
    with open(target, "w", encoding="ascii") as file:
        file.write("// SPDX-License-Identifier: MIT\n/* Generated. */\n")
        file.write(f'#include "{header}"\n\n')
        file.write(f"const unsigned char {name}[] = {{\n\t")
        file.write("\n\t".join(lines))
        file.write(f"\n}};\nconst size_t {name}_bytes = {len(data)};\n")


main()
