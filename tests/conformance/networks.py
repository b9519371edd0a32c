#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whole networks on the device model against ONNX Runtime, in fp16.

usage: networks.py detectors|speech|light|large   (by NPU_BIN, NPU_CORPUS, NPU_ORACLE, NPU_SCRATCH; prints TAP)
       networks.py MODEL.onnx [--lively[=GAIN]] [NAME=SHAPE]...
       networks.py FOLDER [--lively[=GAIN]] [NAME=SHAPE]...

detectors: faces and text, on photographs. speech: the spectrogram of a voice-like signal, its embedding, and wake
words (on random embeddings, of which they answer with more than zeros). light, large: the ONNX project's networks
without weights, with seeded random weights. A model file by hand, or each of a folder's, runs on random input;
--lively gives it other weights, for exported networks whose initial ones let signals vanish; with a GAIN where these
vanish too, or overflow.

Outputs are within 4e-3 of the largest expected magnitude plus 4e-3 of the expected value.
"""
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from conformance import BIN, CORPUS, ORACLE, check, finish, is_near, largest, scratch  # noqa: E402
import onnx_edit  # noqa: E402

OCR = os.path.join(CORPUS, "ocr/assets/ch_PP-OCRv4_det_infer.onnx")
FACES = os.path.join(CORPUS, "blazeface/ONNX")
SPEECH = os.path.join(CORPUS, "wakeword/models")
PICTURES = os.path.join(CORPUS, "opencv/usr/share/doc/opencv-doc/examples")
LIGHT = os.path.join(CORPUS, "onnx-light/usr/share/libonnx-testdata/data/light")
SMALL = ["squeezenet", "shufflenet", "inception_v1"]
LARGE = ["bvlc_alexnet", "zfnet512", "inception_v2", "densenet121", "resnet50", "vgg19"]
TOLERANCE = 4e-3
SEED = 1


def capture(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_model(model, shapes):
    """Returns the binary and its inputs and outputs."""
    binary = scratch("network.npu")
    words = [os.path.join(BIN, "npucc"), "compile", model, "-o", binary, "--no-cache"]
    for shape in shapes:
        words += ["--shape", shape]
    subprocess.run(words, check=True)
    listing = json.loads(capture(os.path.join(BIN, "npu-objdump"), binary, "--json"))
    return binary, listing["inputs"], listing["outputs"]


def files(kind, tensors):
    return [(tensor["name"], scratch("%s%d.npy" % (kind, i))) for i, tensor in enumerate(tensors)]


def options(word, pairs):
    return [text for name, path in pairs for text in (word, name + "=" + path)]


def compare(title, want, have):
    most = largest(want)
    beyond = int((~is_near(have, want, TOLERANCE * (most + np.abs(want)))).sum())
    check(beyond == 0 and most > 1e-4,
          "%s: %d of %d values differ, the largest difference is %.2g of %.3g" %
          (title, beyond, want.size, largest(want.astype(np.float64) - have), most))


def run_network(title, model, make_inputs, shapes=()):
    """Runs on the device and with ONNX Runtime, compares; returns the runtime's outputs."""
    binary, inputs, outputs = compile_model(model, shapes)
    sources, have, want = files("in", inputs), files("npu", outputs), files("ort", outputs)
    for (_, path), array in zip(sources, make_inputs(inputs)):
        np.save(path, array)
    report = json.loads(capture(os.path.join(BIN, "npu-run"), binary, "--json", *options("--input", sources),
                                *options("--output", have)))
    subprocess.run([os.path.join(ORACLE, "ort-run"), model, *options("--input", sources),
                    *options("--output", want)], check=True)
    results = [np.load(path) for _, path in want]
    for i, ((_, path), result) in enumerate(zip(have, results)):
        compare("%s, output %d" % (title, i), result, np.load(path))
    print("# %s: %d cycles, roofline bound %d" % (title, report["cycles"], report["roofline_cycles"]))
    return results


