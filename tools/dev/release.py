#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a release's version and date into every file that says them: release.py ROOT VERSION DATE NOTES

DATE is YYYY-MM-DD. NEWS.md must begin with a section of this version, marked "(unreleased)"; its
text goes to the file NOTES. Who maintains the packages, and the project's home page where it has
one, packaging/addresses.json says for all of them; and below which address the pictures of
docs/manual can be fetched, which makes them the screenshots of software centres.
"""

import datetime
import email.utils
import json
import pathlib
import re
import sys

from steps import fail

METAINFO = "packaging/org.gimp.GIMP.Plugin.Grainless.metainfo.xml"
DEBIAN_ENTRY = """\
grainless ({version}-0grainless1) unstable; urgency=medium

  * New release: NEWS.md tells what changed.

 -- {maintainer}  {date}

"""


SCREENSHOTS = {
    "dialog.png": "The dialog, with the original on the left of the line and the result on its right",
    "removed-noise.png": "The noise that was removed",
    "stack.png": "A burst of photographs, denoised together",
}


def replace(path, pattern, text):
    """The first match, which must be there."""
    old = path.read_text(encoding="utf-8")
    new, count = re.subn(pattern, lambda _: text, old, count=1, flags=re.MULTILINE)
    if count != 1:
        fail(f"{path} has no place for the version")
    path.write_text(new, encoding="utf-8")


def notes(root, version):
    """The section of NEWS.md."""
    news = (root / "NEWS.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(version)} \(unreleased\)\n(.*?)(?=^## |\Z)",
        news,
        re.MULTILINE | re.DOTALL,
    )
    if section is None or news.index("\n## ") + 1 != section.start() or not section[1].strip():
        fail(f"NEWS.md does not begin with a section '## {version} (unreleased)' that says what is new")
    return section[1].strip() + "\n"


def addresses(root):
    """Brings them into the packages' descriptions; returns the maintainer."""
    known = json.loads((root / "packaging/addresses.json").read_text(encoding="utf-8"))
    maintainer, page = known["maintainer"], known["homepage"]
    control = root / "packaging/debian/control"
    replace(control, r"^Maintainer:.*$", f"Maintainer: {maintainer}")
    for path, pattern, field in (
        (control, r"^Homepage:.*\n", f"Homepage: {page}\n"),
        (root / "packaging/rpm/grainless.spec", r"^URL:.*\n", f"URL:            {page}\n"),
        (root / METAINFO, r'^  <url type="homepage">.*\n', f'  <url type="homepage">{page}</url>\n'),
    ):
        old = re.sub(pattern, "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        path.write_text(old, encoding="utf-8")
        if page:
            before = {"control": r"^(?=Rules-)", "grainless.spec": r"^(?=Source0:)"}
            replace(path, before.get(path.name, r"^(?=  <releases>)"), field)
    screenshots(root / METAINFO, known["pictures"])
    return maintainer


def screenshots(path, address):
    """None without an address: AppStream knows no pictures of the package's own."""
    old = path.read_text(encoding="utf-8")
    old = re.sub(r"^  <screenshots>\n.*^  </screenshots>\n", "", old, flags=re.MULTILINE | re.DOTALL)
    path.write_text(old, encoding="utf-8")
    if not address:
        return
    text = "  <screenshots>\n"
    for kind, (name, caption) in zip([' type="default"', "", ""], SCREENSHOTS.items()):
        image = f"{address.rstrip('/')}/{name}"
        text += f"    <screenshot{kind}>\n      <caption>{caption}</caption>\n      <image>{image}</image>\n    </screenshot>\n"
    replace(path, r"^(?=  <releases>)", text + "  </screenshots>\n")


def debian_changelog(root, version, day, maintainer):
    """A section a version; that of the first release is there already."""
    path = root / "packaging/debian/changelog"
    old = path.read_text(encoding="utf-8")
    date = email.utils.format_datetime(
        datetime.datetime.combine(day, datetime.time(12), datetime.timezone.utc)
    )
    if old.startswith(f"grainless ({version}-"):
        replace(path, r"^ -- .*$", f" -- {maintainer}  {date}")
        return
    entry = DEBIAN_ENTRY.format(version=version, maintainer=maintainer, date=date)
    path.write_text(entry + old, encoding="utf-8")


def rpm_changelog(path, version, heading):
    """As debian_changelog()."""
    known = rf"^\* .* - {re.escape(version)}-1$"
    if re.search(known, path.read_text(encoding="utf-8"), re.MULTILINE):
        replace(path, known, heading)
    else:
        replace(path, r"^%changelog$", f"%changelog\n{heading}\n- New release.\n")


def metainfo(root, version, date):
    path = root / METAINFO
    release = f'    <release version="{version}" date="{date}"/>\n'
    old = path.read_text(encoding="utf-8")
    others = re.sub(rf'    <release version="{re.escape(version)}".*/>\n', "", old)
    path.write_text(others.replace("  <releases>\n", "  <releases>\n" + release), encoding="utf-8")


def main():
    root, version, date = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        fail(f"a version is MAJOR.MINOR.PATCH, as in 0.2.0; '{version}' is none")
    day = datetime.date.fromisoformat(date)
    text = notes(root, version)
    maintainer = addresses(root)
    pathlib.Path(sys.argv[4]).write_text(text, encoding="utf-8")
    replace(root / "meson.build", r"^  version: '.*',$", f"  version: '{version}',")
    replace(root / "NEWS.md", r"^## .*$", f"## {version} ({date})")
    replace(root / "packaging/rpm/grainless.spec", r"^Version:.*$", f"Version:        {version}")
    rpm_changelog(root / "packaging/rpm/grainless.spec", version, f"* {day:%a %b %d %Y} {maintainer} - {version}-1")
    debian_changelog(root, version, day, maintainer)
    metainfo(root, version, date)
    replace(
        root / "docs/manual/grainless.html",
        r"belongs to Grainless \d+\.\d+\.\d+",
        f"belongs to Grainless {version}",
    )


if __name__ == "__main__":
    main()
