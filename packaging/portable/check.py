#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The archive's programs start on each supported system: check.py ARCHIVE'S_FOLDER

They ask for GIMP's libraries alone, and for no symbol of the C or C++ library that is younger than OLDEST.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "packaging"))
from needed import EFFECT, LOADER, PLUG_IN, needed, read_elf

OLDEST = {"GLIBC": (2, 38), "GLIBCXX": (3, 4, 32)}
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
# Linked into the plug-in, as Highway is. The module takes GIMP's.
ALLOWED = {"grainless": SYSTEM | PLUG_IN, "grainless-effect.so": SYSTEM | EFFECT, "grainless-engine": SYSTEM,
            "grainless-cuda.so": SYSTEM | {"libstdc++.so.6", "libgcc_s.so.1"}}


def complaints(path):
    surplus = needed("readelf", path) - ALLOWED[path.name]
    yield from (f"{path.name} asks for {name}" for name in sorted(surplus) if not LOADER.fullmatch(name))
    versions = read_elf("readelf", "--version-info", path)
    for library, oldest in OLDEST.items():
        found = [tuple(map(int, version.split("."))) for version in re.findall(rf"\b{library}_([\d.]+)", versions)]
        if max(found, default=oldest) > oldest or (library == "GLIBC" and not found):
            yield f"{path.name} asks for {library} {max(found, default='unknown')}, later than {oldest}"


def main():
    programs = [path for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")) if path.name in ALLOWED and path.is_file()]
    found = [line for path in programs for line in complaints(path)]
    names = ", ".join(path.name for path in programs)
    print("\n".join(found) or f"{names}: glibc {'.'.join(map(str, OLDEST['GLIBC']))} or later will do")
    return 1 if found or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
