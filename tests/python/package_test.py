#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package beside the command line. Usage: package_test.py GRAINLESS STUB SOURCE_ROOT"""
import ast
import inspect
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import zlib

import numpy as np
import tifffile

import grainless

GRAINLESS, STUB, ROOT = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
QUICK = {"method": "nlm", "search": 9}
DTYPES = ("uint8", "uint16", "float16", "float32")


def scene(*shape, dtype="uint8", seed=3):
    """Noise of 8 steps over slow waves; the last axis of three or four are channels."""
    y, x = np.mgrid[0:shape[0], 0:shape[1]]
    waves = 0.5 + 0.25 * np.sin(x / 9.0) * np.cos(y / 7.0)
    values = waves.reshape(waves.shape + (1,) * (len(shape) - 2)) + np.random.default_rng(seed).normal(0, 8 / 255, shape)
    most = 1 if dtype.startswith("float") else np.iinfo(dtype).max
    scaled = np.clip(values, 0, 1) * most
    return (scaled if most == 1 else np.rint(scaled)).astype(dtype)


def options(settings):
    return [word for key, value in settings.items() for word in (f"--{key.replace('_', '-')}", str(value))]


def without_predictor(page, strip):
    """Floats as they were before TIFF's floating-point predictor took them apart, which tifffile alone doesn't undo."""
    samples, size = page.imagewidth * page.samplesperpixel, page.bitspersample // 8
    channels = np.frombuffer(zlib.decompress(strip), np.uint8).reshape(-1, page.imagewidth * size, page.samplesperpixel)
    planes = np.cumsum(channels, axis=1, dtype=np.uint8).reshape(-1, size, samples)
    return np.ascontiguousarray(planes.transpose(0, 2, 1)).view(f">f{size}").reshape(-1, *page.shape[1:])


def read_tiff(path):
    with tifffile.TiffFile(path) as file:
        if file.pages[0].predictor != 3:
            return file.asarray()
        content = path.read_bytes()
        pages = [np.concatenate([without_predictor(page, content[at:at + size])
                                 for at, size in zip(page.dataoffsets, page.databytecounts)]) for page in file.pages]
    return np.stack(pages) if len(pages) > 1 else pages[0]


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        # Fall-backs for want of a card's module are no news here.
        warnings.simplefilter("ignore", grainless.GrainlessWarning)
        self.addCleanup(warnings.resetwarnings)

    def command_line(self, array, **settings):
        """What the command line makes of the array in a TIFF file; of a page an element where depth is set."""
        kind = {"photometric": "rgb" if array.shape[-1] in (3, 4) else "minisblack"}
        if array.shape[-1] in (2, 4):
            kind["extrasamples"] = ["unassalpha"]
        if array.shape[-1] == 2:
            kind["planarconfig"] = "contig"
        tifffile.imwrite(self.path / "in.tif", array, **kind)
        environment = dict(os.environ, GRAINLESS_MODULE_DIR=str(self.path))
        subprocess.run([GRAINLESS, *options(settings), "in.tif", "-o", "out.tif"], cwd=self.path, env=environment, check=True,
                       capture_output=True)
        return read_tiff(self.path / "out.tif")


