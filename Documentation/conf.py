# SPDX-License-Identifier: MIT
"""Sphinx configuration; `make check` builds with warnings as errors."""
project = "NPU stack"
author = "the authors of the NPU stack"
html_theme = "alabaster"
html_show_copyright = False
html_show_sphinx = False
highlight_language = "none"
nitpicky = True
exclude_patterns = []
