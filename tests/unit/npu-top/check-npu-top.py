#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""npu-top beside a load of three models on sim:, on terminals of two sizes and through parsers.

usage: check-npu-top.py BIN-FOLDER LOAD

What it says is held against what the load has counted itself (tests/support/npurt/load.c). Everything runs
with a memory folder of this test's own user, so other sim: processes of it may be there too: rows are
told apart by the load's process number.
"""
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from cli import Program, common_checks  # noqa: E402
from prometheus import problems as prometheus_problems  # noqa: E402
from tap import Tap  # noqa: E402
from top_load import (MODELS, check_runs, check_samples, check_screen,  # noqa: E402
                      check_screen_rates, figures_on_screen, loads_of, rows_of)

PATIENCE = 60
DEVICE_LINE = r"^sim:npu-v3\S* of process \d+  well  4 clusters"
DEVICE_KEYS = {"name", "state", "trouble", "driver_state", "resets", "last_failure", "current_clock_hz",
               "memory_bytes", "busy_ns", "busy_share", "clusters", "clock_hz", "mac_utilization", "dma_utilization",
               "stall_share", "tasks_per_second", "firmware", "driver"}
QUEUE_KEYS = {"priority", "depth", "capacity", "high_water", "refused", "refused_per_second", "oldest_ns",
              "wait_ns", "wait_ever_ns"}
MODEL_KEYS = {"name", "runs", "runs_per_second", "failed", "memory_bytes", "latency_ns", "latency_ever_ns",
              "utilization", "stall_share", "cycles_per_run"}


class Load:
    """The load, until it is told to end."""
    def __init__(self, path):
        self.process = subprocess.Popen([path, "sim:npu-v3?memory=64"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError("the load does not start")
        self.pid = self.process.pid

    def figures(self):
        """Ends the work: what it has counted. It keeps its device."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        text = line = ""
        while line != "]}\n":
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError("the load has ended: %r" % text)
            text += line
        found = json.loads(text)
        return found["refused"], loads_of(found)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


