#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The packages' descriptions agree with the project: metadata_test.py SOURCE_ROOT"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from needed import PLUG_IN, TOOL

ROOT = pathlib.Path(sys.argv[1])
PACKAGING = ROOT / "packaging"


def read(*parts):
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def find(pattern, *parts):
    return re.search(pattern, read(*parts), re.MULTILINE)[1]


class Metadata(unittest.TestCase):
    def test_one_version(self):
        version = find(r"^  version: '(.+)',$", "meson.build")
        metainfo = xml.etree.ElementTree.parse(PACKAGING / "org.gimp.GIMP.Plugin.Grainless.metainfo.xml")
        self.assertEqual(find(r"^grainless \((.+)-\w+\)", "packaging", "debian", "changelog"), version)
        self.assertEqual(find(r"^Version: +(\S+)$", "packaging", "rpm", "grainless.spec"), version)
        self.assertEqual(metainfo.find("releases/release").get("version"), version)
        self.assertEqual(find(r"^## (\S+)", "NEWS.md"), version)
        self.assertEqual(find(r"belongs to Grainless (\d+\.\d+\.\d+)", "docs", "manual", "grainless.html"), version)

    def test_one_address(self):
        """packaging/addresses.json is the place to change it; ./dev release brings it into the others."""
        known = json.loads(read("packaging", "addresses.json"))
        self.assertEqual(find(r"^Maintainer: (.+)$", "packaging", "debian", "control"), known["maintainer"])
        self.assertEqual(find(r"^ -- (.+)  ", "packaging", "debian", "changelog"), known["maintainer"])
        self.assertEqual(find(r"^\* \w+ \w+ \d+ \d+ (.+) - ", "packaging", "rpm", "grainless.spec"), known["maintainer"])
        for pattern, *path in ((r"^Homepage: (.+)$", "debian", "control"), (r"^URL: +(.+)$", "rpm", "grainless.spec"),
                               (r'^  <url type="homepage">(.+)</url>$', "org.gimp.GIMP.Plugin.Grainless.metainfo.xml")):
            found = re.findall(pattern, read("packaging", *path), re.MULTILINE)
            self.assertEqual(found, [known["homepage"]] if known["homepage"] else [], path)

    def test_screenshots(self):
        """Of the manual's pictures, below the address that addresses.json names; without one there are none."""
        address = json.loads(read("packaging", "addresses.json"))["pictures"]
        metainfo = xml.etree.ElementTree.parse(PACKAGING / "org.gimp.GIMP.Plugin.Grainless.metainfo.xml")
        images = [image.text for image in metainfo.iterfind("screenshots/screenshot/image")]
        self.assertEqual(bool(images), bool(address))
        for image in images:
            self.assertEqual(image.rpartition("/")[0], address.rstrip("/"))
            self.assertTrue((ROOT / "docs" / "manual" / image.rpartition("/")[2]).exists(), image)

    def test_flatpak_extension(self):
        manifest = json.loads(read("packaging", "flatpak", "org.gimp.GIMP.Plugin.Grainless.json"))
        self.assertEqual((manifest["id"], manifest["branch"]), ("org.gimp.GIMP.Plugin.Grainless", "3"))
        sources = [source for module in manifest["modules"] for source in module["sources"]]
        for library in ("highway", "kissfft"):
            source = next(source for source in sources if library in source.get("url", ""))
            self.assertEqual(source["sha256"], find(r"^source_hash = (.+)$", "subprojects", f"{library}.wrap"))
        self.assertTrue(all("sha256" in source for source in sources if source["type"] == "archive"))
        self.assertEqual((manifest["modules"][-1]["sources"][0]["path"]), "../..")

    def test_packages_ask_for_what_the_build_needs(self):
        """Each -dev package that ./dev installs for engine, plug-in and tools is in Debian's Build-Depends."""
        wanted = set(re.findall(r"^(lib\S+-dev|nlohmann\S+)$", read("tools", "dev", "packages"), re.MULTILINE))
        wanted -= {"libgtest-dev", "libgmock-dev", "libbenchmark-dev", "libclang-rt-19-dev", "libz-mingw-w64-dev"}
        self.assertGreater(len(wanted), 8)
        asked = set(re.findall(r"[\w.+-]+", read("packaging", "debian", "control").split("\n\n", maxsplit=1)[0]))
        self.assertEqual(wanted - asked, set())

    def test_licences_of_what_is_linked(self):
        text = read("packaging", "THIRD-PARTY.md").lower()
        names = {"libjpeg-turbo" if "jpeg" in library else "little cms" if "lcms" in library else "zlib" if library == "libz.so.1"
                 else re.sub(r"^lib|-?[\d.]*\.so.*|16", "", library) for library in TOOL | PLUG_IN}
        families = {"gimp": "libgimp", "gimpbase": "libgimp", "gimpcolor": "libgimp", "gimpconfig": "libgimp",
                    "gimpui": "libgimp", "gimpwidgets": "libgimp", "gio": "glib",
                    "gobject": "glib", "gdk": "gtk", "pangocairo": "pango", "png": "libpng", "tiff": "libtiff"}
        for name in sorted(families.get(name, name) for name in names):
            with self.subTest(library=name):
                self.assertIn(name, text)

    def test_licences_go_along(self):
        """Copyright notices of what is inside binaries are in each package that has some."""
        notices, debian = "packaging/THIRD-PARTY.md", PACKAGING / "debian"
        packages = re.findall(r"^Package: (.+)$", read("packaging", "debian", "control"), re.MULTILINE)
        for package in packages:
            with self.subTest(package=package):
                listed = debian / f"{package}.docs"
                self.assertIn(notices, listed.read_text(encoding="utf-8").split() if listed.exists() else [])
        spec = read("packaging", "rpm", "grainless.spec")
        self.assertEqual(len(re.findall(r"^%files", spec, re.MULTILINE)), spec.count(f"%license LICENSE {notices}"))
        self.assertIn(notices, read("packaging", "flatpak", "org.gimp.GIMP.Plugin.Grainless.json"))
        self.assertIn(notices, read("python", "grainless", "meson.build"))
        self.assertIn(notices, read("tools", "dev", "package.sh"))


