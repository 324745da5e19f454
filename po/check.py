#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the translations: check.py SOURCE_ROOT

What users read is marked in the sources, the template knows every marked string, every catalogue is complete and
well-formed, every control has a mnemonic, and in each language no two controls of one window share one.
"""
import gettext
import pathlib
import re
import subprocess
import sys
import tempfile

from strings import extract, marked_files, unmarked_strings

MENU = {"Grainless _Denoise…", "Grainless Denoise Layer _Stack…", "Grainless Denoise as _Effect…"}  # stand in GIMP's menu
# Only in the dialog for pictures, and only in the one for stacks.
PICTURES = {"_Method", "_Quality", "R_eference step", "_Group size", "Trans_form", "Num_ber of scales",
            "As an ad_justable layer effect"}
STACKS = {"Ad_jacent layers", "Lay_er"}
# Labels that share a window with nothing but each other; all others are in the dialogs.
OTHER_WINDOWS = [
    {"_Save As…", "_Rename…", "_Delete…", "_Import…", "_Export…"},
    {"_Name of the preset:", "_Cancel", "_Save"}, {"_Name of the preset:", "_Cancel", "_Rename"},
    {"_Cancel", "_Delete"}, {"_Cancel", "_Replace"}, {"_Cancel", "_Import"}, {"_Cancel", "_Export"}, {"_Close"},
]
# Labels of one button, now this, now that.
ALTERNATIVES = {"Measure the visib_le part": "Measure the se_lection"}
# Of the dialogs' controls, those that have none: the alphabet is used up.
WITHOUT = {"Shadows", "Highlights", "Hot pixels", "Picture compared", "Stages taken", "Weights by", "Look for",
           "GPU memory limit (MiB)"}
GIMPS_BUTTONS = ("_Reset", "_Cancel", "_OK", "_Help")  # in the dialog, translated by GIMP
# Not shown, and yet GIMP compares the labels of its spin scales, the numbers with a fraction, with them.
HIDDEN_BUTTONS = ("_Load Saved Settings", "_Save Settings")


def unquoted(block):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', block))


def entries(text):
    """msgid → msgstr of a catalogue."""
    found = {}
    for block in re.split(r"\n\s*\n", text):
        parts = re.match(r"(?:#.*\n)*msgid\s+(.*?)\nmsgstr\s+(.*)", block.strip(), re.S)
        plural = re.match(r"(?:#.*\n)*msgid\s+(.*?)\nmsgid_plural\s+(.*?)\n(msgstr\[0\].*)", block.strip(), re.S)
        if plural:
            # Every form has to be there; the last is the one that many have.
            forms = [unquoted(form) for form in re.split(r"msgstr\[\d\]\s+", plural[3])[1:]]
            found[unquoted(plural[2])] = forms[-1] if all(forms) else ""
        elif parts:
            found[unquoted(parts[1])] = unquoted(parts[2])
    found.pop("", None)
    return found


def has_mnemonic(label):
    return re.search(r"_\w", label) is not None


def mnemonic(label):
    return label[label.index("_") + 1].lower()


def mnemonic_clashes(language, labels, taken):
    owners = dict.fromkeys(taken, "a button of GIMP's dialog")
    for label in labels:
        if mnemonic(label) in owners:
            yield f"{language}: '{label}' and '{owners[mnemonic(label)]}' share the mnemonic {mnemonic(label)}"
        owners[mnemonic(label)] = label


def spin_scales(root):
    params = (root / "engine/params/params.cpp").read_text(encoding="utf-8")
    return re.findall(r'ParamType::kDouble,.*?\.label = N_\("([^"]*_[^"]*)"\)', params, re.S)


def controls(root):
    """The labels of the dialogs' controls: the parameters', and those of the arguments that are none."""
    for name, pattern in (("engine/params/params.cpp", r'\.label = N_\("([^"]*)"\)'),
                          ("plugin/procedure.cpp", r'add_boolean_argument\(\s*procedure, k\w+Key, _\("([^"]*)"\)')):
        found = re.findall(pattern, (root / name).read_text(encoding="utf-8"))
        if not found:
            yield f"no label in {name}"
        yield from found


def nameless_keys(root):
    """Controls that no key reaches at once."""
    found = {label for label in controls(root) if not has_mnemonic(label)}
    yield from (f"'{label}' has no mnemonic" for label in sorted(found - WITHOUT))
    yield from (f"check.py knows a control that has a mnemonic, or that is none: '{label}'" for label in sorted(WITHOUT - found))


def mnemonic_problems(root, language, catalogue):
    """catalogue: English → the language's text."""
    labels = {source: text for source, text in catalogue.items()
              if has_mnemonic(source) and has_mnemonic(text) and source not in MENU}
    gimp = gettext.translation("gimp30-libgimp", "/usr/share/locale", [language], fallback=True).gettext
    taken, hidden = ({mnemonic(gimp(button)) for button in buttons if has_mnemonic(gimp(button))}
                     for buttons in (GIMPS_BUTTONS, HIDDEN_BUTTONS))
    for source in spin_scales(root):
        if source in labels and mnemonic(labels[source]) in hidden:
            yield f"{language}: '{labels[source]}' has the mnemonic of GIMP's hidden Load or Save Settings"
    elsewhere = set().union(*OTHER_WINDOWS)
    unknown = (PICTURES | STACKS | elsewhere | set(ALTERNATIVES) | set(ALTERNATIVES.values())) - set(catalogue)
    yield from (f"check.py knows a label that nobody has: '{label}'" for label in sorted(unknown))
    for absent in (PICTURES, STACKS):
        for button in (set(ALTERNATIVES), set(ALTERNATIVES.values())):
            yield from mnemonic_clashes(language, [text for source, text in labels.items()
                                                   if source not in elsewhere | button | absent], taken)
    for window in OTHER_WINDOWS:
        yield from mnemonic_clashes(language, [text for source, text in labels.items() if source in window], set())


