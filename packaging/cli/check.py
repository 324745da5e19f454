#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual page and completion know every option: check.py PROGRAM MANUAL_PAGE COMPLETION"""
import pathlib
import re
import subprocess
import sys

COMMANDS = [[], ["devices"], ["presets"], ["estimate"], ["metrics"]]


def options(program, command):
    text = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE))


def complete(program, script, *words):
    """What bash offers for the last of the words."""
    code = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _grainless; printf "%s\\n" "${COMPREPLY[@]}"'
    run = subprocess.run(["bash", "-c", code, "bash", script, program, *words], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def complaints(program, page, script):
    text = pathlib.Path(page).read_text(encoding="utf-8").replace("\\-", "-")
    for command in COMMANDS:
        wanted = options(program, command)
        if len(wanted) < 3:
            yield f"--help of {command} lists no options"
        yield from (f"the manual page lacks {option}" for option in wanted
                    if f".B {option}" not in text and f", {option}" not in text)
        yield from (f"completion lacks {command} {option}" for option in wanted - complete(program, script, *command, "--"))
    for words, offered in [(["--method", "s"], {"sw-nlm"}), (["--preset", "cam"], {"camera-jpeg"}), (["met"], {"metrics"}),
                           (["--qual"], {"--quality"}), (["metrics", "--thr"], set())]:
        if complete(program, script, *words) != offered:
            yield f"completion of {words} is {complete(program, script, *words)}, not {offered}"


def main():
    found = list(complaints(*sys.argv[1:]))
    print("\n".join(found) or "manual page and completion know every option")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
