# SPDX-License-Identifier: MIT
"""The fault matrix's lines: what was done to the filter, when, what should come of it and what did.

Tests of every kind append to the file that GRAINLESS_FAULT_LOG names; tools/dev/reliability.py makes
docs/reliability.md of it.
"""
import json
import os


def log(fault, stage, front_end, expected, seen, ok):
    path = os.environ.get("GRAINLESS_FAULT_LOG")
    if not path:
        return
    line = {"fault": fault, "stage": stage, "front_end": front_end, "expected": expected, "seen": seen, "ok": bool(ok)}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def judge(fault, stage, front_end, expected, seen, problem):
    """Logs a case, and fails with the problem if there is one."""
    log(fault, stage, front_end, expected, seen if not problem else f"{seen}; {problem}", not problem)
    assert not problem, f"{fault}, {stage}, {front_end}: {problem} ({seen})"
