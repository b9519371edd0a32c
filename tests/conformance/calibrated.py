#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Float models quantized by samples (npucc compile --calib), on the device model against float.

usage: calibrated.py   (programs and corpus by NPU_BIN, NPU_RUN_EACH, NPU_CORPUS, NPU_ORACLE, NPU_SCRATCH; prints TAP)

mnist-8 on 5,000 real digits, calibrated on 50 of them: accuracy within 1 point of float's. A MobileNetV1 with seeded
weights: signal to noise at its output, and that its layers run on integers.
"""
import os
import shutil
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, CORPUS, ORACLE, check, finish, scratch  # noqa: E402
import onnx_networks  # noqa: E402

RUN_EACH = os.environ["NPU_RUN_EACH"]
MNIST = os.path.join(CORPUS, "mnist/usr/share/doc/migraphx/examples/vision/cpp_mnist/mnist-8.onnx")
SIZE = 96
NOISE = 25.0


def samples(arrays):
    folder = scratch("samples")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for i, array in enumerate(arrays):
        np.save(os.path.join(folder, "%03d.npy" % i), array)
    return folder


def compiled(model, folder):
    """The binary, and the log of the compile."""
    binary, log = scratch("model.npu"), scratch("log")
    subprocess.run([os.path.join(BIN, "npucc"), "compile", model, "-o", binary, "--no-cache", "--calib", folder,
                    "--log", log], check=True)
    with open(log, encoding="utf-8") as file:
        return binary, file.read()


def on_device(binary, stack):
    np.save(scratch("in.npy"), stack)
    subprocess.run([RUN_EACH, binary, scratch("in.npy"), scratch("out.npy")], check=True)
    return np.load(scratch("out.npy"))


def by_reference(model, source, output, stack):
    np.save(scratch("in.npy"), stack)
    subprocess.run([os.path.join(ORACLE, "ort-run"), model, "--each", "--input", source + "=" + scratch("in.npy"),
                    "--output", output + "=" + scratch("ort.npy")], check=True)
    return np.load(scratch("ort.npy"))


def digits():
    images = np.load(os.path.join(CORPUS, "digits/images.npy"))
    labels = np.load(os.path.join(CORPUS, "digits/labels.npy"))
    binary, log = compiled(MNIST, samples(images[::100]))
    summary = log.split("quantized: ")[-1].split("\n")[0]
    check(summary.startswith("3 of "), "mnist-8: convolutions and product on integers: " + summary)
    have = on_device(binary, images).reshape(len(images), -1)
    want = by_reference(MNIST, "Input3", "Plus214_Output_0", images).reshape(len(images), -1)
    accuracy = [100 * float((x.argmax(1) == labels).mean()) for x in (want, have)]
    check(accuracy[1] >= accuracy[0] - 1, "mnist-8: accuracy %.2f %% in int8, %.2f %% in float" %
          (accuracy[1], accuracy[0]))


def mobilenet():
    plain = onnx_networks.Float(7)
    onnx_networks.mobilenet_v1(plain, SIZE)
    plain.model.outputs = plain.model.outputs[-1:]
    model = scratch("float.onnx")
    plain.model.write(model)
    stack = np.random.RandomState(3).uniform(-1, 1, (4, 1, 3, SIZE, SIZE)).astype(np.float32)
    binary, log = compiled(model, samples(stack[:3]))
    convolutions = [line for line in log.splitlines() if line.startswith("quantized: ") and "(Conv)" in line]
    worst = min(float(line.split("): ")[1].split(" dB")[0]) for line in convolutions)
    check(len(convolutions) == 27 and worst >= NOISE,
          "MobileNetV1: the report names %d convolutions, the worst at %.1f dB" % (len(convolutions), worst))
    have, want = on_device(binary, stack[3:]), by_reference(model, "x", "y", stack[3:])
    ratio = 10 * np.log10((want ** 2).sum() / ((have - want) ** 2).sum())
    check(ratio >= NOISE and have.argmax() == want.argmax(),
          "MobileNetV1: %.1f dB at the output (%.0f wanted), the best class the same" % (ratio, NOISE))


def main():
    digits()
    mobilenet()
    finish()


main()
