#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line while something breaks. Usage: cli_faults.py GRAINLESS FAKE_MODULES FAILING_MALLOC

Whatever happens, a run ends by itself with a status from 0 to 3, or with the signal that killed it; at the output's place
there is the whole result, or what stood there before; the input is as it was; and no other file is left. Every case appends
a line of JSON to the file $GRAINLESS_FAULT_LOG, if that is set."""
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import card_faults

GRAINLESS, MODULES, FAILING_MALLOC = map(os.path.abspath, sys.argv[1:4])
GOOD = os.path.join(MODULES, "fake-good")
SETTINGS = ["--sigma", "12", "--method", "nlm", "--search", "9"]
TIMEOUT = 120
WORDS = {0: "done", 1: "refused", 2: "failed", 3: "cancelled"}


def picture(width, height, seed=1):
    draw = random.Random(seed)
    body = bytes(int(min(255, max(0, (80 if x < width // 2 else 160) + draw.gauss(0, 12))))
                 for _ in range(height) for x in range(width) for _ in range(3))
    return b"P6\n%d %d\n255\n" % (width, height) + body


class Place:
    """A folder with an input, and an older output where that is wanted."""

    def __init__(self, source, old=None, name="out.ppm"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="grainless-faults-"))
        self.source, self.old = source, old
        self.input, self.output = self.folder / "in.ppm", self.folder / name
        self.input.write_bytes(source)
        if old is not None:
            self.output.write_bytes(old)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *arguments, module=GOOD, settings=(), **options):
        environment = dict(os.environ, GRAINLESS_MODULE_DIR=str(module), LC_ALL="C.UTF-8")
        environment.pop("LD_PRELOAD", None)
        environment.update(settings)
        return subprocess.Popen([GRAINLESS, *SETTINGS, *map(str, arguments), str(self.input), "-o", str(self.output)],
                                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run(self, *arguments, **options):
        with self.start(*arguments, **options) as process:
            return End(process, self)

    def troubles(self, result):
        """What is wrong with the files, where `result` is the only new output that may be there."""
        found = []
        content = self.output.read_bytes() if self.output.is_file() else None
        if content not in (self.old, result):
            found.append("THE OUTPUT IS NEITHER OLD NOR NEW")
        if not self.input.is_file() or self.input.read_bytes() != self.source:
            found.append("THE INPUT IS ANOTHER")
        left = sorted(p.name for p in self.folder.iterdir() if p not in (self.input, self.output))
        if left:
            found.append("LEFT: " + " ".join(left))
        return found


class End:
    """How a process ended."""

    def __init__(self, process, place):
        self.hangs = False
        try:
            self.out, self.err = (stream.decode() for stream in process.communicate(timeout=TIMEOUT))
        except subprocess.TimeoutExpired:
            self.hangs = True
            process.kill()
            self.out, self.err = (stream.decode() for stream in process.communicate())
        self.status = process.returncode
        self.written = place.output.is_file() and place.output.read_bytes() != place.old

    def word(self):
        if self.hangs:
            return "HANGS"
        return WORDS.get(self.status, f"ends with {self.status}")

    def sentence(self):
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[0].replace("grainless: ", "") if lines else ""


class Cases:
    def __init__(self):
        self.failed = self.count = 0
        self.source, self.large = picture(96, 80), picture(300, 260)
        self.result, self.large_result = self.denoised(self.source), self.denoised(self.large)

    def denoised(self, source, name="out.ppm"):
        with Place(source, name=name) as place:
            end = place.run("--device", "cpu")
            assert end.status == 0, end.err
            return place.output.read_bytes()

    def log(self, fault, stage, expected, seen, ok):
        self.count += 1
        if not ok:
            self.failed += 1
            print(f"not ok: {fault}, {stage}: expected {expected}; {seen}")
        path = os.environ.get("GRAINLESS_FAULT_LOG")
        if path:
            line = json.dumps({"fault": fault, "stage": stage, "front_end": "cli", "expected": expected, "seen": seen,
                               "ok": bool(ok)}, ensure_ascii=False)
            with open(path, "a", encoding="utf-8") as log:
                log.write(line + "\n")

    def judge(self, fault, stage, expected, place, end, ok, result=None):
        """Logs a case that also needs whole files, without names of folders in the sentence."""
        troubles = place.troubles(self.result if result is None else result)
        seen = end.word()
        if end.sentence():
            seen += ": " + end.sentence().replace(str(place.folder) + "/", "")
        self.log(fault, stage, expected, ", ".join([seen, *troubles]), ok and not end.hangs and not troubles)

    # ---- modules and cards

    def card(self, fault, stage, says, module=GOOD, settings=()):
        with Place(self.large) as place:
            end = place.run(module=module, settings=settings)
            self.judge(fault, stage, "done with the same pixels, and the reason told", place, end,
                       end.status == 0 and end.written and says in end.err, self.large_result)

    def cards(self):
        for fault, stage, says, folder, settings in card_faults.CARDS:
            module = os.path.join(MODULES, folder) if folder else "/nonexistent"
            self.card(fault, stage, says, module, card_faults.variables(settings))

    def broken_modules(self):
        for fault, content in card_faults.broken_modules(MODULES).items():
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, card_faults.NAME).write_bytes(content)
                self.card(fault, "start", card_faults.NAME, module=folder)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "grainless-cuda.so").mkdir()
            self.card("module a folder", "start", "grainless-cuda.so", module=folder)

    def trust(self):
        whole = pathlib.Path(GOOD, "grainless-cuda.so").read_bytes()
        for fault, target, mode in (("module that others can write", "grainless-cuda.so", 0o666),
                                    ("module's folder that others can write", ".", 0o777)):
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "grainless-cuda.so").write_bytes(whole)
                os.chmod(os.path.join(folder, target), mode)
                self.card(fault, "start", "others can write", module=folder)
        with Place(self.source) as place:
            inside = place.folder / "here"
            inside.mkdir()
            (inside / "grainless-cuda.so").write_bytes(whole)
            end = place.run(module="here")
            shutil.rmtree(inside)
            self.judge("module folder relative to the working directory", "start", "refused with the reason", place, end,
                       end.status == 1 and "GRAINLESS_MODULE_DIR" in end.err)

    def hanging_card(self):
        with Place(self.source) as place:
            with place.start(settings={"GRAINLESS_FAKE_HANGS": "1"}) as process:
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                end = End(process, place)
            self.judge("device hangs, user presses Ctrl+C", "the first tile", "cancelled, nothing written", place, end,
                       end.status == 3 and not end.written)

    # ---- memory

    def allocations(self, *arguments):
        with Place(self.source) as place:
            count = place.folder.parent / (place.folder.name + ".count")
            place.run(*arguments, settings={"LD_PRELOAD": FAILING_MALLOC, "GRAINLESS_COUNT_MALLOC": str(count)})
            number = int(count.read_text())
            count.unlink()
        return number

    def memory(self):
        """Each of the first allocations, where a program sets itself up, then a spread of them."""
        total = self.allocations("--device", "cpu", "--threads", "2")
        draw = random.Random(7)
        numbers = sorted({*range(1, 25), *(draw.randrange(25, max(26, total)) for _ in range(40))})
        for after, fault in (("", "out of host memory at an allocation"),
                             ("+", "out of host memory from an allocation on")):
            trouble = []
            for number in numbers:
                with Place(self.source, old=b"what stood there before") as place:
                    end = place.run("--device", "cpu", "--threads", "2",
                                    settings={"LD_PRELOAD": FAILING_MALLOC,
                                              "GRAINLESS_FAIL_MALLOC": f"{number}{after}"})
                    whole = (end.status == 0 and end.written) or (end.status in (1, 2) and not end.written and end.err)
                    if not whole or end.hangs or place.troubles(self.result):
                        trouble.append(f"allocation {number} of {total}: {end.word()} {end.err.strip()} "
                                       f"{place.troubles(self.result)}")
            self.log(fault, "anywhere, one by one", "refused with one line, or the same pixels without it",
                     "; ".join(trouble) or "as expected, at each one", not trouble)

    def memory_for_presets(self):
        """Each allocation of listing presets, and the last ones of asking for one by its name."""
        with tempfile.TemporaryDirectory() as gimp:
            folder = pathlib.Path(gimp, "grainless", "presets")
            folder.mkdir(parents=True)
            (folder / "mine.preset").write_text("method = nlm\n", encoding="utf-8")
            for stage, arguments, most in (
                    ("presets are listed", ["presets"], 10**6),
                    ("a preset is read", ["--preset", "mine", "--device", "cpu", "no.ppm", "-o", "out.ppm"], 150),
                    ("no preset has the name", ["--preset", "none", "--device", "cpu", "no.ppm", "-o", "out.ppm"], 150)):
                trouble = self.without_memory(gimp, arguments, most)
                self.log("out of host memory at an allocation, or from it on", stage,
                         "refused with a reason, or the whole answer",
                         "; ".join(trouble) or "as expected, at each one", not trouble)

    def memory_for_json(self):
        """The last allocations of each command that prints JSON: those of its lines are among them."""
        with tempfile.TemporaryDirectory() as gimp:
            pathlib.Path(gimp, "in.ppm").write_bytes(self.source)
            for stage, arguments in (
                    ("presets are listed as JSON", ["presets", "--json"]),
                    ("devices are listed as JSON", ["devices", "--json"]),
                    ("noise is told as JSON", ["estimate", "--json", "in.ppm"]),
                    ("differences are told as JSON", ["metrics", "--json", "in.ppm", "in.ppm"]),
                    ("a result is told as JSON", [*SETTINGS, "--device", "cpu", "--threads", "1", "--json", "in.ppm", "-o",
                                                  "out.ppm"])):
                trouble = self.without_memory(gimp, arguments, 100)
                self.log("out of host memory at an allocation, or from it on", stage,
                         "refused with a reason, or the whole answer",
                         "; ".join(trouble) or "as expected, at each one", not trouble)

    def without_memory(self, gimp, arguments, most):
        """What was wrong when one of the last `most` allocations failed, or that and all after it."""
        result = pathlib.Path(gimp, "out.ppm")

        def run(**settings):
            result.unlink(missing_ok=True)
            return subprocess.run([GRAINLESS, *arguments], cwd=gimp, capture_output=True, text=True, check=False, timeout=TIMEOUT,
                                  env=dict(os.environ, LD_PRELOAD=FAILING_MALLOC, GIMP3_DIRECTORY=gimp, LC_ALL="C.UTF-8",
                                           GRAINLESS_MODULE_DIR="/nonexistent", **settings))
        count = pathlib.Path(gimp, "count")
        whole = run(GRAINLESS_COUNT_MALLOC=str(count))
        total, trouble = int(count.read_text()), []
        assert total > 50 and whole.returncode in (0, 1), whole
        for number in range(max(1, total - most), total + 1):
            for after in ("", "+"):
                end = run(GRAINLESS_FAIL_MALLOC=f"{number}{after}")
                lines = end.stderr.splitlines()
                told = end.returncode in (1, 2) or (end.returncode == 0 and result.exists() and end.stderr.endswith(
                    "a picture is written, but there was no memory to report it\n"))
                told = told and lines and all(line.startswith("grainless: ") for line in lines)
                same = end.returncode == 0 and answer(end.stdout) == answer(whole.stdout)
                broken = result.exists() and result.read_bytes() != self.result
                if not (told or same) or broken:
                    trouble.append(f"allocation {number}{after} of {total}: {end.returncode} {end.stderr.strip()}"
                                   f"{', A BROKEN PICTURE' if broken else ''}")
        return trouble

    # ---- files

    def files(self):
        formats = ("out.ppm", "out.png", "out.tif", "out.jpg", "out.pfm")
        for name in formats:
            for old in (None, b"what stood there before"):
                for limit in (0, 100, 1500):
                    with Place(self.source, old=old, name=name) as place:
                        end = place.run("--device", "cpu", preexec_fn=lambda most=limit: resource.setrlimit(
                            resource.RLIMIT_FSIZE, (most, most)))
                        self.judge(f"disk full, {name.removeprefix('out')}, "
                                   f"{'over an older file' if old else 'a new file'}", f"after {limit} bytes",
                                   "refused with the reason, the older file as it was", place, end,
                                   end.status == 1 and not end.written and "File too large" in end.err)
        self.small_disk()
        with Place(self.source) as place:
            place.output = pathlib.Path("/dev/full")
            end = place.run("--device", "cpu")
            place.output = place.folder / "none"
            self.judge("output a device", "start", "refused with the reason", place, end, end.status == 1)
        with Place(self.source) as place:
            place.input.unlink()
            end = place.run("--device", "cpu")
            place.input.write_bytes(self.source)
            self.judge("input missing", "start", "refused with the reason", place, end, end.status == 1)
        for share in (0, 3, 15, 50, 99):
            cut = self.source[:len(self.source) * share // 100]
            with Place(cut) as place:
                end = place.run("--device", "cpu")
                self.judge("input cut", f"after {share} %", "refused with the reason", place, end,
                           end.status == 1 and not end.written)
        for fault, content in (("settings that are no preset", b"\x00\xff nothing\n"), ("settings missing", None)):
            with Place(self.source) as place:
                preset = place.folder / "x.preset"
                if content is not None:
                    preset.write_bytes(content)
                end = place.run("--device", "cpu", "--preset", preset)
                preset.unlink(missing_ok=True)
                self.judge(fault, "start", "refused with the reason", place, end, end.status == 1 and not end.written)
        with Place(self.source) as place:
            preset = place.folder / "x.preset"
            preset.mkdir()
            end = place.run("--device", "cpu", "--preset", preset)
            preset.rmdir()
            self.judge("settings unreadable", "start", "refused with the reason", place, end,
                       end.status == 1 and not end.written)

    def small_disk(self):
        """A disk of 64 KiB, where this user may make one."""
        with Place(self.source, name="disk/out.png") as place:
            disk = place.folder / "disk"
            disk.mkdir()
            if shutil.which("mount") is None or subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True,
                    check=False).returncode != 0:
                print("told: no disk could be mounted, the file size limits stand for it")
                disk.rmdir()
                return
            try:
                end = place.run("--device", "cpu")
                left = list(disk.iterdir())
            finally:
                subprocess.run(["umount", disk], check=True)
                disk.rmdir()
            self.judge("disk full", "while writing", "refused with the reason", place, end,
                       end.status == 1 and not end.written and not left and "No space left" in end.err)

    # ---- signals

    def signals(self):
        source = picture(640, 480, seed=3)
        arguments = ["--device", "cpu", "--search", "21"]
        with Place(source) as place:
            begin = time.monotonic()
            place.run(*arguments)
            seconds, result = time.monotonic() - begin, place.output.read_bytes()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            for stage, share in (("begin", 0.03), ("middle", 0.5), ("end", 0.93)):
                self.signal(number, stage, share * seconds, (source, result), arguments)

    def signal(self, number, stage, wait, pictures, arguments):
        source, result = pictures
        kill = number == signal.SIGKILL
        with Place(source, old=b"what stood there before") as place:
            with place.start(*arguments) as process:
                time.sleep(wait)
                process.send_signal(number)
                end = End(process, place)
            stopped = (-number,) if kill or wait < 0.1 else (3,)  # the first moments are the loader's
            # Who is killed after the last file got its name has left the whole result, as troubles() sees.
            ok = end.status == 0 or (end.status in (*stopped, 3) and (kill or not end.written))
            if kill:  # nothing can be cleaned up by who is dead
                for left in place.folder.glob(".grainless-*"):
                    left.unlink()
            troubles = place.troubles(result)
            expected = ("the older file as it was, or the whole result" if kill else
                        "cancelled, the older file as it was; or the whole result")
            self.log(signal.Signals(number).name, stage, expected,
                     ", ".join(["as expected" if ok else end.word(), *troubles]), ok and not troubles)


def answer(text):
    """What a command said, without what differs from run to run, or says why a device can't be used."""
    if not text.startswith("{"):
        return text
    told = {name: value for name, value in json.loads(text).items() if name not in ("seconds", "peak_memory")}
    told["devices"] = [(device["name"], device["usable"]) for device in told.get("devices", ())]
    return told


def main():
    cases = Cases()
    for group in (cases.cards, cases.broken_modules, cases.trust, cases.hanging_card, cases.files, cases.signals,
                  cases.memory, cases.memory_for_presets, cases.memory_for_json):
        with contextlib.suppress(BrokenPipeError):
            group()
    print(f"{cases.count - cases.failed} passed, {cases.failed} failed")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
