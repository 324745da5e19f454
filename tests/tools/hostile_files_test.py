#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files made to cost time, memory or the result. Usage: hostile_files_test.py GRAINLESS GRAINLESS_BENCH"""
import functools
import os
import random
import signal
import struct
import subprocess
import sys
import time
import unittest
import zlib

import command_line_test as base

MEBIBYTE = 1 << 20
# A process begins with its parent's peak: this parent is small.
STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
FLAT = bytes(128 + (x * y) % 5 for y in range(32) for x in range(32))  # 32 x 32 grey


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(before=b"", after=b"", pixels=FLAT, width=32, height=32):
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + before +
            chunk(b"IDAT", zlib.compress(rows)) + after + chunk(b"IEND", b""))


def directory(entries, next_one=0):
    """Of a little-endian TIFF; an entry is (tag, type, count, value or offset)."""
    packed = b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    return struct.pack("<H", len(entries)) + packed + struct.pack("<I", next_one)


SHORT, LONG, UNDEFINED = 3, 4, 7
EXIF = 0x8769


def shared_block_exif(entries=1000, size=4 * MEBIBYTE):
    """A structure whose entries all say that the same block is theirs."""
    camera = 8 + len(directory([(0, 0, 0, 0)]))
    block = camera + 2 + 12 * entries + 4
    return (b"II*\0" + struct.pack("<I", 8) + directory([(EXIF, LONG, 1, camera)]) +
            directory([(0x9000 + i, UNDEFINED, size, block) for i in range(entries)]) + bytes(size))


def tiff(extra=(), tail=b"", leave_out=(), width=32, height=32, pixels=FLAT):
    """Grey, 8 bits, one strip at 8. `extra` entries may have a function of the tail's place for a value."""
    tags = [(256, LONG, 1, width), (257, LONG, 1, height), (258, SHORT, 1, 8), (259, SHORT, 1, 1), (262, SHORT, 1, 1),
            (273, LONG, 1, 8), (277, SHORT, 1, 1), (278, LONG, 1, height), (279, LONG, 1, len(pixels))]
    tags = [tag for tag in tags if tag[0] not in leave_out]
    end = 8 + len(pixels) + 2 + 12 * (len(tags) + len(extra)) + 4
    tags += [(tag, kind, count, value(end) if callable(value) else value) for tag, kind, count, value in extra]
    return b"II*\0" + struct.pack("<I", 8 + len(pixels)) + pixels + directory(tags) + tail


class Hostile(base.CommandLine):
    def setUp(self):
        super().setUp()
        self.need("probe.png", png(), "out.png")

    def need(self, name, content, output):
        (self.path / name).write_bytes(content)
        result = self.run_program("--sigma", "0", name, "-o", output)
        if "no library" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        (self.path / name).unlink()
        (self.path / output).unlink()

    def measure(self, *args):
        """Runs the program; returns its status, what it said, and its peak memory in bytes."""
        result = self.run_program("-c", STARTER, base.GRAINLESS, "--sigma", "5", "--device", "cpu", *args,
                                  program=sys.executable)
        status, memory = map(int, result.stdout.split())
        return status, result.stderr, memory * 1024

    def spend_little(self, name, content, output, most=200 * MEBIBYTE, code=0):
        (self.path / name).write_bytes(content)
        status, said, memory = self.measure(name, "-o", output)
        self.assertEqual(status, code, said)
        self.assertLess(memory, most)
        self.assertLess(len(said.splitlines()), 15)
        self.assertEqual((self.path / output).exists(), code == 0)
        return said


