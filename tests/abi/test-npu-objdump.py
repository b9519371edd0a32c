#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""npu-objdump's command line, against the file as Python's struct reads it; readelf as a second reader.

usage: test-npu-objdump.py BIN-FOLDER CORPUS
"""
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cli import Program, arguments, common_checks, missing, mnist  # noqa: E402
from tap import Tap  # noqa: E402

KEYS = {"schema": int, "file": str, "model": str, "target": str, "abi": str, "build_id": str, "precision": str,
        "macs": int, "predicted_cycles": int, "roofline_cycles": int, "floor_cycles": int, "sections": list,
        "program": dict, "inputs": list, "outputs": list}
SECTIONS = [".text", ".rodata", ".bss", ".note.npu", ".npu.meta", ".symtab", ".strtab", ".shstrtab"]


# The tables of points behind the streams (NPU_POINTS_SYMBOL) are no instructions.
POINTS = "points"


class Elf:
    """Only what the checks need, by the ELF specification and npu_packet.h."""
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]
        self.sections = {}
        for header in headers[1:]:
            start = headers[names][4] + header[0]
            name = self.data[start:self.data.index(b"\0", start)].decode()
            self.sections[name] = header
        self.text = self.contents(".text")
        self.clusters = self.text[6]
        self.entries = struct.unpack_from("<8I", self.text, 24)[:self.clusters]

    def contents(self, name):
        header = self.sections[name]
        return self.data[header[4]:header[4] + header[5]]

    def stream(self, cluster):
        """From the cluster's entry to the next one's, or to the tables of points; without the zeros that fill up."""
        start = self.entries[cluster]
        bytes_of_program, = struct.unpack_from("<I", self.text, 8)
        tables = [offset for name, offset in self.symbols() if name == POINTS]
        end = min([entry for entry in self.entries + tuple(tables) if entry > start] + [bytes_of_program])
        code = self.text[start:end]
        while code.endswith(bytes(16)):
            code = code[:-16]
        return code

    def symbols(self):
        table, strings = self.contents(".symtab"), self.contents(".strtab")
        base = self.sections[".text"][3]
        for i in range(1, len(table) // 24):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", table, 24 * i)
            yield strings[name:strings.index(b"\0", name)].decode(), value - base


class Tests:
    def __init__(self, objdump, model, folder):
        self.objdump, self.model, self.folder = objdump, model, folder
        self.elf = Elf(model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def assembled(self, listing):
        with open(self.path("code.s"), "w") as file:
            file.write(listing)
        result = self.objdump.works("--assemble", self.path("code.s"), "-o", self.path("code.bin"))
        if result.out:
            raise AssertionError(result.describe())
        with open(self.path("code.bin"), "rb") as file:
            return file.read()

    def check_one_stream(self, cluster):
        listing = self.objdump.works(self.model, "-d", "--cluster", cluster).out
        if "\n.word" in listing:
            return "a compiler's instruction has no text"
        return "" if self.assembled(listing) == self.elf.stream(cluster) else "the bytes differ"

    def check_all_streams(self):
        order = sorted(range(self.elf.clusters), key=lambda cluster: self.elf.entries[cluster])
        expected = b"".join(self.elf.stream(cluster) for cluster in order)
        again = self.assembled(self.objdump.works(self.model, "-d").out)
        return "" if again == expected else "%d bytes, not the %d of the streams" % (len(again), len(expected))

    def check_labels(self):
        listing = self.objdump.works(self.model, "-d").out
        symbols = [symbol for symbol in self.elf.symbols() if symbol[0] != POINTS]
        if len(symbols) < 2 * self.elf.clusters:
            return "the model has %d symbols" % len(symbols)
        for name, offset in symbols:
            label = "\n; 0x%06x %s:\n" % (offset, name)
            if label not in listing:
                return "no label %r" % label
            after = listing[listing.index(label) + len(label):].split("\n")[0]
            if not after.endswith("; 0x%06x" % offset) and not after == "":
                return "%r is not before its instruction: %r" % (name, after)
        return ""

    def check_headers(self):
        text = self.objdump.works(self.model, "-h").out
        if text != self.objdump.works(self.model).out:
            return "without options it shows something else"
        for word in SECTIONS + ["npu-v3", "Input3", "Plus214_Output_0", "1x1x28x28", "float32", "fp16"]:
            if word not in text:
                return "nothing about %s in %s" % (word, text)
        return ""

    def check_symbols(self):
        text = self.objdump.works(self.model, "-t").out
        for name, offset in self.elf.symbols():
            if not any(line.startswith("0x%08x" % offset) and line.endswith(" " + name)
                       for line in text.split("\n")):
                return "no line for %s at 0x%x" % (name, offset)
        return ""

    def check_json(self):
        found = self.objdump.json(self.model, "--json")
        wrong = missing(found, KEYS)
        if wrong:
            return wrong
        if [section["name"] for section in found["sections"]] != SECTIONS:
            return str(found["sections"])
        for section in found["sections"]:
            header = self.elf.sections[section["name"]]
            if (section["offset"], section["bytes"], section["align"]) != (header[4], header[5], header[8]):
                return str(section)
        if tuple(found["program"]["entries"]) != self.elf.entries:
            return str(found["program"])
        return "" if found["build_id"].encode() == self.elf.contents(".note.npu")[40:72].hex().encode() else "build id"

    def check_code_json(self):
        found = self.objdump.json(self.model, "-d", "-t", "--json")
        if [(one["name"], one["offset"]) for one in found["symbols"]] != sorted(
                self.elf.symbols(), key=lambda symbol: symbol[1]):
            return "symbols: %s" % found["symbols"]
        for stream in found["streams"]:
            lines = "\n".join(one["text"] for one in stream["instructions"])
            if self.assembled(lines) != self.elf.stream(stream["clusters"][0]):
                return "the bytes of cluster %s differ" % stream["clusters"]
        return "" if sum(len(stream["clusters"]) for stream in found["streams"]) == self.elf.clusters else "streams"

    def check_full_device(self):
        with open("/dev/full", "w") as full:
            status = subprocess.run([self.objdump.path, self.model, "-d"], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        good = status.returncode == 1 and "No space left" in status.stderr
        return "" if good else "status %d, %s" % (status.returncode, status.stderr)

    def check_readelf(self):
        """GNU's reader finds nothing wrong, and sees what is there."""
        done = subprocess.run(["readelf", "-a", "-W", self.model], capture_output=True, text=True,
                              env=dict(os.environ, LC_ALL="C"))
        if done.returncode or done.stderr:
            return "status %d: %s" % (done.returncode, done.stderr)
        for word in ["Warning", "Error", "<corrupt", "<no-strings>"]:
            if word in done.stdout:
                return "%r in %s" % (word, done.stdout)
        for word in SECTIONS + ["LOAD", "NPU  ", "EXEC (Executable file)", ".cluster0"]:
            if word not in done.stdout:
                return "nothing about %s in %s" % (word, done.stdout)
        return ""


