#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs as a user does. Usage: command_line_test.py GRAINLESS GRAINLESS_BENCH"""
import contextlib
import json
import math
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

GRAINLESS, BENCH = map(os.path.abspath, sys.argv[1:3])
KEYS = ["device", "fallback", "method", "sigma", "impulses", "seconds", "tiles", "peak_memory"]
QUALITY_KEYS = ["psnr_before", "psnr_after", "ssim_before", "ssim_after", "fsim_before", "fsim_after"]
# Which system's program the tests run, by Wine where it is another's.
WINDOWS = os.environ.get("GRAINLESS_HOST") == "windows"
ROOT = "Z:" if WINDOWS else ""  # Wine's name of /
posix = unittest.skipIf(WINDOWS, "signals, limits, links and the user's folders are POSIX's")
SECONDS = ["read", "estimate", "upload", "kernels", "download", "write", "total"]


def pgm(width, height, samples, maxval=255):
    size = 2 if maxval > 255 else 1
    body = b"".join(s.to_bytes(size, "big") for s in samples)
    return b"P5\n%d %d\n%d\n" % (width, height, maxval) + body


def picture(width=48, height=40, seed=1, maxval=255):
    """Two flat halves with some noise."""
    draw = random.Random(seed)
    scale = maxval / 255
    return pgm(width, height,
               [int(scale * ((80 if x < width // 2 else 160) + draw.uniform(-8, 8)))
                for _ in range(height) for x in range(width)], maxval)


def limit_file_size(most=100):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def refuse_threads():
    """A thread's stack gets as much address space as this limit says: more than there is."""
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 47, resource.getrlimit(resource.RLIMIT_STACK)[1]))


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "in.pgm").write_bytes(picture())

    def run_program(self, *args, program=GRAINLESS, **options):
        environment = dict(os.environ, GRAINLESS_MODULE_DIR=ROOT + self.folder.name)  # no GPU here
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([program, *map(str, args)], cwd=self.path, env=environment,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False, **options)

    def denoise(self, *args, **options):
        result = self.run_program("--sigma", "5", *args, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def names(self):
        return sorted(str(p.relative_to(self.path)) for p in self.path.rglob("*") if p.is_file())

    def assert_refused(self, result, *words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertFalse(result.stdout)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("grainless"), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def need_library(self, name):
        """Writes the input unchanged as `name`; skips the test when this build can't."""
        result = self.run_program("in.pgm", "-o", name, "--strength", "0", "--sigma", "5")
        if "has no library for it" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)

    def refuse(self, *args, words=(), **options):
        before = self.names()
        self.assert_refused(self.run_program(*args, **options), *words)
        self.assertEqual(self.names(), before)


class Result(CommandLine):
    def test_json_has_exactly_its_keys(self):
        output = self.denoise("in.pgm", "-o", "out.pgm", "--json").stdout
        report = json.loads(output)
        self.assertEqual(output.count("\n"), 1)
        self.assertEqual(list(report), KEYS + ["changed", "note"])
        self.assertEqual(list(report["seconds"]), SECONDS)
        self.assertEqual(report["device"], "cpu")
        self.assertEqual(report["method"], "bm3d")
        self.assertEqual(report["sigma"], [5])
        self.assertTrue(report["changed"])
        self.assertIsNone(report["note"])
        self.assertTrue(report["fallback"])  # there is no module in the folder
        self.assertGreater(report["peak_memory"], 0)

    def test_added_noise_is_measured_and_removed(self):
        args = ["in.pgm", "-o", "out.pgm", "--json", "--add-noise", "20", "--sigma", "20"]
        reports = [json.loads(self.denoise(*args, "--seed", seed).stdout) for seed in (1, 1, 2)]
        self.assertEqual(list(reports[0]), KEYS + QUALITY_KEYS[:2] + ["changed", "note"])
        self.assertAlmostEqual(reports[0]["psnr_before"], 22.11, delta=0.5)  # 20 log10(255 / 20)
        self.assertGreater(reports[0]["psnr_after"], reports[0]["psnr_before"] + 6)
        self.assertEqual(reports[0]["psnr_before"], reports[1]["psnr_before"])
        self.assertNotEqual(reports[0]["psnr_before"], reports[2]["psnr_before"])

    def test_only_what_is_asked_is_measured(self):
        noise = ["in.pgm", "-o", "out.pgm", "--json", "--add-noise", "20", "--sigma", "20"]
        measured = self.denoise(*noise, "--metrics", "all")
        report = json.loads(measured.stdout)
        self.assertEqual(list(report), KEYS + QUALITY_KEYS + ["changed", "note"])
        for key, name in (("ssim", "SSIM"), ("fsim", "FSIM")):
            self.assertIn(f", {name} {report[key + '_before']:.4f} -> {report[key + '_after']:.4f}", measured.stderr)
        self.assertGreater(report["ssim_after"], report["ssim_before"])
        for options in (noise, [*noise[:4], "--reference", "in.pgm"]):
            for metrics, keys in (("none", []), ("psnr", QUALITY_KEYS[:2])):
                report = json.loads(self.denoise(*options, "--metrics", metrics).stdout)
                self.assertEqual(list(report), KEYS + keys + ["changed", "note"], (options, metrics))
        self.refuse(*noise, "--metrics", "mse", words=["metrics", "mse"])

    @posix
    def test_in_place_for_raw_converters(self):
        """The script of docs/batch.md, which darktable and RawTherapee call with a TIFF file."""
        self.need_library("a photo.tif")
        page = (pathlib.Path(__file__).parents[2] / "docs" / "batch.md").read_text(encoding="utf-8")
        for name, text in (("in-place", re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1]),
                           ("grainless", f'#!/bin/sh\nexec "{GRAINLESS}" "$@"\n')):
            (self.path / name).write_text(text, encoding="utf-8")
            (self.path / name).chmod(0o755)
        before = (self.path / "a photo.tif").read_bytes()
        (self.path / "in.pgm").unlink()
        with unittest.mock.patch.dict(os.environ, PATH=f"{self.path}:{os.environ['PATH']}"):
            result = self.run_program("a photo.tif", program=self.path / "in-place")
            broken = self.run_program("in-place", program=self.path / "in-place")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(broken.returncode, 1, broken.stderr)
        self.assertEqual(self.names(), ["a photo.tif", "grainless", "in-place"])
        self.assertNotEqual((self.path / "a photo.tif").read_bytes(), before)

    def test_reference(self):
        (self.path / "clean.pgm").write_bytes(
            pgm(48, 40, [80 if x < 24 else 160 for _ in range(40) for x in range(48)]))
        report = json.loads(self.denoise("in.pgm", "-o", "out.pgm", "--json", "--reference",
                                         "clean.pgm").stdout)
        self.assertEqual(list(report), KEYS + QUALITY_KEYS + ["changed", "note"])
        self.assertGreater(report["psnr_after"], report["psnr_before"] + 3)

    def test_without_noise_nothing_changes(self):
        (self.path / "deep.pgm").write_bytes(picture(maxval=65535))
        result = self.denoise("deep.pgm", "-o", "out.pgm", "--sigma=0", "--json")
        report = json.loads(result.stdout)
        self.assertFalse(report["changed"])
        self.assertTrue(report["note"])
        self.assertIn(report["note"], result.stderr)
        self.assertEqual((self.path / "out.pgm").read_bytes(),
                         (self.path / "deep.pgm").read_bytes())

    def test_threads_do_not_matter(self):
        for threads in ("1", "3"):
            self.denoise("in.pgm", "-o", f"out{threads}.pgm", "--threads", threads)
        self.assertEqual((self.path / "out1.pgm").read_bytes(),
                         (self.path / "out3.pgm").read_bytes())

    def test_fourier_transform_and_first_stage(self):
        made = set()
        for options in ([], ["--transform", "dft"], ["--stages", "first"],
                        ["--transform", "dft", "--stages", "first"]):
            self.denoise("in.pgm", "-o", "out.pgm", *options)
            made.add((self.path / "out.pgm").read_bytes())
        self.assertEqual(len(made), 4)

    def test_sigma_switches_measuring_off_unless_asked(self):
        self.assertIn("sigma 5.00", self.denoise("in.pgm", "-o", "a.pgm").stderr)
        measured = self.denoise("in.pgm", "-o", "b.pgm", "--auto-sigma", "yes").stderr
        self.assertIn("--sigma has no effect", measured)

    def test_batches(self):
        for name in ("a", "b", "c"):
            (self.path / f"{name}.pgm").write_bytes(picture(seed=ord(name)))
        result = self.denoise("a.pgm", "b.pgm", "c.pgm", "-o", "out/", "--json")
        reports = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([r["output"] for r in reports], ["out/a.pgm", "out/b.pgm", "out/c.pgm"])
        self.denoise("a.pgm", "b.pgm", "-o", "{}-clean.pfm")
        self.assertEqual(self.names(), ["a-clean.pfm", "a.pgm", "b-clean.pfm", "b.pgm", "c.pgm",
                                        "in.pgm", "out/a.pgm", "out/b.pgm", "out/c.pgm"])
        self.denoise("a.pgm", "b.pgm", "-o", "new/of-{}/clean.pfm")
        self.assertEqual([name for name in self.names() if name.startswith("new")], ["new/of-a/clean.pfm", "new/of-b/clean.pfm"])

    def make_batch(self):
        names = ["a", "b", "c", "d", "e"]
        for name in names:
            (self.path / f"{name}.pgm").write_bytes(picture(seed=ord(name)))
        (self.path / "list").write_text("\n".join(f"{name}.pgm" for name in names[1:]) + "\r\n\n")
        return names

    def outputs_of(self, result):
        return [json.loads(line)["output"].split("/")[-1][0] for line in result.stdout.splitlines()]

    def test_a_list_of_inputs(self):
        names = self.make_batch()
        result = self.denoise("a.pgm", "--list", "list", "-o", "out/", "--json")
        self.assertEqual(self.outputs_of(result), names)
        with open(self.path / "list", encoding="ascii") as listed:
            result = self.denoise("--list", "-", "-o", "out/", "--json", stdin=listed)
        self.assertEqual(self.outputs_of(result), names[1:])
        self.refuse("--list", "gone", "-o", "out/", words=["gone", "No such file"])
        (self.path / "list").write_text("\n")
        self.refuse("--list", "list", "-o", "out/", words=["INPUT"])

    @posix
    def test_a_list_through_a_pipe(self):
        """As bash's <(find …) and /dev/stdin are."""
        names = self.make_batch()
        listed = (self.path / "list").read_bytes()
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.write(writer, listed)
        os.close(writer)
        result = self.denoise("--list", f"/dev/fd/{reader}", "-o", "out/", "--json", pass_fds=[reader])
        self.assertEqual(self.outputs_of(result), names[1:])
        self.refuse("--list", "/dev/zero", "-o", "out/", words=["regular"])

    def test_lists_that_are_none(self):
        """One name a line: neither find's -print0 nor UTF-16, of which the first name would be taken for all."""
        self.make_batch()
        (self.path / "list").write_bytes(b"\xef\xbb\xbfa.pgm\nb.pgm\n")
        self.assertEqual(self.outputs_of(self.denoise("--list", "list", "-o", "out/", "--json")), ["a", "b"])
        for content in (b"a.pgm\0b.pgm", b"a.pgm\n./b.pgm\0./c.pgm\0", "a.pgm\n".encode("utf-16-le")):
            (self.path / "list").write_bytes(content)
            self.refuse("--list", "list", "-o", "out/", words=["'list' is no list", "NUL"])

    def test_parts_make_the_whole(self):
        names = self.make_batch()
        parts = [self.outputs_of(self.denoise("a.pgm", "--list", "list", "-o", "out/", "--json", "--part", f"{i}/3"))
                 for i in (1, 2, 3)]
        self.assertEqual(parts, [["a", "d"], ["b", "e"], ["c"]])
        self.assertEqual(sorted(name for part in parts for name in part), names)
        result = self.denoise("a.pgm", "b.pgm", "-o", "out/", "--json", "--part", "3/3")
        self.assertEqual((result.stdout, result.stderr), ("", "grainless: 0 done in 0 s\n"))
        for part in ("0/3", "4/3", "1", "1/0", "a/b", "1/3x", "-1/3"):
            with self.subTest(part=part):
                self.refuse("a.pgm", "b.pgm", "-o", "out/", f"--part={part}", words=["I/N", part])

    def test_resume_does_what_is_missing_or_older(self):
        names = self.make_batch()
        (self.path / "p.preset").write_text("strength = 60\n")
        batch = ["a.pgm", "--list", "list", "-o", "out/", "--json", "--resume"]
        self.assertEqual(self.outputs_of(self.denoise(*batch)), names)
        result = self.denoise(*batch)
        self.assertEqual(result.stdout, "")
        self.assertIn("0 done, 5 up to date", result.stderr)
        (self.path / "out" / "b.pgm").unlink()
        now = time.time()
        os.utime(self.path / "d.pgm", (now + 5, now + 5))
        self.assertEqual(self.outputs_of(self.denoise(*batch)), ["b", "d"])
        # Of the whole, then what is missing: parts stay the same however much is done.
        self.assertEqual(self.outputs_of(self.denoise(*batch, "--part", "1/3")), ["d"])
        os.utime(self.path / "d.pgm", (now - 5, now - 5))
        for preset in ("light", "p.preset"):
            os.utime(self.path / "p.preset", (now - 5, now - 5))
            self.assertEqual(self.denoise(*batch, "--preset", preset).stdout, "")
        os.utime(self.path / "p.preset", (now + 9, now + 9))
        self.assertEqual(self.outputs_of(self.denoise(*batch, "--preset", "p.preset")), names)
        self.refuse(*batch[:-2], "--resume", "--depth", "3", words=["--resume"])
        self.refuse(*batch[:-2], "--part", "1/2", "--depth", "3", words=["--part"])

    def test_a_single_picture_that_is_left_out_is_told(self):
        single = ["in.pgm", "-o", "out.pgm", "--json"]
        self.denoise(*single)
        for option, words in (("--resume", "0 done, 1 up to date"), ("--part=2/2", "0 done")):
            result = self.denoise(*single, option)
            self.assertEqual(result.stdout, "")
            self.assertIn(words, result.stderr)

    def test_resume_after_a_kill(self):
        """What is written is whole, and what isn't is done by the next run."""
        names = [f"{i}.pgm" for i in range(30)]
        for name in names:
            (self.path / name).write_bytes(picture(200, 200))
        running = subprocess.Popen([GRAINLESS, "--quality", "high", *names, "-o", "out/"], cwd=self.path,
                                   stderr=subprocess.DEVNULL)
        while not list(self.path.glob("out/[0-9]*.pgm")):
            time.sleep(0.01)
        running.kill()
        running.wait()
        written = list(self.path.glob("out/[0-9]*.pgm"))
        self.assertLess(len(written), len(names))
        result = self.run_program("--quality", "high", *names, "-o", "out/", "--resume", "--json")
        self.assertEqual(len(self.outputs_of(result)), len(names) - len(written))
        self.assertEqual(sorted(path.name for path in (self.path / "out").iterdir()), sorted(names))
        whole = {(self.path / "out" / name).read_bytes() for name in names}
        self.assertEqual(len(whole), 1)

    def test_several_at_once(self):
        """The same files, reports and failures in the same order."""
        names = [f"{i}.pgm" for i in range(9)]
        for i, name in enumerate(names):
            (self.path / name).write_bytes(picture(60 + 40 * (i % 3), 90, seed=i))
        (self.path / "4.pgm").write_bytes(b"P5\n9 9\n255\n")
        results = []
        for jobs in ("1", "4", "64"):
            result = self.run_program("--jobs", jobs, *names, "-o", f"{jobs}/", "--json")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertEqual(result.stderr.count("truncated"), 2, result.stderr)
            outputs = [pathlib.Path(json.loads(line)["output"]).name for line in result.stdout.splitlines()]
            results.append((outputs, [(self.path / jobs / name).read_bytes() for name in outputs]))
        self.assertEqual(results[0][0], [name for name in names if name != "4.pgm"])
        self.assertEqual(results[1], results[0])
        self.assertEqual(results[2], results[0])
        self.refuse("--jobs", "0", *names, "-o", "0/", words=["--jobs"])

    def busiest_threads(self, jobs):
        """The most threads at a time, but for the main one, that have computed for a tenth of a second."""
        names = [f"{i}.pgm" for i in range(6)]
        for name in names:
            (self.path / name).write_bytes(picture(600, 600))
        command = [GRAINLESS, "--quality", "high", "--device", "cpu", "--threads", "1", "--jobs", str(jobs)]
        running = subprocess.Popen([*command, *names, "-o", f"busy-{jobs}/"], cwd=self.path, stderr=subprocess.DEVNULL)
        most = 0
        while running.poll() is None:
            busy = 0
            for task in pathlib.Path(f"/proc/{running.pid}/task").glob("*/stat"):
                if task.parent.name == str(running.pid):
                    continue
                with contextlib.suppress(OSError):
                    busy += int(task.read_text().rpartition(")")[2].split()[11]) >= os.sysconf("SC_CLK_TCK") // 10
            most = max(most, busy)
            time.sleep(0.005)
        self.assertEqual(running.returncode, 0)
        return most

    def test_at_once_is_at_once(self):
        self.assertLessEqual(self.busiest_threads(1), 1)
        self.assertGreaterEqual(self.busiest_threads(3), 2)

    @posix
    def test_without_further_threads(self):
        names = self.make_batch()
        files = [f"{name}.pgm" for name in names]
        self.denoise(*files, "-o", "many/")
        self.denoise(*files, "--jobs", "2", "-o", "none/", preexec_fn=refuse_threads)
        for name in files:
            self.assertEqual((self.path / "none" / name).read_bytes(), (self.path / "many" / name).read_bytes(), name)

    def test_a_volume(self):
        self.need_library("one.tif")
        frames = [f"frame-{i}.pgm" for i in range(5)]
        for i, name in enumerate(frames):
            (self.path / name).write_bytes(picture(seed=i))
        volume = ["--method", "nlm", "--depth", "2", "--json"]
        report = json.loads(self.denoise(*volume, *frames, "-o", "out.tif").stdout)
        self.assertEqual(report["layers"], 5)
        self.assertTrue(report["changed"])
        said = self.denoise(*volume, *frames, "-o", "o" * 240 + ".tif").stderr
        self.assertRegex(said, r"5 layers -> o+\.tif: cpu, nlm, depth 2, sigma 5\.00, .* s\n")
        measured = self.denoise(*volume, "--sigma", "10", "--add-noise", "10", "--metrics", "all", "out.tif", "-o",
                                "again.tif")
        report = json.loads(measured.stdout)
        self.assertEqual(report["layers"], 5)
        self.assertGreater(report["psnr_after"], report["psnr_before"] + 3)
        self.assertGreater(report["fsim_after"], report["fsim_before"])
        self.assertRegex(measured.stderr, r", PSNR .* dB, SSIM 0\.\d{4} -> 0\.\d{4}, FSIM 0\.\d{4} -> 0\.\d{4}\n")
        report = json.loads(self.denoise("--depth", "2", "--json", *frames, "-o", "default.tif").stdout)
        self.assertEqual((report["method"], report["layers"]), ("bm3d", 5))
        self.refuse("--method", "sw-nlm", "--depth", "2", *frames, "-o", "bad.tif", words=["bm3d or nlm"])
        self.refuse(*volume, *frames, "-o", "bad.png", words=[".tif"])
        self.refuse(*volume, "--depth", "16", *frames, "-o", "bad.tif", words=["depth", "0 to 15"])
        self.refuse(*volume, "out.tif", "-o", "out.tif", words=["never overwritten"])
        (self.path / "other.pgm").write_bytes(picture(width=40))
        self.refuse(*volume, "in.pgm", "other.pgm", "-o", "bad.tif", words=["can't be compared"])

    def test_photographs(self):
        self.need_library("photo.jpg")
        self.denoise("photo.jpg", "-o", "clean.jpeg")
        self.assertTrue((self.path / "clean.jpeg").read_bytes().startswith(b"\xff\xd8\xff"))
        said = self.denoise("photo.jpg", "-o", "clean.pfm").stderr
        self.assertIn("photo.jpg -> clean.pfm", said)

    def test_a_broken_input_does_not_stop_the_others(self):
        for name in ("a", "c"):
            (self.path / f"{name}.pgm").write_bytes(picture(seed=ord(name)))
        (self.path / "broken.pgm").write_bytes(picture()[:-1])
        result = self.run_program("--sigma", "5", "a.pgm", "broken.pgm", "c.pgm", "-o", "out/", "--json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual([json.loads(line)["input"] for line in result.stdout.splitlines()],
                         ["a.pgm", "c.pgm"])
        # Steps of several pictures go on at once; what is said keeps the inputs' order.
        self.assertRegex(result.stderr,
                         "(?s)grainless: a.pgm -> .*'broken.pgm' is truncated.*c.pgm -> [^\n]*\n"
                         "grainless: 2 done, 1 failed in [^\n]*\n"
                         "grainless: failed: 'broken.pgm' is truncated[^\n]*\n$")
        self.assertEqual(self.names(), ["a.pgm", "broken.pgm", "c.pgm", "in.pgm", "out/a.pgm",
                                        "out/c.pgm"])

    def test_an_output_that_fails_does_not_stop_the_others(self):
        for name in ("a", "b", "c"):
            (self.path / f"{name}.pgm").write_bytes(picture(seed=ord(name)))
        (self.path / "out" / "b.pgm").mkdir(parents=True)
        result = self.run_program("--sigma", "5", "a.pgm", "b.pgm", "c.pgm", "-o", "out/")
        self.assertEqual(result.returncode, 1)
        self.assertIn("out/b.pgm", result.stderr)
        self.assertEqual(self.names(), ["a.pgm", "b.pgm", "c.pgm", "in.pgm", "out/a.pgm", "out/c.pgm"])

    @posix
    def test_a_replaced_file_keeps_its_owner(self):
        if os.geteuid() != 0:
            self.skipTest("only root may give files away")
        (self.path / "out.pgm").write_bytes(b"old")
        os.chown(self.path / "out.pgm", 1234, 2345)
        (self.path / "out.pgm").chmod(0o640)
        self.denoise("in.pgm", "-o", "out.pgm")
        info = (self.path / "out.pgm").stat()
        self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o7777), (1234, 2345, 0o640))

    def test_replaces_an_older_result(self):
        (self.path / "out.pgm").write_bytes(b"old")
        self.denoise("in.pgm", "-o", "out.pgm")
        self.assertEqual(self.names(), ["in.pgm", "out.pgm"])
        self.assertTrue((self.path / "out.pgm").read_bytes().startswith(b"P5"))