class Png(Hostile):
    def test_entries_that_share_a_block(self):
        self.spend_little("a.png", png(chunk(b"eXIf", shared_block_exif())), "out.tif")

    def test_a_huge_interlaced_header(self):
        head = struct.pack(">IIBBBBB", 400000000, 5, 1, 0, 0, 0, 1)
        content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
        self.assertLess(len(content), 70)
        self.assertIn("truncated", self.spend_little("a.png", content, "out.png", code=1))

    def test_texts_that_inflate_to_gigabytes(self):
        text = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(60 * MEBIBYTE), 9))
        begin = time.monotonic()
        said = self.spend_little("a.png", png(text * 40), "out.png")
        self.assertIn("too large", said)
        self.assertLess(time.monotonic() - begin, 30)

    def test_thousands_of_bad_chunks(self):
        bad = b"".join(chunk(b"cHRM", bytes([i % 256]) * (i % 31)) for i in range(5000))
        self.spend_little("a.png", png(bad), "out.png")

    def test_a_blank_key_does_not_cost_the_picture(self):
        texts = chunk(b"tEXt", b" \0who") + chunk(b"iTXt", b"\x01\0\0\0\0\0what") + chunk(b"tEXt", b"Author\0Eva")
        said = self.spend_little("a.png", png(texts), "out.png")
        self.assertIn("without a name", said)
        self.assertIn(b"Author\0Eva", (self.path / "out.png").read_bytes())

    def test_a_blank_name_does_not_cost_the_profile(self):
        profile = bytearray(132)
        profile[:4], profile[8], profile[12:20], profile[36:40] = struct.pack(">I", 132), 2, b"mntrGRAY", b"acsp"
        profile += bytes(4)
        profile[:4] = struct.pack(">I", len(profile))
        self.spend_little("a.png", png(chunk(b"iCCP", b" \0\0" + zlib.compress(bytes(profile)))), "out.png")


class Tiff(Hostile):
    def setUp(self):
        super().setUp()
        self.need("probe.tif", tiff(), "out.tif")

    def test_entries_that_share_a_block(self):
        entries, size = 1000, 4 * MEBIBYTE
        camera = 2 + 12 * entries + 4
        content = tiff([(EXIF, LONG, 1, lambda end: end)])
        block = len(content) + camera
        content += directory([(0x9000 + i, UNDEFINED, size, block) for i in range(entries)]) + bytes(size)
        said = self.spend_little("a.tif", content, "out.tif")
        self.assertIn("out.tif", said)

    def test_unknown_entries_that_share_a_block(self):
        extra = [(40000 + i, UNDEFINED, 4 * MEBIBYTE, lambda end: end) for i in range(1000)]
        (self.path / "a.tif").write_bytes(tiff(extra, bytes(4 * MEBIBYTE)))
        _, said, memory = self.measure("a.tif", "-o", "out.tif")
        self.assertLess(memory, 500 * MEBIBYTE)
        self.assertLess(len(said.splitlines()), 15)

    def test_the_header_is_no_picture(self):
        for missing in ((273,), (273, 279)):
            said = self.spend_little("a.tif", tiff(leave_out=missing), "out.tif", code=1)
            self.assertIn("a.tif", said)
        zero = tiff([(273, LONG, 1, 0)], leave_out=(273,))
        self.assertIn("where", self.spend_little("a.tif", zero, "out.tif", code=1))

    def test_a_few_bytes_are_no_gigapixel(self):
        content = tiff(width=40000, height=40000)
        self.assertIn("truncated", self.spend_little("a.tif", content, "out.tif", code=1))

    def test_a_huge_tile_of_a_small_file(self):
        tiles = [(322, LONG, 1, 16384), (323, LONG, 1, 16384), (324, LONG, 1, 8), (325, LONG, 1, len(FLAT))]
        content = tiff(tiles, leave_out=(273, 278, 279))
        self.assertIn("truncated", self.spend_little("a.tif", content, "out.tif", most=60 * MEBIBYTE, code=1))

    def test_a_caption_of_pages_does_not_hide_those_of_other_files(self):
        """tifffile, and what reads OME and ImageJ, would take the first file's layers for all of a volume's."""
        for caption in (b'{"shape": [32, 32]}', b'<?xml version="1.0"?><OME xmlns="x"/>', b"ImageJ=1.53\nimages=1\n", b"A dog"):
            caption += b"\0"
            for name in "ab":
                caption_tag = (270, 2, len(caption), lambda end: end)
                (self.path / f"{name}.tif").write_bytes(tiff([caption_tag], caption))
            told = "note: 'out.tif' does not keep what captions"
            said = self.denoise("--depth", "1", "a.tif", "b.tif", "-o", "out.tif").stderr
            lost = not caption.startswith(b"A dog")
            self.assertEqual(told in said, lost, said)
            self.assertEqual(caption in (self.path / "out.tif").read_bytes(), not lost)
            for again in (["--depth", "1"], []):  # of one file it is true
                self.assertNotIn(told, self.denoise(*again, "a.tif", "-o", "out.tif").stderr)
                self.assertIn(caption, (self.path / "out.tif").read_bytes())

    def test_an_empty_block_does_not_cost_the_picture(self):
        self.spend_little("a.tif", tiff([(34377, UNDEFINED, 0, 0), (33723, UNDEFINED, 0, 0)]), "out.tif")


