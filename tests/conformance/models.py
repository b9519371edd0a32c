#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real models on the device model against ONNX Runtime, on real input.

usage: models.py digits|recognizer WIDTH|angle   (programs and corpus are found by the environment:
NPU_BIN, NPU_RUN_EACH, NPU_CORPUS, NPU_ORACLE, NPU_SCRATCH; prints TAP)

What is wanted: outputs within 2e-2, the best class the same wherever the reference's two best differ by more
than 4e-2, decoded text the same.
"""
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, CORPUS, ORACLE, check, finish, scratch  # noqa: E402

RUN_EACH = os.environ["NPU_RUN_EACH"]
MNIST = os.path.join(CORPUS, "mnist/usr/share/doc/migraphx/examples/vision/cpp_mnist/mnist-8.onnx")
OCR = os.path.join(CORPUS, "ocr/assets")
PHOTOGRAPHS = os.path.join(CORPUS, "opencv/usr/share/doc/opencv-doc/examples/text")
ABSOLUTE = 2e-2
CLEAR = 4e-2
UNCLEAR_MOST = 1


def run(*words):
    subprocess.run(words, check=True)


def on_device(model, stack, tag, shape=None):
    """Compiles a model and runs it for each element of a stack of inputs."""
    binary, inputs, outputs = scratch(tag + ".npu"), scratch(tag + "-in.npy"), scratch(tag + "-out.npy")
    words = [os.path.join(BIN, "npucc"), "compile", model, "-o", binary, "--no-cache"]
    run(*words, *(["--shape", shape] if shape else []))
    np.save(inputs, stack)
    run(RUN_EACH, binary, inputs, outputs)
    return np.load(outputs)


def by_reference(model, stack, tag, source, output):
    inputs, outputs = scratch(tag + "-in.npy"), scratch(tag + "-ort.npy")
    np.save(inputs, stack)
    run(os.path.join(ORACLE, "ort-run"), model, "--each", "--input", source + "=" + inputs,
        "--output", output + "=" + outputs)
    return np.load(outputs)


def digits():
    images = np.load(os.path.join(CORPUS, "digits/images.npy"))
    labels = np.load(os.path.join(CORPUS, "digits/labels.npy"))
    want = by_reference(MNIST, images, "digits", "Input3", "Plus214_Output_0").reshape(5000, 10)
    have = on_device(MNIST, images, "digits").reshape(5000, 10)
    equal = int((want.argmax(1) == have.argmax(1)).sum())
    accuracy = [100 * float((x.argmax(1) == labels).mean()) for x in (want, have)]
    check(equal >= 4990, "mnist-8: %d of 5000 digits answered as in float (4990 wanted)" % equal)
    check(abs(accuracy[0] - accuracy[1]) <= 0.1,
          "mnist-8: accuracy %.2f %%, float %.2f %% (0.1 points allowed)" % (accuracy[1], accuracy[0]))


def images(width):
    """The rendered lines and a photograph, preprocessed; a stack [N,1,3,48,width]."""
    lines = scratch("lines")
    run(os.path.join(ORACLE, "render-lines"), lines, "50")
    paths = sorted(os.path.join(lines, n) for n in os.listdir(lines) if n.endswith(".png"))
    paths.append(os.path.join(PHOTOGRAPHS, "scenetext_word04.jpg"))
    words = []
    for i, path in enumerate(paths):
        words += [path, scratch("w%d-%02d.npy" % (width, i))]
    run(os.path.join(ORACLE, "ocr-preprocess.py"), str(width), *words)
    return np.stack([np.load(path) for path in words[1::2]])


def text_of(scores):
    """Best classes, repeats merged, blanks dropped; classes stand for their symbols."""
    best = scores.argmax(1)
    return [int(c) for i, c in enumerate(best) if c and (i == 0 or c != best[i - 1])]


def winners_that_differ(want, have):
    """Rows whose best class the device does not name: where the reference has a clear one, and where it has none."""
    order = np.sort(want, axis=-1)
    clear = order[..., -1] - order[..., -2] > CLEAR
    differs = want.argmax(-1) != have.argmax(-1)
    return int((clear & differs).sum()), int((~clear & differs).sum())


def compare(name, want, have):
    errors = np.abs(want - have).reshape(len(want), -1).max(1)
    beyond = int((errors > ABSOLUTE).sum())
    check(bool(np.isfinite(have).all()) and beyond == 0,
          "%s: %d of %d images differ by more than %.2f, the largest by %.5f" %
          (name, beyond, len(want), ABSOLUTE, errors.max()))
    clear, unclear = winners_that_differ(want, have)
    rows = want.size // want.shape[-1]
    check(clear == 0, "%s: %d clear winners of %d differ" % (name, clear, rows))
    check(unclear <= UNCLEAR_MOST, "%s: %d winners of %d by less than %.2f differ (%d allowed)" %
          (name, unclear, rows, CLEAR, UNCLEAR_MOST))


def recognizer(width):
    model, name = os.path.join(OCR, "ch_PP-OCRv4_rec_infer.onnx"), "recognizer at %d" % width
    stack = images(width)
    want = by_reference(model, stack, "rec%d" % width, "x", "softmax_11.tmp_0")
    have = on_device(model, stack, "rec%d" % width, "x=1x3x48x%d" % width)
    want, have = (x.reshape(len(stack), -1, x.shape[-1]) for x in (want, have))
    compare(name, want, have)
    texts = sum(text_of(a) == text_of(b) for a, b in zip(want, have))
    check(texts == len(stack), "%s: text of %d of %d images as in float" % (name, texts, len(stack)))


def angle():
    model = os.path.join(OCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx")
    stack = images(192)
    stack = np.concatenate([stack, stack[..., ::-1, ::-1]])
    listing = subprocess.run([os.path.join(ORACLE, "ort-run"), model, "--list"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    output = [line.split()[1] for line in listing.splitlines() if line.startswith("output")][0]
    want = by_reference(model, stack, "angle", "x", output)
    have = on_device(model, stack, "angle", "x=1x3x48x192")
    compare("angle classifier", want.reshape(-1, 2), have.reshape(-1, 2))


def main():
    {"digits": digits, "angle": angle,
     "recognizer": lambda: recognizer(int(sys.argv[2]))}[sys.argv[1]]()
    finish()


main()
