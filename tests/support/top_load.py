# SPDX-License-Identifier: MIT
"""What npu-top says of a load of three models, held against what the load has counted itself.

The load is tests/support/npurt/load.c; both go by CLOCK_MONOTONIC. Counts are compared over the same time, so
that it does not matter how fast the machine is.
"""
import bisect
import re

TOLERANCE = 0.05
MODELS = ["fast", "even", "slow"]


def rows_of(sample, kind, pid):
    return [row for row in sample[kind] if row["pid"] == pid]


def near(value, low, high=None):
    high = low if high is None else high
    return low * (1 - TOLERANCE) <= value <= high * (1 + TOLERANCE)


def loads_of(figures):
    """What the load has printed, by model."""
    return {load["name"]: load for load in figures["loads"]}


def runs_between(ends, begin, end):
    return bisect.bisect_right(ends, end) - bisect.bisect_right(ends, begin)


# ------------------------------------------------------------------------------------------ screen

def figures_on_screen(lines, pid):
    """Runs a second by model, in the table of models."""
    found = {}
    for line in lines:
        match = re.match(r" *%d +\S+ +\S+ +([0-9.]+k?) .* (\w+)$" % pid, line)
        if match and match.group(2) in MODELS:
            found[match.group(2)] = float(match.group(1).replace("k", "e3"))
    return found


def check_screen(screen, columns, device):
    """Does it show everything? @device: the line of the device, as a regular expression."""
    text = "\n".join(screen)
    for pattern in [r"^npu-top - \d\d:\d\d:\d\d", device, r"mac \[[| ]*\] +[\d.]+%", r"dma \[[| ]*\] +[\d.]+%",
                    r"stall +[\d.]+%", r"^ +PID QUEUE PRI +DEPTH +HIGH",
                    r"^ +PID USER +NPU% +RUN/s +P50 +P99 +MEM +ERR", r"q:leave"]:
        if not re.search(pattern, text, re.M):
            return "nothing matches %r in:\n%s" % (pattern, text)
    if columns >= 120 and "COMMAND" not in text:
        return "the wide screen has no more columns"
    too_long = [line for line in screen if len(line) > columns]
    return "too long: %s" % too_long if too_long else ""


def could_be(value, at, ends):
    """Is it the runs a second of a sample that was on the screen at this time, as the load counted them?"""
    for age in range(0, 1500, 10):
        for span in [0.5, 0.6, 0.8, 1.2]:
            end = at - age * 1000000
            if near(value, runs_between(ends, end - int(span * 1e9), end) / span):
                return True
    return False


def check_screen_rates(seen, load):
    """@seen: of each model times and values."""
    for name, values in seen.items():
        good = sum(could_be(value, at, load[name]["ends_ns"]) for at, value in values)
        if len(values) < 6 or good < 0.75 * len(values):
            return "%s: %d of %d values are the load's: %s" % (name, good, len(values),
                                                               [value for _, value in values])
    return ""


# ----------------------------------------------------------------------------------------- samples

def check_samples(samples, pid, load):
    """Each sample's runs a second against what the load counted in the same time, but for one at each end."""
    before, looked = {}, 0
    for sample in samples:
        for row in rows_of(sample, "models", pid):
            begin = before.get(row["name"])
            end = before[row["name"]] = row["read_ns"]
            if row["name"] not in load or row["runs_per_second"] is None or not begin:
                continue
            span = (end - begin) / 1e9
            runs = runs_between(load[row["name"]]["ends_ns"], begin, end)
            if not near(row["runs_per_second"] * span, runs - 1, runs + 1):
                return "%s: %g runs a second for %g s, the load has %d" % (row["name"], row["runs_per_second"],
                                                                           span, runs)
            looked += runs > 0
    return "" if looked > 20 else "only %d rows to look at" % looked


def check_all_samples(samples, pid, load):
    """Runs from the first sample of a model to its last: exactly what the load counted, but for one at each end."""
    for name in MODELS:
        rows = [row for sample in samples for row in rows_of(sample, "models", pid) if row["name"] == name]
        if len(rows) < 2:
            return "%s: %d samples" % (name, len(rows))
        runs = rows[-1]["runs"] - rows[0]["runs"]
        counted = runs_between(load[name]["ends_ns"], rows[0]["read_ns"], rows[-1]["read_ns"])
        if abs(runs - counted) > 2 or counted < 20:
            return "%s: %d runs, the load has %d" % (name, runs, counted)
    return ""


def check_runs(sample, pid, load):
    """When the load rests there is nothing to allow for."""
    models = {row["name"]: row for row in rows_of(sample, "models", pid)}
    for name in MODELS:
        row, wanted = models[name], load[name]
        if row["runs"] != wanted["runs"] or row["failed"] != wanted["failed"]:
            return "%s: %d runs, %d failed, not %d and %d" % (name, row["runs"], row["failed"], wanted["runs"],
                                                              wanted["failed"])
        for key in ["p50", "p99"]:
            if not near(row["latency_ever_ns"][key], *wanted[key + "_ns"]):
                return "%s: %s is %g, not %s" % (name, key, row["latency_ever_ns"][key], wanted[key + "_ns"])
    return ""
