#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every link of a Markdown page leads to a file of the project, and to a heading of it: links.py ROOT

Addresses of the web are left alone. The manual's own links are checked by docs/manual/check.py."""

import pathlib
import re
import sys


def pages(root):
    return [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("tools/bench/*.md")]


def anchors(text, page):
    """The names that a link may end in: GitHub's of the headings, or the ids."""
    if page.suffix == ".html":
        return set(re.findall(r'\bid="([^"]+)"', text))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text):
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]


def broken(root):
    found = []
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for link in links(text):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists():
                found.append(f"{page.relative_to(root)}: there is no {path}")
            elif anchor and anchor not in anchors(target.read_text(encoding="utf-8"), target):
                found.append(f"{page.relative_to(root)}: {link} leads to no heading")
    return found


if __name__ == "__main__":
    lines = broken(pathlib.Path(sys.argv[1]))
    print("\n".join(lines) or "every link leads somewhere")
    sys.exit(1 if lines else 0)
