#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures larger than the memory that they may take. Usage: large_files_test.py GRAINLESS GRAINLESS_BENCH"""
import json
import sys
import unittest

import numpy as np

import command_line_test as base
import hostile_files_test as hostile
from colour_files import IDENTITY, PREMULTIPLIED, UNSPECIFIED, integers, light_from_perceptual, profile, scene, tiff

MEBIBYTE = 1 << 20
SMALL = ["--host-memory", "2"]  # so that pictures of half a megapixel count as large
QUICK = ["--method", "nlm", "--quality", "fast", "--search", "5", "--scales", "1"]


class LargeFiles(base.CommandLine):
    def setUp(self):
        super().setUp()
        self.need_library("probe.tif")

    measure = hostile.Hostile.measure

    def both_ways(self, content, *options):
        """The results of a picture in bands and at once, with their reports."""
        (self.path / "in.tif").write_bytes(content)
        made = []
        for name, memory in (("bands.tif", SMALL), ("whole.tif", [])):
            result = self.run_program(*options, *memory, "in.tif", "-o", name, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(result.stdout)
            for key in ("seconds", "tiles", "peak_memory"):
                del report[key]
            made.append(((self.path / name).read_bytes(), report))
        return made

    def test_bands_have_the_whole_pictures_bits(self):
        values = scene(700, 600)
        light = light_from_perceptual(values)
        four = integers(np.concatenate([values / 2, values[..., :1] / 2 + 0.5], axis=2), np.uint8)
        cases = {"16 bits": tiff(integers(values, np.uint16)), "linear": tiff(integers(light, np.uint8), profile(IDENTITY)),
                 "float": tiff(values.astype(np.float32) * 7 - 3),
                 "premultiplied": tiff(four, extra_sample=PREMULTIPLIED), "unspecified": tiff(four, extra_sample=UNSPECIFIED)}
        for name, content in cases.items():
            with self.subTest(name):
                bands, whole = self.both_ways(content, *QUICK)
                self.assertEqual(bands, whole)
                self.assertTrue(bands[1]["changed"])

    def test_bm3d_in_bands(self):
        bands, whole = self.both_ways(tiff(integers(scene(1300, 900, channels=1), np.uint16)), "--quality", "fast")
        self.assertEqual(bands, whole)

    def test_png_output(self):
        self.need_library("probe.png")
        for icc in (b"", profile(IDENTITY)):
            (self.path / "in.tif").write_bytes(tiff(integers(scene(700, 600), np.uint16), icc))
            for name, memory in (("bands.png", SMALL), ("whole.png", [])):
                self.assertEqual(self.run_program(*QUICK, *memory, "in.tif", "-o", name).returncode, 0)
            self.assertEqual((self.path / "bands.png").read_bytes(), (self.path / "whole.png").read_bytes())

    def test_other_outputs_are_made_at_once(self):
        (self.path / "in.tif").write_bytes(tiff(integers(scene(700, 600), np.uint16)))
        self.assertEqual(self.run_program(*QUICK, *SMALL, "in.tif", "-o", "out.ppm").returncode, 0)

    def test_estimate(self):
        (self.path / "in.tif").write_bytes(tiff(integers(light_from_perceptual(scene(700, 600)), np.uint16), profile(IDENTITY)))
        made = [json.loads(self.run_program("estimate", "--json", "in.tif", *memory).stdout) for memory in (SMALL, [])]
        for report in made:
            del report["seconds"]
        self.assertEqual(made[0], made[1])

    def test_nothing_to_do(self):
        bands, whole = self.both_ways(tiff(integers(scene(700, 600), np.uint16), profile(IDENTITY)), "--strength", "0")
        self.assertEqual(bands, whole)
        self.assertIsNotNone(bands[1]["note"])

    def test_memory_stays_far_below_the_picture(self):
        """12,000 x 6,000 grey, 72 MB: as much would be needed for the result."""
        tile = integers(scene(600, 500, channels=1), np.uint8)
        (self.path / "in.tif").write_bytes(tiff(np.tile(tile, (12, 20, 1))))
        status, said, memory = self.measure(*QUICK, "--host-memory", "16", "--threads", "2", "in.tif", "-o", "out.tif")
        self.assertEqual(status, 0, said)
        self.assertLess(memory, 90 * MEBIBYTE)
        print(f"# peak {memory / MEBIBYTE:.0f} MiB", file=sys.stderr)

    def test_a_failure_leaves_nothing(self):
        content = tiff(integers(scene(700, 600), np.uint16))
        (self.path / "cut.tif").write_bytes(content[:8] + content[-len(content) // 2:])
        self.refuse(*QUICK, *SMALL, "cut.tif", "-o", "out.tif", words=["cut.tif"])
        (self.path / "in.tif").write_bytes(content)
        self.refuse(*QUICK, *SMALL, "in.tif", "-o", "out.tif", words=["out.tif", "written"],
                    preexec_fn=base.limit_file_size)

    @base.posix
    def test_without_further_threads(self):
        (self.path / "in.tif").write_bytes(tiff(integers(scene(700, 600), np.uint16)))
        self.assertEqual(self.run_program(*QUICK, *SMALL, "in.tif", "-o", "many.tif").returncode, 0)
        alone = self.run_program(*QUICK, *SMALL, "in.tif", "-o", "none.tif", preexec_fn=base.refuse_threads)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual((self.path / "none.tif").read_bytes(), (self.path / "many.tif").read_bytes())

    def test_large_and_small_ones_in_a_batch(self):
        (self.path / "a.tif").write_bytes(tiff(integers(scene(700, 600), np.uint16)))
        (self.path / "b.tif").write_bytes(tiff(integers(scene(90, 80), np.uint16)))
        (self.path / "c.tif").write_bytes(tiff(integers(scene(700, 600, seed=8), np.uint16)))
        result = self.run_program(*QUICK, *SMALL, "a.tif", "b.tif", "c.tif", "-o", "out/", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([json.loads(line)["input"] for line in result.stdout.splitlines()], ["a.tif", "b.tif", "c.tif"])
        for name in "abc":
            self.run_program(*QUICK, f"{name}.tif", "-o", "whole.tif")
            self.assertEqual((self.path / "out" / f"{name}.tif").read_bytes(), (self.path / "whole.tif").read_bytes())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