class Outputs(base.CommandLine):
    def test_noise_is_a_number(self):
        for text in ("nan", "-1", "1001", "inf"):
            with self.subTest(text=text):
                self.refuse("--add-noise", text, "in.pgm", "-o", "out.pgm", words=["add-noise"])
                self.refuse("estimate", "--add-noise", text, "in.pgm", words=["add-noise"])

    @base.posix
    def test_outputs_that_meet_in_a_link(self):
        for name in ("a", "b"):
            (self.path / f"{name}.pgm").write_bytes(base.picture(seed=ord(name)))
        os.symlink("a-clean.pgm", self.path / "b-clean.pgm")
        self.refuse("a.pgm", "b.pgm", "-o", "{}-clean.pgm", words=["twice"])
        (self.path / "b-clean.pgm").unlink()
        os.symlink(self.path / "a-clean.pgm", self.path / "b-clean.pgm")
        self.refuse("a.pgm", "b.pgm", "-o", "{}-clean.pgm", words=["twice"])

    @base.posix
    def test_a_link_that_leads_to_nothing_yet_stays_a_link(self):
        (self.path / "there").mkdir()
        os.symlink("there/real.pgm", self.path / "out.pgm")
        self.denoise("in.pgm", "-o", "out.pgm")
        self.assertTrue((self.path / "out.pgm").is_symlink())
        self.assertEqual(self.names(), ["in.pgm", "out.pgm", "there/real.pgm"])

    @base.posix
    def test_a_full_disk_is_named(self):
        for name in ("out.pgm", "out.png", "out.tif", "out.jpg"):
            with self.subTest(name=name):
                result = self.run_program("--sigma", "5", "in.pgm", "-o", name, preexec_fn=base.limit_file_size)
                self.assertEqual(result.returncode, 1)
                if "no library" not in result.stderr:
                    self.assertIn("File too large", result.stderr)

    @base.posix
    def test_an_output_is_never_called_damaged(self):
        self.need_library("probe.tif")
        for most in (0, 4, 100):  # libtiff begins with the first 8 bytes
            with self.subTest(most=most):
                result = self.run_program("--sigma", "5", "in.pgm", "-o", "out.tif",
                                          preexec_fn=functools.partial(base.limit_file_size, most))
                self.assertEqual(result.returncode, 1)
                self.assertIn("can't be written: File too large", result.stderr)

    def test_too_wide_for_the_output_is_said_before_the_work(self):
        (self.path / "wide.pgm").write_bytes(base.pgm(65501, 1, bytes(65501)))
        result = self.run_program("--sigma", "5", "wide.pgm", "-o", "out.jpg")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_what_a_killed_run_left_goes_with_the_next(self):
        self.need_library("probe.png")  # which is written slowly enough
        draw = random.Random(1)
        side = 1500
        (self.path / "noise.pgm").write_bytes(base.pgm(side, side, draw.randbytes(side * side)))
        for _ in range(40):
            process = subprocess.Popen([base.GRAINLESS, "noise.pgm", "-o", "out.png", "--sigma", "5", "--strength", "0"],
                                       cwd=self.path, stderr=subprocess.DEVNULL)
            while process.poll() is None and not any(self.path.glob(".grainless-*")):
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if left := [p for p in self.path.glob(".grainless-*") if p.stat().st_mode & 0o077]:
                self.fail(f"others may read {left}")
            if any(self.path.glob(".grainless-*")):
                break
        else:
            self.fail("no run could be killed while it wrote")
        mine = self.path / ".grainless-settings"
        mine.write_text("not a temporary file of ours")
        self.denoise("in.pgm", "-o", "other.pgm")
        self.assertEqual([p.name for p in self.path.glob(".grainless-*")], [mine.name])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
