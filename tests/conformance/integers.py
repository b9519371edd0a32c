#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Quantized operators on the device model against ONNX Runtime, integer by integer.

usage: integers.py    (programs and corpus by NPU_BIN, NPU_CORPUS, NPU_ORACLE, NPU_SCRATCH; prints TAP)

Each case is a model of one operator between DequantizeLinear and QuantizeLinear, or of an operator on
integers. Every node of it has to be computed on integers (the graph says so), and each result may be one step from
ONNX Runtime's: both round, the device's 16-bit multipliers move what is next to a tie. How many are one step off is
shown; more than 0.2 % are where a case says why.
"""
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, ORACLE, check, finish, on_floats, scratch  # noqa: E402
import onnx_model  # noqa: E402

FEW = 0.002

random = np.random.RandomState(11)


def on_device(path, x):
    """The result and the graph that npucc made integers of."""
    binary, source, target = scratch("model.npu"), scratch("x.npy"), scratch("device.npy")
    np.save(source, x)
    done = subprocess.run([os.path.join(BIN, "npucc"), "compile", path, "-o", binary, "--no-cache",
                           "--dump", "quant"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    subprocess.run([os.path.join(BIN, "npu-run"), binary, "--input", source, "--output", target],
                   check=True, stdout=subprocess.DEVNULL)
    return np.load(target), done.stderr


def by_reference(path, x):
    source, target = scratch("x.npy"), scratch("ort.npy")
    np.save(source, x)
    subprocess.run([os.path.join(ORACLE, "ort-run"), path, "--input", "x=" + source, "--output",
                    "y=" + target], check=True)
    return np.load(target)


def compare(name, model, x, integers=True, few=FEW):
    path = scratch(name.replace(" ", "-").replace("/", "-") + ".onnx")
    model.write(path)
    want = by_reference(path, x)
    try:
        have, graph = on_device(path, x)
    except AssertionError as error:
        check(False, "%s: does not compile: %.300s" % (name, error))
        return
    if integers and (on_floats(graph) or "on integers" not in graph):
        check(False, "%s: is not computed on integers:\n# %s" % (name, graph.replace("\n", "\n# ")))
        return
    if have.dtype != want.dtype or have.shape != want.shape:
        check(False, "%s: %s%s, wanted %s%s" % (name, have.dtype, have.shape, want.dtype, want.shape))
        return
    if want.dtype.kind == "f":
        error = np.abs(have - want).max() / max(np.abs(want).max(), 1e-30)
        check(error <= 1e-3 and np.isfinite(want).all(), "%s: float result within %.2g of the largest" % (name, error))
        return
    steps = np.abs(have.astype(np.int64) - want.astype(np.int64))
    off = int((steps > 0).sum())
    check(steps.max() <= 1 and off <= (few and max(few * steps.size, 2)) and len(np.unique(want)) > 1,
          "%s: %d of %d results one step off, the furthest %d" % (name, off, steps.size, steps.max()))


def numbers(shape, spread=1.0):
    return (random.standard_normal(shape) * spread).astype(np.float32)


def integers(shape, dtype, bits=8):
    low, high = onnx_model.INTEGERS[dtype]
    low, high = low >> max(8 - bits, 0), high >> max(8 - bits, 0)
    return random.randint(low, high + 1, shape).astype(dtype)


# ----------------------------------------------------------------------------- dense operators
def conv_shape(x, w, stride, pads, dilation):
    return [x[0], w[0]] + [(x[2 + i] + pads[i] + pads[2 + i] - (w[2 + i] - 1) * dilation - 1) // stride + 1
                           for i in range(2)]


def conv(name, x_shape, w_shape, stride=1, pads=(0, 0, 0, 0), dilation=1, group=1, bias=True, activation=None,
         x_type="uint8", y_type="uint8", w_type="int8", per_channel=True, float_result=False):
    x, w = numbers(x_shape), numbers(w_shape, 0.2)
    model = onnx_model.Model()
    x_scale, x_zero = onnx_model.range_of(x, x_type)
    if per_channel:
        w_integers, w_scale = onnx_model.quantize_weights(w)
        w_zero, axis = np.zeros(w_shape[0], "int8"), 0
    else:
        w_scale, w_zero = onnx_model.range_of(w, w_type)
        low, high = onnx_model.INTEGERS[w_type]
        w_integers = np.clip(np.rint(w / w_scale) + int(w_zero), low, high).astype(w_type)
        axis = None
    a = model.both(model.input(x_shape), x_scale, x_zero)
    inputs = [a, model.dequantize(model.constant(w_integers), w_scale, w_zero, axis)]
    if bias:
        unit = np.broadcast_to(x_scale * w_scale, [w_shape[0]]).astype(np.float32)
        inputs.append(model.dequantize(model.constant(random.randint(-900, 900, w_shape[0]).astype("int32")),
                                       unit, np.zeros(w_shape[0], "int32"), 0))
    shape = conv_shape(x_shape, w_shape, stride, pads, dilation)
    last = None if activation or not float_result else "y"
    y = model.node("Conv", inputs, last, kernel_shape=list(w_shape[2:]), strides=[stride] * 2, pads=list(pads),
                   dilations=[dilation] * 2, group=group)
    if activation == "Clip":
        y = model.node("Clip", [y, model.constant(np.float32(0)), model.constant(np.float32(1))])
    elif activation:
        y = model.node(activation, [y])
    if float_result:
        model.output("y", shape)
    else:
        y_scale, y_zero = np.float32(0.03), np.array(131 if y_type == "uint8" else -7, y_type)
        model.quantize(y, y_scale, y_zero, output="y")
        model.output("y", shape, y_type)
    compare(name, model, x)


def convolutions():
    conv("conv 3x3", (1, 16, 14, 14), (24, 16, 3, 3), pads=(1, 1, 1, 1))
    conv("conv 1x1", (1, 40, 9, 9), (70, 40, 1, 1))
    conv("conv first layer", (1, 3, 32, 32), (16, 3, 3, 3), stride=2, pads=(1, 1, 1, 1))
    conv("conv asymmetric pads", (1, 8, 13, 11), (8, 8, 5, 5), stride=2, pads=(1, 2, 2, 1))
    conv("conv dilated", (1, 8, 16, 16), (8, 8, 3, 3), pads=(2, 2, 2, 2), dilation=2)
    conv("conv signed", (1, 16, 14, 14), (24, 16, 3, 3), pads=(1, 1, 1, 1), x_type="int8", y_type="int8")
    conv("conv uint8 weights", (1, 16, 8, 8), (20, 16, 3, 3), per_channel=False, w_type="uint8",
         pads=(1, 1, 1, 1))
    conv("conv one scale of weights", (1, 16, 8, 8), (20, 16, 3, 3), per_channel=False, bias=False)
    conv("conv depthwise", (1, 40, 14, 14), (40, 1, 3, 3), pads=(1, 1, 1, 1), group=40)
    conv("conv depthwise stride", (1, 96, 15, 15), (96, 1, 5, 5), stride=2, pads=(2, 2, 2, 2), group=96)
    conv("conv depthwise multiplier", (1, 16, 14, 14), (32, 1, 3, 3), pads=(1, 1, 1, 1), group=16)
    conv("conv grouped", (1, 32, 10, 10), (48, 8, 3, 3), pads=(1, 1, 1, 1), group=4)
    conv("conv relu", (1, 16, 14, 14), (24, 16, 3, 3), pads=(1, 1, 1, 1), activation="Relu")
    conv("conv clip", (1, 16, 14, 14), (24, 16, 3, 3), pads=(1, 1, 1, 1), activation="Clip")
    conv("conv batch", (3, 16, 7, 7), (24, 16, 1, 1))
    conv("conv float result", (1, 16, 14, 14), (24, 16, 3, 3), pads=(1, 1, 1, 1), float_result=True)
    conv("conv deep", (1, 512, 7, 7), (64, 512, 3, 3), pads=(1, 1, 1, 1))


def product(name, a_shape, b_shape, gemm=False, constant=True, y_type="uint8", transpose=0):
    a, b = numbers(a_shape), numbers(b_shape, 0.2)
    model = onnx_model.Model()
    x = model.both(model.input(a_shape), *onnx_model.range_of(a))
    if constant:
        axis = 0 if transpose else len(b_shape) - 1
        data, scale = onnx_model.quantize_weights(b, axis)
        w = model.dequantize(model.constant(data), scale, np.zeros(len(scale), "int8"), axis)
    else:
        w = model.node("Transpose", [x], perm=[*range(len(a_shape) - 2), len(a_shape) - 1, len(a_shape) - 2])
        b = np.swapaxes(a, -1, -2)
    if gemm:
        unit = onnx_model.range_of(a)[0] * scale
        bias = model.dequantize(model.constant(random.randint(-900, 900, len(scale)).astype("int32")), unit,
                                np.zeros(len(scale), "int32"), 0)
        y = model.node("Gemm", [x, w, bias], transB=transpose)
    else:
        y = model.node("MatMul", [x, w])
    product_of = a @ (b.T if transpose else b)
    model.quantize(y, *onnx_model.range_of(product_of, y_type), output="y")
    model.output("y", product_of.shape, y_type)
    compare(name, model, a)


def products():
    product("matmul", (30, 64), (64, 50))
    product("matmul signed", (30, 64), (64, 50), y_type="int8")
    product("matmul batched", (3, 20, 64), (64, 50))
    product("matmul of activations", (2, 20, 40), (2, 40, 20), constant=False)
    product("matmul one row", (1, 300), (300, 100))
    product("gemm", (5, 128), (128, 30), gemm=True)
    product("gemm transposed", (5, 128), (30, 128), gemm=True, transpose=1)


# ---------------------------------------------------------------------------- QOperator models
# Signed weights against unsigned activations have 7 bits: ONNX Runtime's kernels add pairs of products in
# 16 bits on processors without VNNI, where larger ones saturate.
def weights_for(shape, x_type, w_type):
    return integers(shape, w_type, 7 if (x_type, w_type) == ("uint8", "int8") else 8)


def numbers_of(model, *numbers_and_types):
    """Constants, as the inputs of QLinear operators."""
    return [model.constant(np.array(number, dtype)) for number, dtype in numbers_and_types]


def qlinear_conv(name, x_type="uint8", w_type="int8", w_scales=None, opset=13):
    x, w = integers((1, 12, 11, 11), x_type), weights_for((20, 12, 3, 3), x_type, w_type)
    scales = w_scales if w_scales is not None else np.float32(0.004)
    zero = 117 if w_type == "uint8" else 0
    model = onnx_model.Model(opset)
    model.input(x.shape, x_type)
    inputs = ["x"] + numbers_of(model, (0.02, "float32"), (3, x_type)) + [model.constant(w)]
    w_zero = np.full(np.shape(scales), zero, w_type)
    inputs += [model.constant(np.float32(scales)), model.constant(w_zero)]
    inputs += numbers_of(model, (0.05, "float32"), (100, x_type))
    inputs += [model.constant(random.randint(-9000, 9000, 20).astype("int32"))]
    model.node("QLinearConv", inputs, "y", pads=[1, 1, 1, 1])
    model.output("y", (1, 20, 11, 11), x_type)
    compare(name, model, x)


def qlinear_matmul(name, x_type, w_type, zero):
    x, w = integers((3, 17, 33), x_type), weights_for((33, 29), x_type, w_type)
    model = onnx_model.Model()
    model.input(x.shape, x_type)
    inputs = ["x"] + numbers_of(model, (0.02, "float32"), (9, x_type)) + [model.constant(w)]
    inputs += numbers_of(model, (0.004, "float32"), (zero, w_type), (0.06, "float32"), (100, x_type))
    model.node("QLinearMatMul", inputs, "y")
    model.output("y", (3, 17, 29), x_type)
    compare(name, model, x)


def integer_products():
    x, w = integers((3, 40), "uint8"), weights_for((40, 21), "uint8", "int8")
    model = onnx_model.Model()
    model.input(x.shape, "uint8")
    model.node("MatMulInteger", ["x", model.constant(w)] + numbers_of(model, (7, "uint8"), (0, "int8")), "y")
    model.output("y", (3, 21), "int32")
    compare("MatMulInteger", model, x, few=0)
    x, w = integers((1, 3, 9, 9), "uint8"), integers((5, 3, 3, 3), "uint8")
    model = onnx_model.Model()
    model.input(x.shape, "uint8")
    model.node("ConvInteger", ["x", model.constant(w)] + numbers_of(model, (7, "uint8"), (120, "uint8")), "y",
               pads=[1, 1, 1, 1])
    model.output("y", (1, 5, 9, 9), "int32")
    compare("ConvInteger", model, x, few=0)


def operators_on_integers():
    qlinear_conv("QLinearConv")
    qlinear_conv("QLinearConv opset 10", opset=10)
    qlinear_conv("QLinearConv uint8 weights", w_type="uint8")
    qlinear_conv("QLinearConv signed", x_type="int8")
    qlinear_conv("QLinearConv scales by channel", w_scales=np.linspace(0.001, 0.008, 20))
    qlinear_matmul("QLinearMatMul", "uint8", "int8", 0)
    qlinear_matmul("QLinearMatMul signed", "int8", "int8", 5)
    qlinear_matmul("QLinearMatMul unsigned", "uint8", "uint8", 130)
    integer_products()


# --------------------------------------------------------------------------- element by element
def elementwise(name, operator, shapes, types=("uint8", "uint8"), y_type="uint8", after=None, y_range=None):
    x = numbers(shapes[0]) + np.float32(0.3)
    other = numbers(shapes[1], 0.7) + np.float32(0.1)
    if operator == "Div":
        other = np.abs(other) + np.float32(0.5)
    model = onnx_model.Model()
    a = model.both(model.input(shapes[0]), *onnx_model.range_of(x, types[0]))
    b = model.constant(other)
    scale, zero = onnx_model.range_of(other, types[1])
    least, most = onnx_model.INTEGERS[types[1]]
    data = np.clip(np.rint(other / scale) + int(zero), least, most).astype(types[1])
    b = model.dequantize(model.constant(data), scale, zero)
    if shapes[1] == shapes[0]:  # of two activations, rather than of one and a constant
        b = model.dequantize(model.quantize(model.node("Mul", [a, model.constant(np.float32(-0.7))]),
                                            scale, zero), scale, zero)
    y = model.node(operator, [a, b])
    if after == "Clip":
        y = model.node("Clip", [y, model.constant(np.float32(-0.25)), model.constant(np.float32(0.5))])
    elif after and " " in after:  # and y = f(x) / 2 + 3/4, which fusion puts into the activation
        y = model.node("Mul", [model.node(after.split()[0], [y]), model.constant(np.float32(0.5))])
        y = model.node("Add", [y, model.constant(np.float32(0.75))])
    elif after:
        y = model.node(after, [y])
    model.quantize(y, *(y_range or (np.float32(0.025), np.array(90 if y_type == "uint8" else -20, y_type))),
                   output="y")
    model.output("y", np.broadcast_shapes(*shapes), y_type)
    compare(name, model, x)


def elementwise_operators():
    same = ((1, 12, 9, 9),) * 2
    elementwise("add", "Add", same)
    elementwise("add signed", "Add", same, ("int8", "int8"), "int8")
    elementwise("add of two types", "Add", same, ("int8", "uint8"), "uint8")
    elementwise("add relu", "Add", same, after="Relu")
    elementwise("add clip", "Add", same, after="Clip")
    elementwise("add relu scaled", "Add", same, after="Relu scaled")
    elementwise("add sigmoid scaled", "Add", same, after="Sigmoid scaled")
    elementwise("sub", "Sub", same)
    elementwise("mul", "Mul", same)
    elementwise("div", "Div", ((5, 40), (1, 40)))
    elementwise("max", "Max", same)
    elementwise("min", "Min", same)
    elementwise("mul by channel", "Mul", ((1, 12, 9, 9), (1, 12, 1, 1)))
    elementwise("add scalar", "Add", ((4, 50), ()))


def activation(name, operator, x_type="uint8", y_type="uint8", **attributes):
    x = numbers((2, 8, 11, 5), 2.0)
    model = onnx_model.Model(20)
    a = model.both(model.input(x.shape), *onnx_model.range_of(x, x_type))
    y = model.node(operator, [a], **attributes)
    scale = {"Sigmoid": 1 / 256, "HardSigmoid": 1 / 256, "Exp": 0.5}.get(operator, 0.03)
    model.quantize(y, np.float32(scale), np.array(40 if y_type == "uint8" else -50, y_type), output="y")
    model.output("y", x.shape, y_type)
    compare("activation " + name, model, x)


def activations():
    for operator in ["Relu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp", "Gelu",
                     "Softplus", "Abs", "Neg"]:
        activation(operator, operator)
    activation("Sigmoid signed", "Sigmoid", "int8", "int8")
    activation("Tanh unsigned to signed", "Tanh", "uint8", "int8")


def silu_and_hard_swish():
    """Decomposed, each part between integers."""
    x = numbers((1, 16, 10, 10), 2.0)
    model = onnx_model.Model()
    a = model.both(model.input(x.shape), *onnx_model.range_of(x))
    gate = model.both(model.node("Sigmoid", [a]), np.float32(1 / 256), np.array(0, "uint8"))
    model.quantize(model.node("Mul", [a, gate]), np.float32(0.03), np.array(12, "uint8"), output="y")
    model.output("y", x.shape, "uint8")
    compare("silu of two operators", model, x)


# ------------------------------------------------------------------------------ pools and moves
def pool(name, operator, shape=(1, 24, 15, 15), y_shape=None, requantize=False, x_type="uint8", few=FEW, **attributes):
    x = numbers(shape)
    scale, zero = onnx_model.range_of(x, x_type)
    model = onnx_model.Model()
    y = model.node(operator, [model.both(model.input(shape), scale, zero)], **attributes)
    if requantize:
        scale, zero = np.float32(scale * 0.7), np.array(int(zero) - 5, x_type)
    model.quantize(y, scale, zero, output="y")
    model.output("y", y_shape, x_type)
    compare(name, model, x, few=few)


def pools():
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    pool("max pool requantized", "MaxPool", y_shape=(1, 24, 8, 8), requantize=True, **window)
    # Means of 4 and of 6 integers at the border are ties, which float errors turn either way.
    pool("average pool", "AveragePool", y_shape=(1, 24, 8, 8), few=0.05, **window)
    pool("average pool pads counted", "AveragePool", y_shape=(1, 24, 8, 8), count_include_pad=1, **window)
    pool("average pool requantized", "AveragePool", y_shape=(1, 24, 8, 8), requantize=True, x_type="int8", **window)
    pool("global average pool", "GlobalAveragePool", y_shape=(1, 24, 1, 1), requantize=True)
    pool("mean over the plane", "ReduceMean", y_shape=(1, 24, 1, 1), axes=[2, 3], requantize=True)


def moves():
    """Shapes change between quantized operators; every node is on integers."""
    x = numbers((1, 12, 10, 10))
    scale, zero = onnx_model.range_of(x)
    model = onnx_model.Model()
    a = model.both(model.input(x.shape), scale, zero)
    a = model.both(model.node("MaxPool", [a], kernel_shape=[2, 2], strides=[2, 2]), scale, zero)
    a = model.both(model.node("Transpose", [a], perm=[0, 2, 3, 1]), scale, zero)
    a = model.both(model.node("Reshape", [a, model.constant(np.array([25, 12], "int64"))]), scale, zero)
    data, scales = onnx_model.quantize_weights(numbers((12, 20), 0.3), 1)
    w = model.dequantize(model.constant(data), scales, np.zeros(20, "int8"), 1)
    y = model.node("Reshape", [model.node("MatMul", [a, w]), model.constant(np.array([5, 100], "int64"))])
    model.quantize(y, np.float32(0.03), np.array(120, "uint8"), output="y")
    model.output("y", (5, 100), "uint8")
    compare("pool, transpose, reshape, product, reshape", model, x)


def one_dimension():
    x = numbers((2, 12, 40))
    model = onnx_model.Model()
    scale, zero = onnx_model.range_of(x)
    data, scales = onnx_model.quantize_weights(numbers((20, 12, 5), 0.2))
    w = model.dequantize(model.constant(data), scales, np.zeros(20, "int8"), 0)
    y = model.node("Relu", [model.node("Conv", [model.both(model.input(x.shape), scale, zero), w], pads=[2, 2],
                                       strides=[2])])
    model.quantize(y, np.float32(0.02), np.array(0, "uint8"), output="y")
    model.output("y", (2, 20, 20), "uint8")
    compare("conv of one dimension", model, x)


def nearest():
    x = numbers((1, 12, 6, 6))
    model = onnx_model.Model()
    scale, zero = onnx_model.range_of(x)
    a = model.both(model.input(x.shape), scale, zero)
    y = model.node("Resize", [a, "", model.constant(np.float32([1, 1, 2, 3]))], mode="nearest",
                   coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    model.quantize(model.node("Relu", [model.both(y, scale, zero)]), np.float32(0.02), np.array(0, "uint8"), output="y")
    model.output("y", (1, 12, 12, 18), "uint8")
    compare("resize to the nearest", model, x)


def in_between():
    """What is not in the table is computed in fp16, which moves more results by one."""
    x = numbers((4, 50), 2)
    scale, zero = onnx_model.range_of(x)
    for operator, attributes in [("Softmax", {"axis": -1}), ("ReduceMax", {"axes": [1]})]:
        model = onnx_model.Model()
        y = model.node(operator, [model.both(model.input(x.shape), scale, zero)], **attributes)
        y_scale, y_zero = (1 / 512, 0) if operator == "Softmax" else (scale, zero)
        model.quantize(y, np.float32(y_scale), np.array(y_zero, "uint8"), output="y")
        model.output("y", x.shape if operator == "Softmax" else (4, 1), "uint8")
        compare("%s between" % operator, model, x, integers=False, few=0.05)
    depth = 40000
    x = numbers((2, depth))
    data, scales = onnx_model.quantize_weights(numbers((depth, 8), 0.01), 1)
    model = onnx_model.Model()
    a = model.both(model.input(x.shape), *onnx_model.range_of(x))
    y = model.node("MatMul", [a, model.dequantize(model.constant(data), scales, np.zeros(8, "int8"), 1)])
    model.quantize(y, np.float32(0.05), np.array(128, "uint8"), output="y")
    model.output("y", (2, 8), "uint8")
    compare("product whose sums could overflow", model, x, integers=False, few=0.2)


def concatenation():
    x = numbers((1, 10, 6, 6))
    model = onnx_model.Model()
    scale, zero = onnx_model.range_of(x)
    a = model.both(model.input(x.shape), scale, zero)
    b = model.both(model.node("Relu", [a]), np.float32(0.02), np.array(0, "uint8"))
    c = model.both(model.node("Sigmoid", [a]), np.float32(1 / 255), np.array(0, "uint8"))
    model.quantize(model.node("Concat", [a, b, c], axis=1), scale, zero, output="y")
    model.output("y", (1, 30, 6, 6), "uint8")
    compare("concat of three scales", model, x)


def embedding():
    """A table of integers whose rows computed indices name."""
    indices = random.randint(-30, 30, (3, 7))
    table = integers((30, 24), "int8")
    for name, scale, axis in [("", np.float32(0.03), None), (" scales by row", np.linspace(0.01, 0.05, 30), 0)]:
        model = onnx_model.Model()
        rows = model.dequantize(model.constant(table), scale, np.zeros(np.shape(scale), "int8"), axis)
        model.node("Gather", [rows, model.input(indices.shape, "int64")], "y")
        model.output("y", (3, 7, 24))
        compare("embedding of integers" + name, model, indices.astype("int64"), integers=False)


# -------------------------------------------------------------------------- quantize, dequantize
def alone():
    x = numbers((3, 5, 7), 3.0)
    for dtype, zero in [("uint8", 100), ("int8", -3), ("int16", 1000), ("uint16", 30000)]:
        opset = 21 if "16" in dtype else 13
        model = onnx_model.Model(opset)
        model.quantize(model.input(x.shape), np.float32(0.05), np.array(zero, dtype), output="y")
        model.output("y", x.shape, dtype)
        compare("quantize to %s" % dtype, model, x, integers=False)
        model = onnx_model.Model(opset)
        data = integers((3, 5, 7), dtype)
        model.dequantize(model.input(x.shape, dtype), np.float32(0.05), np.array(zero, dtype), output="y")
        model.output("y", x.shape)
        compare("dequantize %s" % dtype, model, data, integers=False)
    for axis in range(3):
        size = x.shape[axis]
        scale, zero = np.linspace(0.02, 0.06, size), np.arange(size).astype("uint8") * 3 + 99
        model = onnx_model.Model()
        model.quantize(model.input(x.shape), scale, zero, axis, output="y")
        model.output("y", x.shape, "uint8")
        compare("quantize along axis %d" % axis, model, x, integers=False)
        model = onnx_model.Model()
        model.dequantize(model.input(x.shape, "uint8"), scale, zero, axis, output="y")
        model.output("y", x.shape)
        compare("dequantize along axis %d" % axis, model, integers(x.shape, "uint8"), integers=False)
    model = onnx_model.Model()
    model.node("DequantizeLinear", [model.input(x.shape, "int32"), model.constant(np.float32(0.01))], "y")
    model.output("y", x.shape)
    compare("dequantize int32", model, random.randint(-5000, 5000, x.shape).astype("int32"), integers=False)


# Casts that are defined and fit what the device holds integers in: 32 bits with a sign.
CASTS = {"float32", "float16", "bool", "int8", "uint8", "int16", "uint16", "int32", "int64"}


def cast_sources():
    fractions = np.float32([0.5, -0.5, 2.5, -1.5, 0, -0.0, 99.999, -7])
    wide = np.concatenate([random.randint(-70000, 70000, 70), random.randint(-2 ** 31, 2 ** 31, 26),
                           [2 ** 24 + 1, -2 ** 24 - 1, 2 ** 31 - 1, -2 ** 31]])
    yield "float32", np.concatenate([numbers(90, 30.0), fractions])
    yield "int32", wide.astype("int32")
    yield "int64", wide.astype("int64")
    for narrow in ("int8", "uint8", "int16", "uint16"):
        yield narrow, integers(98, narrow, 16 if "16" in narrow else 8)
    yield "bool", random.randint(0, 2, 98).astype("bool")


def casts():
    for source, x in cast_sources():
        x[:5] = 0
        for target in sorted(CASTS - {source}):
            y = x
            if target == "float16":  # larger ones overflow, here and there
                y = np.clip(x.astype("float64"), -60000, 60000).astype(source)
            elif source == "float32" and target.startswith("u"):
                y = np.abs(x)  # a cast of negative numbers to unsigned integers is not defined
            model = onnx_model.Model()
            model.node("Cast", [model.input(y.shape, source)], "y", to=onnx_model.TYPES[target])
            model.output("y", y.shape, target)
            compare("cast %s to %s" % (source, target), model, y, integers=False, few=0)


def main():
    casts()
    convolutions()
    products()
    operators_on_integers()
    elementwise_operators()
    activations()
    silu_and_hard_swish()
    pools()
    moves()
    concatenation()
    one_dimension()
    nearest()
    embedding()
    in_between()
    alone()
    finish()


main()
