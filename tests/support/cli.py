# SPDX-License-Identifier: MIT
"""Programs under test: run them, look at status, stdout and stderr."""
import json
import os
import subprocess
import sys

TIMEOUT = 300


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def describe(self):
        return "status %d, stdout %.300r, stderr %.600r" % (self.status, self.out, self.err)


class Program:
    def __init__(self, folder, name):
        self.name, self.path = name, os.path.join(folder, name)

    def run(self, *arguments, **keywords):
        """Runs in an environment without this project's variables."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NPU")}
        environment.update(keywords.pop("variables", {}))
        return Result(subprocess.run([self.path] + [str(argument) for argument in arguments],
                                     capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                     timeout=TIMEOUT, env=environment, **keywords))

    def works(self, *arguments, **keywords):
        """The result of a call that must do its work without a message."""
        result = self.run(*arguments, **keywords)
        if result.status != 0 or result.err:
            raise AssertionError("%s %s: %s" % (self.name, arguments, result.describe()))
        return result

    def json(self, *arguments, **keywords):
        return json.loads(self.works(*arguments, **keywords).out)

    def fails(self, status, *arguments, says=()):
        """"" when it ends with this status, nothing on stdout and a message that holds these words."""
        result = self.run(*arguments)
        if result.status != status or result.out:
            return "%s %s: %s" % (self.name, arguments, result.describe())
        lines = result.err.split("\n")
        if len(lines) < 2 or lines[-1] or any(len(line) < 12 for line in lines[:-1]):
            return "no sentence: %s" % result.describe()
        for word in says:
            if word not in result.err:
                return "says nothing of %r: %s" % (word, result.describe())
        return ""


def missing(found, wanted):
    """"" when a JSON object has the wanted keys with values of the wanted types."""
    for key, kind in wanted.items():
        if key not in found:
            return "the key %r is missing in %s" % (key, sorted(found))
        value = found[key]
        if isinstance(value, bool) and kind is not bool or not isinstance(value, kind):
            return "%r is %r, which is no %s" % (key, value, kind)
    return ""


def common_checks(tap, program):
    """What every program owes its caller."""
    def check_help():
        result = program.works("--help")
        return "" if result.out.startswith("usage: ") and result.out.count("\n") > 3 else result.describe()

    def check_version():
        result = program.works("--version")
        words = result.out.split()
        good = words and words[0] == program.name and words[1].count(".") == 2 and result.out.count("\n") == 1
        return "" if good else result.describe()

    tap.run("%s --help" % program.name, check_help)
    tap.run("%s --version" % program.name, check_version)
    tap.run("%s without arguments" % program.name, program.fails, 2)
    tap.run("%s with an unknown option" % program.name, program.fails, 2, "--no-such-option")


def arguments():
    """(folder of programs, corpus) of the command line."""
    if len(sys.argv) != 3:
        sys.exit("usage: %s BIN-FOLDER CORPUS" % sys.argv[0])
    return sys.argv[1], sys.argv[2]


def mnist(corpus):
    return os.path.join(corpus, "mnist/usr/share/doc/migraphx/examples/vision/cpp_mnist/mnist-8.onnx")
