# SPDX-License-Identifier: MIT
"""MobileNetV1 and ResNet-18 with seeded random weights, as float models and as quantized ones.

A network is written down once, by a function that builds it with a Float or a Quantized builder. The float
model has every tensor that will be quantized as an output: a run of it gives the ranges.
"""
import numpy as np

import onnx_model


class Float:
    """Builds the float model."""
    def __init__(self, seed):
        self.model, self.random, self.tensors = onnx_model.Model(), np.random.RandomState(seed), []

    def tensor(self, x, shape, name=None):
        """@x is quantized here."""
        name = self.model.node("Identity", [x], name or "t%d" % len(self.tensors))
        self.model.output(name, shape)
        self.tensors.append(name)
        return name

    def weights(self, shape, fan_in, gain=2.0):
        weights = (self.random.standard_normal(shape) * np.sqrt(gain / fan_in)).astype(np.float32)
        # Channels of a trained network differ in size.
        spread = self.random.uniform(0.5, 1.5, [shape[0]] + [1] * (len(shape) - 1)).astype(np.float32)
        return weights * spread, (self.random.standard_normal(shape[0]) * 0.1).astype(np.float32)

    def conv(self, x, weights, bias, **attributes):
        return self.model.node("Conv", [x, self.model.constant(weights), self.model.constant(bias)],
                               **attributes)

    def gemm(self, x, weights, bias):
        return self.model.node("Gemm", [x, self.model.constant(weights), self.model.constant(bias)], transB=1)


class Quantized(Float):
    """Builds the same model with QuantizeLinear and DequantizeLinear; ranges: of tensors, in order."""
    def __init__(self, seed, ranges):
        super().__init__(seed)
        self.ranges, self.count, self.scales = ranges, 0, {}

    def tensor(self, x, shape, name=None):
        scale, zero = self.ranges[self.count]
        self.count += 1
        y = self.model.dequantize(self.model.quantize(x, scale, zero), scale, zero, output=name)
        if name:
            self.model.output(name, shape)
        self.scales[y] = scale
        return y

    def dense(self, operator, x, weights, bias, **attributes):
        integers, scales = onnx_model.quantize_weights(weights)
        unit = self.scales[x] * scales
        inputs = [x, self.model.dequantize(self.model.constant(integers), scales,
                                           np.zeros(len(scales), "int8"), 0),
                  self.model.dequantize(self.model.constant(np.rint(bias / unit).astype("int32")), unit,
                                        np.zeros(len(scales), "int32"), 0)]
        return self.model.node(operator, inputs, **attributes)

    def conv(self, x, weights, bias, **attributes):
        return self.dense("Conv", x, weights, bias, **attributes)

    def gemm(self, x, weights, bias):
        return self.dense("Gemm", x, weights, bias, transB=1)


def convolution(net, x, channels, kernel, results, size, stride=1, group=1, after="Relu"):
    """A convolution with what follows it, and its output's shape."""
    weights, bias = net.weights((results, channels // group, kernel, kernel), channels // group * kernel ** 2)
    pad = kernel // 2
    size = (size + 2 * pad - kernel) // stride + 1
    x = net.conv(x, weights, bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
    if after == "Clip":
        x = net.model.node("Clip", [x, net.model.constant(np.float32(0)), net.model.constant(np.float32(6))])
    elif after:
        x = net.model.node(after, [x])
    return net.tensor(x, (1, results, size, size)), size


def classifier(net, x, channels, classes):
    x = net.tensor(net.model.node("GlobalAveragePool", [x]), (1, channels, 1, 1))
    x = net.model.node("Flatten", [x])
    if isinstance(net, Quantized):
        net.scales[x] = net.ranges[net.count - 1][0]
    weights, bias = net.weights((classes, channels), channels, 1.0)
    net.tensor(net.gemm(x, weights, bias), (1, classes), "y")


def mobilenet_v1(net, size=224, width=32, classes=1000):
    x = net.tensor(net.model.input((1, 3, size, size)), (1, 3, size, size))
    x, size = convolution(net, x, 3, 3, width, size, 2, after="Clip")
    channels = width
    for results, stride in [(2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2)] + [(16, 1)] * 5 + [(32, 2), (32, 1)]:
        x, size = convolution(net, x, channels, 3, channels, size, stride, channels, "Clip")
        x, size = convolution(net, x, channels, 1, results * width, size, after="Clip")
        channels = results * width
    classifier(net, x, channels, classes)


def resnet_18(net, size=224, width=64, classes=1000):
    x = net.tensor(net.model.input((1, 3, size, size)), (1, 3, size, size))
    x, size = convolution(net, x, 3, 7, width, size, 2)
    x = net.model.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    size = (size - 1) // 2 + 1
    x, channels = net.tensor(x, (1, width, size, size)), width
    for results, stride in [(1, 1), (1, 1), (2, 2), (2, 1), (4, 2), (4, 1), (8, 2), (8, 1)]:
        results *= width
        same, y, old = x, x, size
        if stride > 1:
            same, _ = convolution(net, x, channels, 1, results, old, stride, after=None)
        y, size = convolution(net, y, channels, 3, results, old, stride)
        y, size = convolution(net, y, results, 3, results, size, after=None)
        y = net.model.node("Relu", [net.model.node("Add", [y, same])])
        x, channels = net.tensor(y, (1, results, size, size)), results
    classifier(net, x, channels, classes)


NETWORKS = {"mobilenet-v1": mobilenet_v1, "resnet-18": resnet_18}


def ranges_of(arrays, dtype="uint8"):
    return [onnx_model.range_of(array, dtype) for array in arrays]
