#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Models broken by hand: each is refused with a sentence that names the node, the rule it breaks, its value, the
limit, and what to do.

usage: refusals.py    (programs by NPU_BIN, NPU_CORPUS, NPU_ORACLE, NPU_SCRATCH; prints TAP)
"""
import os
import re
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, check, finish, scratch  # noqa: E402
import onnx_model  # noqa: E402

NODE = "the suspect"
MODELS_WANTED = 100


class Input:
    """An input of the model, beside x."""
    def __init__(self, shape, dtype="float32"):
        self.shape, self.dtype = shape, dtype


def floats(*shape):
    return np.ones(shape, np.float32)


def ints(*numbers):
    return np.array(numbers, np.int64)


def build(operator, operands, shape, dtype, opset, outputs, domain, attributes):
    """The operator alone, with its operands as constants and inputs of the model."""
    model = onnx_model.Model(opset)
    names = []
    for i, operand in enumerate(operands):
        if isinstance(operand, Input):
            names.append(model.input(operand.shape, operand.dtype, "input%d" % i))
        elif isinstance(operand, (np.ndarray, np.generic)):
            names.append(model.constant(operand))
        else:
            names.append(operand)
    if "x" in names:
        model.input(shape, dtype)
    made = ["y"] + ["y%d" % i for i in range(1, outputs)]
    model.node_named(NODE, operator, names, made, domain, **attributes)
    for name in made:
        model.output(name, (1,))
    return model


def says(text, words):
    """Whether it says these words, numbers in them being whole ones."""
    return re.search(r"(?<![\w.-])" + re.escape(words) + r"(?![\w])", text) is not None


def refused(rule, value, limit, operator, operands, shape=(1, 4, 6, 6), dtype="float32", opset=13, outputs=1, domain="",
            **attributes):
    path, binary = scratch("broken.onnx"), scratch("broken.npu")
    build(operator, operands, shape, dtype, opset, outputs, domain, attributes).write(path)
    done = subprocess.run([os.path.join(BIN, "npucc"), "compile", path, "-o", binary, "--no-cache"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sentence = next((line for line in done.stderr.splitlines() if line.startswith("npucc: error: ")), "")
    body, _, suggestion = sentence.partition("; ")
    known = "node '%s' (%s)" % (NODE, operator)
    missing = [words for words in (rule, value, limit) if not says(body.partition(known)[2], words)]
    if done.returncode != 1 or done.stdout or os.path.exists(binary):
        missing.append("status 1 and nothing else (status %d)" % done.returncode)
    if known not in body:
        missing.append(known)
    if len(suggestion) < 8:
        missing.append("a suggestion")
    check(not missing, "%s: %s is %s, %s%s" % (operator, rule, value, limit,
                                                ": it lacks %s in: %s" % (missing, done.stderr) if missing else ""))
    return not missing


X, W = "x", floats(8, 4, 3, 3)


def convolutions():
    yield refused("kernel_shape", "5x5", "3x3", "Conv", [X, W], kernel_shape=[5, 5])
    yield refused("attribute 'kernel_shape'", "1 entries", "2 are needed", "Conv", [X, W], kernel_shape=[3])
    yield refused("stride height", "0", "1 to 1048576", "Conv", [X, W], strides=[0, 1])
    yield refused("stride width", "-2", "1 to 1048576", "Conv", [X, W], strides=[1, -2])
    yield refused("attribute 'strides'", "3 entries", "2 are needed", "Conv", [X, W], strides=[1, 1, 1])
    yield refused("dilation height", "0", "1 to 1048576", "Conv", [X, W], dilations=[0, 1])
    yield refused("dilation width", "2000000", "1 to 1048576", "Conv", [X, W], dilations=[1, 2000000])
    yield refused("attribute 'pads'", "3 entries", "4 are needed", "Conv", [X, W], pads=[1, 1, 1])
    yield refused("pad before height", "-1", "0 to 1048576", "Conv", [X, W], pads=[-1, 0, 0, 0])
    yield refused("pad behind width", "-3", "0 to 1048576", "Conv", [X, W], pads=[0, 0, 0, -3])
    yield refused("group", "3", "4 input channels", "Conv", [X, W], group=3)
    yield refused("group", "0", "4 input channels", "Conv", [X, W], group=0)
    yield refused("group", "-1", "4 input channels", "Conv", [X, W], group=-1)
    yield refused("group", "1", "3 inputs each", "Conv", [X, floats(8, 3, 3, 3)])
    yield refused("bias", "7", "8 elements are needed", "Conv", [X, W, floats(7)])
    yield refused("bias", "1x8", "8 elements are needed", "Conv", [X, W, floats(1, 8)])
    yield refused("weights have rank", "3", "[M,C/group,kH,kW]", "Conv", [X, floats(8, 4, 3)])
    yield refused("input 1", "missing", "2 are needed", "Conv", [X])
    yield refused("input has shape", "4x6", "[N,C,H,W]", "Conv", [X, floats(8, 4)], shape=(4, 6))
    yield refused("input has shape", "1x4x2x6x6", "at most 4 dimensions", "Conv", [X, floats(8, 4, 1, 3, 3)],
                  shape=(1, 4, 2, 6, 6))
    yield refused("window spans", "9x9", "6x6", "Conv", [X, floats(8, 4, 9, 9)])
    yield refused("weights constant", "no", "only yes", "Conv", [X, Input((8, 4, 3, 3))])
    yield refused("bias constant", "no", "only yes", "Conv", [X, W, Input((8,))])
    yield refused("element type", "i32", "only f32, f16", "Conv", [X, W.astype(np.int32)], dtype="int32")
    yield refused("element type", "u8", "only f32, f16", "Conv", [X, W], dtype="uint8")
    yield refused("element type", "u8", "only f32, f16", "Conv", [X, W.astype(np.uint8)], dtype="uint8")
    yield refused("element type", "i8", "only f32, f16", "Conv", [X, W.astype(np.int8)])
    yield refused("kernel width", "9000", "at most 8192", "Conv", [X, floats(1, 1, 1, 9000)], shape=(1, 1, 1, 9000))
    yield refused("stride width", "70000", "at most 65535", "Conv", [X, W], strides=[1, 70000])
    yield refused("dilation height", "70000", "at most 65535", "Conv", [X, floats(8, 4, 1, 1)], dilations=[70000, 1])
    yield refused("pad", "9000", "at most 8192", "Conv", [X, W], pads=[0, 9000, 0, 0])


def transposed_convolutions():
    weights = floats(4, 8, 3, 3)
    yield refused("group", "3", "4 input channels", "ConvTranspose", [X, weights], group=3)
    yield refused("output_padding", "-1", "0 to", "ConvTranspose", [X, weights], output_padding=[-1, 0])
    yield refused("output_shape", "-5", "0 to", "ConvTranspose", [X, weights], output_shape=[-5, 2])
    yield refused("stride height", "65", "at most 64", "ConvTranspose", [X, weights], strides=[65, 1])
    yield refused("kernel height", "1025", "at most 1024", "ConvTranspose", [X, floats(4, 1, 1025, 1)])
    yield refused("output height", "-4", "at least 1", "ConvTranspose", [X, weights], shape=(1, 4, 2, 2),
                  pads=[4, 4, 4, 4])
    yield refused("weights constant", "no", "only yes", "ConvTranspose", [X, Input((4, 8, 3, 3))])
    yield refused("element type", "i32", "only f32, f16", "ConvTranspose", [X, weights.astype(np.int32)], dtype="int32")


def products():
    yield refused("operands have shapes", "2x3", "have to be the same", "MatMul", [X, floats(4, 5)], shape=(2, 3))
    yield refused("operands have", "0 dimensions", "at least 1", "MatMul", [X, np.float32(3)], shape=(2, 3))
    yield refused("element type", "i32", "only f32, f16", "MatMul", [X, np.ones((3, 5), np.int32)], shape=(2, 3),
                  dtype="int32")
    yield refused("element type", "u8", "only f32, f16", "MatMul", [X, np.ones((3, 5), np.uint8)], shape=(2, 3))
    yield refused("element type", "i8", "only f32, f16", "Gemm", [X, np.ones((3, 5), np.int8), np.ones(5, np.int8)],
                  shape=(2, 3), dtype="int8")
    yield refused("input 1", "missing", "2 are needed", "MatMul", [X])
    yield refused("operands have", "4", "2 are needed", "Gemm", [X, floats(4, 5)])
    yield refused("operands have shapes", "7", "the same or 1", "Gemm", [X, floats(3, 5), floats(7)], shape=(2, 3))


def pools():
    yield refused("kernel height", "0", "1 to 1048576", "MaxPool", [X])
    yield refused("stride height", "0", "1 to 1048576", "MaxPool", [X], kernel_shape=[2, 2], strides=[0, 0])
    yield refused("attribute 'pads'", "2 entries", "4 are needed", "AveragePool", [X], kernel_shape=[2, 2], pads=[1, 1])
    yield refused("input 0 has shape", "4x6", "at least 3 dimensions", "MaxPool", [X], shape=(4, 6), kernel_shape=[2])
    yield refused("output 1", "wanted", "only output 0", "MaxPool", [X], outputs=2, kernel_shape=[2, 2])
    yield refused("window of kernel", "9x9", "6x6", "AveragePool", [X], kernel_shape=[9, 9])
    yield refused("kind", "lp", "only max, average", "LpPool", [X], kernel_shape=[2, 2])
    yield refused("input has", "5 dimensions", "at most 4", "AveragePool", [X], shape=(1, 2, 4, 4, 4),
                  kernel_shape=[2, 2, 2])


def reductions():
    yield refused("axis", "7", "-4 to 3", "ReduceMean", [X], axes=[7])
    yield refused("axis", "-5", "-4 to 3", "ReduceMax", [X], axes=[-5])
    yield refused("function", "argmax", "only sum, mean", "ArgMax", [X], axis=1)
    yield refused("axis", "4", "-4 to 3", "ArgMin", [X], axis=4)
    yield refused("axis", "4", "-4 to 3", "Softmax", [X], axis=4)
    yield refused("input has", "0 dimensions", "at least 1", "Softmax", [X], shape=())


def normalizations():
    one = floats(4)
    yield refused("axis", "9", "-4 to 3", "LayerNormalization", [X, one], opset=17, axis=9)
    yield refused("input 1 has shape", "5", "that of the normalised dimensions", "LayerNormalization", [X, floats(5)],
                  opset=17)
    yield refused("input 2", "missing", "3 are needed", "InstanceNormalization", [X, one])
    yield refused("input 1 has shape", "5", "one element for each of dimension 1", "InstanceNormalization",
                  [X, floats(5), one])
    yield refused("num_groups", "3", "a divisor of 4", "GroupNormalization", [X, one, one], opset=21, num_groups=3)
    yield refused("input 3 has shape", "5", "each of 4 channels", "BatchNormalization", [X, one, one, floats(5), one])
    yield refused("input 4 has shape", "none", "each of 4 channels", "BatchNormalization", [X, one, one, one])
    yield refused("parameters", "computed while running", "only constants", "BatchNormalization",
                  [X, one, one, Input((4,)), one])
    yield refused("training_mode", "1", "only 0", "BatchNormalization", [X, one, one, one, one], opset=15,
                  training_mode=1)
    yield refused("p", "3", "only 1 and 2", "LpNormalization", [X], p=3)


def shapes():
    yield refused("perm", "3 entries", "4 are needed", "Transpose", [X], perm=[0, 1, 2])
    yield refused("perm", "1", "a permutation", "Transpose", [X], perm=[0, 1, 1, 3])
    yield refused("perm", "4", "a permutation", "Transpose", [X], perm=[0, 1, 2, 4])
    yield refused("dimensions", "0 and 1", "at most one", "Reshape", [X, ints(-1, -1, 2)])
    yield refused("dimension 0", "-2", "at least -1", "Reshape", [X, ints(-2, 4)])
    yield refused("elements", "144", "a multiple of 5", "Reshape", [X, ints(5, -1)])
    yield refused("target shape", "5x5", "as many elements as 1x4x6x6", "Reshape", [X, ints(5, 5)])
    yield refused("dimension 4", "0", "only 4 dimensions", "Reshape", [X, ints(1, 4, 6, 6, 0)])
    yield refused("input 1", "computed while running", "only constants", "Reshape", [X, Input((4,), "int64")])
    yield refused("dimension 1", "1099511627776", "at most 2^40", "Reshape", [X, ints(1 << 40, 1 << 40)])
    yield refused("axis", "5", "-4 to 4", "Flatten", [X], axis=5)
    yield refused("dimension 1", "4", "only 1", "Squeeze", [X, ints(1)])
    yield refused("axis", "4", "-4 to 3", "Squeeze", [X, ints(4)])
    yield refused("axes", "2 entries", "once", "Unsqueeze", [X, ints(1, 1)])
    yield refused("output has", "9 dimensions", "at most 8", "Unsqueeze", [X, ints(0, 1, 2, 3, 4)])
    yield refused("axis", "7", "-5 to 4", "Unsqueeze", [X, ints(7)])
    yield refused("axis", "4", "-4 to 3", "Concat", [X, floats(1, 4, 6, 6)], axis=4)
    yield refused("input 1 has", "3 dimensions", "4 like the first", "Concat", [X, floats(4, 6, 6)], axis=1)
    yield refused("dimension 2 of input 1", "5", "6 like the first", "Concat", [X, floats(1, 4, 5, 6)], axis=1)
    yield refused("input 1", "i64", "f32 of rank 4", "Concat", [X, np.ones((1, 4, 6, 6), np.int64)], axis=1)
    yield refused("input 1", "3 entries", "at most 2", "Split", [X, ints(1, 1, 2)], outputs=2, axis=1)
    yield refused("parts add up to", "3", "4 are needed", "Split", [X, ints(1, 2)], outputs=2, axis=1)
    yield refused("num_outputs", "3", "2 is needed", "Split", [X], outputs=2, opset=18, axis=1, num_outputs=3)
    yield refused("size 1", "-1", "at least 0", "Split", [X, ints(5, -1)], outputs=2, axis=1)
    yield refused("starts, ends, axes and steps", "1, 2", "as many of each", "Slice", [X, ints(0), ints(1, 2)])
    yield refused("step 0", "0", "another number", "Slice", [X, ints(0), ints(2), ints(1), ints(0)])
    yield refused("axis", "6", "-4 to 3", "Slice", [X, ints(0), ints(2), ints(6)])
    yield refused("input 1", "computed while running", "only constants", "Slice", [X, Input((1,), "int64"), ints(2)])
    yield refused("pads", "4 entries", "8 are needed", "Pad", [X, ints(1, 1, 1, 1)])
    yield refused("pads of dimension 2", "6", "less than its size of 6", "Pad", [X, ints(0, 0, 6, 0, 0, 0, 0, 0)],
                  mode="reflect")
    yield refused("mode", "'mirror'", "only constant, reflect, edge and wrap", "Pad", [X, ints(*[1] * 8)], mode="mirror")
    yield refused("pads of dimension 1", "-3", "its size of 4", "Pad", [X, ints(0, -3, 0, 0, 0, -2, 0, 0)])
    yield refused("dimension 1 of the target shape", "5", "4 or 1", "Expand", [X, ints(1, 5, 6, 6)])
    yield refused("repeats", "2 entries", "4 are needed", "Tile", [X, ints(2, 2)])
    yield refused("repeat 1", "-2", "0 to 2^40", "Tile", [X, ints(1, -2, 1, 1)])
    yield refused("smallest dimension", "0", "at least 1", "Tile", [X, ints(1, 0, 1, 1)])
    yield refused("dimensions and repeated ones", "10", "at most 8", "Tile", [X, ints(2, 2, 2, 2, 2)],
                  shape=(2, 2, 2, 2, 2))
    yield refused("blocksize", "3", "a multiple of its square", "DepthToSpace", [X], blocksize=3)
    yield refused("blocksize", "4", "multiples of it", "SpaceToDepth", [X], blocksize=4)


def look_ups():
    rows = Input((3,), "int64")
    yield refused("axis", "4", "-4 to 3", "Gather", [X, ints(0)], axis=4)
    yield refused("indices have type", "f32", "int32 or int64", "Gather", [X, floats(1)])
    yield refused("rows for computed indices", "0", "at least 1", "Gather", [floats(0, 4), rows])
    yield refused("rows for computed indices", "70000", "at most 65535", "Gather", [floats(70000, 1), rows])
    yield refused("axis of computed indices", "1", "at most 0", "Gather", [floats(5, 4), rows], axis=1)
    yield refused("element type for computed indices", "i32", "only f32, f16", "Gather",
                  [np.ones((5, 4), np.int32), rows])


def interpolations():
    yield refused("scales", "0", "4 of one of them", "Resize", [X])
    yield refused("scale 2", "-1", "more than 0", "Resize", [X, "", np.float32([1, 1, -1, 1])])
    yield refused("size 3", "0", "1 to 2^40", "Resize", [X, "", "", ints(1, 4, 6, 0)])
    yield refused("it has", "3 scales", "4 of one of them", "Resize", [X, "", np.float32([1, 2, 2])])
    yield refused("mode", "'spline'", "only nearest, linear and cubic", "Resize", [X, "", np.float32([1, 1, 2, 2])],
                  mode="spline")
    yield refused("coordinate_transformation_mode", "'polar'", "only half_pixel", "Resize",
                  [X, "", np.float32([1, 1, 2, 2])], coordinate_transformation_mode="polar")
    yield refused("scales", "computed while running", "only constants", "Resize", [X, "", Input((4,))])
    yield refused("element type of an interpolation", "i32", "only f32, f16", "Resize",
                  [X, "", np.float32([1, 1, 2, 2])], dtype="int32", mode="linear")


def elements():
    yield refused("element type", "string", "only floats", "Cast", [X], to=8)
    yield refused("type that signed numbers are cast to", "u32", "only f32, f16", "Cast", [X], to=12)
    yield refused("scale and zero point constant", "no", "only yes", "QuantizeLinear", [X, Input(())])
    yield refused("input 1 has shape", "5", "each of dimension 1", "QuantizeLinear", [X, floats(5)])
    yield refused("block_size", "2", "only 0", "DequantizeLinear", [X, floats(1, 2, 6, 6)], dtype="int8", opset=21,
                  block_size=2)
    yield refused("input 1", "missing", "2 are needed", "DequantizeLinear", [X], dtype="int8")
    yield refused("operands have shapes", "1x3x6x6", "the same or 1", "Add", [X, floats(1, 3, 6, 6)])
    yield refused("operands have types", "f32 and i64", "one type", "Mul", [X, ints(2)])
    yield refused("element type of a division or power", "i32", "only f32, f16", "Div",
                  [X, np.full((4, 6, 6), 2, np.int32)], dtype="int32")
    yield refused("function", "mod", "only add, sub", "Mod", [X, floats(1)], fmod=0)
    yield refused("condition has type", "f32", "bool", "Where", [X, floats(1), floats(1)])
    yield refused("condition and choices have shapes", "5", "the same or 1", "Where",
                  [Input((1,), "bool"), floats(5), floats(4)])
    yield refused("bound 'min' has", "2 elements", "1 is needed", "Clip", [X, floats(2)])
    yield refused("input 1", "missing", "2 are needed", "PRelu", [X])
    yield refused("input 0", "missing", "1 are needed", "Relu", [])
    yield refused("function", "sin", "only none, relu", "Sin", [X])
    yield refused("its operator", "BitShift", "only those of", "BitShift", [X, np.ones(1, np.uint8)], dtype="uint8",
                  direction="LEFT")
    yield refused("its domain", "'org.example'", "only ai.onnx and com.microsoft", "Relu", [X], domain="org.example")
    yield refused("input 0", "'nothing'", "one has to", "Relu", ["nothing"])
    yield refused("step", "0", "at most 10^12", "Range", [np.float32(0), np.float32(1), np.float32(0)])
    yield refused("input", "computed while running", "only constants", "CumSum", [X, np.int64(0)])
    yield refused("input", "computed while running", "only constants", "NonZero", [X])
    yield refused("input 0", "computed while running", "only constants", "ConstantOfShape", [Input((2,), "int64")])
    yield refused("input 0", "missing", "1 are needed", "If", [""])


def main():
    groups = [convolutions, transposed_convolutions, products, pools, reductions, normalizations, shapes, look_ups,
              interpolations, elements]
    good = sum(sum(group()) for group in groups)
    check(good >= MODELS_WANTED, "%d models refused with node, rule, value, limit and suggestion (%d wanted)" %
          (good, MODELS_WANTED))
    finish()


main()
