#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""npu-device's command line: statuses, messages, its socket, signals.

usage: test-npu-device.py BIN-FOLDER CORPUS
"""
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cli import Program, arguments, common_checks  # noqa: E402
from tap import Tap  # noqa: E402


def serve(device, path, *options):
    """A server that has said that it listens."""
    process = subprocess.Popen([device.path, "--socket", path, *options], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if line != "npu-device: listening at %s\n" % path:
        process.kill()
        raise AssertionError("%r, %r" % (line, process.communicate()))
    return process


def check_life(device, folder, number):
    path = os.path.join(folder, "s")
    process = serve(device, path)
    status = os.stat(path)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    if not stat.S_ISSOCK(status.st_mode) or status.st_mode & 0o077:
        return "mode %o" % status.st_mode
    if process.returncode or out or err:
        return "status %d, %r, %r" % (process.returncode, out, err)
    return "the socket is still there" if os.path.exists(path) else ""


def check_counters(device, folder):
    process = serve(device, os.path.join(folder, "s"), "--config", "lowpower-v3?clusters=1")
    process.send_signal(signal.SIGUSR1)
    line = process.stderr.readline()
    process.terminate()
    process.communicate(timeout=60)
    wanted = "npu-device: messages 0 register-reads 0 register-writes 0 doorbells 0 interrupts 0\n"
    return "" if line == wanted else repr(line)


def check_stale(device, folder):
    """A socket left behind is replaced; one in use and a file are not."""
    path = os.path.join(folder, "s")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    process = serve(device, path)
    wrong = device.fails(1, "--socket", path, says=[path, "in use"])
    process.terminate()
    process.communicate(timeout=60)
    with open(path, "w", encoding="ascii") as file:
        file.write("precious")
    wrong = wrong or device.fails(1, "--socket", path, says=[path])
    with open(path, encoding="ascii") as file:
        return wrong or ("" if file.read() == "precious" else "the file was overwritten")


def main():
    bin_folder, _ = arguments()
    device, tap = Program(bin_folder, "npu-device"), Tap()
    common_checks(tap, device)
    with tempfile.TemporaryDirectory() as folder:
        tap.run("SIGTERM", check_life, device, folder, signal.SIGTERM)
        tap.run("SIGINT", check_life, device, folder, signal.SIGINT)
        tap.run("SIGUSR1", check_counters, device, folder)
        tap.run("socket in the way", check_stale, device, folder)
        path = os.path.join(folder, "t")
        for name, status, words, says in [
                ("unknown doorbells", 2, ["--socket", path, "--doorbells", "loud"], ["loud"]),
                ("too many words", 2, ["--socket", path, "more"], ["more"]),
                ("unknown configuration", 1, ["--socket", path, "--config", "npu-v9"], ["npu-v9"]),
                ("path too long", 1, ["--socket", "/tmp/" + "x" * 200], ["xxx"]),
                ("no such folder", 1, ["--socket", "/no/such/s"], ["/no/such/s"])]:
            tap.run(name, device.fails, status, *words, says=says)
    tap.exit()


main()
