#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Brings po/ up to date with the sources: translations.py [LANGUAGE…]

Writes po/POTFILES and po/grainless.pot, and merges new strings into every catalogue, where they wait
for a translator without a guess in their place. A LANGUAGE that is new gets a catalogue of its own
and joins po/LINGUAS. Then says what is left to do.
"""

import pathlib
import re
import subprocess
import sys

from steps import fail, step

ROOT = pathlib.Path(__file__).resolve().parents[2]
PO = ROOT / "po"
sys.path.insert(0, str(PO))
import check  # noqa: E402
import strings  # noqa: E402

LANGUAGES = {
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt_BR": "Brazilian Portuguese",
    "ru": "Russian",
    "zh_CN": "Simplified Chinese",
}
HEADER = """\
# {name} translation of Grainless.
# SPDX-License-Identifier: MIT
# Machine-made; corrections are welcome.
#
"""


def run(*command):
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def without_date(text):
    return re.sub(r'"POT-Creation-Date:.*\n', "", text)


def write_template():
    """A new date alone is no change."""
    files = strings.marked_files(ROOT)
    (PO / "POTFILES").write_text("\n".join(files) + "\n", encoding="utf-8")
    path, text = PO / "grainless.pot", strings.extract(ROOT, files)
    if not path.exists() or without_date(path.read_text(encoding="utf-8")) != without_date(text):
        path.write_text(text, encoding="utf-8")
    return path


def new_catalogue(language, template):
    if language not in LANGUAGES:
        fail(f"'{language}' is not known: add its English name to LANGUAGES in {__file__}")
    path = PO / f"{language}.po"
    run("msginit", "--no-translator", f"--locale={language}.UTF-8", f"--input={template}",
        f"--output-file={path}")
    text = path.read_text(encoding="utf-8")
    text = text[text.index('msgid ""'):]
    text = re.sub(r'"Last-Translator: .*\\n"', r'"Last-Translator: machine-made\\n"', text)
    text = re.sub(r'"Language-Team: .*\\n"', rf'"Language-Team: {LANGUAGES[language]}\\n"', text)
    path.write_text(HEADER.format(name=LANGUAGES[language]) + text, encoding="utf-8")


def merge(language, template):
    path = PO / f"{language}.po"
    run("msgmerge", "--update", "--no-fuzzy-matching", "--backup=none", "--no-location", path, template)
    run("msgattrib", "--no-obsolete", "--no-location", f"--output-file={path}", path)
    missing = [text for text in check.entries(path.read_text(encoding="utf-8")).values() if not text]
    step(f"po/{language}.po: {len(missing)} strings without a translation")


def main():
    template = write_template()
    listed = (PO / "LINGUAS").read_text(encoding="utf-8").split()
    for language in sys.argv[1:]:
        if not (PO / f"{language}.po").exists():
            new_catalogue(language, template)
    languages = sorted({*listed, *sys.argv[1:]})
    for language in languages:
        merge(language, template)
    (PO / "LINGUAS").write_text("\n".join(languages) + "\n", encoding="utf-8")
    print("\n".join(check.complaints(ROOT)) or "translations: nothing left to do")


if __name__ == "__main__":
    main()
