#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the translations: check.py SOURCE_ROOT

The template knows every string of the sources, every catalogue is complete and well-formed, and in each language no
two controls of the dialog share a mnemonic.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

KEYWORDS = ["--keyword=_", "--keyword=N_", "--from-code=UTF-8", "--no-location"]
MENU = "Grainless _Denoise…"  # stands in a menu, not in the dialog
DIALOG = set("rcolsh")        # GIMP's own: Reset, Cancel, OK, Load, Save, Help; in English


def unquoted(block):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', block))


def entries(text):
    """msgid → msgstr of a catalogue."""
    found = {}
    for block in re.split(r"\n\s*\n", text):
        parts = re.match(r"(?:#.*\n)*msgid\s+(.*?)\nmsgstr\s+(.*)", block.strip(), re.S)
        if parts:
            found[unquoted(parts[1])] = unquoted(parts[2])
    found.pop("", None)
    return found


def current_strings(root):
    run = subprocess.run(["xgettext", *KEYWORDS, "--files-from=po/POTFILES", "--output=-"], cwd=root, check=True,
                         capture_output=True, text=True)
    return set(entries(run.stdout))


def forgotten_sources(root):
    listed = set((root / "po/POTFILES").read_text(encoding="utf-8").split())
    for folder in ("engine", "ui", "plugin"):
        for path in sorted((root / folder).rglob("*.cpp")):
            name = str(path.relative_to(root))
            if name not in listed and re.search(r'\bN?_\(\s*"', path.read_text(encoding="utf-8")):
                yield f"{name} has strings and is not in po/POTFILES"


def mnemonic_clashes(language, labels, taken):
    owners = {letter: "GIMP's dialog" for letter in taken}
    for label in labels:
        letter = label[label.index("_") + 1].lower()
        if letter in owners:
            yield f"{language}: '{label}' and '{owners[letter]}' share the mnemonic {letter}"
        owners[letter] = label


def check_language(root, language, template):
    path = root / "po" / f"{language}.po"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["msgfmt", "--check", "--statistics", f"--output-file={folder}/x.mo", path],
                             capture_output=True, text=True, check=False)
    if run.returncode != 0 or "fuzzy" in run.stderr or "untranslated" in run.stderr:
        yield f"{language}: {run.stderr.strip()}"
    catalogue = entries(path.read_text(encoding="utf-8"))
    if set(catalogue) != set(template):
        yield f"{language}: not the template's strings: {sorted(set(catalogue) ^ set(template))}"
    for source, text in catalogue.items():
        if ("_" in source) != ("_" in text):
            yield f"{language}: '{source}' and '{text}' don't both have a mnemonic"
    labels = [text for source, text in catalogue.items() if "_" in source and source != MENU and "_" in text]
    yield from mnemonic_clashes(language, labels, set())


def complaints(root):
    yield from forgotten_sources(root)
    template = entries((root / "po/grainless.pot").read_text(encoding="utf-8"))
    difference = current_strings(root) ^ set(template)
    if difference:
        yield f"po/grainless.pot is not up to date (ninja grainless-pot grainless-update-po): {sorted(difference)}"
    yield from mnemonic_clashes("en", [text for text in template if "_" in text and text != MENU], DIALOG)
    for language in (root / "po/LINGUAS").read_text(encoding="utf-8").split():
        yield from check_language(root, language, template)


def main():
    found = list(complaints(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "translations: complete, well-formed, mnemonics unique")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