class Presets(CommandLine):
    """HOME and the folders below it are the test's own: no preset of the user is seen."""

    def setUp(self):
        super().setUp()
        self.presets = self.save("config/GIMP/3.2", "Attic", "strength = 60\nmethod = nlm\n").parent

    def save(self, gimp, name, text):
        path = self.path / gimp / "grainless/presets" / f"{name}.preset"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_program(self, *args, **options):
        variables = {"HOME": self.folder.name, "XDG_CONFIG_HOME": str(self.path / "config")}
        if WINDOWS:
            variables = {"GIMP3_DIRECTORY": f"{ROOT}{self.path}/config/GIMP/3.2"}
        variables |= options.pop("variables", {})
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("GIMP3_DIRECTORY", None)
            os.environ.update(variables)
            return super().run_program(*args, **options)

    def pixels(self, *args, **options):
        self.denoise("in.pgm", "-o", "out.pgm", *args, **options)
        return (self.path / "out.pgm").read_bytes()

    def test_a_preset_is_its_settings(self):
        plain = self.pixels("--strength", "60", "--method", "nlm")
        self.assertEqual(self.pixels("--preset", "Attic"), plain)
        self.assertEqual(self.pixels("--preset", self.presets / "Attic.preset"), plain)
        (self.path / "here.preset").write_text("# mine\nstrength = 60\nmethod = nlm\n")
        self.assertEqual(self.pixels("--preset", "here.preset"), plain)
        strong = self.pixels("--strength", "140", "--chroma", "120")
        self.assertNotEqual(strong, plain)
        self.assertEqual(self.pixels("--preset", "strong"), strong)
        self.assertEqual(self.pixels("--preset", "Strong"), strong)

    def test_presets_of_older_versions(self):
        folders = [path for path in (pathlib.Path(__file__).parents[1] / "compat").iterdir() if path.is_dir()]
        folders.sort(key=lambda path: [int(part) for part in path.name.split(".")])
        newest = re.findall(r"^([\w-]+) = ", (folders[-1] / "every-key.preset").read_text(encoding="utf-8"), re.MULTILINE)
        known = re.findall(r"^  --([\w-]+) VALUE", self.run_program("--help").stdout, re.MULTILINE)
        self.assertEqual(sorted([*newest, "depth", "device", "memory"]), sorted(known))
        for preset in (folder / "every-key.preset" for folder in folders):
            lines = [line.split(" = ") for line in preset.read_text(encoding="utf-8").splitlines()[1:]]
            options = [word for key, value in lines for word in (f"--{key}", value)]
            with self.subTest(version=preset.parent.name):
                self.assertGreater(len(lines), 15)
                results = []
                for arguments in (["--preset", preset], options):
                    run = self.run_program(*arguments, "in.pgm", "-o", "out.pgm")
                    self.assertEqual(run.returncode, 0, run.stderr)
                    results.append((self.path / "out.pgm").read_bytes())
                self.assertEqual(results[0], results[1])
                self.assertNotEqual(results[0], (self.path / "in.pgm").read_bytes())

    def test_given_options_win(self):
        expected = self.pixels("--strength", "90", "--method", "nlm")
        self.assertEqual(self.pixels("--preset", "Attic", "--strength", "90"), expected)
        self.assertEqual(self.pixels("--strength", "90", "--preset", "Attic"), expected)

    @posix
    def test_list(self):
        self.save("config/GIMP/3.0", "Attic", "strength = 1\n")
        self.save("config/GIMP/3.0", "Cellar", "strength = 1\n")
        self.save(".var/app/org.gimp.GIMP/config/GIMP/3.0", "Flat", "strength = 1\n")
        presets = json.loads(self.run_program("presets", "--json").stdout)["presets"]
        found = {preset["name"]: preset.get("file") for preset in presets}
        self.assertEqual(list(found)[-3:], ["Attic", "Cellar", "Flat"])
        self.assertEqual(found["Attic"], str(self.presets / "Attic.preset"))
        self.assertIsNone(found["maximum-quality"])
        self.assertIn("high-iso: For photographs", self.run_program("presets").stdout)
        chosen = {"GIMP3_DIRECTORY": str(self.path / "config/GIMP/3.0")}
        self.assertNotIn("Flat", self.run_program("presets", variables=chosen).stdout)

    def test_refusals(self):
        self.save("config/GIMP/3.2", "Typo", "strength = 60\n\nlumo = 3\n")
        (self.path / "gpu.preset").write_text("device = cuda\n")
        for name, words in (("gone", ["'gone'", "grainless presets"]),
                            ("Typo", ["Typo.preset, line 3", "'lumo'"]),
                            ("gpu.preset", ["line 1", "never", "'device'"]),
                            ("./gone", ["'./gone' can't be read"])):
            with self.subTest(name=name):
                self.refuse("in.pgm", "-o", "out.pgm", "--preset", name, words=words)


