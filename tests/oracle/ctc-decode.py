#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads the text in outputs of the text recognizer.

usage: ctc-decode.py KEYS.txt OUTPUT.npy...

Prints `FILE<TAB>TEXT<TAB>CONFIDENCE` a line. Greedy: the best class of each step, repeats merged,
the blank (class 0) dropped; classes from 1 are the lines of KEYS.txt, the last class is the space.
"""
import sys

import numpy


def decode(scores, keys):
    best = scores.argmax(axis=1)
    text = ""
    kept = []
    for step, value in enumerate(best):
        if value == 0 or (step > 0 and value == best[step - 1]):
            continue
        text += keys[value - 1]
        kept.append(float(scores[step, value]))
    return text, sum(kept) / len(kept) if kept else 0.0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        keys = file.read().rstrip("\n").split("\n") + [" "]
    for path in sys.argv[2:]:
        scores = numpy.load(path)
        scores = scores.reshape(-1, scores.shape[-1])
        if scores.shape[1] != len(keys) + 1:
            sys.exit("%s has %d classes, and the keys make %d" %
                     (path, scores.shape[1], len(keys) + 1))
        print("%s\t%s\t%.4f" % ((path,) + decode(scores, keys)))


main()
