#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Quantized networks on the device model against ONNX Runtime, integer by integer.

usage: quantized.py NETWORK SIZE [WIDTH]    (mobilenet-v1, resnet-18; by NPU_BIN, NPU_ORACLE, NPU_SCRATCH; prints TAP)

Weights are seeded random numbers; the scales of activations come from a run of the float network on another
input than the one compared. A result next to a tie goes either way, here and there (see integers.py), and what is
one step off moves others on its way, layer by layer. So outputs may be STEPS off, a SHARE of them at all. (With
its own integer operators, ort-run --optimize, ONNX Runtime differs from itself in 385 outputs of the ResNet-18, by up
to three steps.)
"""
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, ORACLE, check, finish, on_floats, scratch  # noqa: E402
import onnx_networks  # noqa: E402

SEED = 7
STEPS = 1
SHARE = 0.25


def by_reference(path, x, names):
    source = scratch("x.npy")
    np.save(source, x)
    words = [os.path.join(ORACLE, "ort-run"), path, "--input", "x=" + source]
    for name in names:
        words += ["--output", name + "=" + scratch(name + ".npy")]
    subprocess.run(words, check=True)
    return [np.load(scratch(name + ".npy")) for name in names]


def build(network, arguments, path, sample):
    """Writes the quantized model; the scale of its output."""
    build_network = onnx_networks.NETWORKS[network]
    plain = onnx_networks.Float(SEED)
    build_network(plain, *arguments)
    plain.model.write(scratch("float.onnx"))
    ranges = onnx_networks.ranges_of(by_reference(scratch("float.onnx"), sample, plain.tensors))
    quantized = onnx_networks.Quantized(SEED, ranges)
    build_network(quantized, *arguments)
    quantized.model.write(path)
    return ranges[-1][0]


def on_device(path, x):
    binary, source, target = scratch("model.npu"), scratch("x.npy"), scratch("y.npy")
    np.save(source, x)
    done = subprocess.run([os.path.join(BIN, "npucc"), "compile", path, "-o", binary, "--no-cache", "--dump",
                           "quant"], check=True, stderr=subprocess.PIPE, text=True)
    run = subprocess.run([os.path.join(BIN, "npu-run"), binary, "--json", "--input", source, "--output", target],
                         check=True, stdout=subprocess.PIPE)
    return np.load(target), done.stderr, json.loads(run.stdout)


def main():
    network, arguments = sys.argv[1], [int(word) for word in sys.argv[2:]]
    random, path = np.random.RandomState(SEED), scratch("quantized.onnx")
    shape = (1, 3, arguments[0], arguments[0])
    scale = build(network, arguments, path, random.uniform(-1, 1, shape).astype(np.float32))
    x = random.uniform(-1, 1, shape).astype(np.float32)
    want, = by_reference(path, x, ["y"])
    have, graph, run = on_device(path, x)
    floats = on_floats(graph)
    check(not floats, "%s: every operator is on integers %s" % (network, floats))
    steps = np.rint(np.abs(have - want) / scale)
    check(np.isfinite(steps).all() and steps.max() <= STEPS and (steps > 0).mean() <= SHARE and
          len(np.unique(want)) > 20,
          "%s: %d of %d outputs differ from ONNX Runtime's, the furthest by %g steps; %d cycles" %
          (network, (steps > 0).sum(), steps.size, steps.max(), run["cycles"]))
    finish()


main()