class Bits(WithFolder):
    def same(self, array, **settings):
        result = grainless.denoise(array, **settings)
        self.assertEqual((result.shape, result.dtype), (array.shape, array.dtype))
        self.assertFalse(np.array_equal(result, array))
        np.testing.assert_array_equal(result, self.command_line(array, **settings))

    def test_types_and_channels(self):
        for dtype in DTYPES:
            for shape in ((70, 90), (70, 90, 3), (70, 90, 2), (70, 90, 4)):
                with self.subTest(dtype=dtype, shape=shape):
                    self.same(scene(*shape, dtype=dtype), **QUICK)

    def test_methods_and_settings(self):
        for settings in ({}, {"method": "bm3d", "quality": "fast", "sigma": 7.5}, {"method": "sw-nlm", "search": 7},
                         {"method": "dct", "strength": 130}, {"preset": "high-iso"}, {"scales": 2, "detail": 30, "luma": 80}):
            with self.subTest(settings):
                self.same(scene(80, 100, 3), **settings)

    def test_stacks_and_volumes(self):
        burst = np.stack([scene(50, 60, seed=seed) for seed in range(5)])
        for settings in ({"depth": 2}, {"depth": 1, "method": "nlm", "search": 7}):
            with self.subTest(settings):
                self.same(burst, **settings)
        colours = np.stack([scene(40, 50, 3, dtype="float32", seed=seed) for seed in range(3)])
        self.same(colours, depth=1, method="nlm", search=5)

    def test_layouts_of_memory(self):
        picture = scene(70, 90, 3, dtype="uint16")
        expected = grainless.denoise(picture, **QUICK)
        views = {"Fortran": np.asfortranarray(picture), "big endian": picture.astype(">u2"),
                 "crop": np.pad(picture, ((3, 4), (5, 6), (0, 0)))[3:-4, 5:-6], "reversed": picture[::-1, ::-1][::-1, ::-1],
                 "list": picture.tolist()}
        views["list"] = np.array(views["list"], "uint16")
        for name, view in views.items():
            with self.subTest(name):
                result = grainless.denoise(view, **QUICK)
                self.assertEqual(result.dtype, view.dtype)
                np.testing.assert_array_equal(result, expected)
        one = picture[..., :1]
        self.assertEqual(grainless.denoise(one, **QUICK).shape, one.shape)

    def test_float64_is_float32(self):
        picture = scene(60, 70, dtype="float32")
        result = grainless.denoise(picture.astype("float64"), **QUICK)
        self.assertEqual(result.dtype, np.float64)
        np.testing.assert_array_equal(result, grainless.denoise(picture, **QUICK))

    def test_what_stays_of_float64_is_its_own(self):
        """Not its float32: GDAL's value for "none" is the least float64, which is infinite as that."""
        picture = scene(60, 70, 4, dtype="float64")
        picture[..., 3] = np.random.default_rng(3).random((60, 70))
        picture[10:13, 20:40, 0] = np.finfo("float64").min
        picture[30, 30, 1] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            result = grainless.denoise(picture, **QUICK)
        np.testing.assert_array_equal(result[10:13, 20:40, 0], picture[10:13, 20:40, 0])
        np.testing.assert_array_equal(result[..., 3], picture[..., 3])
        self.assertTrue(np.isnan(result[30, 30, 1]))
        self.assertFalse(np.array_equal(result[40:, :, 0], picture[40:, :, 0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", grainless.GrainlessWarning)
            np.testing.assert_array_equal(grainless.denoise(picture, sigma=0), picture)

    def test_the_input_stays(self):
        picture = scene(60, 70)
        before = picture.copy()
        picture.setflags(write=False)
        grainless.denoise(picture, **QUICK)
        np.testing.assert_array_equal(picture, before)


class Parts(WithFolder):
    def check(self, whole, parts, **settings):
        """Each part's pixels beyond the halo are the whole's, the others are the part's own."""
        model = grainless.estimate(whole, **settings)
        axes = 3 if settings.get("depth") else 2
        halo = grainless.halo(model, **settings)
        expected = grainless.denoise(whole, model=model, **settings)
        for part in parts:
            origin = [side.start for side in part]
            block = whole[part]
            result = grainless.denoise(block, model=model, origin=origin, shape=whole.shape[:axes], **settings)
            inner = tuple(slice(reach if side.start else 0, (side.stop - side.start) - (reach if side.stop < size else 0))
                          for side, reach, size in zip(part, halo, whole.shape))
            np.testing.assert_array_equal(result[inner], expected[part][inner])
            kept = np.ones(block.shape, bool)
            kept[inner] = False
            self.assertTrue(kept.any())
            np.testing.assert_array_equal(result[kept], block[kept])

    def test_pictures(self):
        for settings in (QUICK, {"method": "bm3d", "quality": "fast"}, {"method": "dct"},
                         {"method": "nlm", "search": 7, "scales": 2}):
            with self.subTest(settings):
                whole = scene(250, 270, 3)
                self.check(whole, [np.s_[0:220, 0:230], np.s_[21:250, 33:270], np.s_[13:247, 0:270]], **settings)

    def test_corners_are_those_of_the_whole_picture(self):
        whole = scene(320, 400, 3, dtype="float32")
        y, x = np.mgrid[-1:1:320j, -1:1:400j]
        grown = (1.5 * (x * x + y * y) / 2)[..., None].astype("float32")
        whole += 8 / 255 * grown * np.random.default_rng(9).standard_normal(whole.shape).astype("float32")
        self.assertGreater(grainless.estimate(whole).corners, 1.7)
        self.check(whole, [np.s_[0:260, 0:300], np.s_[41:320, 63:400]], method="dct")

    def test_volumes(self):
        whole = np.stack([scene(64, 72, seed=seed) for seed in range(7)])
        for method in ("nlm", "bm3d"):
            with self.subTest(method):
                self.check(whole, [np.s_[0:5, 0:64, 0:72], np.s_[2:7, 0:64, 0:72]], method=method, depth=1)
        self.check(whole, [np.s_[0:6, 5:64, 9:72]], method="nlm", depth=1, search=5)

    def test_refusals(self):
        whole = scene(90, 90)
        model = grainless.estimate(whole)
        for words, arguments in {
            "whole one's model": {"origin": (0, 0), "shape": (90, 100)},
            "belong together": {"origin": (0, 0), "model": model},
            "no part of one": {"origin": (20, 0), "shape": (100, 90), "model": model},
            "take 2 numbers": {"origin": (20, 0, 0), "shape": (100, 90), "model": model},
            "too small": {"origin": (20, 20), "shape": (400, 400), "model": model},
            "number of colours": {"model": grainless.estimate(scene(90, 90, 3))},
        }.items():
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                grainless.denoise(whole, **arguments)


class Arguments(WithFolder):
    def test_refusals(self):
        picture = scene(60, 60)
        for error, words, array, settings in (
            (TypeError, "no setting 'sigmaa'; the settings are method", picture, {"sigmaa": 3}),
            (TypeError, "'sigma' takes float, not NoneType", picture, {"sigma": None}),
            (TypeError, "'search' takes int, not float", picture, {"search": 9.5}),
            (TypeError, "'auto_sigma' takes bool, not int", picture, {"auto_sigma": 1}),
            (ValueError, "'median' is not a value of method: it takes one of bm3d", picture, {"method": "median"}),
            (ValueError, "'-1.0' is not a value of sigma: it takes a number from 0 to 100", picture, {"sigma": -1}),
            (ValueError, "is not a value of sigma", picture, {"sigma": float("nan")}),
            (ValueError, "search takes an odd number", picture, {"search": 4}),
            (ValueError, "depth takes method bm3d or nlm", picture[np.newaxis], {"depth": 1, "method": "dct"}),
            (ValueError, "there is no preset 'gone'; built in are standard", picture, {"preset": "gone"}),
            (ValueError, r"shape \(60,\) doesn't fit: rows × columns", picture[0], {}),
            (ValueError, "give depth", np.zeros((5, 60, 60), "u1"), {}),
            (ValueError, "layers × rows × columns", picture, {"depth": 2}),
            (ValueError, "holds no pixels", picture[:0], {}),
            (TypeError, "arrays of int32 are not taken, those of uint8", picture.astype("int32"), {}),
            (TypeError, "arrays of complex64", picture.astype("complex64"), {}),
            (TypeError, "arrays of bool", picture > 9, {}),
            (ValueError, "'sigma' takes float from 0 to 100", picture, {"sigma": 10**400}),
            (ValueError, "'search' takes int from 0 to 63", picture, {"search": 10**5000}),
            (ValueError, r"'5\\x00' is not a value of sigma", picture, {"sigma": "5\0"}),
            (ValueError, r"'\\udc80' is not a value of device", picture, {"device": "\udc80"}),
            (ValueError, r"there is no preset '\\udc80'", picture, {"preset": "\udc80"}),
            (TypeError, "preset takes a name or the path of a file, not int", picture, {"preset": 5}),
            (TypeError, "origin and shape take 2 whole numbers", picture, {"origin": 5, "shape": (60, 60)}),
            (TypeError, "progress takes a function, not int", picture, {"progress": 5}),
            (TypeError, "masked values are not taken", np.ma.masked_less(picture, picture.max()), {}),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, f"^[^\\n]*{words}[^\\n]*$"):
                grainless.denoise(array, **settings)
        for call in (lambda: grainless.halo(None), lambda: grainless.denoise(picture, model=5)):
            with self.assertRaisesRegex(TypeError, r"^model takes a NoiseModel, as estimate\(\) gives it, not \w+$"):
                call()
        with self.assertRaisesRegex(ValueError, "threads takes 0 to 4096, not -1"):
            grainless.Engine(threads=-1)

    def test_a_device_that_is_not_there_is_warned_of(self):
        with self.assertWarns(grainless.GrainlessWarning) as warning:
            _, report = grainless.denoise(scene(60, 60), device="cuda:99", return_report=True)
        self.assertEqual(report["device"], "cpu")
        self.assertEqual(report["fallback"], [str(warning.warning)])
        cpu = grainless.devices()[-1]
        self.assertEqual((cpu["name"], cpu["usable"]), ("cpu", True))

    def test_what_is_warned_of_names_the_callers_line(self):
        warnings.simplefilter("always", grainless.GrainlessWarning)
        for words, settings in (("transform has no effect", {"method": "nlm", "transform": "dct", "search": 5}),
                                ("remove nothing", {"sigma": 9, "strength": 0})):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                grainless.denoise(scene(60, 60), **settings)
            found = [warning for warning in caught if words in str(warning.message)]
            self.assertEqual([warning.filename for warning in found], [__file__], words)

    def test_presets(self):
        picture = scene(60, 60, 3)
        file = self.path / "mine.preset"
        file.write_text("method = nlm\nsearch = 9\n", encoding="utf-8")
        expected = grainless.denoise(picture, **QUICK)
        np.testing.assert_array_equal(grainless.denoise(picture, preset=file), expected)
        np.testing.assert_array_equal(grainless.denoise(picture, preset=str(file)), expected)
        np.testing.assert_array_equal(grainless.denoise(picture, preset=file, search=7),
                                      grainless.denoise(picture, method="nlm", search=7))
        file.write_text("method = gone\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "mine.preset, line 1: 'gone' is not a value of method"):
            grainless.denoise(picture, preset=file)

    def test_presets_that_are_none(self):
        """What the command line takes, and nothing else."""
        picture = scene(60, 60, 3)
        strange = self.path / os.fsdecode(b"m\xff.preset")
        strange.write_bytes(b"# \xe9\nmethod = nlm\nsearch = 9\n")
        np.testing.assert_array_equal(grainless.denoise(picture, preset=strange), grainless.denoise(picture, **QUICK))
        file = self.path / "mine.preset"
        for content, words in ((b"\n" * 99999, "is not a preset"), (b"sigma = 5\0\n", "is not a preset"),
                               (b"# nothing\n", "sets nothing"), (b"method = \xff\n", r"line 1: '\\xff' is not a value")):
            file.write_bytes(content)
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                grainless.denoise(picture, preset=file)
        with self.assertRaises(FileNotFoundError):
            grainless.denoise(picture, preset=self.path / "gone.preset")
        if hasattr(os, "mkfifo"):
            os.mkfifo(self.path / "pipe.preset")
            with self.assertRaisesRegex(ValueError, "pipe.preset' can't be read"):
                grainless.denoise(picture, preset=self.path / "pipe.preset")

    def test_one_table(self):
        keys = [row["key"].replace("-", "_") for row in grainless.parameters()]
        told = subprocess.run([GRAINLESS, "--help"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(all(f"--{key.replace('_', '-')}" in told for key in keys))
        self.assertTrue(all(f"{key}: " in grainless.denoise.__doc__ for key in keys))
        for function in (grainless.estimate, grainless.halo):  # in help() all paragraphs begin at the same place
            self.assertFalse([line for line in function.__doc__.splitlines() if line.startswith(" ")])
        declared = ast.parse(STUB.read_text(encoding="utf-8"))
        for name in ("denoise", "estimate", "halo"):
            own = [value.name for value in inspect.signature(getattr(grainless, name)).parameters.values()]
            self.assertEqual(own[-len(keys):], keys)
            for stub in (node for node in ast.walk(declared) if isinstance(node, ast.FunctionDef) and node.name == name):
                arguments = [each.arg for each in (*stub.args.args, *stub.args.kwonlyargs) if each.arg != "self"]
                self.assertEqual(arguments, own)

    def test_version(self):
        told = subprocess.run([GRAINLESS, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"grainless {grainless.__version__}\n", told)


class Running(WithFolder):
    def test_report_progress_and_model(self):
        seen = []
        picture = scene(300, 300, 3)
        result, report = grainless.denoise(picture, method="bm3d", device="cpu", progress=seen.append, return_report=True)
        self.assertEqual((report["device"], report["changed"], report["fallback"]), ("cpu", True, []))
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(seen[-1], 1.0)
        self.assertAlmostEqual(report["sigma"][0], 8, delta=0.8)
        model = pickle.loads(pickle.dumps(grainless.estimate(picture)))
        self.assertEqual(model.sigma, report["sigma"])
        self.assertEqual((model.corners, report["corners"]), (1, 1))
        np.testing.assert_array_equal(grainless.denoise(picture, model=model), result)

    def test_a_stack_of_pictures_is_each_picture(self):
        noise = np.random.default_rng(3).standard_normal((3, 160, 160, 3))
        pictures = np.rint(np.clip([60 * i + 40 + (4 + 5 * i) * noise[i] for i in range(3)], 0, 255)).astype(np.uint8)
        settings = {"method": "bm3d", "quality": "fast", "device": "cpu", "impulse": "off"}
        model = pickle.loads(pickle.dumps(grainless.estimate(pictures, depth=2)))
        result = grainless.denoise(pictures, model=model, depth=2, **settings)
        again, report = grainless.denoise(pictures, depth=2, return_report=True, **settings)
        np.testing.assert_array_equal(again, result)
        self.assertAlmostEqual(report["sigma"][0], 14, delta=1)  # of the noisiest
        for picture, one in zip(pictures, result):
            np.testing.assert_array_equal(grainless.denoise(picture, **settings), one)

    def test_a_damaged_model_is_refused(self):
        model = grainless.estimate(scene(90, 90, 3))
        version, data, told = model.__getstate__()
        for at in (0, len(data) // 2, len(data) - 1):
            spoiled = bytearray(data)
            spoiled[at] ^= 64
            with self.assertRaisesRegex(ValueError, "damaged or comes from another version"):
                type(model).__new__(type(model)).__setstate__((version, bytes(spoiled), told))
        with self.assertRaisesRegex(ValueError, "damaged or comes from another version"):
            type(model).__new__(type(model)).__setstate__((version, data[:-1], told))

    def test_other_threads_run_meanwhile(self):
        counted = []
        thread = threading.Thread(target=lambda: counted.append(grainless.denoise(scene(500, 500, 3), quality="high").sum()))
        thread.start()
        turns, longest = 0, 0.0
        while thread.is_alive():
            before = time.monotonic()
            time.sleep(0.001)
            longest = max(longest, time.monotonic() - before)
            turns += 1
        self.assertEqual(len(counted), 1)
        self.assertGreater(turns, 50)
        self.assertLess(longest, 0.5)

    def test_several_threads_get_their_own_results(self):
        pictures = [scene(90, 110, seed=seed) for seed in range(4)]
        expected = [grainless.denoise(picture, **QUICK) for picture in pictures]
        got = [None] * 4

        def run(i):
            got[i] = grainless.denoise(pictures[i], **QUICK)
        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one, other in zip(got, expected):
            np.testing.assert_array_equal(one, other)

    def test_ctrl_c_and_what_progress_raises_end_the_work(self):
        large = scene(1500, 1500, 3)
        took = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        self.addCleanup(timer.cancel)
        with self.assertRaises(KeyboardInterrupt):
            grainless.denoise(large, quality="high", sigma=20)
        self.assertLess(time.monotonic() - took, 3)

        def stop(fraction):
            raise LookupError(f"at {fraction}")
        with self.assertRaisesRegex(LookupError, "at 0"):
            grainless.denoise(large, quality="high", sigma=20, progress=stop)

    def test_python_ends_while_threads_are_at_work(self):
        """Threads that Python doesn't wait for: at work, in progress functions, and beginning anew all the time."""
        work = """if True:
            import sys, threading, time, warnings, grainless, numpy
            warnings.simplefilter("ignore")
            large = numpy.random.default_rng(1).integers(0, 200, (900, 900, 3), "u1")
            began = threading.Semaphore(0)
            def slow(fraction): began.release(); time.sleep(0.3)
            def again():
                while True: grainless.denoise(large[:60, :60], method="dct"); began.release()
            for call in (again, *[lambda: grainless.denoise(large, quality="high", sigma=20, progress=slow)] * 2):
                threading.Thread(target=call, daemon=True).start()
            for _ in range(6): began.acquire()
            sys.exit(7)"""
        for _ in range(3):
            child = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((child.returncode, child.stdout, child.stderr), (7, "", ""))

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
    def test_forks_while_other_threads_look_for_cards(self):
        work = """if True:
            import os, threading, warnings, grainless, numpy
            warnings.simplefilter("ignore")
            picture = numpy.zeros((9, 9), "u1")
            def look():
                while True: grainless.denoise(picture, method="dct", sigma=5)
            for _ in range(6): threading.Thread(target=look, daemon=True).start()
            for _ in range(60):
                child = os.fork()
                if child == 0:
                    grainless.denoise(picture, method="dct", sigma=5)
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0"""
        environment = dict(os.environ, GRAINLESS_MODULE_DIR=str(self.path))
        child = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=False, timeout=120,
                               env=environment)
        self.assertEqual((child.returncode, child.stderr), (0, ""))

    @unittest.skipUnless(sys.platform == "linux", "elsewhere threads can't be refused this way")
    def test_without_further_threads(self):
        """A thread's stack is to have as much address space as the limit says: more than there is."""
        np.save(self.path / "in.npy", scene(90, 110))
        work = "import grainless, numpy; numpy.save('out.npy', grainless.denoise(numpy.load('in.npy'), sigma=8, progress=print))"
        child = subprocess.run(["sh", "-c", f'ulimit -S -s {1 << 37}; exec "$@"', "sh", sys.executable, "-c", work],
                               cwd=self.path, capture_output=True, text=True, check=False, timeout=60,
                               env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
        self.assertEqual((child.returncode, child.stdout), (0, "1.0\n"), child.stderr)
        np.testing.assert_array_equal(np.load(self.path / "out.npy"), grainless.denoise(scene(90, 110), sigma=8))

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
    def test_forked_processes_have_threads_of_their_own(self):
        picture = scene(90, 110)
        engine = grainless.Engine(threads=3)
        expected = engine.denoise(picture, **QUICK)
        for run in (engine.denoise, grainless.denoise, None):
            child = os.fork()
            if child == 0:
                os._exit(0 if run is None or np.array_equal(run(picture, **QUICK), expected) else 1)
            deadline = time.monotonic() + 60
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.02)
            if ended == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            self.assertEqual(ended, (child, 0))
        self.assertEqual(pickle.loads(pickle.dumps(engine))._threads, 3)


class Documentation(WithFolder):
    def test_the_pages_code_runs(self):
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertEqual(len(blocks), 2)
        names = {}
        for block in blocks:
            exec(block, names)
        error = {name: float(np.sqrt(np.mean((names[name] - names["clean"]) ** 2))) for name in ("noisy", "result", "softer")}
        self.assertLess(error["result"], error["noisy"] / 4)
        self.assertLess(error["softer"], error["noisy"] / 2)

    def test_the_pages_table_of_halos(self):
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        told = dict(re.findall(r"(\d+) pixels with `([^`]*)`", page))
        self.assertGreater(len(told), 2)
        model = grainless.estimate(scene(60, 60), sigma=10)
        for halo, settings in told.items():
            given = eval(f"dict({settings})")
            self.assertEqual(grainless.halo(model, **given)[-1], int(halo), settings)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
