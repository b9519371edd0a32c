# SPDX-License-Identifier: MIT
"""ONNX files changed by the field numbers of onnx.proto, without any library."""
import numpy as np

import onnx_file

FLOAT = onnx_file.FLOAT
GRAPH, NODE, INITIALIZER = 7, 1, 5
# Of NodeProto, and of TensorProto.
INPUT, OUTPUT, OP_TYPE = 1, 2, 4
DIMS, DATA_TYPE, INT64_DATA, NAME, RAW_DATA = 1, 2, 7, 8, 9
# A rectifier takes half of the signal's power, linear operators nothing.
LINEAR = ("BatchNormalization", "Conv", "Reshape", "Transpose")
WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return number, at


def fields(data):
    """(field number, contents) in order: a number, or the bytes of a string or message."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            contents, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            contents, at = data[at:at + size], at + size
        yield key >> 3, kind, contents


def encode(number, kind, contents):
    if kind in (0, 2):
        return onnx_file.field(number, contents if kind == 0 else bytes(contents))
    return onnx_file.varint(number << 3 | kind) + bytes(contents)


def texts(node, number):
    return [bytes(c).decode() for n, _, c in fields(node) if n == number]


def varints(tensor, number):
    out = []
    for n, kind, contents in fields(tensor):
        if n == number and kind == 0:
            out.append(contents)
        elif n == number:
            at = 0
            while at < len(contents):
                value, at = read_varint(contents, at)
                out.append(value)
    return out


def integers(tensor):
    raw = [c for n, _, c in fields(tensor) if n == RAW_DATA]
    return list(np.frombuffer(raw[0], "<i8")) if raw else varints(tensor, INT64_DATA)


def fan_in(shape, user):
    """How many products are added up, by the operator that reads the weights."""
    if user == "MatMul" or len(shape) == 2 and user == "Gemm(k,n)":
        return shape[-2]
    return int(np.prod(shape[1:]))


def lively(random, shape, user, index, before):
    """Numbers under which signals neither vanish nor grow from layer to layer; @before made the reader's input."""
    if user == "BatchNormalization" and index in (1, 4):
        return random.uniform(0.75, 1.25, shape)
    if len(shape) < 2:
        return 0.1 * random.standard_normal(shape)
    power = 1.0 if before in LINEAR else 2.0
    return random.standard_normal(shape) * np.sqrt(power / fan_in(shape, user))


def uses_of(nodes):
    """Of each value name the operator that reads it first, where, and what makes that operator's input."""
    uses, makers = {}, {}
    for node in nodes:
        op = texts(node, OP_TYPE)[0]
        if op == "Gemm" and not any(b"transB" in bytes(c) for n, _, c in fields(node) if n == 5):
            op = "Gemm(k,n)"
        inputs = texts(node, INPUT)
        for index, name in enumerate(inputs):
            uses.setdefault(name, (op, index, makers.get(inputs[0], "")))
        for name in texts(node, OUTPUT):
            makers[name] = op
    return uses


def is_weight(uses, name):
    op, index, _ = uses.get(name, ("", 0, ""))
    return op.split("(")[0] in WEIGHTED and index == 1


def new_tensor(name, array):
    array = np.ascontiguousarray(array, "<f4")
    return onnx_file.tensor(FLOAT, array.shape, onnx_file.raw(array.tobytes()), name)


def renamed(node, names):
    return b"".join(encode(n, kind, names.get(bytes(c).decode(), bytes(c).decode()).encode() if n == OUTPUT else c)
                    for n, kind, c in fields(node))


def without_last_softmax(nodes):
    """With random weights it leaves one 1 and zeros, which say nothing of what came before."""
    last = nodes[-1]
    if texts(last, OP_TYPE) != ["Softmax"]:
        return nodes
    names = {texts(last, INPUT)[0]: texts(last, OUTPUT)[0]}
    return [renamed(node, names) for node in nodes[:-1]]


def change_graph(graph, random, gain):
    parts = list(fields(graph))
    nodes = without_last_softmax([c for n, _, c in parts if n == NODE])
    parts = [part for part in parts if part[0] != NODE] + [(NODE, 2, node) for node in nodes]
    tensors = {texts(c, NAME)[0]: c for n, _, c in parts if n == INITIALIZER}
    uses, out = uses_of(nodes), []
    for number, kind, contents in parts:
        if number == NODE and texts(contents, OP_TYPE) == ["ConstantOfShape"]:
            name, shape = texts(contents, OUTPUT)[0], texts(contents, INPUT)[0]
            if shape in tensors and name in uses:
                array = lively(random, [int(d) for d in integers(tensors[shape])], *uses[name])
                out.append(onnx_file.field(INITIALIZER, new_tensor(name, array)))
                continue
        if number == INITIALIZER and varints(contents, DATA_TYPE) == [FLOAT]:
            name, shape = texts(contents, NAME)[0], varints(contents, DIMS)
            if len(shape) > 1 and is_weight(uses, name):
                contents = new_tensor(name, gain * lively(random, shape, *uses[name]))
        out.append(encode(number, kind, contents))
    return b"".join(out)


def with_lively_weights(source, target, seed, gain=1.0):
    """
    Copies a model with seeded random weights in place of its own, and of ConstantOfShape nodes. @gain: of its own
    weights, for networks whose gates and sums let signals vanish or grow all the same.
    """
    with open(source, "rb") as file:
        model = memoryview(file.read())
    random = np.random.RandomState(seed)
    with open(target, "wb") as file:
        for number, kind, contents in fields(model):
            if number == GRAPH:
                contents = change_graph(contents, random, gain)
            file.write(encode(number, kind, contents))
