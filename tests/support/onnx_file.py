# SPDX-License-Identifier: MIT
"""ONNX files written by the field numbers of onnx.proto, without any library."""

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 6, 7, 9, 10, 11


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, contents):
    """A number, a string or a message."""
    if isinstance(contents, int):
        return varint(number << 3) + varint(contents)
    if isinstance(contents, str):
        contents = contents.encode()
    return varint(number << 3 | 2) + varint(len(contents)) + contents


def tensor(data_type, shape, data, name="x", packed_dims=False):
    """TensorProto; data is its data field, made with field() or tensor_bytes()."""
    if packed_dims:
        dims = field(1, b"".join(varint(dim) for dim in shape))
    else:
        dims = b"".join(field(1, dim) for dim in shape)
    return dims + field(2, data_type) + field(8, name) + data


def raw(data):
    return field(9, data)


def value_info(name, data_type, shape):
    dims = b"".join(field(1, field(1, dim)) for dim in shape)
    return field(1, name) + field(2, field(1, field(1, data_type) + field(2, dims)))


def node(op, inputs, outputs, name="", domain="", attributes=()):
    out = b"".join(field(1, text) for text in inputs) + b"".join(field(2, text) for text in outputs)
    out += field(3, name) + field(4, op) + b"".join(field(5, one) for one in attributes)
    return out + (field(7, domain) if domain else b"")


def model(nodes, inputs, outputs, initializers=(), opset=13, extra_opsets=()):
    """nodes, inputs, outputs, initializers: messages made with the functions above."""
    graph = b"".join(field(1, one) for one in nodes) + field(2, "test")
    graph += b"".join(field(5, one) for one in initializers)
    graph += b"".join(field(11, one) for one in inputs) + b"".join(field(12, one) for one in outputs)
    out = field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(2, opset))
    for domain in extra_opsets:
        out += field(8, field(1, domain) + field(2, 1))
    return out
