#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds code that stands in two places: duplicates.py SOURCE_ROOT [ALLOWED]

A duplicate is a run of at least LINES lines that say the same once comments, white space, includes and lines without a
word are left out. Each line of ALLOWED is 'LINES FILE FILE reason' (the same file twice for a duplicate inside it):
so many equal lines are let be between the two. A line that allows more than is there fails, too, so that the list can
only become shorter.
"""
import collections
import io
import pathlib
import re
import sys
import tokenize

LINES = 10
FOLDERS = ("engine", "cuda", "ui", "plugin", "tools", "python", "tests", "po", "docs", ".ci")
C_LIKE = {".cpp", ".h", ".cu", ".cuh", ".inc"}
SUFFIXES = C_LIKE | {".py", ".sh"}
# Strings first: what looks like a comment inside one is none.
C_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)
TRIVIAL = re.compile(r"#\s*(include|pragma|if|endif|else|undef)\b|import |from .* import|using |namespace |@")


def blank(text):
    return "\n" * text.count("\n")


def without_c_comments(text):
    return C_TOKEN.sub(lambda match: blank(match[0]) if match[0].startswith("/") else match[0], text)


def without_python_comments(text):
    """Without strings that stand alone, too: those are comments with another mark."""
    lines = text.split("\n")
    alone = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
        elif token.type == tokenize.STRING and alone and token.line.strip().startswith(('"""', "'''")):
            for row in range(token.start[0], token.end[0] + 1):
                lines[row - 1] = ""
        alone = token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)
    return "\n".join(lines)


def code_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix in C_LIKE:
        return without_c_comments(text)
    if path.suffix == ".py":
        return without_python_comments(text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def lines_of(path):
    """The lines that count: (number in the file, what it says)."""
    for number, line in enumerate(code_of(path).split("\n"), 1):
        says = " ".join(line.split())
        if re.search(r"\w", says) and not TRIVIAL.match(says):
            yield number, says


def sources(root):
    yield root / "dev"
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)


def duplicates(root):
    """(lines, file, first line, file, first line) of every longest run of equal lines."""
    files = {path.relative_to(root).as_posix(): list(lines_of(path)) for path in sources(root) if path.is_file()}
    places = collections.defaultdict(list)
    for name, lines in files.items():
        for at in range(len(lines) - LINES + 1):
            places[tuple(says for _, says in lines[at:at + LINES])].append((name, at))
    pairs = {(one, other) for equal in places.values() for i, one in enumerate(equal) for other in equal[i + 1:]}
    for one, other in sorted(pairs):
        if ((one[0], one[1] - 1), (other[0], other[1] - 1)) in pairs:
            continue  # it goes on from the line before
        more = 0
        while ((one[0], one[1] + more + 1), (other[0], other[1] + more + 1)) in pairs:
            more += 1
        # A run that repeats itself is a table.
        if one[0] != other[0] or other[1] - one[1] >= LINES:
            yield LINES + more, one[0], files[one[0]][one[1]][0], other[0], files[other[0]][other[1]][0]


def allowed_lines(path):
    allowed = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            lines, one, other, _ = line.split(None, 3)
            allowed[one, other] = int(lines)
    return allowed


def complaints(root, allowed):
    found = collections.defaultdict(list)
    for lines, one, at_one, other, at_other in duplicates(root):
        found[one, other].append((lines, f"{one}:{at_one} and {other}:{at_other} say the same for {lines} lines"))
    for pair, runs in found.items():
        if sum(lines for lines, _ in runs) > allowed.get(pair, 0):
            yield from (sentence for _, sentence in runs)
    for pair, lines in allowed.items():
        there = sum(lines for lines, _ in found[pair])
        if there < lines:
            yield f"{lines} equal lines are allowed in {' and '.join(pair)}, {there} are there: shorten the list"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(complaints(root, allowed_lines(pathlib.Path(sys.argv[2])) if len(sys.argv) > 2 else {}))
    print("\n".join(found) if found else f"duplicates: no {LINES} lines stand in two places")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