def random_inputs(inputs):
    random = np.random.RandomState(SEED)
    for tensor in inputs:
        shape = tensor["shape"] if "shape" in tensor else tensor["dims"]
        # Token numbers and masks are the integer inputs that networks have: 0 and 1 are always valid.
        if "int" in str(tensor.get("host_type", tensor.get("type", ""))):
            yield random.randint(0, 2, shape).astype(np.int64)
        else:
            yield random.standard_normal(shape).astype(np.float32)


def picture(name, size):
    """A photograph's pixels as 0..1, [size, size, 3]."""
    from PIL import Image
    image = Image.open(os.path.join(PICTURES, name)).convert("RGB").resize((size, size), Image.BILINEAR)
    return np.asarray(image, np.float32) / 255


def detectors():
    def planes(name, size):
        return [((picture(name, size) - 0.45) / 0.225).transpose(2, 0, 1)[None]]

    for number in range(1, 7):
        name = "text/scenetext%02d.jpg" % number
        run_network("text detector (%s)" % name, OCR, lambda _, name=name: planes(name, 320), ["x=1x3x320x320"])
    for side, size in (("front", 128), ("back", 256)):
        model = os.path.join(FACES, "face_detection_%s_%dx%d_barracuda.onnx" % (side, size, size))
        run_network("face detector (%s)" % side, model,
                    lambda _, size=size: [picture("data/messi5.jpg", size)[None] * 2 - 1])


def voice(samples):
    """Harmonics of a gliding pitch with noise, in the range of 16-bit sound."""
    time = np.arange(samples) / 16000
    phase = 2 * np.pi * (120 * time + 40 * time ** 2)
    sound = sum(np.sin(k * phase) / k for k in range(1, 12)) * np.hanning(samples)
    sound += 0.01 * np.random.RandomState(SEED).standard_normal(samples)
    return np.round(6000 * sound).astype(np.float32)


def speech():
    def model(name):
        return os.path.join(SPEECH, name + ".onnx")

    samples = 76 * 160 + 512 - 160
    mel = run_network("mel spectrogram", model("melspectrogram"), lambda _: [voice(samples)[None]],
                      ["input=1x%d" % samples])[0]
    windows = (mel.reshape(-1, 32)[:76] / 10 + 2).reshape(1, 76, 32, 1).astype(np.float32)
    run_network("speech embedding", model("embedding_model"), lambda _: [windows], ["input_1=1x76x32x1"])
    for name in ("alexa_v0.1", "hey_jarvis_v0.1", "timer_v0.1"):
        run_network("wake word " + name, model(name), random_inputs)


def without_weights(names):
    for name in names:
        path = scratch("light.onnx")
        onnx_edit.with_lively_weights(os.path.join(LIGHT, "light_%s.onnx" % name), path, SEED)
        run_network(name, path, random_inputs)


def models_of(path):
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".onnx")]


def shapes_of(model, words):
    """Of the shapes in the command those of this model's inputs: one command serves a folder of models."""
    listing = capture(os.path.join(ORACLE, "ort-run"), model, "--list")
    inputs = [line.split()[1] for line in listing.splitlines() if line.startswith("input ")]
    return [word for word in words if word.rpartition("=")[0] in inputs]


def by_hand(path, words):
    for source in models_of(path):
        model = source
        for word in words:
            if word.startswith("--lively"):
                model = scratch("lively.onnx")
                onnx_edit.with_lively_weights(source, model, SEED, float(word.partition("=")[2] or 1))
        run_network(os.path.basename(source), model, random_inputs, shapes_of(source, words))


def main():
    groups = {"detectors": detectors, "speech": speech, "light": lambda: without_weights(SMALL),
              "large": lambda: without_weights(LARGE)}
    groups.get(sys.argv[1], lambda: by_hand(sys.argv[1], sys.argv[2:]))()
    finish()


main()