def check_wrong_use(tap, objdump, model):
    for name, words in [
            ("two models", [model, model]), ("--assemble without -o", ["--assemble", "x.s"]),
            ("-o without --assemble", [model, "-o", "x"]), ("--cluster without -d", [model, "--cluster", "0"]),
            ("cluster 8", [model, "-d", "--cluster", "8"]), ("a cluster in words", [model, "-d", "--cluster", "one"]),
            ("--assemble with a model", ["--assemble", "x.s", "-o", "x", model]),
            ("--assemble with -d", ["--assemble", "x.s", "-o", "x", "-d"])]:
        tap.run("npu-objdump refuses " + name, objdump.fails, 2, *words)


def check_failures(tap, objdump, tests):
    def write(name, data):
        with open(tests.path(name), "wb") as file:
            file.write(data)
        return tests.path(name)

    whole = tests.elf.data
    other = bytearray(whole)
    other[18:20] = b"\x3e\0"
    for name, path, says in [
            ("a file that is not there", tests.path("none.npu"), ["No such file"]),
            ("a folder", tests.folder, ["no regular file"]),
            ("an empty file", write("empty.npu", b""), []),
            ("text", write("text.npu", b"hello " * 100), ["ELF"]),
            ("a program for something else", write("x86.npu", bytes(other)), ["machine"]),
            ("a cut file", write("cut.npu", whole[:len(whole) // 2]), []),
            ("a file without its end", write("end.npu", whole[:-1]), [])]:
        for mode in ["-h", "-t", "-d", "--json"]:
            tap.run("npu-objdump %s of %s" % (mode, name), objdump.fails, 1, path, mode,
                    says=says + [os.path.basename(path)])
    tap.run("npu-objdump: a cluster the program has not", objdump.fails, 1, tests.model, "-d", "--cluster", "7",
            says=["clusters 0 to 3"])
    for name, text, says in [("nonsense", b"end\nfly away\n", ["line 2", "fly"]), ("a NUL", b"end\n\0\n", ["line 2"])]:
        source, target = write("bad.s", text), tests.path("bad.bin")
        tap.run("npu-objdump --assemble of " + name, objdump.fails, 1, "--assemble", source, "-o", target,
                says=says + ["bad.s"])
        tap.check("npu-objdump --assemble of %s leaves nothing" % name, not os.path.exists(target))
    tap.run("npu-objdump --assemble of nothing there", objdump.fails, 1, "--assemble", tests.path("none.s"), "-o",
            tests.path("x"), says=["none.s", "No such file"])


def check_recognizer(tap, folder, corpus, place):
    """A real network with a thousand times the instructions."""
    model = os.path.join(place, "recognizer.npu")
    source = os.path.join(corpus, "ocr/assets/ch_PP-OCRv4_rec_infer.onnx")
    Program(folder, "npucc").works("compile", source, "-o", model, "--shape", "x=1x3x48x320", "--no-cache")
    tests = Tests(Program(folder, "npu-objdump"), model, place)
    tap.run("the recognizer's listing assembles back", tests.check_all_streams)
    for cluster in range(tests.elf.clusters):
        tap.run("the recognizer's cluster %d assembles back" % cluster, tests.check_one_stream, cluster)
    tap.run("readelf -a takes the recognizer", tests.check_readelf)


def main():
    folder, corpus = arguments()
    tap = Tap()
    objdump = Program(folder, "npu-objdump")
    common_checks(tap, objdump)
    with tempfile.TemporaryDirectory() as place:
        model = os.path.join(place, "mnist.npu")
        Program(folder, "npucc").works("compile", mnist(corpus), "-o", model, "--no-cache")
        tests = Tests(objdump, model, place)
        check_wrong_use(tap, objdump, model)
        for cluster in range(tests.elf.clusters):
            tap.run("npu-objdump -d --cluster %d assembles back" % cluster, tests.check_one_stream, cluster)
        tap.run("npu-objdump -d assembles back", tests.check_all_streams)
        tap.run("npu-objdump -d: labels", tests.check_labels)
        tap.run("npu-objdump -h", tests.check_headers)
        tap.run("npu-objdump -t", tests.check_symbols)
        tap.run("npu-objdump --json", tests.check_json)
        tap.run("npu-objdump -d -t --json", tests.check_code_json)
        tap.run("npu-objdump into a full device", tests.check_full_device)
        tap.run("readelf -a takes a model", tests.check_readelf)
        check_failures(tap, objdump, tests)
        check_recognizer(tap, folder, corpus, place)
    tap.exit()


main()
