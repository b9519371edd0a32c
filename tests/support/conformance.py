# SPDX-License-Identifier: MIT
"""What the conformance scripts share: where programs and models are, scratch files, results."""
import os

import numpy as np

import tap

BIN = os.environ["NPU_BIN"]
CORPUS = os.environ["NPU_CORPUS"]
ORACLE = os.environ["NPU_ORACLE"]
SCRATCH = os.environ["NPU_SCRATCH"]

_results = tap.Tap()
finish = _results.exit


def check(ok, text):
    _results.check(text, bool(ok))


def scratch(name):
    os.makedirs(SCRATCH, exist_ok=True)
    return os.path.join(SCRATCH, name)


def is_near(have, want, room):
    """Where have is within room of want; infinities and NaNs have no neighbours."""
    have, want = np.asarray(have, np.float64), np.asarray(want, np.float64)
    finite = np.isfinite(have) & np.isfinite(want)
    with np.errstate(invalid="ignore"):
        close = finite & (np.abs(have - want) <= room)
    return close | (have == want) | (np.isnan(have) & np.isnan(want))


def largest(array):
    """The largest finite magnitude."""
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def on_floats(dump):
    """Lines of a dumped graph (npucc compile --dump quant) whose node makes floats from anything but integers."""
    lines = [line.partition(" = ") for line in dump.splitlines() if " = " in line]
    return [made + " = " + how for made, _, how in lines if " f32[" in made and "on integers" not in how and
            not how.startswith("dequantize ")]
