# SPDX-License-Identifier: MIT
"""What can be wrong with the CUDA module and its cards (tests/support/fake_module.cpp), the same for every front end."""
import os
import pathlib

NAME = "grainless-cuda.so"
# One card: of two the sound one may have taken every tile before the other begins.
FIRST = {"CARDS": 1, "FAIL_RUN": 1}
THIRD = {"CARDS": 1, "FAIL_RUN": 3, "BUDGET": 6000000}  # of a picture of 300 x 260 pixels
# Fault, stage, a part of what the user is told, the folder with the module, the fake's settings.
CARDS = [
    ("module missing", "start", "is not installed", None, {}),
    ("module older", "start", "another version", "fake-old", {}),
    ("module newer", "start", "another version", "fake-newer", {}),
    ("no module of ours", "start", "not a Grainless module", "fake-strange", {}),
    ("no driver", "start", "no fake driver", "fake-good", {"DRIVER": 0}),
    ("driver too old", "start", "too old", "fake-good", {"DRIVER": 1}),
    ("driver without device", "start", "no NVIDIA graphics card", "fake-good", {"CARDS": 0}),
    ("device can't be opened", "start", "does not answer", "fake-good", {"OPEN_FAILS": 0}),
    ("cuFFT or another part missing", "planning", "lacks this method", "fake-good", {"LACKS_METHOD": 1}),
    ("device doesn't say its memory", "planning", "is silent", "fake-good", {"BUDGET": -1}),
    ("no device memory left", "planning", "too little for a tile", "fake-good", {"BUDGET": 0}),
    ("device too small for the plan", "the first tile", "too small for this plan", "fake-good", {"SMALL": 1}),
    ("out of device memory, always", "every tile", "the card is full", "fake-good", {"MAX_PIXELS": 0}),
    ("device lost", "the first tile", "fell off the bus", "fake-good", FIRST),
    ("device lost", "the third tile", "fell off the bus", "fake-good", THIRD),
    ("launch failure", "the third tile", "launching", "fake-good", THIRD | {"FAIL_TEXT": "launching: unspecified"}),
    ("time-out", "the third tile", "timed out", "fake-good", THIRD | {"FAIL_TEXT": "the launch timed out"}),
    ("NaN from a kernel", "the third tile", "no numbers", "fake-good",
     THIRD | {"FAIL_CODE": 7, "FAIL_TEXT": "it computed values that are no numbers"})]

# What only the plug-in's process for the cards withstands: the same, where they are in the process itself, ends it.
PROCESS_CARDS = [
    ("driver ends its process", "the first tile", "process was lost", "fake-good", {"CARDS": 1, "CRASHES": 1})]


def variables(settings):
    return {f"GRAINLESS_FAKE_{key}": str(value) for key, value in settings.items()}


def module_bytes(folders, folder):
    """Of a fake below tests/support of the build; None without one."""
    return pathlib.Path(folders, folder, NAME).read_bytes() if folder else None


def broken_modules(folders):
    """What stands where the module is expected, by the fault's name."""
    whole = module_bytes(folders, "fake-good")
    return {"module empty": b"", "module a text": b"no module\n", "module cut in half": whole[:len(whole) // 2],
            "module cut by its end": whole[:-1], "module's header alone": whole[:64],
            "module full of zeros": bytes(len(whole))}


class Installed:
    """While it is entered, `contents` stand in the plug-in's folder as its module; None: nothing does."""

    def __init__(self, folder, contents):
        self.module = pathlib.Path(folder, NAME)
        self.kept, self.contents = self.module.with_suffix(".kept"), contents

    def __enter__(self):
        if self.module.exists():
            self.module.rename(self.kept)
        if self.contents is not None:
            self.module.write_bytes(self.contents)
            os.chmod(self.module, 0o755)

    def __exit__(self, *_):
        self.module.unlink(missing_ok=True)
        if self.kept.exists():
            self.kept.rename(self.module)
