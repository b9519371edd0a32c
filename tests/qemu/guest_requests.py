# SPDX-License-Identifier: MIT
"""What a guest can have done to its machine, by writing a line "npu-host: REQUEST" to /dev/ttyS1.

unplug         take the card out, as by hand: the guest is asked to let go of it
plug           put it in again
kill-device    end the card's program as if it had crashed
wakeup         wait until the machine sleeps (S3), then wake it up
knock          a line to /dev/ttyS1 every two seconds, which wakes a system that sleeps without its machine
awake          that is enough
counters       send a line to /dev/ttyS1: what the card's program has counted; no access to the card
"""
import json
import os
import re
import signal
import socket
import time

KNOCK_SECONDS = 2


def request_lines(text):
    """Whole lines only: the last one may be half written."""
    return re.findall(r"^npu-host: (\S+)\n", text, re.M)


class Monitor:
    """QEMU's machine protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.deleted = set()
        self.lines = self.socket.makefile()
        self.lines.readline()
        self.command("qmp_capabilities")

    def messages(self):
        """What QEMU says; notes on the way which devices it has let go."""
        for line in self.lines:
            message = json.loads(line)
            if message.get("event") == "DEVICE_DELETED":
                self.deleted.add(message["data"].get("device"))
            yield message
        raise RuntimeError("QEMU has hung up")

    def command(self, name, **arguments):
        self.socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        for message in self.messages():
            if "error" in message:
                raise RuntimeError("%s: %s" % (name, message["error"]["desc"]))
            if "return" in message:
                return message["return"]
        return None

    def wake_up(self):
        """Waits until the machine sleeps, and does not sleep any more."""
        end = time.monotonic() + 60
        while self.command("query-status")["status"] != "suspended":
            if time.monotonic() > end:
                raise RuntimeError("the machine does not go to sleep")
            time.sleep(0.05)
        self.command("system_wakeup")
        while self.command("query-status")["status"] == "suspended":
            time.sleep(0.05)

    def wait_until_deleted(self, device):
        messages = self.messages()
        while device not in self.deleted:
            next(messages)
        self.deleted.remove(device)


class Requests:
    """Does what the guest asks for, each request once."""

    def __init__(self, guest):
        self.guest = guest
        self.done = 0
        self.monitor = None
        self.device_killed = False

    def serve(self):
        lines = request_lines(self.guest.text("output.log"))
        for line in lines[self.done:]:
            self.done += 1
            self.do(line)

    def do(self, request):
        if request == "kill-device":
            self.device_killed = True
            self.guest.device.kill()
            self.guest.device.wait()
            return
        if request == "counters":
            self.tell_counters()
            return
        if request == "knock":
            self.knock()
            return
        if request == "awake":
            return
        if not self.monitor:
            self.monitor = Monitor(self.guest.path("qmp.sock"))
        if request == "unplug":
            self.monitor.command("device_del", id="npu0")
        elif request == "wakeup":
            self.monitor.wake_up()
        elif request == "plug":
            # The guest's driver goes first, the card when the guest says so.
            self.monitor.wait_until_deleted("npu0")
            self.monitor.command("device_add", **self.guest.card())
        else:
            raise RuntimeError("the guest's script asks for '%s', which is not known" % request)

    def knock(self):
        """Until the system says something: one that does not sleep yet hears nothing."""
        end = time.monotonic() + 300
        while len(request_lines(self.guest.text("output.log"))) == self.done:
            if time.monotonic() > end:
                raise RuntimeError("the system does not wake up")
            time.sleep(KNOCK_SECONDS)
            os.write(self.guest.answers, b"\n")

    def counters(self):
        return re.findall(r"^npu-device: (messages .*)\n", self.guest.text("device.log"), re.M)

    def tell_counters(self):
        before = len(self.counters())
        self.guest.device.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 10
        while len(self.counters()) == before:
            if time.monotonic() > end:
                raise RuntimeError("npu-device does not tell its counters")
            time.sleep(0.01)
        os.write(self.guest.answers, (self.counters()[-1] + "\n").encode())
