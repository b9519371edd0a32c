#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Device cycles: the same on every machine and compiler, and close to the array's peak.

usage: cycles.py small|large   (programs and corpus by NPU_BIN, NPU_CORPUS, NPU_SCRATCH; prints TAP)

small: mnist-8's and the text recognizer's (width 160) cycles against cycles.json, where every change comes with a
reason; in fresh processes, with and without vector code, first and later runs.
large: conv 3x3 128->128 at 56x56 and matmul 1024x1024x1024 in fp16 and in int8, cold: MAC use of the whole
task, from the completion record, and the results against float64.
"""
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, CORPUS, check, finish, scratch  # noqa: E402
import onnx_file  # noqa: E402
import onnx_model  # noqa: E402

MODELS = {
    "mnist-8": ("mnist/usr/share/doc/migraphx/examples/vision/cpp_mnist/mnist-8.onnx", None),
    "recognizer-160": ("ocr/assets/ch_PP-OCRv4_rec_infer.onnx", "x=1x3x48x160"),
}
PROCESSES = 10
LATENCIES = [20, 120, 700]
UTILIZATION = 0.85


def compile_model(model, binary, shape=None):
    words = [os.path.join(BIN, "npucc"), "compile", model, "-o", binary, "--no-cache"]
    subprocess.run(words + (["--shape", shape] if shape else []), check=True)
    with open(binary, "rb") as file:
        return file.read()


def run(binary, *words):
    done = subprocess.run([os.path.join(BIN, "npu-run"), binary, "--json", *words], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def output_bytes(binary, name, device):
    """The only output for a fixed random input."""
    listing = json.loads(subprocess.run([os.path.join(BIN, "npu-objdump"), binary, "--json"], check=True,
                                        stdout=subprocess.PIPE).stdout)
    source, target = scratch(name + "-in.npy"), scratch(name + "-out.npy")
    shape = [t["shape"] if "shape" in t else t["dims"] for t in listing["inputs"]][0]
    np.save(source, np.random.RandomState(5).standard_normal(shape).astype(np.float32))
    run(binary, "--device", device, "--input", source, "--output", target)
    return np.load(target).tobytes()


def small():
    with open(os.path.join(HERE, "cycles.json"), encoding="utf-8") as file:
        wanted = json.load(file)["cycles"]
    for name, (model, shape) in MODELS.items():
        binary = scratch(name + ".npu")
        first = compile_model(os.path.join(CORPUS, model), binary, shape)
        again = compile_model(os.path.join(CORPUS, model), binary, shape)
        check(first == again, "%s: compiled twice to the same bytes" % name)
        cycles = [run(binary)["cycles"] for _ in range(PROCESSES if shape is None else 2)]
        check(set(cycles) == {wanted[name]},
              "%s: %s cycles in %d processes (%d in cycles.json)" %
              (name, sorted(set(cycles)), len(cycles), wanted[name]))
        results = [output_bytes(binary, name, "sim:npu-v3?dram_latency=%d" % latency)
                   for latency in LATENCIES]
        check(len(set(results)) == 1 and len(results[0]) > 0,
              "%s: the same bytes whatever DRAM's latency (%s cycles): no race between engines" %
              (name, ", ".join(map(str, LATENCIES))))
        plain = run(binary, "--device", "sim:npu-v3?vector=off")
        check(plain["cycles"] == cycles[0], "%s: without vector code %d" % (name, plain["cycles"]))
        many = run(binary, "--iterations", "4")
        few = run(binary, "--iterations", "3")
        check(many["cycles_first"] == cycles[0] and many["cycles_warm"] == few["cycles_warm"],
              "%s: runs 2..n take %d cycles each (first %d)" %
              (name, many["cycles_warm"], many["cycles_first"]))


def ints(name, values):
    return (onnx_file.field(1, name) + b"".join(onnx_file.field(8, v) for v in values) +
            onnx_file.field(20, 7))


def single(name, node, weight, x_shape, y_shape):
    data = onnx_file.tensor(onnx_file.FLOAT, weight.shape, onnx_file.raw(weight.tobytes()), "w")
    model = onnx_file.model([node], [onnx_file.value_info("x", onnx_file.FLOAT, x_shape)],
                            [onnx_file.value_info("y", onnx_file.FLOAT, y_shape)], [data])
    path = scratch(name + ".onnx")
    with open(path, "wb") as file:
        file.write(model)
    return path


def halves(x, w):
    return x.astype(np.float16).astype(np.float64), w.astype(np.float16).astype(np.float64)


def conv_reference(x, w):
    """3x3, stride 1, padding 1, in float64."""
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.einsum("chwij,ocij->ohw", view, w, optimize=True)[None]


def utilization(name, model, x):
    """The result of a model that has to keep the array busy."""
    binary, source, target = scratch(name + ".npu"), scratch(name + "-x.npy"), scratch(name + "-y.npy")
    compile_model(model, binary)
    np.save(source, x)
    result = run(binary, "--input", source, "--output", target)
    check(result["mac_utilization"] >= UTILIZATION,
          "%s: MAC use %.1f %% in %d cycles (%.0f %% wanted)" %
          (name, 100 * result["mac_utilization"], result["cycles"], 100 * UTILIZATION))
    return np.load(target)


def in_fp16(name, node, weight, x, reference):
    name += ", fp16"
    error = np.abs(utilization(name, single(name, node, weight, x.shape, reference.shape), x) - reference)
    error /= np.abs(reference).max()
    check(float(error.max()) <= 1e-3, "%s: largest error %.2g of the largest value" %
          (name, error.max()))


def in_int8(name, operator, weight, x, reference, **attributes):
    """reference: what the integers give as numbers."""
    name += ", int8"
    scale = np.float32(np.abs(reference).max() / 120)
    model = onnx_model.Model()
    one, zero = model.constant(np.float32(1)), model.constant(np.int8(0))
    model.node(operator, [model.input(x.shape, "int8"), one, zero, model.constant(weight), one, zero,
                          model.constant(scale), model.constant(np.int8(0))], "y", **attributes)
    model.output("y", reference.shape, "int8")
    model.write(scratch(name + ".onnx"))
    steps = np.abs(utilization(name, scratch(name + ".onnx"), x) - np.rint(reference / np.float64(scale)))
    check(steps.max() <= 1 and (steps > 0).mean() < 0.002,
          "%s: %d of %d results one step off, the furthest %d" %
          (name, (steps > 0).sum(), steps.size, steps.max()))


def large():
    random = np.random.RandomState(3)
    x = random.standard_normal((1, 128, 56, 56)).astype(np.float32)
    w = (random.standard_normal((128, 128, 3, 3)) / 34).astype(np.float32)
    node = onnx_file.node("Conv", ["x", "w"], ["y"], "conv",
                          attributes=[ints("kernel_shape", [3, 3]), ints("pads", [1, 1, 1, 1])])
    in_fp16("conv 3x3 128-128 at 56x56", node, w, x, conv_reference(*halves(x, w)))
    x8, w8 = (np.rint(a * 127 / np.abs(a).max()).astype(np.int8) for a in (x, w))
    in_int8("conv 3x3 128-128 at 56x56", "QLinearConv", w8, x8,
            conv_reference(x8.astype(np.float64), w8.astype(np.float64)), pads=[1, 1, 1, 1])
    x = random.standard_normal((1024, 1024)).astype(np.float32)
    w = (random.standard_normal((1024, 1024)) / 32).astype(np.float32)
    in_fp16("matmul 1024^3", onnx_file.node("MatMul", ["x", "w"], ["y"], "matmul"), w, x,
            np.matmul(*halves(x, w)))
    x8, w8 = (np.rint(a * 127 / np.abs(a).max()).astype(np.int8) for a in (x, w))
    in_int8("matmul 1024^3", "QLinearMatMul", w8, x8, x8.astype(np.float64) @ w8.astype(np.float64))


def main():
    {"small": small, "large": large}[sys.argv[1]]()
    finish()


main()
