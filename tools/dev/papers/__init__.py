# SPDX-License-Identifier: MIT
"""The five papers this project grew from, a module each: their tables with theirs and ours."""
