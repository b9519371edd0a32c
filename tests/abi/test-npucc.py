#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""npucc's command line: statuses, messages, JSON.

usage: test-npucc.py BIN-FOLDER CORPUS
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import onnx_file  # noqa: E402
from cli import Program, arguments, common_checks, missing, mnist  # noqa: E402
from tap import Tap  # noqa: E402

NUMBER = (int, float)
COMPILE_KEYS = {"schema": int, "seconds": NUMBER, "cache": str, "merged_ops": int, "dram_efficiency": NUMBER,
                "spills": int, "sram_peak_bytes": int, "predicted_cycles": int, "roofline_cycles": int}
SCAN_KEYS = {"schema": int, "verdict": str, "operators": list, "counts": dict}
OPERATOR_KEYS = {"name": str, "op": str, "where": str, "reason": (str, type(None)),
                 "suggestion": (str, type(None))}


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def unsupported_model(op="NoSuchOperator"):
    """x -> Relu -> OP -> y"""
    info = [onnx_file.value_info(name, onnx_file.FLOAT, (1, 8)) for name in "xy"]
    nodes = [onnx_file.node("Relu", ["x"], ["h"], "fine"), onnx_file.node(op, ["h"], ["y"], "the_odd_one")]
    return onnx_file.model(nodes, info[:1], info[1:])


def samples(place, name, *files):
    """A folder of samples: (name, contents) each."""
    folder = os.path.join(place, name)
    os.mkdir(folder)
    for file_name, contents in files:
        write(os.path.join(folder, file_name), contents)
    return folder


