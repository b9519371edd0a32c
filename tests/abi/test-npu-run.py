#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""npu-run's command line: statuses, messages, JSON, files.

usage: test-npu-run.py BIN-FOLDER CORPUS
"""
import json
import os
import sys
import tempfile

import numpy
from PIL import Image

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import onnx_file  # noqa: E402
from cli import Program, arguments, common_checks, missing, mnist  # noqa: E402
from tap import Tap  # noqa: E402

NUMBER = (int, float)
KEYS = {"schema": int, "device": str, "model": str, "target": str, "iterations": int, "cycles": int,
        "cycles_warm": int, "roofline_cycles": int, "floor_cycles": int, "latency_ns": dict, "macs": int,
        "mac_utilization": NUMBER, "dram_bytes": dict, "layers": list, "compare": list}
LATENCY_KEYS = {"min": int, "median": int, "p99": int, "max": int}
DRAM_KEYS = {"read": int, "write": int}
LAYER_KEYS = {"name": str, "op": str, "cycles": int, "predicted_cycles": int, "macs": int,
              "mac_utilization": NUMBER, "dram_bytes": int, "bound": str}
# A difference to what is no number is no number.
COMPARE_KEYS = {"name": str, "max_abs_error": NUMBER + (type(None),), "ok": bool}
INPUT, OUTPUT = "Input3", "Plus214_Output_0"
# 8 maps from 1 with 5x5 taps at 28x28, 16 from 8 at 14x14, 256 to 10.
MACS = 28 * 28 * 8 * 25 + 14 * 14 * 16 * 8 * 25 + 256 * 10


class Tests:
    def __init__(self, npu_run, folder):
        self.npu_run, self.folder = npu_run, folder
        self.model = self.path("mnist.npu")
        digit = numpy.zeros((28, 28), numpy.uint8)
        digit[4:24, 12:16] = 255
        digit[8:10, 9:12] = 180
        self.digit = digit.reshape(1, 1, 28, 28).astype(numpy.float32)
        numpy.save(self.path("digit.npy"), self.digit)
        Image.fromarray(digit).save(self.path("digit.png"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def json(self, *arguments):
        return self.npu_run.json(self.model, "--device", "sim:", "--json", *arguments)

    def output_for(self, name):
        self.npu_run.works(self.model, "--device", "sim:", "--input", INPUT + "=" + self.path(name),
                           "--output", OUTPUT + "=" + self.path("out.npy"), "--scale", "1")
        array = numpy.load(self.path("out.npy"))
        if array.shape != (1, 10) or array.dtype != numpy.float32:
            raise AssertionError("the output is %s %s" % (array.dtype, array.shape))
        return array

    def check_json(self):
        found = self.json("--iterations", "3")
        wrong = missing(found, KEYS) or missing(found["latency_ns"], LATENCY_KEYS)
        wrong = wrong or missing(found["dram_bytes"], DRAM_KEYS)
        for layer in found["layers"]:
            wrong = wrong or missing(layer, LAYER_KEYS)
        if wrong:
            return wrong
        latency = found["latency_ns"]
        for good in [found["iterations"] == 3, found["target"] == "npu-v3", found["device"] == "sim:npu-v3",
                     found["macs"] == MACS, found["layers"], found["compare"] == [],
                     0 < found["floor_cycles"] <= found["roofline_cycles"],
                     found["cycles"] >= found["floor_cycles"], 0 < found["mac_utilization"] < 1,
                     0 < latency["min"] <= latency["median"] <= latency["p99"] <= latency["max"],
                     sum(layer["macs"] for layer in found["layers"]) == MACS,
                     found["dram_bytes"]["read"] > 0 and found["dram_bytes"]["write"] > 0]:
            if not good:
                return str(found)
        return ""

    def check_layers(self):
        """A layer's end is where the next one begins, so together they are no more than the task."""
        found = self.json()
        cycles = sum(layer["cycles"] for layer in found["layers"])
        return "" if 0 < cycles <= found["cycles"] else "%d of %d" % (cycles, found["cycles"])

    def check_determinism(self):
        seen = set()
        for _ in range(3):
            found = self.json("--iterations", "4", "--warmup", "1")
            seen.add((found["cycles"], found["cycles_warm"], str([layer["cycles"] for layer in found["layers"]])))
        return "" if len(seen) == 1 else "cycles differ between processes: %s" % seen

    def check_replay(self):
        """A recording of what arrives, and a replay of it that has the same cycles."""
        words = ["--json", "--iterations", "6", "--queue-depth", "3"]
        recorded, replayed = (
            self.npu_run.json(self.model, "--device", "sim:?pages=4k&%s=%s" % (key, self.path("arrivals")), *words)
            for key in ["record", "wait=300&replay"])
        with open(self.path("arrivals")) as file:
            lines = file.read().splitlines()
        if lines[0] != "npu-arrivals 1" or not any(" ring " in line for line in lines):
            return "the recording begins with %s" % lines[:5]
        for found in [recorded, replayed]:
            del found["device"], found["latency_ns"]
        return "" if recorded == replayed else "%s\n%s" % (recorded, replayed)

    def check_utilization(self):
        """Useful MACs over cycles times peak: 4 clusters of 256 fp16 MACs."""
        found = self.json()
        expected = MACS / (found["cycles"] * 4 * 256)
        return "" if abs(found["mac_utilization"] - expected) < 1e-6 else "%g, not %g" % (
            found["mac_utilization"], expected)

    def check_text(self):
        result = self.npu_run.works(self.model, "--device", "sim:")
        return "" if "cycles" in result.out else result.describe()

    def check_inputs(self):
        """The same numbers from every kind of file give the same outputs."""
        expected = self.output_for("digit.npy")
        if not numpy.isfinite(expected).all() or numpy.ptp(expected) == 0:
            return "the outputs are %s" % expected
        data = self.digit.tobytes()
        with open(self.path("digit.pb"), "wb") as file:
            file.write(onnx_file.tensor(onnx_file.FLOAT, (1, 1, 28, 28), onnx_file.raw(data), INPUT))
        with open(self.path("digit.raw"), "wb") as file:
            file.write(data)
        numpy.save(self.path("other-type.npy"), self.digit.astype(numpy.int64))
        numpy.save(self.path("other-order.npy"), numpy.asfortranarray(self.digit[0, 0]))
        for name in ["digit.pb", "digit.raw", "digit.png", "other-type.npy", "other-order.npy"]:
            if not numpy.array_equal(self.output_for(name), expected):
                return "%s: %s, not %s" % (name, self.output_for(name), expected)
        zeros = numpy.zeros_like(self.digit)
        numpy.save(self.path("zeros.npy"), zeros)
        return "" if not numpy.array_equal(self.output_for("zeros.npy"), expected) else "inputs change nothing"

    def compare(self, reference, *more):
        numpy.save(self.path("reference.npy"), reference)
        result = self.npu_run.run(self.model, "--device", "sim:", "--json", "--input", self.path("digit.npy"),
                                  "--compare", OUTPUT + "=" + self.path("reference.npy"), *more)
        found = json.loads(result.out)["compare"]
        wrong = missing(found[0], COMPARE_KEYS) if len(found) == 1 else "compare is %s" % found
        if wrong:
            raise AssertionError(wrong)
        return result.status, found[0]

    def check_compare(self):
        output = self.output_for("digit.npy")
        status, found = self.compare(output, "--atol", "0", "--rtol", "0")
        if status != 0 or not found["ok"] or found["max_abs_error"] != 0:
            return "equal outputs: status %d, %s" % (status, found)
        other = output.copy()
        other[0, 3] += 2
        status, found = self.compare(other, "--atol", "1.5", "--rtol", "0")
        if status != 1 or found["ok"] or abs(found["max_abs_error"] - 2) > 1e-3:
            return "a difference of 2: status %d, %s" % (status, found)
        status, found = self.compare(other, "--atol", "2.5", "--rtol", "0")
        if status != 0 or not found["ok"]:
            return "within the tolerance: status %d, %s" % (status, found)
        other[0, 5] = numpy.nan
        status, found = self.compare(other, "--atol", "1e30", "--rtol", "1e30")
        return "" if status == 1 and not found["ok"] and found["max_abs_error"] is None else "a NaN: status %d, %s" % (status, found)

    def check_reports(self):
        html, trace = self.path("report.html"), self.path("trace.json")
        self.npu_run.works(self.model, "--device", "sim:", "--report", html, "--trace", trace)
        with open(html) as file:
            text = file.read()
        if not text.lower().startswith("<!doctype html") or "Convolution" not in text or "</html>" not in text:
            return "the report is no page: %.200r" % text
        if "http://" in text.replace("http://www.w3.org", "") or "https://" in text:
            return "the report needs the network"
        with open(trace) as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        names = {event.get("name") for event in events}
        if not any(name and "Convolution" in name for name in names):
            return "no layer among the trace's events: %s" % sorted(str(name) for name in names)[:20]
        return "" if all("ph" in event for event in events) else "an event without phase"

    def check_raw(self):
        """--raw: the device's fp16 on both sides."""
        numpy.save(self.path("half.npy"), self.digit.astype(numpy.float16))
        self.npu_run.works(self.model, "--device", "sim:", "--raw", "--input", self.path("half.npy"),
                           "--output", self.path("raw.npy"))
        raw = numpy.load(self.path("raw.npy"))
        expected = self.output_for("digit.npy")
        if raw.dtype != numpy.float16:
            return "the raw output is %s" % raw.dtype
        return "" if numpy.array_equal(raw.astype(numpy.float32), expected) else "the outputs differ"


