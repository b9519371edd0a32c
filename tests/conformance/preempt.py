#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real networks preempted at the points that the compiler marked.

usage: preempt.py FIRMWARE small|points|both|overload|overload-long
(programs and corpus by NPU_BIN, NPU_PREEMPT, NPU_CORPUS, NPU_SCRATCH; prints the TAP of preempt-networks or overload-networks)

small, points: mnist-8 or the recognizer leaves at all its points.
both: the angle classifier comes now and then (40 times, or NPU_ARRIVALS) to a device that the text detector keeps
busy. The detector leaves 512 KiB of global SRAM, in which the classifier's window fits while the detector's is kept.
overload: the classifier has frames (60, or NPU_ARRIVALS), the recognizer comes too often, and mnist-8 is always there;
overload-long: a recognizer of another width is, whose tasks are longer than a slice.
"""
import os
import subprocess
import sys

CORPUS = os.environ["NPU_CORPUS"]
MNIST = "mnist/usr/share/doc/migraphx/examples/vision/cpp_mnist/mnist-8"
SCRATCH = os.environ["NPU_SCRATCH"]
WINDOW = 7 << 19
# Cycles from a point to the next one at most. 5,000 are wanted; what keeps the others from it is in
# Documentation/compiler.rst, "Points". Where they are fewer they are to be lowered here.
WAYS = {"small": 5000, "points": 6600, "both": 6600}


def compile_model(name, *words, output=None):
    os.makedirs(SCRATCH, exist_ok=True)
    binary = os.path.join(SCRATCH, (output or os.path.basename(name)) + ".npu")
    subprocess.run([os.path.join(os.environ["NPU_BIN"], "npucc"), "compile",
                    os.path.join(CORPUS, name + ".onnx"), "-o", binary, "--no-cache", *words], check=True)
    return binary


def run(*words):
    return subprocess.run([os.environ["NPU_PREEMPT"], sys.argv[1], *words], check=False).returncode


def run_ways(*words):
    return run(str(WAYS[sys.argv[2]]), *words)


def main():
    if sys.argv[2] == "points":
        network = compile_model("ocr/assets/ch_PP-OCRv4_rec_infer", "--shape", "x=1x3x48x160")
        sys.exit(run_ways(network))
    if sys.argv[2] == "small":
        sys.exit(run_ways(compile_model(MNIST)))
    high = compile_model("ocr/assets/ch_ppocr_mobile_v2.0_cls_infer", "--shape", "x=1x3x48x192")
    if sys.argv[2].startswith("overload"):
        normal = compile_model("ocr/assets/ch_PP-OCRv4_rec_infer", "--shape", "x=1x3x48x320", "--max-window-bytes",
                               str(5 << 19))
        if sys.argv[2] == "overload":
            low = [compile_model(MNIST), "short"]
        else:
            low = [compile_model("ocr/assets/ch_PP-OCRv4_rec_infer", "--shape", "x=1x3x48x160", "--max-window-bytes",
                                 str(1 << 20), output="low"), "long"]
        sys.exit(run(high, normal, *low, os.environ.get("NPU_ARRIVALS", "60")))
    low = compile_model("ocr/assets/ch_PP-OCRv4_det_infer", "--shape", "x=1x3x320x320", "--max-window-bytes",
                        str(WINDOW))
    sys.exit(run_ways(low, high, os.environ.get("NPU_ARRIVALS", "40")))


main()
