# SPDX-License-Identifier: MIT
"""libnpurt for Python: no build step, no module but the standard library's.

    import npurt
    with npurt.Device() as device, npurt.Context(device) as context:
        model = npurt.Model(context, "model.npu")
        outputs = model.run(inputs)

Inputs are given in order, or by name in a dictionary. Each is anything with the buffer interface
that holds the tensor's elements in the host's type, so arrays of numpy do, as array.array and bytes
do. Outputs are arrays of numpy where numpy is installed, and memoryviews otherwise.

The library is the one the system finds, or the file that NPURT_LIBRARY names.
"""
import ctypes
import os

try:
    import numpy
except ImportError:
    numpy = None

RANK_MAX = 8
# Numbers of npurt_host_type: format of the struct module, numpy's name.
TYPES = {1: ("f", "float32"), 2: ("B", "uint8"), 3: ("b", "int8"), 4: ("H", "uint16"),
         5: ("h", "int16"), 6: ("i", "int32"), 7: ("q", "int64"), 9: ("B", "bool"),
         10: ("e", "float16"), 11: ("d", "float64"), 12: ("I", "uint32"), 13: ("Q", "uint64"),
         16: ("H", "uint16")}


class Error(OSError):
    """A call failed: errno, and the library's sentence."""


class _TensorInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("host_type", ctypes.c_uint32), ("device_type", ctypes.c_uint32),
                ("rank", ctypes.c_uint32), ("dims", ctypes.c_uint32 * RANK_MAX),
                ("scale", ctypes.c_float), ("zero_point", ctypes.c_int32),
                ("elements", ctypes.c_uint64), ("host_bytes", ctypes.c_uint64),
                ("device_bytes", ctypes.c_uint64)]


class _ModelInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("target", ctypes.c_char_p),
                ("build_id", ctypes.c_uint8 * 32), ("inputs", ctypes.c_uint32),
                ("outputs", ctypes.c_uint32)]


class _ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint32),
                ("queue_depth", ctypes.c_uint32), ("priority", ctypes.c_uint32),
                ("spin_us", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("queue_bytes", ctypes.c_uint64), ("pool_bytes", ctypes.c_uint64)]


class ContextStatus(ctypes.Structure):
    """What happens on a context's queue: the members of npurt_context_status."""
    _fields_ = [("size", ctypes.c_size_t), ("queue_depth", ctypes.c_uint32),
                ("in_flight", ctypes.c_uint32), ("submitted", ctypes.c_uint64),
                ("completed", ctypes.c_uint64), ("error", ctypes.c_int),
                ("reserved", ctypes.c_uint32), ("bytes_in_flight", ctypes.c_uint64),
                ("buffer_bytes", ctypes.c_uint64), ("pool_kept_bytes", ctypes.c_uint64)]


