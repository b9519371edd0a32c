#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a manual page of section 3 for each function of npurt.h, from its comment there.

usage: npurt-pages.py HEADER FOLDER     writes FOLDER/NAME.3 for each function
       npurt-pages.py HEADER --list     prints the names
       npurt-pages.py HEADER --check    complains about comments that are not whole
"""
import os
import re
import sys

FUNCTION = re.compile(r"^/\*\*\n((?: \*.*\n)*?) \*/\n(NPURT_API [^;]*;)", re.M)
STRUCTURE = re.compile(r"(?:^/\*(?:(?!\*/).)*\*/\n)?^struct (\w+) \{\n.*?^\};", re.M | re.S)
CALLBACK = re.compile(r"(?:^/\*(?:(?!\*/).)*\*/\n)?^typedef [^;]*\(\*(\w+)\)[^;]*;", re.M | re.S)


class Function:
    def __init__(self, comment, declaration):
        lines = [line[2:].removeprefix(" ") for line in comment.rstrip("\n").split("\n")]
        self.declaration = re.sub(r"\s+", " ", declaration.removeprefix("NPURT_API "))
        self.name, self.summary = re.match(r"(\w+)\(\) - (.*)", lines[0]).groups()
        self.parameters = []
        paragraphs = self.read(lines[1:])
        self.returns = [p for p in paragraphs if p.startswith("Return:")]
        self.threads = [p for p in paragraphs if re.search(r"^(Any|One) thread\b", p, re.M)]
        self.text = [p for p in paragraphs if p not in self.returns and p not in self.threads]

    def read(self, lines):
        """Takes the parameters; returns the paragraphs behind them."""
        paragraphs = [""]
        for line in lines:
            found = re.match(r"@(\w+): (.*)", line)
            if found and not any(paragraphs):
                self.parameters.append([found.group(1), found.group(2)])
            elif self.parameters and line.startswith("\t") and not any(paragraphs):
                self.parameters[-1][1] += " " + line.strip()
            elif not line.strip():
                paragraphs.append("")
            elif re.match(r"(Return:|Any thread|One thread)", line):
                paragraphs.append(line)
            else:
                paragraphs[-1] += (" " if paragraphs[-1] else "") + line.strip()
        return [p for p in paragraphs if p]

    def declared(self):
        """Names of the parameters in the declaration."""
        inside = self.declaration[self.declaration.index("(") + 1:self.declaration.rindex(")")]
        return [re.search(r"(\w+)$", part).group(1) for part in inside.split(",") if part != "void"]

    def problems(self):
        described = [name for name, _ in self.parameters]
        if described != self.declared():
            yield "has the parameters %s, described are %s" % (self.declared(), described)
        if not self.declaration.startswith("void ") and not self.returns:
            yield "does not say what it returns"
        if not self.threads:
            yield "does not say which threads may call it"


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"@(\w+)", r"\\fI\1\\fR", text)
    text = re.sub(r"(?<![\w`])(npurt_\w+)\(\)", r"\\fB\1\\fR()", text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text[:1] in (".", "'") else text


def literal(text):
    return [".nf"] + ["\\&" + line.replace("\\", "\\e").replace("-", "\\-")
                      for line in text.split("\n")] + [".fi"]


def wrapped(declaration, columns=72):
    """The declaration in lines that fit a terminal."""
    head, rest = declaration[:declaration.index("(") + 1], declaration[declaration.index("(") + 1:]
    lines = [head]
    for part in re.findall(r"[^,]+,?\s*", rest):
        if len(lines[-1]) + len(part.rstrip()) > columns:
            lines.append("    ")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def page(function, version, structures):
    out = ['.TH "%s" "3" "" "libnpurt %s" "NPU stack"' % (function.name.upper(), version)]
    out += [".SH NAME", "%s \\- %s" % (function.name, roff(function.summary))]
    out += [".SH SYNOPSIS", ".nf", "\\fB#include <npurt.h>\\fR", ".fi", ".PP"]
    out += literal(wrapped(function.declaration))
    for name, text in structures.items():
        if re.search(r"\b%s\b" % name, function.declaration):
            out += [".PP"] + literal(text.expandtabs(8))
    out += [".PP", "Link with \\fB\\-lnpurt\\fR."]
    out += [".SH DESCRIPTION"]
    for name, text in function.parameters:
        out += [".TP", "\\fI%s\\fR" % name, roff(text)]
    for text in function.text:
        out += [".PP", roff(text)]
    if function.returns:
        out.append(".SH RETURN VALUE")
        out += [roff(text.removeprefix("Return: ")) for text in function.returns]
        if function.declaration.startswith("int "):
            out += [".PP", "Negative values are errno numbers; \\fBnpurt_last_error\\fR() has a "
                    "sentence then."]
    guide = None
    out += [".SH THREADS"]
    for text in function.threads:
        found = re.search(r"\s*Guide: ([\w ]+)\.", text)
        guide = found.group(1) if found else guide
        out += [roff(re.sub(r"\s*Guide: [\w ]+\.", "", text))]
    out += [".SH SEE ALSO", "The guide, \\fIDocumentation/runtime/guide.rst\\fR%s." %
            (", section \\(lq%s\\(rq" % guide if guide else "")]
    return "\n".join(out) + "\n"


def main():
    with open(sys.argv[1]) as file:
        header = file.read()
    functions = [Function(*found) for found in FUNCTION.findall(header)]
    if sys.argv[2] == "--list":
        print("\n".join(function.name for function in functions))
        return 0
    if sys.argv[2] == "--check":
        declared = re.findall(r"^NPURT_API[^;]*?(\w+)\(", header, re.M)
        problems = ["%s %s" % (f.name, problem) for f in functions for problem in f.problems()]
        problems += ["%s has no comment" % name for name in declared
                     if name not in {f.name for f in functions}]
        print("\n".join(problems + ["%d passed, %d failed" % (len(declared) - len(problems),
                                                              len(problems))]))
        return bool(problems)
    version = ".".join(re.search(r"NPURT_VERSION_%s (\d+)" % part, header).group(1)
                       for part in ("MAJOR", "MINOR", "PATCH"))
    structures = {found.group(1): found.group(0) for found in STRUCTURE.finditer(header)}
    structures.update({found.group(1): found.group(0) for found in CALLBACK.finditer(header)})
    for function in functions:
        with open(os.path.join(sys.argv[2], function.name + ".3"), "w") as file:
            file.write(page(function, version, structures))
    return 0


sys.exit(main())
