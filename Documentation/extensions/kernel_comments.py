# SPDX-License-Identifier: MIT
"""Renders the kernel-doc comments of a header, and checks that they are complete.

    .. kernel-comments:: ../uapi/drm/npu_accel.h

Every structure and enumeration of the header must be described with all its members, in order, and
with no others; what is not so is a warning, which ends the build where warnings do.
"""
import os
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

COMMENT = re.compile(r"/\*\*\n(.*?)\*/", re.S)
DEFINITION = re.compile(r"^(struct|enum) (\w+) \{\n(.*?)^\};", re.S | re.M)


def comment_lines(text):
    return [re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.split("\n")[:-1]]


def marked_up(text):
    """Names of members and constants in the type of code."""
    text = re.sub(r"@(\w+)", r"``\1``", text)
    return re.sub(r"(?<![`\w])((?:DRM|NPU|CAP|RLIMIT)_\w+\*?)(?![`\w])", r"``\1``", text)


def split(lines):
    """The heading, members with their text, and the rest."""
    members = []
    rest = []
    at = 1
    while at < len(lines):
        line = lines[at]
        found = re.match(r"@(\w+):\s*(.*)", line)
        if found and not any(rest):
            members.append([found.group(1), found.group(2)])
        elif members and not any(rest) and line.startswith(("\t", "  ")):
            members[-1][1] += " " + line.strip()
        else:
            rest.append(line)
        at += 1
    return lines[0], members, rest


def defined(kind, body):
    """The members a definition has."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    if kind == "enum":
        return re.findall(r"^\s*(\w+)\s*(?:=[^,\n]*)?,", body, re.M)
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


class KernelComments(Directive):
    required_arguments = 1

    def complain(self, text):
        return self.state.document.reporter.warning(text, line=self.lineno)

    def check(self, source, described):
        problems = []
        for kind, name, body in DEFINITION.findall(source):
            wanted = defined(kind, body)
            have = described.pop((kind, name), None)
            if have is None:
                problems.append(f"{kind} {name} is not described")
            elif have != wanted:
                problems.append(f"{kind} {name} has {wanted}, described are {have}")
        problems += [f"{kind} {name} is described and does not exist" for kind, name in described]
        return problems

    def render(self, lines, described):
        heading, members, rest = split(lines)
        found = re.match(r"(struct|enum) (\w+) - (.*)", heading)
        if not found:
            title = heading.removeprefix("DOC: ")
            return [title, "-" * len(title), ""] + [marked_up(line) for line in rest] + [""]
        kind, name, summary = found.groups()
        described[kind, name] = [member for member, _ in members]
        out = [f"{kind} {name}", "-" * len(f"{kind} {name}"), "", marked_up(summary), ""]
        for member, text in members:
            out += [f"``{member}``", "   " + (marked_up(text) or "\\"), ""]
        return out + [marked_up(line) for line in rest] + [""]

    def run(self):
        environment = self.state.document.settings.env
        path = os.path.join(environment.srcdir, self.arguments[0])
        environment.note_dependency(path)
        with open(path) as file:
            source = file.read()
        described = {}
        out = []
        for comment in COMMENT.findall(source):
            out += self.render(comment_lines(comment), described)
        problems = [self.complain(text) for text in self.check(source, described)]
        parent = nodes.section()
        parent.document = self.state.document
        self.state.nested_parse(StringList(out, path), 0, parent, match_titles=True)
        return problems + parent.children


def setup(app):
    app.add_directive("kernel-comments", KernelComments)
    return {"parallel_read_safe": True, "version": "1"}
