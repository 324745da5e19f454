#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A release's version goes everywhere: release_test.py SOURCE_ROOT"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])
TOOL = ROOT / "tools" / "dev" / "release.py"


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("meson.build", "NEWS.md", "packaging", "subprojects", "tools/dev/packages", "tools/dev/package.sh",
                     "python/grainless/meson.build", "docs/manual/grainless.html"):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, target)

    def release(self, version, date="2030-02-03"):
        return subprocess.run([sys.executable, TOOL, self.root, version, date, self.root / "notes"],
                              capture_output=True, text=True, check=False)

    def check_metadata(self):
        test = ROOT / "tests" / "packaging" / "metadata_test.py"
        run = subprocess.run([sys.executable, test, self.root], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)

    def announce(self, version):
        news = (self.root / "NEWS.md").read_text(encoding="utf-8")
        (self.root / "NEWS.md").write_text(news.replace("\n## ", f"\n## {version} (unreleased)\n\n- Better.\n\n## ", 1),
                                           encoding="utf-8")

    def test_two_releases(self):
        for version in ("7.1.0", "7.2.0"):
            self.announce(version)
            run = self.release(version)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual((self.root / "notes").read_text(encoding="utf-8"), "- Better.\n")
            self.check_metadata()
        news = (self.root / "NEWS.md").read_text(encoding="utf-8")
        self.assertIn("## 7.2.0 (2030-02-03)\n\n- Better.\n\n## 7.1.0 (2030-02-03)\n", news)
        changelog = (self.root / "packaging/debian/changelog").read_text(encoding="utf-8")
        self.assertTrue(changelog.startswith("grainless (7.2.0-0grainless1) unstable"), changelog)
        self.assertIn("Sun, 03 Feb 2030 12:00:00 +0000", changelog)

    def test_a_version_that_the_changelogs_name_already(self):
        """As the first one, which was packaged before it was released: each names it once, with the new date."""
        self.announce("7.1.0")
        self.assertEqual(self.release("7.1.0").returncode, 0)
        news = self.root / "NEWS.md"
        news.write_text(news.read_text(encoding="utf-8").replace("(2030-02-03)", "(unreleased)"), encoding="utf-8")
        self.assertEqual(self.release("7.1.0", "2030-02-04").returncode, 0)
        for path, day in (("rpm/grainless.spec", "Mon Feb 04 2030"), ("debian/changelog", "Mon, 04 Feb 2030"),
                          ("org.gimp.GIMP.Plugin.Grainless.metainfo.xml", 'date="2030-02-04"')):
            text = (self.root / "packaging" / path).read_text(encoding="utf-8")
            self.assertEqual((text.count("7.1.0-"), text.count(day)), (0 if path.endswith("xml") else 1, 1), text)
            self.assertNotIn("Feb 03", text)
        self.check_metadata()

    def test_new_addresses(self):
        """Two releases: the first brings a home page with pictures, the second another one."""
        shutil.copytree(ROOT / "docs" / "manual", self.root / "docs" / "manual", dirs_exist_ok=True)
        for version, page in (("7.1.0", "https://one.example/"), ("7.2.0", "https://two.example/")):
            (self.root / "packaging/addresses.json").write_text(
                json.dumps({"maintainer": "A Packager <packager@one.example>", "homepage": page,
                            "pictures": page + "manual/"}), encoding="utf-8")
            self.announce(version)
            self.assertEqual(self.release(version).returncode, 0)
            self.check_metadata()
            metainfo = (self.root / "packaging/org.gimp.GIMP.Plugin.Grainless.metainfo.xml").read_text(encoding="utf-8")
            self.assertEqual((metainfo.count("<screenshots>"), metainfo.count(f"<image>{page}manual/")), (1, 3), metainfo)

    def test_refusals(self):
        before = {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}
        for version, word in (("7.1", "MAJOR.MINOR.PATCH"), ("7.1.0", "NEWS.md")):
            run = self.release(version)
            self.assertEqual(run.returncode, 1)
            self.assertIn(word, run.stderr)
        self.assertEqual(before, {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
