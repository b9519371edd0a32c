#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compiles a small model and has damaged copies of it shown.

usage: hostile-models.py HOSTILE-MODELS NPUCC MODEL.onnx COUNT
"""
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    program, npucc, model, count = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for target in ["npu-v3", "lowpower-v3"]:
            paths.append(os.path.join(folder, target + ".npu"))
            command = [npucc, "compile", model, "--no-cache", "--target", target, "-o", paths[-1]]
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
                print("not ok 1 - %s cannot be compiled" % model)
                sys.exit(1)
        work = os.path.join(folder, "work.npu")
        status = subprocess.run([program, count, work] + paths).returncode
        if status not in (0, 1):
            kept = program + "-crash.npu"
            if os.path.exists(work):
                shutil.copy(work, kept)
            print("not ok 3 - ended by signal or with status %d; the file is %s" % (status, kept))
    sys.exit(1 if status else 0)


main()
