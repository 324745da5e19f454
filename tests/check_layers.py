#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes keep to the layers of CONTRIBUTING.md. Usage: check_layers.py SOURCE_ROOT"""
import pathlib
import re
import sys

# Folder -> what it may include from other folders, and which outside headers it may not.
HOSTS = r"^(libgimp|gegl|babl|gtk|glib|gdk|gio)"
RULES = {
    "engine": ([], HOSTS + r"|^cuda|^hip"),
    "cuda": (["engine/abi.h", "engine/bm3d_math.h", "engine/bm3d_passes.inc", "engine/packed_sentence.h", "engine/plan.h",
              "engine/pixel_math.h", "engine/pyramid.h", "engine/pixels.h", "engine/rect.h",
              "engine/status.h", "engine/volume_plan.h"],
             HOSTS + r"|^hwy"),
    "ui": (["engine/params.h", "engine/preset", "engine/progress.h", "engine/rect.h", "engine/status.h", "engine/volume_plan.h"],
           r"^libgimp/gimp\.h|^gegl|^cuda|^hwy"),
    "plugin": (["engine/", "ui/"], r"^cuda|^hwy"),
    "tools": (["engine/"], HOSTS + r"|^cuda|^hwy"),
}
PRIVATE = re.compile(r"^engine/(cpu/|registry|tile_scheduler|module_backend|transforms)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def complaints(root):
    for folder, (allowed, forbidden) in RULES.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".cuh"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match:
                    problem = check(folder, allowed, forbidden, *match.groups())
                    if problem:
                        yield f"{path.relative_to(root)}:{number}: {problem}"


def check(folder, allowed, forbidden, bracket, name):
    if re.search(forbidden, name):
        return f"{folder}/ may not use <{name}>"
    layer = name.split("/")[0]
    if bracket == '"' and layer in RULES and layer != folder:
        if not any(name.startswith(prefix) for prefix in allowed):
            return f"{folder}/ may not use {name}"
        if PRIVATE.match(name):
            return f"{name} is private to engine/"
    return None


def main():
    found = list(complaints(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "layers: all includes keep to the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
