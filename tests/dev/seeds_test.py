#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev bench --seeds on made pictures: every table in its smallest case, rows beyond the budget,
bad arguments. Usage: seeds_test.py GRAINLESS GRAINLESS_BENCH"""

import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CHECKOUT = pathlib.Path(__file__).parents[2]
SEEDS = CHECKOUT / "tools/dev/seeds.py"
sys.path.insert(0, str(SEEDS.parent))
from papers import runs, vuurst  # noqa: E402

PROGRAMS = os.pathsep.join(str(pathlib.Path(program).resolve().parent) for program in sys.argv[1:3])
SIDE = 48
HEADINGS = ("Márques & Pardo", "Wahid et al.: NLM", "Wahid et al.: seconds", "Honzátko: BM3D",
            "Honzátko: seconds", "Van der Vuurst: CNLM", "Van der Vuurst: SWNLM",
            "Van der Vuurst: seconds of", "Van der Vuurst: seconds up", "Palma et al.",
            "3-D NLM of a head", "A burst of 8 frames")


def scene(x, y, z):
    slope = 60 + 40 * numpy.sin(x / 9 + z / 20) + 20 * numpy.cos(y / 7)
    return (slope + 60 * (numpy.hypot(x - SIDE / 2, y - SIDE / 2) < SIDE / 4)).astype(numpy.uint8)


def make_images(folder):
    y, x = numpy.mgrid[:SIDE, :SIDE]
    (folder / "Standard").mkdir(parents=True)
    for z, name in enumerate([*vuurst.PICTURES, "lena_gray_512.tif"]):
        picture = Image.fromarray(scene(x, y, z))
        path = folder / "Standard" / name
        alpha = path.suffix == ".tif" and z % 2  # as some of the real ones
        if alpha:
            picture.putalpha(255)
        picture.save(path)
        if alpha:
            make_alpha_strange(path)
    (folder / "Volume").mkdir()
    header = bytearray(352)
    struct.pack_into("<4h", header, 40, 3, SIDE, SIDE, 10)
    struct.pack_into("<h", header, 70, 2)
    struct.pack_into("<f", header, 108, 352)
    voxels = b"".join(scene(x, y, z).tobytes() for z in range(10))
    (folder / "Volume" / "mni152_t1.nii.gz").write_bytes(gzip.compress(bytes(header) + voxels))


def make_alpha_strange(path):
    """A TIFF's tag 338 gets 999, which is no kind of alpha."""
    data, tag = path.read_bytes(), struct.pack("<HHI", 338, 3, 1)
    assert data.count(tag) == 1
    start = data.index(tag) + len(tag)
    path.write_bytes(data[:start] + struct.pack("<H", 999) + data[start + 2 :])


class Seeds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        make_images(self.path / "images")

    def run_seeds(self, *arguments, images="images"):
        environment = {**os.environ, "PATH": PROGRAMS + os.pathsep + os.environ["PATH"],
                       "GRAINLESS_MODULE_DIR": str(self.path)}  # no GPU here
        return subprocess.run(
            [sys.executable, SEEDS, self.path / "out", self.path / images, "--device", "cpu",
             *arguments],
            env=environment, capture_output=True, text=True, check=False, timeout=280)

    def test_every_table(self):
        done = self.run_seeds("--quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        for heading in HEADINGS:
            self.assertIn(f"### {heading}", done.stdout)
        self.assertIn("Several GPUs: not measured, as --device cpu", done.stdout)
        self.assertNotIn("Left out", done.stdout)
        found = json.loads((self.path / "out" / "seeds.json").read_text(encoding="utf-8"))
        self.assertEqual(set(found), {"marques", "wahid", "honzatko", "vuurst", "palma", "left out",
                                      "fell back"})
        self.assertTrue(all(ms > 0 for ms in found["marques"].values()))
        self.assertTrue(all(ms > 0 for ms in found["palma"]["cubes"].values()))
        reports = [*found["wahid"]["quality"].values(), *found["honzatko"]["quality"].values(),
                   *found["palma"]["head"].values()]
        for report in reports:
            self.assertGreater(report["psnr_after"], report["psnr_before"] + 1)
        for system in found["vuurst"]["pictures"]:
            for value in system["psnr"].values():
                self.assertGreater(value, 20)  # 16 before
        burst = found["palma"]["burst"]
        self.assertAlmostEqual(burst["mean"] - burst["one frame"], 9.03, delta=0.3)
        self.assertGreater(burst["all by 3-D NLM, window 3"] - burst["one frame"], 8)

    def test_rows_beyond_the_budget_are_named(self):
        done = self.run_seeds("--parts", "marques", "--budget", "0.000001")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("### Left out", done.stdout)
        self.assertIn("| Marques & Pardo 1024x1024 21/9 |", done.stdout)
        found = json.loads((self.path / "out" / "seeds.json").read_text(encoding="utf-8"))
        self.assertEqual(list(found["marques"]), ["128x128 21/9"])  # before it nothing is known
        self.assertGreater(len(found["left out"]), 5)

    def test_bad_arguments(self):
        for arguments, images, sentence in (
            (["--parts", "marques,dabov"], "images", "'dabov' is none of marques"),
            (["--sigmas", "10,15"], "images", "his tables have 10, 20"),
            ([], "nowhere", "holds pictures of the tables, and is not there"),
        ):
            done = self.run_seeds(*arguments, images=images)
            self.assertNotEqual(done.returncode, 0, sentence)
            self.assertIn(sentence, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


class Figures(unittest.TestCase):
    def test_his_table_is_whole(self):
        theirs = vuurst.his_psnr()
        cases = len(vuurst.PICTURES) * len(vuurst.SIGMAS) * len(vuurst.METHODS)
        self.assertEqual(len(theirs), cases)
        systems = {f"{r}/{p}" for r in vuurst.RADII for p in vuurst.PATCH_RADII}
        for key, values in theirs.items():
            self.assertEqual(set(values), systems, key)
        # Means that his thesis prints.
        for method, system, mean in (("nlm", "10/3", 29.33), ("sw-nlm", "10/2", 29.82)):
            found = [theirs[name, 20, method][system] for name in vuurst.PICTURES]
            self.assertAlmostEqual(sum(found) / len(found), mean, delta=0.006)

    def test_noise_is_rounded_and_clipped(self):
        clean = numpy.full((64, 64), 3, numpy.uint8)
        noisy = runs.add_noise(clean, 20, 1)
        self.assertEqual(noisy.dtype, numpy.uint8)
        self.assertGreater((noisy == 0).mean(), 0.3)
        self.assertTrue((noisy == runs.add_noise(clean, 20, 1)).all())
        self.assertFalse((noisy == runs.add_noise(clean, 20, 2)).all())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
