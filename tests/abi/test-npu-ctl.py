#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""npu-ctl's and npu-ocr's command lines: statuses, messages, JSON.

usage: test-npu-ctl.py BIN-FOLDER CORPUS
"""
import os
import sys
import tempfile

from PIL import Image

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cli import Program, arguments, common_checks, missing  # noqa: E402
from tap import Tap  # noqa: E402

INFO_KEYS = {"schema": int, "device": str, "config": str, "clusters": int, "macs_per_cluster": int,
             "local_sram_bytes": int, "global_sram_bytes": int, "dma_channels": int, "dram_bytes_per_cycle": int,
             "dram_latency_cycles": int, "clock_hz": int, "queues": int, "slots": int, "contexts": int,
             "semaphores_per_context": int, "firmware": dict, "driver": str,
             "uapi": (str, int, dict, type(None))}
# What the manual says of the two configurations.
CONFIGURATIONS = {
    "npu-v3": {"clusters": 4, "macs_per_cluster": 1024, "local_sram_bytes": 512 << 10},
    "lowpower-v3": {"clusters": 1, "macs_per_cluster": 256, "local_sram_bytes": 256 << 10},
}


def check_list(ctl):
    found = ctl.json("list", "--json")
    wrong = missing(found, {"schema": int, "devices": list})
    for entry in found.get("devices", []):
        wrong = wrong or missing(entry, {"name": str, "description": str})
    if wrong:
        return wrong
    names = [entry["name"] for entry in found["devices"]]
    if not {"sim:npu-v3", "sim:lowpower-v3"} <= set(names):
        return str(names)
    lines = ctl.works("list").out.splitlines()
    return "" if [line.split()[0] for line in lines] == names else str(lines)


def check_info(ctl, config):
    found = ctl.json("info", "--device", "sim:" + config, "--json")
    wrong = missing(found, INFO_KEYS) or missing(found["firmware"], {"version": str, "abi": str})
    if wrong:
        return wrong
    for key, value in dict(CONFIGURATIONS[config], config=config, device="sim:" + config).items():
        if found[key] != value:
            return "%s is %r, not %r" % (key, found[key], value)
    text = ctl.works("info", "--device", "sim:" + config).out
    return "" if config in text and found["firmware"]["version"] in text else text


def check_default(ctl):
    """$NPU_DEVICE names the device where no option does."""
    chosen = ctl.json("info", "--json", variables={"NPU_DEVICE": "sim:lowpower-v3"})
    return "" if chosen["device"] == "sim:lowpower-v3" else chosen["device"]


def check_log(ctl):
    text = ctl.works("log", "--device", "sim:").out
    return "" if text.strip() else "the log is empty"


def check_versions(ctl):
    found = ctl.json("versions", "--device", "sim:", "--json")
    wrong = missing(found, {"schema": int, "tools": str, "library": str, "driver": str, "kernel": str,
                            "firmware": str, "firmware_abi": str, "library_firmware_abi": str, "model_abi": str,
                            "hardware": str, "fit": bool})
    info = ctl.json("info", "--device", "sim:", "--json")["firmware"]
    if wrong or not found["fit"] or found["firmware"] != info["version"] or found["firmware_abi"] != info["abi"]:
        return wrong or str(found)
    text = ctl.works("versions", "--device", "sim:").out
    return "" if "they fit" in text and found["kernel"] in text else text


def check_health(ctl):
    found = ctl.json("health", "--device", "sim:", "--json")
    verdicts = {check["name"]: check["verdict"] for check in found["checks"]}
    if not found["well"] or set(verdicts.values()) != {"well"} or len(verdicts) != 3:
        return str(found)
    lines = ctl.works("health", "--device", "sim:").out.splitlines()
    return "" if len(lines) == 3 and all(" well " in line for line in lines) else str(lines)


def check_firmware(ctl):
    found = ctl.json("firmware", "--device", "sim:", "--json")
    wrong = missing(found, {"schema": int, "device": str, "version": str, "abi": str})
    return wrong or ("" if found["version"] in ctl.works("firmware", "--device", "sim:").out else str(found))


def check_cdi(ctl):
    """Each card, and all of them; or, without one, a status of its own."""
    cards = [entry["name"] for entry in ctl.json("list", "--json")["devices"] if entry["name"].startswith("/dev/")]
    if not cards:
        return ctl.fails(3, "cdi", says=["no card"])
    found = ctl.json("cdi")
    nodes = {device["name"]: [node["path"] for node in device["containerEdits"]["deviceNodes"]]
             for device in found["devices"]}
    wanted = dict({card[len("/dev/accel/accel"):]: [card] for card in cards}, all=cards)
    return "" if found["kind"].count("/") == 1 and nodes == wanted else str(found)


def check_coredump(tap, ctl):
    """What there is on any machine; dumps are read in test-ctl-dump, and made in guests."""
    if not os.path.isdir("/sys/class/accel"):
        tap.run("npu-ctl coredump where no card has failed", ctl.fails, 3, "coredump", says=["the kernel has none"])
    tap.run("npu-ctl coredump of no such file", ctl.fails, 1, "coredump", "/none", says=["/none", "No such file"])
    tap.run("npu-ctl coredump of a folder", ctl.fails, 1, "coredump", "/", says=["/: "])
    tap.run("npu-ctl coredump of another file", ctl.fails, 1, "coredump", __file__, says=["no core dump of an NPU"])
    for name, words in [("two files", ["coredump", "a", "b"]), ("a file and a device", ["coredump", "a", "--device", "accel0"]),
                        ("to discard a file", ["coredump", "a", "--discard"]), ("--model elsewhere", ["list", "--model", "a"]),
                        ("--output elsewhere", ["list", "--output", "a"]), ("--discard elsewhere", ["list", "--discard"])]:
        tap.run("npu-ctl refuses " + name, ctl.fails, 2, *words)


def check_ctl(tap, folder):
    ctl = Program(folder, "npu-ctl")
    common_checks(tap, ctl)
    tap.run("npu-ctl list", check_list, ctl)
    for config in CONFIGURATIONS:
        tap.run("npu-ctl info of " + config, check_info, ctl, config)
    tap.run("npu-ctl info of $NPU_DEVICE", check_default, ctl)
    tap.run("npu-ctl log", check_log, ctl)
    tap.run("npu-ctl versions", check_versions, ctl)
    tap.run("npu-ctl health", check_health, ctl)
    tap.run("npu-ctl firmware", check_firmware, ctl)
    tap.run("npu-ctl cdi", check_cdi, ctl)
    check_coredump(tap, ctl)
    for command in ["errors", "reset"]:
        tap.run("npu-ctl %s of no card" % command, ctl.fails, 3, command, "--device", "/dev/accel/accel99999",
                says=["accel99999", "there is no such card"])
        tap.run("npu-ctl %s of sim:" % command, ctl.fails, 1, command, "--device", "sim:",
                says=["its process's own"])
        tap.run("npu-ctl %s of what is no name" % command, ctl.fails, 1, command, "--device", "accel0/../..",
                says=["not a card"])
    for command in ["info", "health", "versions", "firmware", "log"]:
        tap.run("npu-ctl %s of no device" % command, ctl.fails, 3, command, "--device", "accel99999",
                says=["there is no such device"])
    for name, words in [("an unknown command", ["explode"]), ("two commands", ["list", "info"]),
                        ("--device without a value", ["info", "--device"])]:
        tap.run("npu-ctl refuses " + name, ctl.fails, 2, *words)
    for device in ["toaster:", "sim:npu-v9", "sim:npu-v3?clusters=0", "sim:npu-v3?wings=2", "/dev/null", "/none"]:
        tap.run("npu-ctl info of " + device, ctl.fails, 1, "info", "--device", device, says=[device])


def check_ocr(tap, folder):
    ocr = Program(folder, "npu-ocr")
    common_checks(tap, ocr)
    tap.run("npu-ocr refuses two images", ocr.fails, 2, "a.png", "b.png")
    with tempfile.TemporaryDirectory() as place:
        broken, whole = os.path.join(place, "broken.png"), os.path.join(place, "whole.png")
        with open(broken, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
        Image.new("RGB", (60, 20), "white").save(whole)
        none = os.path.join(place, "none.png")
        tap.run("npu-ocr of no image there", ocr.fails, 1, none, says=["none.png", "No such file"])
        tap.run("npu-ocr of a damaged image", ocr.fails, 1, broken, says=["broken.png"])
        tap.run("npu-ocr of a folder", ocr.fails, 1, place, says=[place])
        tap.run("npu-ocr without models", ocr.fails, 1, whole, "--models", place, says=["keys.txt"])


def main():
    folder, _ = arguments()
    tap = Tap()
    check_ctl(tap, folder)
    check_ocr(tap, folder)
    tap.exit()


main()