def format_problems(path):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["msgfmt", "--check", "--statistics", f"--output-file={folder}/x.mo", path],
                             capture_output=True, text=True, check=False)
    if run.returncode != 0 or "fuzzy" in run.stderr or "untranslated" in run.stderr:
        yield run.stderr.strip()


def check_language(root, language, template):
    path = root / "po" / f"{language}.po"
    yield from (f"{language}: {problem}" for problem in format_problems(path))
    text = path.read_text(encoding="utf-8")
    if "Machine-made" in text and "corrections are welcome" not in text:
        yield f"{language}: the header doesn't invite corrections"
    catalogue = entries(text)
    if set(catalogue) != set(template):
        yield f"{language}: not the template's strings: {sorted(set(catalogue) ^ set(template))}"
    for source, translated in catalogue.items():
        if source in template and translated and has_mnemonic(source) != has_mnemonic(translated):
            yield f"{language}: '{source}' and '{translated}' don't both have a mnemonic"
        if source.endswith("…") != translated.endswith("…") and translated:
            yield f"{language}: '{source}' and '{translated}' don't both end in …"
    yield from mnemonic_problems(root, language, catalogue)


def complaints(root):
    yield from unmarked_strings(root)
    listed = (root / "po/POTFILES").read_text(encoding="utf-8").split()
    if listed != marked_files(root):
        yield f"po/POTFILES is not up to date (./dev translations): {sorted(set(listed) ^ set(marked_files(root)))}"
    template = entries((root / "po/grainless.pot").read_text(encoding="utf-8"))
    difference = set(entries(extract(root))) ^ set(template)
    if difference:
        yield f"po/grainless.pot is not up to date (./dev translations): {sorted(difference)}"
    yield from nameless_keys(root)
    yield from mnemonic_problems(root, "en", {text: text for text in template})
    for language in (root / "po/LINGUAS").read_text(encoding="utf-8").split():
        yield from check_language(root, language, template)


def main():
    found = list(dict.fromkeys(complaints(pathlib.Path(sys.argv[1]))))
    print("\n".join(found) if found else "translations: marked, complete, well-formed, mnemonics unique")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