class Terminal:
    """npu-top in tmux, on a server of its own."""
    count = 0

    def __init__(self, top, columns, lines, *options):
        Terminal.count += 1
        self.socket = "npu-top-%d-%d" % (os.getpid(), Terminal.count)
        self.size = (columns, lines)
        # NO_COLOR is the user's; the terminal is one with 16 colours.
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                  "exec env TERM=screen %s %s" % (top, " ".join(options)))

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-L", self.socket, *words], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError("tmux %s: %s" % (words[0], done.stderr))
        return done.stdout

    def lines(self):
        return self.tmux("capture-pane", "-p").split("\n")[:self.size[1]]

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def wait_for(self, pattern):
        """The screen, once a line of it matches."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            lines = self.lines()
            if any(re.search(pattern, line) for line in lines):
                return lines
            time.sleep(0.1)
        raise AssertionError("no line matches %r in:\n%s" % (pattern, "\n".join(lines)))

    def is_there(self):
        return subprocess.run(["tmux", "-L", self.socket, "has-session"], capture_output=True).returncode == 0

    def end(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True)


# ------------------------------------------------------------------------------ while the load runs

def watch_screen(top, load, columns, lines):
    """What the screen has said of the models, some samples long."""
    terminal = Terminal(top, columns, lines, "-d", "0.5")
    try:
        screen = terminal.wait_for(r"^ *%d .* fast$" % load.pid)
        seen = {name: [] for name in MODELS}
        for _ in range(12):
            time.sleep(0.25)
            screen = terminal.lines()
            for name, value in figures_on_screen(screen, load.pid).items():
                seen[name].append((time.monotonic_ns(), value))
        return screen, seen
    finally:
        terminal.end()


def read_rates(stream, pid, wanted):
    """Samples with so many rates of runs in them: on a busy machine they come late."""
    written, seen = "", 0
    while seen < wanted:
        line = stream.readline()
        written += line
        seen += sum(bool(row["runs_per_second"]) for row in rows_of(json.loads(line), "models", pid))
    return written


# --------------------------------------------------------------------------------- when it rests

def check_totals(sample, pid, refused, load):
    models = {row["name"]: row for row in rows_of(sample, "models", pid)}
    wrong = check_runs(sample, pid, load)
    if wrong:
        return wrong
    if any(MODEL_KEYS - models[name].keys() for name in MODELS):
        return "a model has not all of %s" % MODEL_KEYS
    queues = {row["priority"]: row for row in rows_of(sample, "queues", pid)}
    if sorted(queues) != [0, 1, 2, 3]:
        return "priorities %s" % sorted(queues)
    if QUEUE_KEYS - queues[0].keys():
        return "no %s" % (QUEUE_KEYS - queues[0].keys())
    if queues[0]["refused"] != refused or not refused or queues[0]["high_water"] != queues[0]["capacity"]:
        return "%d refused, not %d; at most %d of %d in flight" % (
            queues[0]["refused"], refused, queues[0]["high_water"], queues[0]["capacity"])
    total = sum(row["runs"] for row in rows_of(sample, "models", pid))
    process = rows_of(sample, "processes", pid)[0]
    if process["runs"] != total or process["command"] != "npu-load":
        return "the process: %s" % process
    device = rows_of(sample, "devices", pid)[0]
    if DEVICE_KEYS - device.keys():
        return "no %s" % (DEVICE_KEYS - device.keys())
    ended = sum(row["completed"] for row in queues.values())
    return "" if device["tasks"] == ended else "%d tasks of %d" % (device["tasks"], ended)


def check_csv(top, pid, load):
    rows = list(csv.DictReader(io.StringIO(top.works("--csv", "-n", "2", "-d", "0.2").out), strict=True))
    if any(None in row or None in row.values() for row in rows):
        return "a line has more or fewer columns than the first"
    ours = [row for row in rows if row["pid"] == str(pid)]
    kinds = sorted({row["kind"] for row in ours})
    if kinds != ["device", "model", "process", "queue"]:
        return "kinds %s" % kinds
    runs = {row["name"]: int(row["total"]) for row in ours if row["kind"] == "model"}
    wrong = [name for name in MODELS if runs[name] != load[name]["runs"]]
    return "runs of %s: %s" % (wrong, runs) if wrong else ""


def check_prometheus(top, pid, load):
    text = top.works("--prom").out
    wrong = prometheus_problems(text)
    if wrong:
        return wrong
    for name in MODELS:
        match = re.search(r'^npu_model_runs_total{[^}]*pid="%d"[^}]*model="%s"[^}]*} (\d+)$' % (pid, name), text,
                          re.M)
        if not match or int(match.group(1)) != load[name]["runs"]:
            return "%s: %s" % (name, match)
    return ""


def check_text(top, pid):
    out = top.works("-b", "-n", "1", "-d", "0.1", "--filter", "even").out
    rows = [line for line in out.splitlines() if re.match(r" *%d .* (fast|even|slow)$" % pid, line)]
    return "" if len(rows) == 1 else out


def check_device_option(top, pid):
    sample = top.json("--json", "-n", "1", "-d", "0.1", "--device", "sim:npu-v3")
    return "" if rows_of(sample, "models", pid) else "sim:npu-v3 is not there"


def check_missing_device(top, mode, device, words):
    """A device that is in no sample: the samples are written all the same."""
    result = top.run(mode, "-n", "2", "-d", "0.1", "--device", device)
    if result.status != 3:
        return result.describe()
    if result.err.count("\n") != 1 or not result.err.startswith("npu-top: %s: " % device):
        return "no sentence, or more than one: %s" % result.describe()
    wrong = [word for word in words if word not in result.err]
    if mode == "--json":
        samples = [json.loads(line) for line in result.out.splitlines()]
        if len(samples) != 2 or any(sample["devices"] or sample["models"] for sample in samples):
            return "samples: %s" % result.describe()
    return "says nothing of %s: %s" % (wrong, result.err) if wrong or not result.out else ""


def check_missing_on_screen(top):
    """What is the matter and what to do, on a screen that waits for the device."""
    terminal = Terminal(top, 80, 24, "-d", "0.3", "--device", "accel99")
    try:
        screen = "\n".join(terminal.wait_for("there is no such device"))
        wrong = [words for words in ["accel99:", "modprobe", "npu-ctl list"] if words not in screen]
        terminal.keys("q")
        return "no %s in:\n%s" % (wrong, screen) if wrong else ""
    finally:
        terminal.end()


# ------------------------------------------------------------------------------------------- keys

def check_keys(top, load):
    terminal = Terminal(top, 80, 24, "-d", "0.3", "--filter", str(load.pid))
    try:
        terminal.wait_for(r"^ *%d .* fast$" % load.pid)
        for key, pattern in [("t", r"npu-load\)$"), ("P", "reversed"), ("M", "sort MEM"), ("N", "sort PID"),
                             ("E", "sort ERR"), ("L", "sort P99"), ("T", "sort RUN/s"), (">", "sort P99"),
                             ("<", "sort RUN/s"), ("r", "reversed"), ("+", r"every 0\.6s"), ("-", r"every 0\.3s"),
                             ("i", "no idle"), ("e", "no events"), ("Space", "^STOPPED"), ("h", "Any key goes back"),
                             ("x", "q:leave")]:
            terminal.keys(key)
            terminal.wait_for(pattern)
        terminal.keys("i")
        terminal.keys("e")
        terminal.keys("Space")
        terminal.keys("/")
        terminal.wait_for("^Filter: ")
        terminal.keys("Escape")
        terminal.keys("/", "z", "z", "Enter")
        screen = terminal.wait_for("filter 'zz'")
        if any(line.endswith(" fast") for line in screen):
            return "the filter leaves rows:\n" + "\n".join(screen)
        # A smaller terminal, and one of hardly any room.
        for columns, lines in [(40, 10), (10, 3), (100, 30)]:
            terminal.tmux("resize-window", "-x", str(columns), "-y", str(lines))
            terminal.size = (columns, lines)
            time.sleep(0.3)
        terminal.wait_for("npu-top - ")
        terminal.keys("q")
        end = time.monotonic() + PATIENCE
        while terminal.is_there():
            if time.monotonic() > end:
                return "it does not leave"
            time.sleep(0.05)
        return ""
    finally:
        terminal.end()


def check_mouse(top, load):
    """A click on the head of a column sorts by it."""
    terminal = Terminal(top, 80, 24, "-d", "0.3", "--filter", str(load.pid))
    try:
        lines = terminal.wait_for(r"^ *%d .* fast$" % load.pid)
        row = next(i for i, line in enumerate(lines) if re.match(" +PID USER", line))
        # A press and a release, as the terminal "screen" reports them: places count from 33.
        for button in [32, 35]:
            terminal.tmux("send-keys", "-l", "\033[M%c%c%c" % (button, 33 + 51, 33 + row))
        terminal.wait_for("sort MEM")
        return ""
    finally:
        terminal.end()


def check_colours(top, load):
    """No colour where none is wanted, and colours else: escape sequences that tmux hands back."""
    for options, wanted in [("--no-color", False), ("", True)]:
        terminal = Terminal(top, 80, 24, "-d", "0.3", options)
        try:
            terminal.wait_for(r"^ *%d .* fast$" % load.pid)
            coloured = re.search(r"\033\[[0-9;]*(3[0-7]|4[0-7])[;m]", terminal.tmux("capture-pane", "-p", "-e"))
            if bool(coloured) != wanted:
                return "colours with '%s': %s" % (options, coloured)
        finally:
            terminal.end()
    return ""


def check_ending(top, load):
    """k asks, and another key than y leaves the process alone."""
    terminal = Terminal(top, 100, 24, "-d", "0.3", "--filter", str(load.pid))
    try:
        terminal.wait_for(r"^ *%d .* fast$" % load.pid)
        terminal.keys("k")
        terminal.wait_for(r"End process %d \(npu-load\)\?" % load.pid)
        terminal.keys("n")
        terminal.wait_for("q:leave")
        if load.process.poll() is not None:
            return "it was ended"
        terminal.keys("k")
        terminal.wait_for(r"End process %d" % load.pid)
        terminal.keys("y")
        terminal.wait_for("has been sent SIGTERM")
        return "" if load.process.wait(PATIENCE) == -signal.SIGTERM else "status %s" % load.process.returncode
    finally:
        terminal.end()


def check_frozen(top, path):
    load = Load(path)
    try:
        load.figures()
        os.kill(load.pid, signal.SIGSTOP)
        time.sleep(3.5)
        device = rows_of(top.json("--json", "-n", "1", "-d", "0.1"), "devices", load.pid)[0]
        good = device["state"] == "frozen" and "process %d" % load.pid in device["trouble"]
        return "" if good else str(device)
    finally:
        os.kill(load.pid, signal.SIGCONT)
        load.end()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: %s BIN-FOLDER LOAD" % sys.argv[0])
    for name in [name for name in os.environ if name.startswith("NPU")] + ["NO_COLOR", "TMUX"]:
        os.environ.pop(name, None)
    top, tap = Program(sys.argv[1], "npu-top"), Tap()
    common_checks(tap, top)
    for name, words in [("-n 0", ["-b", "-n", "0"]), ("-d 0", ["-b", "-d", "0"]), ("-d nan", ["-b", "-d", "nan"]),
                        ("a word", ["-b", "word"]), ("an unknown sort", ["-b", "--sort", "luck"])]:
        tap.run("npu-top refuses " + name, top.fails, 2, *words)

    load = Load(sys.argv[2])
    watcher = subprocess.Popen([top.path, "--json", "-d", "0.5"], stdout=subprocess.PIPE, text=True)
    screens = [(columns, lines, *watch_screen(top.path, load, columns, lines))
               for columns, lines in [(80, 24), (200, 60)]]
    written = read_rates(watcher.stdout, load.pid, 30)
    refused, figures = load.figures()
    watcher.terminate()
    written, status = written + watcher.stdout.read(), watcher.wait(PATIENCE)
    tap.check("SIGTERM ends a batch behind a whole sample", not status and written.endswith("}\n"), written[-80:])
    samples = [json.loads(line) for line in written.splitlines()]
    for columns, lines, screen, seen in screens:
        print("# " + "\n# ".join(screen))
        tap.run("the screen at %dx%d" % (columns, lines), check_screen, screen, columns, DEVICE_LINE)
        tap.run("its runs a second are the load's", check_screen_rates, seen, figures)
    for name, load_figures in figures.items():
        print("# the load: %s: %s" % (name, {key: value for key, value in load_figures.items() if key != "ends_ns"}))
    tap.run("runs, and runs a second, of JSON samples are the load's", check_samples, samples, load.pid, figures)
    time.sleep(1)
    sample = top.json("--json", "-n", "1", "-d", "0.1")
    tap.run("totals and quantiles are the load's", check_totals, sample, load.pid, refused, figures)
    tap.run("CSV", check_csv, top, load.pid, figures)
    tap.run("Prometheus's format", check_prometheus, top, load.pid, figures)
    tap.run("text, filtered", check_text, top, load.pid)
    tap.run("--device", check_device_option, top, load.pid)
    for mode in ["-b", "--json", "--csv", "--prom"]:
        tap.run("%s of a card that is not there" % mode, check_missing_device, top, mode, "accel99",
                ["there is no such device", "modprobe npu", "npu-ctl list"])
        tap.run("%s of a model that nobody has" % mode, check_missing_device, top, mode, "sim:nobody",
                ["no process of this user", "npu-run --device sim:"])
    tap.run("the screen of a card that is not there", check_missing_on_screen, top.path)
    tap.run("keys", check_keys, top.path, load)
    tap.run("mouse", check_mouse, top.path, load)
    tap.run("colours", check_colours, top.path, load)
    tap.run("ending a process", check_ending, top.path, load)
    tap.run("a process that stands still", check_frozen, top, sys.argv[2])
    left = rows_of(top.json("--json", "-n", "1", "-d", "0.1"), "devices", load.pid)
    tap.check("a process that was killed is not shown", not left, left)
    tap.exit()


main()
