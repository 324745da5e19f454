#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds what headers offer and nobody takes: unused.py SOURCE_ROOT [ALLOWED]

By its words: a function, constant or type of a layer's header that no source of a layer names but where it is declared
and defined, and a free function that only the file that defines it calls. The compilers see both for names of one file
(-Wunused); for public ones the linker would, but that inlining leaves unused copies behind. A name that two functions
share may hide that one of them is unused. ALLOWED has 'NAME reason' a line; one that is used again has to go.
"""
import collections
import pathlib
import re
import sys

LAYERS = ("engine", "cuda", "ui", "plugin", "tools", "python")
HEADERS = {".h", ".cuh"}
SUFFIXES = HEADERS | {".cpp", ".cu", ".inc"}
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)
NO_TYPE = r"(?:return|else|if|for|while|throw|delete|new|case|goto|using|typedef|friend|#)\b"
FUNCTION = re.compile(rf"^(?P<indent>[ ]*)(?!\s*{NO_TYPE})(?:[\w:<>,*&\[\]()]+[\s*&]+)+?[*&]*"
                      r"(?P<name>(?!k[A-Z])[a-z]\w*)\(", re.M)
CONSTANT = re.compile(r"\bconstexpr [\w:<>, ]+ (?P<name>k[A-Z]\w*)")
TYPE = re.compile(r"^(?:struct|class|enum class|using) (?P<name>[A-Z]\w*)(?= [:={]|;)", re.M)
# A definition begins its line; what stands inside a function is indented.
DEFINITION = re.compile(r"^(?!#)\S[^\n;=]*?\b(?P<name>(?!k[A-Z])[a-z]\w*)\(", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")


class File:
    def __init__(self, path, name):
        text = path.read_text(encoding="utf-8")
        text = TOKEN.sub(lambda match: match[0] if match[0][0] in "\"'" and "\n" not in match[0] else
                         "\n" * match[0].count("\n"), text)
        self.name = name
        self.stem = name.rpartition(".")[0]
        self.is_header = path.suffix in HEADERS
        self.words = collections.Counter(WORD.findall(text))
        self.defined = collections.Counter()
        self.free = set()
        if self.is_header:
            for match in FUNCTION.finditer(text):
                self.defined[match["name"]] += 1
                if not match["indent"] and is_declaration(text, match.end()):
                    self.free.add(match["name"])
            for pattern in (CONSTANT, TYPE):
                self.defined.update(match["name"] for match in pattern.finditer(text))
        else:
            self.defined.update(match["name"] for match in DEFINITION.finditer(text))

    def uses(self, name):
        return self.words[name] - self.defined[name]


def is_declaration(text, at):
    """Whether what begins at `at`, inside a function's parentheses, ends without a body."""
    return re.compile(r"[;{]").search(text, at)[0] == ";"


def read(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield File(path, path.relative_to(root).as_posix())


def is_own(users, header, name):
    """Whether only the source that defines the name uses it, so that it need not be in the header."""
    return all(file.stem == header.stem and not file.is_header and file.defined[name] for file in users)


def complaints(root):
    """(name, what is wrong with it)"""
    files, tests = list(read(root, LAYERS)), list(read(root, ["tests"]))
    users = collections.defaultdict(set)
    for file in files + tests:
        for name in file.words:
            if file.uses(name) > 0:
                users[name].add(file)
    for header in files:
        if not header.is_header:
            continue
        for name in sorted(header.defined):
            layers = [file for file in users[name] if not file.name.startswith("tests/")]
            if not layers:
                who = "only tests use" if users[name] else "nobody uses"
                yield name, f"{header.name}: {who} {name}"
            elif name in header.free and is_own(users[name], header, name):
                yield name, f"{header.name}: only {layers[0].name} uses {name}, and defines it"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    allowed = set()
    if len(sys.argv) > 2:
        lines = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
        allowed = {line.split()[0] for line in lines if line and not line.startswith("#")}
    found = list(complaints(root))
    wrong = [sentence for name, sentence in found if name not in allowed]
    wrong += [f"{name} is used: take it off {sys.argv[2]}" for name in sorted(allowed - {name for name, _ in found})]
    print("\n".join(wrong) if wrong else "unused: everything public has a user")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
