# SPDX-License-Identifier: MIT
"""Guests that do not come up for reasons that are not ours.

Emulated by threads, a kernel stands still while it starts its second processor, rarely and before it looks for our
card. It is booted again then; one that stands still later may do so because of us, and one that is slow goes on writing.
"""
import re
import sys
import time

STILL_SECONDS = 100
BOOTS_AGAIN = 2
PROCESSORS = "smp: Bringing up secondary CPUs"
# What a kernel writes that has come as far as our card, or, in a guest without one, as far as init.
OURS = re.compile(r"\[1234:4e50\]|Run /init as init process")


class BootWatch:
    def __init__(self, guest, clock=time.monotonic):
        self.guest = guest
        self.clock = clock
        self.left = BOOTS_AGAIN
        self.written, self.since = 0, clock()

    def look(self):
        """To be called again and again; has the guest booted again when it is to be."""
        if not self.left:
            return
        console = self.guest.text("console.log")
        if OURS.search(console):
            self.left = 0
        elif len(console) != self.written:
            self.written, self.since = len(console), self.clock()
        elif PROCESSORS in console and self.clock() > self.since + STILL_SECONDS:
            print("run-guest: the kernel stood still for %d s while it started its processors; booted again" %
                  STILL_SECONDS, file=sys.stderr)
            self.guest.boot_again()
            self.left -= 1