class _Binding(ctypes.Structure):
    _fields_ = [("buffer", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


def _load():
    library = ctypes.CDLL(os.environ.get("NPURT_LIBRARY", "libnpurt.so.0"))
    library.npurt_last_error.restype = ctypes.c_char_p
    library.npurt_version.restype = ctypes.c_char_p
    library.npurt_buffer_map.restype = ctypes.c_void_p
    for name in ("npurt_close", "npurt_context_destroy", "npurt_model_unload", "npurt_buffer_free"):
        getattr(library, name).restype = None
    return library


_library = _load()


def _call(name, *arguments):
    result = getattr(_library, name)(*arguments)
    if result < 0:
        raise Error(-result, _library.npurt_last_error().decode())
    return result


def version():
    return _library.npurt_version().decode()


class _Object:
    """Something of the library's, let go of once. The library keeps what is still needed."""
    _release = None
    _handle = None

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            getattr(_library, self._release)(handle)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def __del__(self):
        if _library:
            self.close()

    def handle(self):
        if not self._handle:
            raise ValueError("%s is closed" % type(self).__name__)
        return self._handle


class Device(_Object):
    """A device: "sim:", "accel0", ...; None: the one npurt_open() chooses."""
    _release = "npurt_close"

    def __init__(self, name=None):
        self._handle = ctypes.c_void_p()
        _call("npurt_open", name.encode() if name else None, ctypes.byref(self._handle))


class Context(_Object):
    """An address space and its queue; options are the members of npurt_context_options."""
    _release = "npurt_context_destroy"

    def __init__(self, device, **options):
        self._handle = ctypes.c_void_p()
        given = _ContextOptions(size=ctypes.sizeof(_ContextOptions), **options)
        _call("npurt_context_create", device.handle(), ctypes.byref(given),
              ctypes.byref(self._handle))

    def status(self):
        now = ContextStatus(size=ctypes.sizeof(ContextStatus))
        _call("npurt_context_get_status", self.handle(), ctypes.byref(now))
        return now


class _Buffer(_Object):
    _release = "npurt_buffer_free"

    def __init__(self, context, size):
        self._handle = ctypes.c_void_p()
        self.size = size
        _call("npurt_buffer_alloc", context.handle(), ctypes.c_uint64(size), 0,
              ctypes.byref(self._handle))
        self.host = ctypes.c_void_p(_library.npurt_buffer_map(self._handle))


class Tensor:
    """An input or an output: name, shape, type (numpy's word for it), bytes on the host."""

    def __init__(self, info):
        self.info = info
        self.name = info.name.decode()
        self.shape = tuple(info.dims[:info.rank])
        self.format, self.type = TYPES[info.host_type]
        self.bytes = info.host_bytes

    def __repr__(self):
        return "<Tensor %s %s %s>" % (self.name, self.type, list(self.shape))

    def to_device(self, data, buffer):
        # A contiguous copy of what may be read only.
        data = bytes(memoryview(data))
        if len(data) != self.bytes:
            raise ValueError("%s has %d bytes (%s %s), given are %d" %
                             (self.name, self.bytes, self.type, list(self.shape), len(data)))
        _call("npurt_tensor_from_host", ctypes.byref(self.info), data,
              ctypes.c_size_t(len(data)), buffer.host, ctypes.c_size_t(buffer.size))

    def to_host(self, buffer):
        data = bytearray(self.bytes)
        memory = (ctypes.c_char * len(data)).from_buffer(data)
        _call("npurt_tensor_to_host", ctypes.byref(self.info), buffer.host,
              ctypes.c_size_t(buffer.size), memory, ctypes.c_size_t(len(data)))
        if numpy:
            return numpy.frombuffer(data, dtype=self.type).reshape(self.shape)
        return memoryview(data).cast(self.format, self.shape) if self.shape else \
            memoryview(data).cast(self.format)


class Model(_Object):
    """A compiled model, from a file's name or its bytes, with buffers for one run at a time."""
    _release = "npurt_model_unload"

    _buffers = ()

    def __init__(self, context, source):
        self._handle = ctypes.c_void_p()
        if isinstance(source, (str, os.PathLike)):
            _call("npurt_model_load", context.handle(), os.fsencode(source),
                  ctypes.byref(self._handle))
        else:
            data = bytes(source)
            _call("npurt_model_load_memory", context.handle(), data, ctypes.c_size_t(len(data)),
                  ctypes.byref(self._handle))
        info = _ModelInfo(size=ctypes.sizeof(_ModelInfo))
        _call("npurt_model_get_info", self._handle, ctypes.byref(info))
        self.name = info.name.decode()
        self.inputs = [self._tensor("npurt_model_get_input", i) for i in range(info.inputs)]
        self.outputs = [self._tensor("npurt_model_get_output", i) for i in range(info.outputs)]
        self._buffers = [_Buffer(context, tensor.info.device_bytes)
                         for tensor in self.inputs + self.outputs]

    def close(self):
        for buffer in self._buffers:
            buffer.close()
        super().close()

    def _tensor(self, call, index):
        info = _TensorInfo(size=ctypes.sizeof(_TensorInfo))
        _call(call, self._handle, index, ctypes.byref(info))
        return Tensor(info)

    def run(self, inputs):
        """Runs it once; returns the outputs in order."""
        if isinstance(inputs, dict):
            unknown = set(inputs) - {tensor.name for tensor in self.inputs}
            if unknown:
                raise ValueError("%s has no input %s" % (self.name, ", ".join(sorted(unknown))))
            inputs = [inputs[tensor.name] for tensor in self.inputs]
        if len(inputs) != len(self.inputs):
            raise ValueError("%s has %d inputs, given are %d" %
                             (self.name, len(self.inputs), len(inputs)))
        bindings = (_Binding * len(self._buffers))(
            *(_Binding(buffer.handle(), 0) for buffer in self._buffers))
        for tensor, data, buffer in zip(self.inputs, inputs, self._buffers):
            tensor.to_device(data, buffer)
        _call("npurt_run", self.handle(), bindings, ctypes.c_size_t(len(bindings)), None)
        return [tensor.to_host(buffer)
                for tensor, buffer in zip(self.outputs, self._buffers[len(self.inputs):])]
