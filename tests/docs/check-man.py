#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Builds the manual pages, and holds each against its program's --help: the same options in both.

usage: check-man.py BIN-FOLDER NAME...
"""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def options(text):
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))


def render(name):
    """(page, messages) of docutils; its warnings are as bad as its errors."""
    source = os.path.join(TOP, "Documentation", "man", name + ".rst")
    # Debian's Python: another one that comes first in PATH has no docutils.
    code = "from docutils.core import publish_cmdline; publish_cmdline(writer_name='manpage')"
    done = subprocess.run(["/usr/bin/python3", "-c", code, "--report=1", "--halt=5", source],
                          capture_output=True, text=True)
    with open(source) as file:
        return file.read(), done.stdout, done.stderr + "status %d" % done.returncode * bool(done.returncode)


def problems(folder, name):
    source, page, messages = render(name)
    if messages:
        yield messages
    if not re.search(r'^\.TH "?%s"? "?1"? ' % re.escape(name.upper()), page.replace("\\-", "-"), re.M | re.I):
        yield "it has no title line of section 1"
    for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"]:
        if not re.search(r"^\.SH %s$" % section, page, re.M | re.I):
            yield "it has no section " + section
    text = subprocess.run([os.path.join(folder, name), "--help"], capture_output=True, text=True).stdout
    offered, told = options(text), options(source)
    # Of these, --help itself need not speak.
    told_only = told - offered - {"--help", "--version"}
    if offered - told:
        yield "it says nothing of " + ", ".join(sorted(offered - told))
    if told_only:
        yield "the program does not know " + ", ".join(sorted(told_only))
    if not offered:
        yield "the program has no --help"


def main():
    failed = 0
    names = sys.argv[2:]
    for number, name in enumerate(names, 1):
        found = list(problems(sys.argv[1], name))
        failed += bool(found)
        print("%s %d - %s(1)" % ("not ok" if found else "ok", number, name))
        for problem in found:
            print("# " + problem.replace("\n", "\n# "))
    print("1..%d" % len(names))
    return 1 if failed or not names else 0


sys.exit(main())
