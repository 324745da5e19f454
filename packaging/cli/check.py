#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual page and completion know every option: check.py PROGRAM MANUAL_PAGE COMPLETION"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMANDS = [[], ["devices"], ["presets"], ["estimate"], ["metrics"]]
HOSTILE = ["$(touch${IFS}ran)", "`touch ran`", "{a,b}; touch ran", "My camera", "It's $HOME"]


def options(program, command):
    text = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE))


def bash(code, *arguments, **options):
    return subprocess.run(["bash", "-c", code, "bash", *arguments], capture_output=True, text=True, check=True, **options).stdout


def complete(program, script, *words, **options):
    """What bash offers for the last of the words."""
    code = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _grainless; printf "%s\\n" "${COMPREPLY[@]}"'
    return set(filter(None, bash(code, script, program, *words, **options).split("\n")))


def complaints_of_names(program, script, folder):
    """Presets that are called like shell code: offered so that the shell reads their names again, and never run."""
    presets = pathlib.Path(folder, "grainless", "presets")
    presets.mkdir(parents=True)
    for name in HOSTILE:
        (presets / f"{name}.preset").write_text("method=nlm\n")
    options = {"cwd": folder, "env": dict(os.environ, GIMP3_DIRECTORY=folder)}
    for name in HOSTILE:
        for quote in ("", "'", '"'):
            offered = complete(program, script, "--preset", quote + name[:2], **options)
            read = {bash(f"printf %s {quote}{word}{quote}", **options) for word in offered}
            if read != {name}:
                yield f"after {quote or 'no quote'} completion of {name} is {offered}"
    if complete(program, script, "--preset", "My\\ c", **options) != {"My\\ camera"}:
        yield "a name that was begun with its space escaped is not completed"
    if pathlib.Path(folder, "ran").exists():
        yield "completion runs what presets are called"


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
                           (["--qual"], {"--quality"}), (["metrics", "--thr"], set()), (["--method", "=", "sw"], {"sw-nlm"}),
                           (["--stages", "="], {"all", "first"}), (["--preset", "=", "cam"], {"camera-jpeg"}),
                           (["--metrics", "p"], {"psnr"})]:
        if complete(program, script, *words) != offered:
            yield f"completion of {words} is {complete(program, script, *words)}, not {offered}"
    with tempfile.TemporaryDirectory() as folder:
        yield from complaints_of_names(program, script, folder)


def main():
    # Some of it runs elsewhere.
    found = list(complaints(*map(os.path.abspath, sys.argv[1:])))
    print("\n".join(found) or "manual page and completion know every option")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