def check_wrong_use(tap, npu_run, model):
    for name, words in [
            ("two models", [model, model]), ("no iteration", [model, "--iterations", "0"]),
            ("iterations in words", [model, "--iterations", "ten"]),
            ("a negative warm-up", [model, "--warmup", "-1"]),
            ("a queue of 0", [model, "--queue-depth", "0"]), ("a priority of 16", [model, "--priority", "16"]),
            ("a tolerance without a comparison", [model, "--atol", "1"]),
            ("a negative tolerance", [model, "--compare", "y=z", "--atol", "-1"]),
            ("an input without a file", [model, "--input", "x="]),
            ("two means", [model, "--mean", "1,2"]), ("a strange layout", [model, "--layout", "CHWN"]),
            ("an option without its value", [model, "--device"])]:
        tap.run("npu-run refuses " + name, npu_run.fails, 2, *words)


def check_failures(tap, npu_run, tests):
    model, path = tests.model, tests.path
    with open(model, "rb") as file:
        bytes_of_model = file.read()
    for name, data in [("empty", b""), ("text", b"no model at all\n"), ("cut", bytes_of_model[:5000])]:
        with open(path(name + ".npu"), "wb") as file:
            file.write(data)
        tap.run("npu-run of a model that is " + name, npu_run.fails, 1, path(name + ".npu"), "--device", "sim:",
                says=[name + ".npu"])
    numpy.save(path("wide.npy"), numpy.zeros((1, 1, 28, 29), numpy.float32))
    with open(path("short.raw"), "wb") as file:
        file.write(bytes(100))
    with open(path("bad.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nnothing more")
    with open(path("bad-arrivals"), "w") as file:
        file.write("npu-arrivals 1\n0 write 0x10c 0x1\n9 ring 99\n")
    for name, words, says in [
            ("a model that is not there", [path("none.npu")], ["none.npu", "No such file"]),
            ("a folder as model", [tests.folder], []),
            ("an unknown device", [model, "--device", "toaster:"], ["toaster"]),
            ("an unknown configuration", [model, "--device", "sim:npu-v9"], ["npu-v9"]),
            ("a model for another device", [model, "--device", "sim:lowpower-v3"], ["lowpower-v3", "npu-v3"]),
            ("a recording that is none", [model, "--device", "sim:?replay=" + path("wide.npy")], ["npu-arrivals 1"]),
            ("a recording with a bad line", [model, "--device", "sim:?replay=" + path("bad-arrivals")],
             ["bad-arrivals", "a line that is no arrival of this device"]),
            ("a recording of nobody", [model, "--device", "sim:?replay="], ["the name of a file"]),
            ("an input nobody knows", [model, "--input", "nobody=" + path("digit.npy")], ["nobody", INPUT]),
            ("an output nobody knows", [model, "--output", "nobody=" + path("x.npy")], ["nobody", OUTPUT]),
            ("an input that is not there", [model, "--input", path("none.npy")], ["none.npy", "No such file"]),
            ("an input of another shape", [model, "--input", path("wide.npy")], ["1x1x28x29", "1x1x28x28"]),
            ("raw bytes too few", [model, "--input", path("short.raw")], ["100 bytes", "3136"]),
            ("a damaged image", [model, "--input", path("bad.png")], ["bad.png"]),
            ("an output into nowhere", [model, "--output", path("no/such/out.npy")], ["out.npy"]),
            ("a report into nowhere", [model, "--report", path("no/such/r.html")], ["r.html"])]:
        words = words if "--device" in words else words + ["--device", "sim:"]
        tap.run("npu-run: " + name, npu_run.fails, 1, *words, says=says)


def main():
    folder, corpus = arguments()
    tap = Tap()
    npu_run = Program(folder, "npu-run")
    common_checks(tap, npu_run)
    with tempfile.TemporaryDirectory() as place:
        tests = Tests(npu_run, place)
        Program(folder, "npucc").works("compile", mnist(corpus), "-o", tests.model, "--no-cache")
        check_wrong_use(tap, npu_run, tests.model)
        tap.run("npu-run --json", tests.check_json)
        tap.run("npu-run: layers sum to the task", tests.check_layers)
        tap.run("npu-run: cycles are the same in each process", tests.check_determinism)
        tap.run("npu-run: record and replay", tests.check_replay)
        tap.run("npu-run: use of the MAC array", tests.check_utilization)
        tap.run("npu-run: text", tests.check_text)
        tap.run("npu-run: kinds of input", tests.check_inputs)
        tap.run("npu-run: comparisons", tests.check_compare)
        tap.run("npu-run: report and trace", tests.check_reports)
        tap.run("npu-run --raw", tests.check_raw)
        check_failures(tap, npu_run, tests)
    tap.exit()


main()
