# SPDX-License-Identifier: MIT
"""Test results as TAP lines."""
import sys
import traceback


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, name, good, why=""):
        self.count += 1
        self.failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, name))
        if not good and why:
            for line in str(why).split("\n"):
                print("# " + line)
        sys.stdout.flush()

    def run(self, name, function, *arguments, **keywords):
        """A function that returns "" when all is well, or what is not."""
        try:
            why = function(*arguments, **keywords) or ""
        except Exception:
            why = traceback.format_exc()
        self.check(name, not why, why)

    def exit(self):
        print("1..%d" % self.count)
        sys.exit(1 if self.failed or not self.count else 0)
