# SPDX-License-Identifier: MIT
"""Prometheus's text format, version 0.0.4, as its documentation describes it."""
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
SAMPLE = re.compile(r"^(%s)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$" % NAME)
TYPES = ["counter", "gauge", "histogram", "summary", "untyped"]


def parse_value(text):
    """Go's ParseFloat, but for hexadecimal."""
    if text in ("NaN", "+Inf", "-Inf", "Inf"):
        return float(text.replace("Inf", "inf"))
    if not re.match(r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$", text):
        raise ValueError("'%s' is no value" % text)
    return float(text)


def parse_labels(text):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match:
            raise ValueError("labels '%s'" % text)
        if match.group(1) in labels:
            raise ValueError("the label %s twice" % match.group(1))
        labels[match.group(1)] = match.group(2)
        at = match.end()
    return labels


def family(name, types):
    """The metric that a sample belongs to: of a histogram, three names."""
    for suffix in ["_bucket", "_sum", "_count"]:
        base = name[:-len(suffix)]
        if name.endswith(suffix) and types.get(base) in ("histogram", "summary"):
            return base
    return name


def check_histograms(samples, types):
    series = {}
    for name, labels, value in samples:
        base = family(name, types)
        if types.get(base) != "histogram":
            continue
        key = (base, tuple(sorted((k, v) for k, v in labels.items() if k != "le")))
        parts = series.setdefault(key, {"buckets": []})
        if name.endswith("_bucket"):
            parts["buckets"].append((float(labels["le"].replace("Inf", "inf")), value))
        else:
            parts[name[len(base):]] = value
    for (base, _), parts in series.items():
        bounds = [bound for bound, _ in parts["buckets"]]
        counts = [count for _, count in parts["buckets"]]
        if bounds != sorted(set(bounds)) or not bounds or bounds[-1] != math.inf:
            return "%s: bounds %s" % (base, bounds)
        if counts != sorted(counts):
            return "%s: buckets do not add up: %s" % (base, counts)
        if "_sum" not in parts or parts.get("_count") != counts[-1]:
            return "%s: sum or count is missing, or is not the last bucket's" % base
    return ""


def problems(text):
    """"" when the text is in the format; else what is not."""
    types, helped, samples, seen, closed, current = {}, set(), [], set(), set(), None
    if not text.endswith("\n"):
        return "the last line has no line feed"
    for number, line in enumerate(text.split("\n")[:-1], 1):
        if not line:
            continue
        where = "line %d (%s): " % (number, line)
        if line.startswith("#"):
            words = line.split(" ", 3)
            if len(words) < 3 or words[1] not in ("HELP", "TYPE"):
                continue
            name = words[2]
            if words[1] == "TYPE" and (name in types or len(words) < 4 or words[3] not in TYPES):
                return where + "a second type, or an unknown one"
            if words[1] == "HELP" and name in helped:
                return where + "a second help"
            if any(family(sample[0], types) == name for sample in samples):
                return where + "it comes after its samples"
            if words[1] == "TYPE":
                types[name] = words[3]
            else:
                helped.add(name)
            continue
        match = SAMPLE.match(line)
        if not match:
            return where + "no sample"
        try:
            labels, value = parse_labels(match.group(2) or ""), parse_value(match.group(3))
        except ValueError as error:
            return where + str(error)
        base = family(match.group(1), types)
        if base != current:
            if base in closed:
                return where + "the lines of %s do not stand together" % base
            if current:
                closed.add(current)
            current = base
        if base not in types:
            return where + "no type"
        key = (match.group(1), tuple(sorted(labels.items())))
        if key in seen:
            return where + "the same series twice"
        seen.add(key)
        if types[base] == "counter" and (value < 0 or not base.endswith("_total")):
            return where + "a counter is not negative, and its name ends in _total"
        samples.append((match.group(1), labels, value))
    return check_histograms(samples, types)
