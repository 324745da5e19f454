#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the manual: check.py MANUAL [SOURCE_ROOT]

Its tags are closed, its links and pictures lead somewhere without a network, and it names every control, preset and
key that the sources know.
"""
import html.parser
import pathlib
import re
import sys

VOID = {"meta", "img", "link", "br", "hr", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.problems, self.words = [], set(), [], [], []
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.add(values["id"])
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag == "img" and not values.get("alt"):
            self.problems.append(f"the picture {values.get('src')} has no description")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes nothing")

    def handle_data(self, data):
        self.words.append(data)


def link_problems(path, page):
    for link in page.links:
        if link.startswith("#"):
            if link[1:] not in page.ids:
                yield f"{link} leads nowhere"
        elif re.match(r"[a-z]+:|//", link):
            yield f"{link} needs a network"
        elif not (path.parent / link).is_file():
            yield f"there is no file {link}"


def known_names(root):
    """Labels of controls and presets, and the parameters' keys, as the sources have them."""
    params = (root / "engine/params/params.cpp").read_text(encoding="utf-8")
    presets = (root / "engine/params/preset.cpp").read_text(encoding="utf-8")
    labels = re.findall(r'\.label = N_\("([^"]+)"\)', params)
    keys = re.findall(r'\.key = "([a-z0-9.-]+)"', params)
    names = re.findall(r'^    \{"[a-z-]+",\s*N_\("([^"]+)"\)', presets, re.M)
    assert len(labels) == len(keys) > 10 and len(names) > 5, (len(labels), len(keys), len(names))
    return [label.replace("_", "") for label in labels] + keys + names


def complaints(path, root=None):
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    yield from page.problems
    yield from link_problems(path, page)
    if root is not None:
        said = " ".join(" ".join(page.words).split())
        yield from (f"'{name}' is not explained" for name in known_names(root) if name not in said)


def main():
    found = list(complaints(pathlib.Path(sys.argv[1]), *map(pathlib.Path, sys.argv[2:])))
    print("\n".join(found) if found else "manual: complete, and every link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
