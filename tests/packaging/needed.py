#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each program asks for the libraries that it calls, and for no other: needed.py READELF PLUG_IN|- EFFECT|- TOOL…

One more than that is one more reason not to start on another system: GIMP's pkg-config names libgexiv2, which has another
name in each release of Debian. A library that joins a list here has to be in each package's list, too.
"""
import re
import subprocess
import sys

SYSTEM = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libdl.so.2", "libpthread.so.0"}
LOADER = re.compile(r"ld-linux.*\.so\.\d")
# Absent where Highway is linked in (packaging/portable).
OPTIONAL = {"libhwy.so.1"}
# GIMP itself needs each of them.
PLUG_IN = {"libgimp-3.0.so.0", "libgimpbase-3.0.so.0", "libgimpcolor-3.0.so.0", "libgimpconfig-3.0.so.0",
           "libgimpui-3.0.so.0", "libgimpwidgets-3.0.so.0", "libgegl-0.4.so.0",
           "libbabl-0.1.so.0", "libgio-2.0.so.0", "libgobject-2.0.so.0", "libglib-2.0.so.0", "libgtk-3.so.0",
           "libgdk-3.so.0", "libpangocairo-1.0.so.0", "libpango-1.0.so.0", "libatk-1.0.so.0", "libcairo.so.2"}
EFFECT = {"libgegl-0.4.so.0", "libbabl-0.1.so.0", "libgobject-2.0.so.0", "libglib-2.0.so.0"}
TOOL = {"libjpeg.so.62", "libjpeg.so.8", "liblcms2.so.2", "libpng16.so.16", "libz.so.1", "libtiff.so.6"}


def read_elf(readelf, option, path):
    return subprocess.run([readelf, "-W", option, path], capture_output=True, text=True, check=True).stdout


def needed(readelf, path):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", read_elf(readelf, "-d", path)))


def exported(readelf, path):
    """Own functions that other libraries in the process could take for theirs."""
    return re.findall(r" (?:FUNC|OBJECT) +GLOBAL +DEFAULT +\d+ (_ZNK?9grainless\S+)", read_elf(readelf, "--dyn-syms", path))


def complaints(readelf, path, allowed):
    found = needed(readelf, path)
    surplus = {name for name in found - allowed - SYSTEM - OPTIONAL if not LOADER.fullmatch(name)}
    lines = [f"{path} asks for {name}, which it is not known to call" for name in sorted(surplus)]
    if "libc.so.6" not in found:
        lines.append(f"{path}: readelf names no library at all")
    names = exported(readelf, path)
    if names:
        lines.append(f"{path} exports {len(names)} functions of its own, {names[0]} the first")
    return lines


def main():
    readelf, plug_in, effect, *tools = sys.argv[1:]
    lines = complaints(readelf, plug_in, PLUG_IN) if plug_in != "-" else []
    lines += complaints(readelf, effect, EFFECT) if effect != "-" else []
    for tool in tools:
        lines += complaints(readelf, tool, TOOL)
    print("\n".join(lines) or "each program asks for what it calls")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