class Install(unittest.TestCase):
    """The portable archive's install.sh on a made-up plug-in and profile."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.archive = pathlib.Path(folder.name) / "archive"
        self.home = pathlib.Path(folder.name) / "home of [a] usér*"
        pathlib.Path(folder.name, "home of a usér").mkdir()
        (self.archive / "grainless" / "locale" / "de").mkdir(parents=True)
        (self.archive / "grainless" / "grainless").write_text("binary")
        (self.archive / "grainless" / "locale" / "de" / "words.mo").write_text("words")
        (self.archive / "install.sh").write_bytes((PACKAGING / "portable" / "install.sh").read_bytes())
        (self.archive / "effect" / "grainless").mkdir(parents=True)
        (self.archive / "effect" / "grainless" / "grainless-engine").write_text("helper")
        (self.archive / "effect" / "grainless-effect.so").write_text("module")
        self.data = [self.home / ".local/share", self.home / ".var/app/org.gimp.GIMP/data"]
        self.profile = self.home / ".config" / "GIMP" / "3.2"
        self.flatpak = self.home / ".var/app/org.gimp.GIMP/config/GIMP/3.0"
        self.installed = self.profile / "plug-ins" / "grainless"

    def run_script(self, *arguments, programs=""):
        environment = {"PATH": programs + os.environ["PATH"], "HOME": str(self.home)}
        return subprocess.run(["sh", self.archive / "install.sh", *arguments], env=environment, capture_output=True, text=True,
                              check=False)

    def test_every_file_arrives_and_goes(self):
        for folder in (self.profile, self.flatpak):
            folder.mkdir(parents=True)
        self.assertEqual(self.run_script().returncode, 0)
        for folder in (self.profile, self.flatpak):
            self.assertTrue((folder / "plug-ins/grainless/locale/de/words.mo").exists())
        for folder in self.data:
            self.assertTrue((folder / "gegl-0.4/plug-ins/grainless-effect.so").exists())
            self.assertTrue((folder / "grainless/grainless-engine").exists())
        (self.archive / "grainless" / "locale" / "de" / "words.mo").unlink()
        (self.installed / "notes of the user").touch()
        self.assertEqual(self.run_script().returncode, 0)
        self.assertFalse((self.installed / "locale/de/words.mo").exists())
        self.assertEqual(self.run_script("--uninstall").returncode, 0)
        self.assertEqual([path.name for path in self.installed.iterdir()], ["notes of the user"])
        self.assertEqual(list((self.flatpak / "plug-ins").iterdir()), [])
        for folder in self.data:
            self.assertEqual(list(folder.iterdir()), [])

    def break_off(self):
        """An installation that ends in the middle, as on a full disk."""
        copy = self.archive / "bin" / "cp"
        copy.parent.mkdir(exist_ok=True)
        copy.write_text('#!/bin/sh\necho half >"$3/grainless"\nexit 1\n')
        copy.chmod(0o755)
        self.assertNotEqual(self.run_script(programs=f"{copy.parent}:").returncode, 0)
        self.assertEqual((self.installed / "grainless").read_text(), "half\n")

    def test_a_copy_that_broke_off(self):
        """It stands in the way of nothing, and goes as a whole one does, though files are missing."""
        self.profile.mkdir(parents=True)
        for earlier in range(2):  # none, then a whole one
            self.break_off()
            run = self.run_script()
            self.assertEqual(run.returncode, 0, (earlier, run.stderr))
            self.assertEqual((self.installed / "grainless").read_text(), "binary")
            self.assertTrue((self.installed / "locale/de/words.mo").exists())
        self.break_off()
        self.assertEqual(self.run_script("--uninstall").returncode, 0)
        self.assertFalse(self.installed.exists())

    def test_uninstall_alone(self):
        """Nothing to remove is said; the effect goes, too, when GIMP's settings are gone."""
        run = self.run_script("--uninstall")
        self.assertEqual((run.returncode, run.stdout), (0, "nothing to remove: this script has put nothing there\n"))
        self.profile.mkdir(parents=True)
        self.assertEqual(self.run_script().returncode, 0)
        (self.data[0] / "gegl-0.4/plug-ins/another.so").touch()
        shutil.rmtree(self.home / ".config")
        self.assertIn("removed: the effect", self.run_script("--uninstall").stdout)
        self.assertEqual([path.name for path in self.data[0].rglob("*") if path.is_file()], ["another.so"])

    def test_refusals(self):
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn("start GIMP 3 once", run.stderr)
        self.installed.mkdir(parents=True)
        run = self.run_script()
        self.assertEqual(run.returncode, 1)
        self.assertIn("stays as it is", run.stderr)
        self.assertEqual(list(self.installed.iterdir()), [])
        self.assertIn("usage", self.run_script("--nonsense").stderr)
        self.installed.rmdir()
        module = self.data[0] / "gegl-0.4/plug-ins/grainless-effect.so"
        module.parent.mkdir(parents=True)
        module.write_text("somebody's own")
        run = self.run_script()
        self.assertIn("grainless-effect.so exists and was not put there", run.stderr)
        self.assertEqual(module.read_text(), "somebody's own")
        self.assertFalse(self.installed.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
