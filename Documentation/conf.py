# SPDX-License-Identifier: MIT
"""Sphinx configuration; `make check` builds with warnings as errors."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "extensions"))

extensions = ["kernel_comments"]
project = "NPU stack"
author = "the authors of the NPU stack"
html_theme = "alabaster"
html_show_copyright = False
html_show_sphinx = False
highlight_language = "none"
nitpicky = True
exclude_patterns = []
