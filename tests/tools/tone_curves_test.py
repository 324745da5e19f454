#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files whose samples are not perceptual ones. Usage: tone_curves_test.py GRAINLESS GRAINLESS_BENCH"""
import itertools
import json
import sys
import unittest

import numpy as np

import command_line_test as base
from colour_files import (IDENTITY, PREMULTIPLIED, SRGB, STRAIGHT, UNSPECIFIED, formula_curve, gamma_curve, integers,
                          light_from_perceptual, perceptual_from_light, png, profile, read_pnm, scene, table_curve, tiff)

QUICK = ["--method", "nlm", "--quality", "fast", "--search", "9"]
POINTS = [round(65535 * (i / 40) ** 1.7) for i in range(41)]
# Each curve with its function from light to samples.
CURVES = {"identity": (IDENTITY, lambda light: light),
          "gamma 1.8": (gamma_curve(461 / 256), lambda light: light ** (256 / 461)),
          "table": (table_curve(POINTS), lambda light: np.interp(light, np.array(POINTS) / 65535, np.linspace(0, 1, 41))),
          "formula": (formula_curve(0, 2.5), lambda light: light ** 0.4)}


class ToneCurves(base.CommandLine):
    def setUp(self):
        super().setUp()
        self.need_library("probe.tif")
        self.need_library("probe.png")
        (self.path / "probe.tif").write_bytes(tiff(np.zeros((9, 9, 3), np.uint8), profile(IDENTITY)))
        if "Little CMS" in self.run_program("probe.tif", "-o", "probe.png").stderr:
            self.skipTest("this build lacks Little CMS")

    def result(self, content, *options):
        """Of a file with that content, as samples."""
        (self.path / "file").write_bytes(content)
        output = "out.pnm"
        said = self.denoise(*QUICK, *options, "file", "-o", output).stderr
        return read_pnm(self.path / output), said

    def test_what_is_not_denoised_keeps_its_samples(self):
        every = {np.uint8: np.arange(256, dtype=np.uint8).reshape(16, 16, 1),
                 np.uint16: np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)}
        for dtype, channels, (curve, _) in itertools.product(every, (1, 3), CURVES.values()):
            pixels = np.repeat(every[dtype], channels, axis=2)
            icc = profile(curve, grey=channels == 1)
            for content in (tiff(pixels, icc), png(pixels, icc), png(pixels, gamma=0.6)):
                kept, said = self.result(content, "--strength", "0")
                self.assertTrue(np.array_equal(kept, pixels))
                self.assertNotIn("perceptual", said)

    def test_the_same_light_gives_the_same_picture(self):
        """Within what 16-bit samples of both files round, which in the shadows of linear ones is a twentieth of an 8-bit
        step, and what such a difference makes of whole-numbered match values (0.24 at one pixel of 19,200)."""
        for channels in (1, 3):
            values = scene(channels=channels)
            expected = self.result(tiff(integers(values, np.uint16)))[0] / 65535
            for name, (curve, encode) in CURVES.items():
                samples = integers(encode(light_from_perceptual(values)), np.uint16)
                got = self.result(tiff(samples, profile(curve, grey=channels == 1)))[0] / 65535
                light = {"identity": lambda v: v, "gamma 1.8": lambda v: v ** (461 / 256), "formula": lambda v: v ** 2.5,
                         "table": lambda v: np.interp(v, np.linspace(0, 1, 41), np.array(POINTS) / 65535)}[name](got)
                error = 255 * np.abs(perceptual_from_light(light) - expected)
                self.assertLess(np.sqrt(np.mean(error ** 2)), 0.02, name)
                self.assertLess(error.max(), 0.4, name)

    def test_gamma_of_png(self):
        values = scene()
        samples = integers(light_from_perceptual(values) ** (1 / 1.8), np.uint16)
        plain = self.result(png(samples))[0]
        with_gamma = self.result(png(samples, gamma=1 / 1.8))[0]
        self.assertFalse(np.array_equal(plain, with_gamma))
        expected = self.result(tiff(samples, profile(formula_curve(0, 1.8))))[0]
        # The chunk has five digits, the profile sixteen bits: an eighth of an 8-bit step.
        self.assertLessEqual(np.abs(with_gamma.astype(int) - expected).max(), 32)
        for known in ({"srgb": True}, {"icc": profile(SRGB)}):  # both go before the gamma
            self.assertTrue(np.array_equal(self.result(png(samples, gamma=1 / 1.8, **known))[0], plain))

    def test_each_file_of_a_volume_says_its_own(self):
        """Only a page of a TIFF file that says nothing has what the page before says."""
        values = scene(80, 60)
        linear, plain = integers(light_from_perceptual(values), np.uint16), integers(values, np.uint16)
        for name, content in (("linear", png(linear, gamma=1.0)), ("silent", png(plain)), ("srgb", png(plain, srgb=True)),
                              ("cicp", png(plain, cicp=bytes([1, 13, 0, 1]))), ("gamma", png(linear, gamma=1.0))):
            (self.path / f"{name}.png").write_bytes(content)
        for name in ("silent", "srgb", "cicp"):
            self.refuse("--sigma", "5", "--depth", "1", "linear.png", f"{name}.png", "-o", "out.tif",
                        words=["another tone curve"])
        self.denoise("--depth", "1", "linear.png", "gamma.png", "-o", "out.tif")

    def test_floats(self):
        """Beyond black and white, too; NaN stays."""
        values = scene().astype(np.float32)
        values[10:20, 10:20] += 1.5
        light = light_from_perceptual(values).astype(np.float32)
        light[5, 5] = np.nan
        for name, pixels, icc in (("light", light, profile(IDENTITY)), ("plain", values, b"")):
            (self.path / f"{name}.tif").write_bytes(tiff(pixels, icc))
            self.denoise(*QUICK, f"{name}.tif", "-o", f"{name}.pfm")
        got, expected = (read_pnm(self.path / f"{name}.pfm") for name in ("light", "plain"))
        self.assertTrue(np.isnan(got[5, 5]).all())
        error = 255 * np.abs(perceptual_from_light(got) - expected)[25:]
        self.assertLess(error.max(), 1e-2)

    def test_noise_is_measured_on_perceptual_values(self):
        values = scene(320, 240)
        (self.path / "a.tif").write_bytes(tiff(integers(values, np.uint16)))
        (self.path / "b.tif").write_bytes(tiff(integers(light_from_perceptual(values), np.uint16), profile(IDENTITY)))
        lines = self.run_program("estimate", "--json", "a.tif", "b.tif").stdout.splitlines()
        first, second = (json.loads(line)["sigma"] for line in lines)
        self.assertTrue(np.allclose(first, second, rtol=0.01), (first, second))

    def test_quality_is_measured_on_perceptual_values(self):
        values, clean = scene(), scene(sigma=0)
        for name, pixels in (("noisy", values), ("clean", clean)):
            (self.path / f"{name}.tif").write_bytes(tiff(integers(light_from_perceptual(pixels), np.uint16), profile(IDENTITY)))
            (self.path / f"plain-{name}.tif").write_bytes(tiff(integers(pixels, np.uint16)))
        made = [json.loads(self.denoise(*QUICK, f"{kind}noisy.tif", "-o", "out.tif", "--json", "--reference",
                                        f"{kind}clean.tif").stdout) for kind in ("", "plain-")]
        for key in ("psnr_before", "psnr_after"):
            self.assertAlmostEqual(made[0][key], made[1][key], delta=0.02)
        added = [json.loads(self.denoise(*QUICK, f"{kind}clean.tif", "-o", "out.tif", "--json", "--add-noise", "10").stdout)
                 for kind in ("", "plain-")]
        self.assertAlmostEqual(added[0]["psnr_before"], added[1]["psnr_before"], delta=0.01)
        self.assertAlmostEqual(added[0]["psnr_after"], added[1]["psnr_after"], delta=0.02)

    def test_a_reference_that_is_taken_as_perceptual_is_said(self):
        pixels = integers(scene(80, 60), np.uint16)
        for name, icc in (("noisy", b""), ("clean", b"damaged" * 40)):
            (self.path / f"{name}.tif").write_bytes(tiff(pixels, icc))
        told = "note: 'clean.tif': its colour profile is damaged; its samples are taken as perceptual"
        self.assertIn(told, self.run_program("metrics", "noisy.tif", "clean.tif").stderr)
        self.assertEqual(self.denoise("noisy.tif", "-o", "out.tif", "--reference", "clean.tif").stderr.count(told), 1)

    def test_premultiplied_colours(self):
        """Give the numbers of straight ones, and what stands under full transparency stays."""
        values = scene()
        alpha = np.broadcast_to(np.linspace(0.25, 1, 160)[:, None], (120, 160, 1)).copy()
        alpha[:20] = 0
        for name, kind, factor in (("straight", STRAIGHT, 1), ("divided", PREMULTIPLIED, np.where(alpha > 0, alpha, 1))):
            pixels = integers(np.concatenate([values * factor, alpha], axis=2), np.uint16)
            (self.path / f"{name}.tif").write_bytes(tiff(pixels, extra_sample=kind))
            self.denoise(*QUICK, f"{name}.tif", "-o", f"{name}.pam")
        straight, divided = (read_pnm(self.path / f"{name}.pam").astype(int) for name in ("straight", "divided"))
        self.assertLess(np.abs(straight - divided).max(), 0.4 * 257)
        self.assertTrue(np.array_equal(divided[:20], pixels[:20]))
        self.assertTrue(np.array_equal(divided[..., 3], pixels[..., 3]))
        quality = json.loads(self.run_program("metrics", "--json", "straight.tif", "divided.tif").stdout)
        self.assertGreater(quality["psnr"], 80)
        lines = self.run_program("estimate", "--json", "straight.tif", "divided.tif").stdout.splitlines()
        first, second = (json.loads(line)["sigma"] for line in lines)
        self.assertTrue(np.allclose(first, second, rtol=0.01), (first, second))

    def test_premultiplied_colours_are_rounded_once(self):
        """Where the output has straight alpha: few steps of the input would be as few in the result."""
        values = np.concatenate([scene() * 0.25, np.full((120, 160, 1), 0.25)], axis=2)
        (self.path / "few.tif").write_bytes(tiff(integers(values, np.uint8), extra_sample=PREMULTIPLIED))
        self.denoise(*QUICK, "few.tif", "-o", "few.pam")
        self.assertGreater(len(np.unique(read_pnm(self.path / "few.pam")[..., 0])), 100)
        self.denoise("--strength", "0", "few.tif", "-o", "same.pam")
        self.assertLessEqual(len(np.unique(read_pnm(self.path / "same.pam")[..., 0])), 65)

    def test_a_sample_that_may_be_no_alpha(self):
        """Near infrared takes no pixel out of the filter, and stays, with added noise, too."""
        colours, near_infrared = integers(scene(), np.uint16), integers(scene(channels=1, seed=6), np.uint16)
        near_infrared[:60] = 0
        (self.path / "plain.tif").write_bytes(tiff(colours))
        (self.path / "more.tif").write_bytes(tiff(np.concatenate([colours, near_infrared], axis=2), extra_sample=UNSPECIFIED))
        for noise in ([], ["--add-noise", "10"]):
            made = {}
            for name in ("plain", "more"):
                said = self.denoise(*QUICK, *noise, f"{name}.tif", "-o", f"{name}.pam").stderr
                made[name] = read_pnm(self.path / f"{name}.pam").astype(int)
                self.assertEqual("transparency" in said, name == "more", said)
            self.assertLess(np.abs(made["more"][..., :3] - made["plain"]).max(), 0.4 * 257)
            self.assertTrue(np.array_equal(made["more"][..., 3:], near_infrared))
        self.assertNotIn("transparency", self.denoise(*QUICK, "more.tif", "-o", "more-out.tif").stderr)
        for options in ([], ["--add-noise", "10"]):
            self.denoise(*QUICK, "more.tif", "more.tif", "--depth", "1", "-o", "layers.tif", *options)

    def test_curves_of_no_use_are_said(self):
        samples = integers(scene(), np.uint16)
        plain = self.result(tiff(samples))[0]
        for icc, word in ((profile(table_curve([0, 60000, 30000])), "no tone curves that can be undone"),
                          (profile(IDENTITY, grey=True), "is for other colours"), (b"x" * 300, "is damaged")):
            got, said = self.result(tiff(samples, icc))
            notes = [line for line in said.splitlines() if "perceptual" in line]
            self.assertEqual(len(notes), 1, said)
            self.assertIn(word, notes[0])
            self.assertTrue(np.array_equal(got, plain))

    def test_layers(self):
        """Of a volume: the profile may differ from file to file as long as all are converted."""
        for index in range(3):
            values = light_from_perceptual(scene(seed=index))
            curve, encode = list(CURVES.values())[index % 2]
            (self.path / f"{index}.tif").write_bytes(tiff(integers(encode(values), np.uint16), profile(curve)))
        self.denoise("0.tif", "1.tif", "2.tif", "--method", "nlm", "--depth", "1", "-o", "none.tif", "--strength", "0")
        self.denoise("0.tif", "1.tif", "2.tif", "--method", "nlm", "--depth", "1", "-o", "some.tif")
        self.assertGreater((self.path / "none.tif").stat().st_size, 1000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
