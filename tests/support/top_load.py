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
        # 0.3: the one after the first of all.
        for span in [0.3, 0.5, 0.6, 0.8, 1.2]:
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

def check_count(row, ends):
    """The runs of a sample, of which nobody knows more than between which times they were read.

    The library counts a run just before the load notes the time: it may be one ahead.
    """
    low, high = bisect.bisect_right(ends, row["read_begin_ns"]), bisect.bisect_right(ends, row["read_ns"]) + 1
    return "" if low <= row["runs"] <= high else "%s: %d runs, the load has %d to %d" % (row["name"], row["runs"], low,
                                                                                       high)


def check_samples(samples, pid, load):
    """Each sample's runs, and those a second, which are the runs since the one before by the time since then."""
    before, looked = {}, 0
    for sample in samples:
        for row in rows_of(sample, "models", pid):
            if row["name"] not in load:
                continue
            wrong = check_count(row, load[row["name"]]["ends_ns"])
            if wrong:
                return wrong
            last, before[row["name"]] = before.get(row["name"]), row
            if not last or row["runs_per_second"] is None:
                continue
            runs = row["runs"] - last["runs"]
            span = (row["read_ns"] - last["read_ns"]) / 1e9
            # It has six digits.
            if abs(row["runs_per_second"] * span - runs) > 1e-5 * runs:
                return "%s: %g runs a second for %g s, the counts say %d" % (row["name"], row["runs_per_second"], span,
                                                                            runs)
            looked += runs > 0
    return "" if looked > 20 else "only %d rows to look at" % looked


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