def zeros(count):
    """An .npy file of float32."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header + bytes(4 * count)


class Tests:
    def __init__(self, npucc, model, folder):
        self.npucc, self.model, self.folder = npucc, model, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def fails_without_output(self, *arguments, says=()):
        out = self.path("never.npu")
        wrong = self.npucc.fails(1, "compile", *arguments, "-o", out, says=says)
        left = [name for name in os.listdir(self.folder) if name.startswith("never")]
        return wrong or ("it leaves %s behind" % left if left else "")

    def compile_quietly(self):
        result = self.npucc.works("compile", self.model, "-o", self.path("a.npu"))
        return "stdout: " + result.out if result.out else ""

    def compile_twice(self):
        """The same bytes, wherever they are written to and whatever the cache does."""
        self.npucc.works("compile", self.model, "-o", self.path("b.npu"), "--no-cache")
        with open(self.path("a.npu"), "rb") as a, open(self.path("b.npu"), "rb") as b:
            return "" if a.read() == b.read() else "the files differ"

    def calibrate_twice(self):
        """Random samples are the same ones every time."""
        results = []
        for name in ("r.npu", "s.npu"):
            self.npucc.works("compile", self.model, "-o", self.path(name), "--no-cache", "--calib", "random")
            with open(self.path(name), "rb") as file:
                results.append(file.read())
        with open(self.path("a.npu"), "rb") as file:
            results.append(file.read())
        if results[0] != results[1]:
            return "the files differ"
        return "" if results[0] != results[2] else "it is the program in fp16"

    def calibrate_on_zeros(self):
        """Values that never differ from zero have no range; that is no error."""
        folder = samples(self.folder, "zeros", ("a.npy", zeros(784)), ("b.npy", zeros(784)))
        self.npucc.works("compile", self.model, "-o", self.path("z.npu"), "--calib", folder, "--precision", "int8")
        return ""

    def compile_json(self):
        found = self.npucc.json("compile", self.model, "-o", self.path("c.npu"), "--json", "--no-cache")
        wrong = missing(found, COMPILE_KEYS)
        if wrong:
            return wrong
        if found["cache"] not in ("hit", "miss"):
            return "cache is %r" % found["cache"]
        if not 0 < found["sram_peak_bytes"] <= 512 * 1024:
            return "sram_peak_bytes is %d" % found["sram_peak_bytes"]
        return "" if found["predicted_cycles"] >= found["roofline_cycles"] > 0 else str(found)

    def scan_json(self):
        found = self.npucc.json("scan", self.model, "--json")
        wrong = missing(found, SCAN_KEYS)
        for operator in found.get("operators", []):
            wrong = wrong or missing(operator, OPERATOR_KEYS)
        if wrong:
            return wrong
        # mnist-8 has two convolutions and one matrix product.
        ops = [operator["op"] for operator in found["operators"]]
        if ops.count("Conv") != 2 or ops.count("MatMul") != 1:
            return "operators: %s" % ops
        where = {operator["where"] for operator in found["operators"]}
        if not all(operator["cycles"] > 0 for operator in found["operators"] if operator["op"] == "Conv"):
            return "a convolution takes no cycles: %s" % found
        return "" if found["verdict"] == "npu" and where <= {"npu", "none"} else str(found)

    def scan_unsupported(self):
        path = write(self.path("odd.onnx"), unsupported_model())
        result = self.npucc.run("scan", path, "--json")
        if result.status != 1:
            return result.describe()
        found = json.loads(result.out)
        odd = [one for one in found["operators"] if one["name"] == "the_odd_one"]
        if found["verdict"] not in ("partial", "unsupported") or len(odd) != 1:
            return str(found)
        good = odd[0]["where"] in ("cpu", "none") and odd[0]["op"] == "NoSuchOperator" and odd[0]["reason"]
        return "" if good else str(odd)

    def scan_text(self):
        result = self.npucc.works("scan", self.model)
        return "" if "Conv" in result.out else result.describe()


def main():
    folder, corpus = arguments()
    tap = Tap()
    npucc = Program(folder, "npucc")
    model = mnist(corpus)
    common_checks(tap, npucc)
    tap.run("npucc version", lambda: "" if npucc.works("version").out.startswith("npucc ") else "other text")
    for name, words in [
            ("an unknown command", ["translate", model]),
            ("compile without a model", ["compile", "-o", "x.npu"]),
            ("compile without -o", ["compile", model]),
            ("two models", ["compile", model, model, "-o", "x.npu"]),
            ("scan without a model", ["scan"]),
            ("a fusion of 3", ["compile", model, "-o", "x.npu", "--fusion", "3"]),
            ("four stages", ["compile", model, "-o", "x.npu", "--pipeline-stages", "4"]),
            ("a strange precision", ["compile", model, "-o", "x.npu", "--precision", "fp8"]),
            ("a strange layout", ["compile", model, "-o", "x.npu", "--layout-pref", "HWCN"]),
            ("a target nobody knows", ["compile", model, "-o", "x.npu", "--target", "npu-v9"]),
            ("a shape without a name", ["compile", model, "-o", "x.npu", "--shape", "1x3"]),
            ("a shape of words", ["compile", model, "-o", "x.npu", "--shape", "x=axb"]),
            ("no number of bytes", ["compile", model, "-o", "x.npu", "--max-sram-bytes", "many"]),
            ("tiles upside down", ["compile", model, "-o", "x.npu", "--tile-min", "9", "--tile-max", "3"])]:
        tap.run("npucc refuses " + name, npucc.fails, 2, *words)
    with tempfile.TemporaryDirectory() as place:
        tests = Tests(npucc, model, place)
        tap.run("npucc compile", tests.compile_quietly)
        tap.run("npucc compile twice", tests.compile_twice)
        tap.run("npucc compile --calib random twice", tests.calibrate_twice)
        tap.run("npucc compile --calib with zeros", tests.calibrate_on_zeros)
        tap.run("npucc compile --json", tests.compile_json)
        tap.run("npucc scan --json", tests.scan_json)
        tap.run("npucc scan", tests.scan_text)
        tap.run("npucc scan of an unknown operator", tests.scan_unsupported)
        good, two = samples(place, "good", ("a.npy", zeros(784))), samples(place, "two")
        samples(two, "pair", ("a.npy", zeros(784)), ("b.npy", zeros(784)))
        for name, words, says in [
                ("int8 without samples", ["--precision", "int8"], ["--calib"]),
                ("int16", ["--precision", "int16"], ["int16"]),
                ("samples and fp16", ["--calib", good, "--precision", "fp16"], ["fp16"]),
                ("samples that are not there", ["--calib", os.path.join(place, "none")], ["none", "No such file"]),
                ("no samples", ["--calib", samples(place, "empty")], ["0 samples"]),
                ("a sample of text", ["--calib", samples(place, "text", ("a.npy", b"hello"))], ["a.npy"]),
                ("a sample of another size", ["--calib", samples(place, "small", ("a.npy", zeros(783)))],
                 ["a.npy", "784"]),
                ("a sample of two inputs", ["--calib", two], ["pair", "2 files"])]:
            tap.run("npucc compile with " + name, tests.fails_without_output, model, *words, says=says)
        cut = open(model, "rb").read()[:9000]
        for name, path, says in [
                ("a model that is not there", os.path.join(place, "none.onnx"), ["none.onnx", "No such file"]),
                ("a folder", place, []),
                ("an empty file", write(tests.path("empty.onnx"), b""), ["empty.onnx"]),
                ("text", write(tests.path("text.onnx"), b"hello, I am no model\n"), ["no ONNX model"]),
                ("a cut model", write(tests.path("cut.onnx"), cut), ["cut short"]),
                ("an unknown operator", write(tests.path("odd.onnx"), unsupported_model()),
                 ["the_odd_one", "NoSuchOperator"])]:
            tap.run("npucc compile of " + name, tests.fails_without_output, path, says=says)
        tap.run("npucc compile into nowhere", npucc.fails, 1, "compile", model, "-o",
                os.path.join(place, "no/such/folder/x.npu"), says=["x.npu", "No such file"])
    tap.exit()


main()
