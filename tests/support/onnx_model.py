# SPDX-License-Identifier: MIT
"""Models for tests, written node by node with numpy constants; and quantized ones."""
import struct

import numpy as np

import onnx_file

TYPES = {"float32": onnx_file.FLOAT, "uint8": onnx_file.UINT8, "int8": onnx_file.INT8,
         "int32": onnx_file.INT32, "bool": onnx_file.BOOL, "int64": onnx_file.INT64, "float16": onnx_file.FLOAT16,
         "uint16": 4, "int16": 5, "uint32": 12, "uint64": 13, "float64": onnx_file.DOUBLE}
INTEGERS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def attribute(name, value):
    """An int, a float, a string or a list of ints."""
    out = onnx_file.field(1, name)
    if isinstance(value, str):
        return out + onnx_file.field(4, value) + onnx_file.field(20, 3)
    if isinstance(value, float):
        return out + b"\x15" + struct.pack("<f", value) + onnx_file.field(20, 1)
    if isinstance(value, int):
        return out + onnx_file.field(3, value) + onnx_file.field(20, 2)
    return out + b"".join(onnx_file.field(8, one) for one in value) + onnx_file.field(20, 7)


class Model:
    def __init__(self, opset=13):
        self.opset, self.nodes, self.constants, self.inputs, self.outputs = opset, [], [], [], []
        self.count, self.domains = 0, set()

    def name(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def input(self, shape, dtype="float32", name="x"):
        self.inputs.append(onnx_file.value_info(name, TYPES[dtype], shape))
        return name

    def output(self, name, shape, dtype="float32"):
        self.outputs.append(onnx_file.value_info(name, TYPES[dtype], shape))

    def constant(self, array, stem="c"):
        array, name = np.asarray(array), self.name(stem)
        data = onnx_file.raw(np.ascontiguousarray(array).tobytes())
        self.constants.append(onnx_file.tensor(TYPES[str(array.dtype)], array.shape, data, name))
        return name

    def node_named(self, name, operator, inputs, outputs, domain="", **attributes):
        self.domains.update([domain] if domain else [])
        self.nodes.append(onnx_file.node(
            operator, inputs, outputs, name, domain=domain,
            attributes=[attribute(key, value) for key, value in attributes.items()]))

    def node(self, operator, inputs, output=None, domain="", **attributes):
        output = output or self.name(operator.lower())
        self.node_named(self.name("node_"), operator, inputs, [output], domain, **attributes)
        return output

    def quantize(self, x, scale, zero, axis=None, output=None):
        """zero: a numpy number or array, whose type is the integers'."""
        extra = {} if axis is None else {"axis": axis}
        return self.node("QuantizeLinear", [x, self.constant(np.float32(scale)), self.constant(zero)],
                         output, **extra)

    def dequantize(self, x, scale, zero, axis=None, output=None):
        extra = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear",
                         [x, self.constant(np.float32(scale)), self.constant(zero)], output, **extra)

    def both(self, x, scale, zero):
        return self.dequantize(self.quantize(x, scale, zero), scale, zero)

    def write(self, path):
        data = onnx_file.model(self.nodes, self.inputs, self.outputs, self.constants, self.opset,
                               sorted(self.domains))
        with open(path, "wb") as file:
            file.write(data)


def quantize_weights(weights, axis=0, dtype="int8"):
    """Symmetric, one scale a channel: integers and scales."""
    moved = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)
    scales = np.maximum(np.abs(moved).max(1), 1e-6).astype(np.float32) / np.float32(127)
    shape = [1] * weights.ndim
    shape[axis] = -1
    integers = np.clip(np.rint(weights / scales.reshape(shape)), -127, 127)
    return integers.astype(dtype), scales


def range_of(array, dtype="uint8"):
    """Scale and zero point that hold an array's least and greatest number."""
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    least, greatest = INTEGERS[dtype]
    scale = np.float32(max(high - low, 1e-6) / (greatest - least))
    zero = int(np.clip(round(least - low / float(scale)), least, greatest))
    return scale, np.array(zero, dtype)
