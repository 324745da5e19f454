#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes keep to the layers of CONTRIBUTING.md, those of included headers, too.

usage: check_layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# Folder -> what it may reach of other folders, and which outside headers it may not.
HOSTS = r"^(libgimp|gegl|babl|gtk|glib|gdk|gio)"
RULES = {
    "engine/boundary": (["engine/boundary/"], HOSTS + r"|^cuda|^hip|^hwy"),
    "engine": ([], HOSTS + r"|^cuda|^hip"),
    "cuda": (["engine/boundary/"], HOSTS + r"|^hwy"),
    "ui": (["engine/boundary/", "engine/params/", "engine/progress.h"], r"^libgimp/gimp\.h|^gegl|^cuda|^hwy"),
    "plugin/cards": (["engine/", "plugin/helper/"], HOSTS + r"|^cuda|^hwy"),
    "plugin": (["engine/", "ui/"], r"^cuda|^hwy"),
    "tools/metrics": (["engine/"], HOSTS + r"|^cuda"),
    "tools": (["engine/"], HOSTS + r"|^cuda|^hwy"),
    "python": (["engine/"], HOSTS + r"|^cuda|^hwy"),
}
LAYERS = {"engine", "cuda", "ui", "plugin", "tools", "python"}
# Only engine/ includes them by name; what they hold may come along with its public headers.
PRIVATE = re.compile(r"^engine/(cpu|backends|plan)/")
# But for a backend that is not the engine's own.
BACKENDS_OUTSIDE = ("plugin/cards", re.compile(r"^engine/backends/"))
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SOURCES = (".h", ".cpp", ".cu", ".cuh", ".inc")


class Sources:
    """The includes of every file, resolved as the compilers do: beside the file, then from the root."""

    def __init__(self, root):
        self.root = root
        self.found = {}

    def includes(self, name):
        if name not in self.found:
            text = (self.root / name).read_text(encoding="utf-8")
            self.found[name] = [self.resolve(name, *match) for match in INCLUDE.findall(text)]
        return self.found[name]

    def resolve(self, name, bracket, included):
        beside = (pathlib.PurePosixPath(name).parent / included).as_posix()
        for path in (beside, included):
            if bracket == '"' and (self.root / path).is_file():
                return path
        return included

    def reach(self, name):
        """All files that an include of `name` brings, each with the way to it."""
        ways = {}
        waiting = [(included, (included,)) for included in self.includes(name)]
        while waiting:
            path, way = waiting.pop()
            if path in ways:
                continue
            ways[path] = way
            if (self.root / path).is_file():
                waiting += [(included, (*way, included)) for included in self.includes(path)]
        return ways


def rule_of(name):
    return next(folder for folder in RULES if name.startswith(folder + "/"))


def complaints(root):
    sources = Sources(root)
    for layer in sorted(LAYERS):
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in SOURCES:
                name = path.relative_to(root).as_posix()
                yield from check(sources, name, layer)


def check(sources, name, layer):
    folder = rule_of(name)
    allowed, forbidden = RULES[folder]
    for path, way in sources.reach(name).items():
        if re.search(forbidden, path):
            yield f"{name}: {folder}/ may not use <{path}> ({' > '.join(way)})"
        other = path.split("/")[0] in LAYERS and not path.startswith(folder + "/")
        if other and not any(path.startswith(prefix) for prefix in allowed):
            yield f"{name}: {folder}/ may not use {path} ({' > '.join(way)})"
    if layer != "engine":
        yield from (f"{name}: {path} is private to engine/" for path in sources.includes(name)
                    if PRIVATE.match(path) and not (folder == BACKENDS_OUTSIDE[0] and BACKENDS_OUTSIDE[1].match(path)))


def main():
    found = list(complaints(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "layers: all includes keep to the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