class Refusals(CommandLine):
    def test_empty_values(self):
        """A script's variable that was never set must not mean that nothing was asked for."""
        for option in ("--preset", "--reference", "--list", "--part", "--add-noise", "--seed", "--metrics", "--threads", "--jobs",
                       "--host-memory", "--sigma", "--method", "--device"):
            with self.subTest(option=option):
                self.refuse("in.pgm", "-o", "out.pgm", option, "", words=[option[2:], "empty"])
        self.refuse("in.pgm", "-o", "", words=["output", "empty"])
        self.refuse("estimate", "in.pgm", "--seed", "", words=["seed", "empty"])

    def test_numbers_are_written_as_parameters_are(self):
        for option in ("--threads", "--jobs", "--host-memory", "--seed", "--add-noise", "--sigma"):
            for value in ("0x10", "010", "1_0", "1'0", "true", "+5", " 5", "5 ", "5,0"):
                if (option, value) == ("--sigma", "010"):
                    continue
                with self.subTest(option=option, value=value):
                    self.refuse("in.pgm", "-o", "out.pgm", option, value, words=[option[2:], value.strip()])
        self.denoise("in.pgm", "-o", "out.pgm", "--threads", "0", "--jobs", "10", "--add-noise", "1e1", "--seed", str(2**64 - 1))

    @posix
    def test_names_in_brackets_are_names(self):
        for name in ("[in]", "[a,b]", "in", "a", "b", "{}"):
            (self.path / name).write_bytes(picture(seed=len(name)))
        names = ["[in]", "[a,b]", "{}"]
        result = self.denoise(*names, "-o", "clean-{}.pgm", "--json")
        self.assertEqual([json.loads(line)["input"] for line in result.stdout.splitlines()], names)
        self.refuse("in.pgm", "-o", "[x]", words=["'[x]' has no known extension"])
        self.assertTrue(self.run_program("metrics", "[in]", "[a,b]").stdout.startswith("PSNR"))

    @posix
    def test_names_end_no_line(self):
        name = "a\nb\x1b[31m.pgm"
        (self.path / name).write_bytes(picture())
        for result in (self.denoise(name, "-o", "out.pgm"), self.run_program("x\ny.pgm", "-o", "out.pgm"),
                       self.run_program("estimate", "x\ny.pgm"), self.run_program("metrics", "x\ny.pgm", "in.pgm")):
            self.assertNotIn("\x1b", result.stderr)
            lines = [line for line in result.stderr.splitlines() if "GPU support" not in line]
            self.assertEqual(len(lines), 1, result.stderr)

    def test_options_without_effect_are_named(self):
        """Those that aren't parameters, too."""
        def unused(*options):
            return re.findall(r"note: (--[a-z-]+) has no effect here", self.denoise("in.pgm", "-o", "out.pgm", *options).stderr)

        self.assertEqual(unused("--metrics", "all", "--seed", "3"), ["--metrics", "--seed"])
        self.assertEqual(unused("--seed", "3", "--reference", "in.pgm", "--metrics", "psnr"), ["--seed"])
        for options in (["--seed", "3", "--add-noise", "5", "--metrics", "all"], ["--metrics", "none"],
                        ["--jobs", "2", "--host-memory", "9"]):
            self.assertEqual(unused(*options), [])
        self.need_library("layers.tif")
        said = self.denoise("in.pgm", "in.pgm", "-o", "layers.tif", "--depth", "1", "--jobs", "2", "--host-memory", "9").stderr
        self.assertEqual(re.findall(r"note: (--[a-z-]+) has no effect here", said), ["--jobs", "--host-memory"])

    def test_bad_parameters(self):
        for args, word in ((["--method", "median"], "median"), (["--sigma", "101"], "sigma"),
                           (["--sigma", "-5"], "sigma"), (["--sigma", "nan"], "sigma"),
                           (["--search", "4"], "search"), (["--device", "gpu"], "device"),
                           (["--threads", "-1"], "threads"), (["--nonsense", "1"], "nonsense"),
                           (["--add-noise", "x"], "add-noise"), (["--step", "9", "--patch", "8"],
                                                                 "step")):
            with self.subTest(args=args):
                self.refuse(*args, "in.pgm", "-o", "out.pgm", words=[word])

    def test_missing_arguments(self):
        self.refuse()
        self.refuse("in.pgm", words=["output"])
        self.refuse("-o", "out.pgm", words=["INPUT"])
        self.refuse("metrics", "in.pgm", words=["B"])

    def test_bad_inputs(self):
        (self.path / "text.pgm").write_text("hello")
        (self.path / "empty.png").touch()
        (self.path / "huge.pgm").write_bytes(b"P5\n60000 60000\n255\n")
        (self.path / "wide.pgm").write_bytes(b"P5\n40000 40000\n255\nabc")
        for name, word in (("gone.png", "No such file"), ("text.pgm", "none of"),
                           ("empty.png", "empty"), ("huge.pgm", "2^31"), ("wide.pgm", "truncated"),
                           (".", "folder"), ("/dev/zero", "regular")):
            with self.subTest(name=name):
                self.refuse(name, "-o", "out.pgm", words=[word])

    def test_bad_outputs(self):
        (self.path / "other.pgm").write_bytes(picture(seed=2))
        (self.path / "folder.pgm").mkdir()
        for args, word in ((["in.pgm", "-o", "out.webp"], "extension"),
                           (["in.pgm", "-o", "gone/out.pgm"], "No such file"),
                           (["in.pgm", "-o", "in.pgm/"], "folder"),
                           (["in.pgm", "-o", "out.ppm"], "grey"),
                           (["in.pgm", "-o", "/proc/out.pgm"], "/proc/out.pgm"),
                           (["in.pgm", "other.pgm", "-o", "out.pgm"], "several"),
                           (["in.pgm", "./in.pgm", "-o", "out/"], "twice"),
                           (["in.pgm", "-o", "out.pgm", "--reference", "gone.pgm"], "gone.pgm")):
            with self.subTest(args=args):
                self.refuse("--sigma", "5", *args, words=[word])

    def test_a_name_of_dots_leads_to_no_other_folder(self):
        (self.path / "out").mkdir()
        for name in ("...pgm", "..pgm"):
            (self.path / name).write_bytes(picture())
            self.refuse(name, "--sigma", "5", "-o", "out/{}/clean.pgm", words=["in place of {}"])

    def test_names_in_all_letters(self):
        names = ["Zoë.pgm", "дом.pgm", "写真.pgm", "a b.pgm"]
        for name in names:
            (self.path / name).write_bytes(picture())
        result = self.denoise(*names, "-o", "où/", "--json")
        self.assertEqual([json.loads(line)["input"] for line in result.stdout.splitlines()], names)
        self.assertEqual(sorted(path.name for path in (self.path / "où").iterdir()), sorted(names))
        (self.path / "liste").write_text("\n".join(names), encoding="utf-8")
        (self.path / "mön.preset").write_text("strength = 60\n")
        self.denoise("--list", "liste", "--preset", "mön.preset", "-o", "ещё/")
        self.refuse("keins-ß.pgm", "-o", "out.pgm", words=["keins-ß.pgm", "No such file"])

    def test_inputs_are_never_overwritten(self):
        content = (self.path / "in.pgm").read_bytes()
        (self.path / "clean.pgm").write_bytes(picture(seed=2))
        os.link(self.path / "in.pgm", self.path / "hard.pgm")
        os.symlink("in.pgm", self.path / "soft.pgm")
        (self.path / "sub").mkdir()
        for output in ("in.pgm", "./in.pgm", self.path / "in.pgm", "sub/../in.pgm", "hard.pgm",
                       "soft.pgm", ".", "{}.pgm"):
            with self.subTest(output=output):
                self.refuse("in.pgm", "-o", output, words=["never overwritten"])
        self.refuse("in.pgm", "-o", "clean.pgm", "--reference", "clean.pgm",
                    words=["never overwritten"])
        self.assertEqual((self.path / "in.pgm").read_bytes(), content)

    def test_batches_of_thousands_are_checked_at_once(self):
        """Every output is compared with every input: with 3000 of each that took minutes."""
        names = [f"{i}.pgm" for i in range(3000)]
        for name in names:
            os.link(self.path / "in.pgm", self.path / name)
        self.refuse(*names, "0.pgm", "-o", "out/", words=["twice"])

    @posix
    def test_full_disk_leaves_nothing(self):
        before = self.names()
        for name in self.writable_kinds():
            with self.subTest(name=name):
                result = self.run_program("--sigma", "5", "in.pgm", "-o", name,
                                          preexec_fn=limit_file_size)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(f"'{name}' can't be written", result.stderr)
                self.assertEqual(self.names(), before)

    def writable_kinds(self):
        known = self.run_program("in.pgm", "-o", "x.webp").stderr
        self.assertIn(".png", known)
        kinds = ["out.pgm", "out.pam", "out.pfm"]
        for name in ("out.png", "out.tif", "out.jpg"):
            probe = self.run_program("--sigma", "5", "in.pgm", "-o", name)
            if probe.returncode == 0:
                kinds.append(name)
                (self.path / name).unlink()
            else:
                self.assertIn("no library", probe.stderr)
        return kinds

    def test_json_into_a_full_device(self):
        with open("/dev/full", "w") as full:
            result = self.run_program("--sigma", "5", "in.pgm", "-o", "out.pgm", "--json",
                                      stdout=full)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output", result.stderr)

    def start_on_a_large_picture(self, **options):
        (self.path / "large.pgm").write_bytes(pgm(1600, 1600, bytes(1600 * 1600)))
        process = subprocess.Popen([GRAINLESS, "large.pgm", "-o", "out.pgm", "--quality", "high",
                                    "--sigma", "60", "--device", "cpu"], cwd=self.path,
                                   stderr=subprocess.PIPE, text=True, **options)
        self.wait_for_handler(process.pid)
        return process

    @posix
    def test_interrupt_writes_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                # The tests may have been started by nohup, or in the background.
                process = self.start_on_a_large_picture(
                    preexec_fn=lambda given=number: signal.signal(given, signal.SIG_DFL))
                process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 3, errors)
                self.assertIn("cancelled", errors)
                self.assertEqual(self.names(), ["in.pgm", "large.pgm"])

    @posix
    def test_interrupt_while_names_are_awaited(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process = subprocess.Popen([GRAINLESS, "--list", "-", "-o", "out/"], cwd=self.path, stdin=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True,
                                           preexec_fn=lambda given=number: signal.signal(given, signal.SIG_DFL))
                self.addCleanup(process.kill)
                self.wait_for_handler(process.pid)
                process.stdin.write("in.pgm\n")
                process.stdin.flush()
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=5), 3)
                self.assertIn("cancelled", process.stderr.read())
                process.stdin.close()
                process.stderr.close()
                self.assertEqual(self.names(), ["in.pgm"])

    @posix
    def test_interrupt_before_a_pipe_is_written_to(self):
        os.mkfifo(self.path / "pipe")
        process = subprocess.Popen([GRAINLESS, "--list", "pipe", "-o", "out/"], cwd=self.path, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.wait_for_handler(process.pid)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=5), 3)

    @posix
    def test_closed_streams_are_no_files(self):
        """The first file opened would take their numbers, and what is said would go into a picture."""
        def close():
            for number in (0, 1, 2):
                os.close(number)
        (self.path / "large.pgm").write_bytes(pgm(1600, 1600, bytes(1600 * 1600)))
        process = subprocess.Popen([GRAINLESS, "large.pgm", "-o", "out.pgm", "--quality", "high", "--sigma", "60", "--device",
                                    "cpu"], cwd=self.path, preexec_fn=close)
        self.wait_for_handler(process.pid)
        streams = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in (0, 1, 2)]
        process.terminate()
        self.assertEqual(process.wait(60), 3)
        self.assertEqual(streams, ["/dev/null"] * 3)
        self.assertEqual(self.names(), ["in.pgm", "large.pgm"])
        result = self.run_program("in.pgm", "-o", "out.pgm", "--json", stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output", result.stderr)

    @posix
    def test_who_reads_no_more_leaves_nothing_behind(self):
        names = [f"{i}.pgm" for i in range(8)]
        for name in names:
            (self.path / name).write_bytes(picture(200, 200))
        process = subprocess.Popen([GRAINLESS, *names, "-o", "out/", "--json", "--jobs", "4"], cwd=self.path, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertIn(process.wait(60), (1, 3), errors)
        self.assertFalse([path for path in (self.path / "out").iterdir() if path.name not in names])

    @posix
    def test_progress_takes_one_line_of_a_terminal(self):
        import pty
        terminal, end = pty.openpty()
        name = "a rather long name of a photograph " * 4 + ".pgm"
        (self.path / name).write_bytes(picture(300, 300))
        process = subprocess.Popen([GRAINLESS, "--quality", "high", name, "-o", "out.pgm"], cwd=self.path, stderr=end)
        os.close(end)
        said = b""
        with contextlib.suppress(OSError):  # Linux' word for its end
            while part := os.read(terminal, 65536):
                said += part
        os.close(terminal)
        self.assertEqual(process.wait(60), 0, said)
        shown = [part for part in said.split(b"\r\x1b[K") if b" % " in part]
        self.assertTrue(shown)
        for part in shown:
            self.assertRegex(part, rb"^\x1b\[\?7l *\d+ % [^\r\n]*\x1b\[\?7h$")  # cut at the screen's edge

    @posix
    def test_what_nohup_ignores_stays_ignored(self):
        process = self.start_on_a_large_picture(
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.5)
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3)

    def wait_for_handler(self, pid):
        for _ in range(2000):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            caught = int(status.split("SigCgt:")[1].split()[0], 16)
            if caught & (1 << (signal.SIGTERM - 1)):  # the last one of them
                return
            time.sleep(0.01)
        self.fail("the program never caught SIGTERM")


class OtherCommands(CommandLine):
    def test_metrics(self):
        (self.path / "a.pgm").write_bytes(pgm(16, 16, [100] * 256))
        (self.path / "b.pgm").write_bytes(pgm(16, 16, [110] * 256))
        result = json.loads(self.run_program("metrics", "a.pgm", "b.pgm", "--json").stdout)
        self.assertEqual(list(result), ["psnr", "ssim", "fsim"])
        self.assertAlmostEqual(result["psnr"], 28.1308036087, places=6)
        self.assertAlmostEqual(result["ssim"], 22006.5025 / 22106.5025, places=6)
        same = json.loads(self.run_program("metrics", "a.pgm", "a.pgm", "--json").stdout)
        self.assertEqual(same, {"psnr": None, "ssim": 1.0, "fsim": 1.0})
        self.assertIn("28.13", self.run_program("metrics", "a.pgm", "b.pgm").stdout)
        self.refuse("metrics", "a.pgm", "in.pgm", words=["can't be compared"])

    def test_estimate(self):
        self.assertEqual(self.run_program("estimate", "in.pgm", "--threads=1").returncode, 0)
        report = json.loads(self.run_program("estimate", "in.pgm", "--json").stdout)
        self.assertEqual(list(report), ["input", "sigma", "confidence", "white", "impulses", "seconds"])
        self.assertEqual(report["confidence"], "measured")
        # Uniform within +-8: 4.6, of which so small a piece is sure of 3.3.
        self.assertTrue(3.2 < report["sigma"][0] < 5.2, report["sigma"])
        (self.path / "flat.pgm").write_bytes(pgm(80, 80, [100] * 6400))
        (self.path / "tiny.pgm").write_bytes(pgm(8, 8, range(64)))
        lines = self.run_program("estimate", "flat.pgm", "tiny.pgm").stdout.splitlines()
        self.assertEqual(lines, ["flat.pgm: sigma 0.00, little or no noise",
                                 "tiny.pgm: sigma 0.00, too small to measure"])
        grain = random.Random(1)
        hot = [255 if i % 997 == 500 else round(grain.gauss(100, 5)) for i in range(200 * 200)]
        (self.path / "hot.pgm").write_bytes(pgm(200, 200, hot))
        self.assertTrue(self.run_program("estimate", "hot.pgm").stdout.endswith(", a few hot pixels\n"))
        noisy = self.run_program("estimate", "flat.pgm", "--add-noise=9", "--json").stdout
        self.assertAlmostEqual(json.loads(noisy)["sigma"][0], 8.5, delta=0.5)  # 9, less what so few pixels may hide
        self.refuse("estimate", "in.pgm", "--noise=white", words=["white", "auto camera"])
        self.refuse("estimate", "missing.pgm", words=["missing.pgm"])
        both = self.run_program("estimate", "missing.pgm", "in.pgm", "--json")
        self.assertEqual(both.returncode, 1)
        self.assertEqual(json.loads(both.stdout)["input"], "in.pgm")

    def test_json_says_how_sure_a_measurement_is(self):
        result = self.run_program("in.pgm", "-o", "out.pgm", "--json")
        report = json.loads(result.stdout)
        self.assertEqual(list(report)[:5], ["device", "fallback", "method", "sigma", "confidence"])
        self.assertEqual(report["confidence"], "measured")
        self.assertIn("(measured)", result.stderr)

    def test_noise_that_falls_with_brightness(self):
        draw = random.Random(4)
        clean = [20 + 215 * x / 383 for _ in range(256) for x in range(384)]
        noisy = [min(255, max(0, round(v + draw.gauss(0, 14 * math.exp(-0.9 * v / 255))))) for v in clean]
        (self.path / "camera.pgm").write_bytes(pgm(384, 256, noisy))
        report = json.loads(self.run_program("estimate", "camera.pgm", "--json").stdout)
        tones = report["tones"]
        self.assertEqual(len(tones), 9)
        self.assertEqual(tones, sorted(tones, reverse=True))
        self.assertAlmostEqual(tones[2], 14 * math.exp(-0.9 / 4), delta=1.2)
        self.assertAlmostEqual(tones[6], 14 * math.exp(-0.9 * 3 / 4), delta=1.2)
        report = json.loads(self.run_program("camera.pgm", "-o", "out.pgm", "--json").stdout)
        self.assertEqual(report["tones"], tones)
        self.assertNotIn("tones", json.loads(self.run_program("estimate", "in.pgm", "--json").stdout))

    def test_noise_that_grows_towards_the_corners(self):
        draw = random.Random(5)
        width, height = 384, 288
        places = [(x / width - 0.5, y / height - 0.5) for y in range(height) for x in range(width)]
        gains = [1 + 1.5 * (x * x + y * y) / 0.5 for x, y in places]
        noisy = [min(255, max(0, round(110 + 60 * x + draw.gauss(0, 6 * gain)))) for (x, _), gain in zip(places, gains)]
        (self.path / "lens.pgm").write_bytes(pgm(width, height, noisy))
        report = json.loads(self.run_program("estimate", "lens.pgm", "--json").stdout)
        self.assertAlmostEqual(report["corners"], 2.5, delta=0.4)
        self.assertAlmostEqual(report["sigma"][0], 6, delta=0.7)
        said = f"{report['corners']:.1f} times as strong in the corners"
        self.assertIn(said, self.run_program("estimate", "lens.pgm").stdout)
        result = self.run_program("lens.pgm", "-o", "out.pgm", "--json")
        self.assertEqual(json.loads(result.stdout)["corners"], report["corners"])
        self.assertIn(said, result.stderr)
        self.assertNotIn("corners", json.loads(self.run_program("estimate", "in.pgm", "--json").stdout))

    def test_devices(self):
        devices = json.loads(self.run_program("devices", "--json").stdout)["devices"]
        self.assertEqual(devices[-1]["name"], "cpu")
        self.assertTrue(devices[-1]["usable"])
        for device in devices:
            self.assertEqual(device["usable"], not device["reason"])
        self.assertIn("cpu", self.run_program("devices").stdout)

    def test_help_and_version(self):
        text = self.run_program("--help").stdout
        for key in ("method", "sigma", "strength", "search", "patch", "device", "memory",
                    "add-noise", "reference", "json", "threads"):
            self.assertIn(f"--{key}", text)
        self.assertIn("bm3d|nlm", text)
        self.assertRegex(self.run_program("--version").stdout,
                         r"^grainless \d+\.\d+\.\d+\nCUDA module: GPU support .* is not installed\n$")

    def test_bench(self):
        result = self.run_program("--size", "40x32", "--repeat", "1", "--channels", "3", "--json",
                                  program=BENCH)
        self.assertEqual(result.returncode, 0, result.stderr)
        (case,) = json.loads(result.stdout)["cases"]
        self.assertEqual((case["width"], case["height"], case["device"]), (40, 32, "cpu"))
        self.assertGreater(case["kernels_ms"], 0)
        self.assertLessEqual(case["kernels_ms"], case["total_ms"])
        for args in (["--suite", "x"], ["--size", "40"], ["--component", "u9"],
                     ["--stages", "2"], ["--transform", "fft"]):
            self.assert_refused(self.run_program(*args, program=BENCH))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
