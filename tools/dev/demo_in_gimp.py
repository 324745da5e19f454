# SPDX-License-Identifier: MIT
"""Runs inside gimp-console (Python-Fu batch): loads photographs, runs the filter with its default
settings, saves.

The environment variable GRAINLESS_DEMO_JOBS holds a JSON list of {"input", "before", "result"}; a
file's seconds and error come back in the file that GRAINLESS_DEMO_ANSWERS names. Inputs are only
read.
"""

import json
import os
import time

import gi

gi.require_version("Gimp", "3.0")
from gi.repository import Gio, Gimp  # noqa: E402 (the version comes first)

PROCEDURE = "plug-in-grainless-denoise"


def save(image, path):
    if not Gimp.file_save(Gimp.RunMode.NONINTERACTIVE, image, Gio.File.new_for_path(path), None):
        raise RuntimeError(f"GIMP could not save {path}")


def load(path):
    image = Gimp.file_load(Gimp.RunMode.NONINTERACTIVE, Gio.File.new_for_path(path))
    if image is None:
        raise RuntimeError(f"GIMP could not open {path}")
    if len(image.get_layers()) > 1:
        image.flatten()
    return image


def denoise(image):
    procedure = Gimp.get_pdb().lookup_procedure(PROCEDURE)
    if procedure is None:
        raise RuntimeError(f"GIMP knows no procedure {PROCEDURE}: the plug-in did not start")
    config = procedure.create_config()
    config.set_property("image", image)
    config.set_core_object_array("drawables", image.get_layers())
    values = procedure.run(config)
    if values.index(0) != Gimp.PDBStatusType.SUCCESS:
        raise RuntimeError(
            values.index(1) if values.length() > 1 else f"{PROCEDURE} failed: {values.index(0)}"
        )


def run(job):
    started = time.monotonic()
    image = load(job["input"])
    try:
        save(image, job["before"])
        loaded = time.monotonic()
        denoise(image)
        denoised = time.monotonic()
        save(image, job["result"])
    finally:
        image.delete()
    return {
        "open": loaded - started,
        "procedure": denoised - loaded,
        "save": time.monotonic() - denoised,
    }


def main():
    answers = []
    for job in json.loads(os.environ["GRAINLESS_DEMO_JOBS"]):
        try:
            answers.append({"seconds": run(job)})
        except (
            Exception
        ) as error:  # whatever it is belongs in the answer: GIMP's own status would not tell
            answers.append({"error": str(error)})
    with open(os.environ["GRAINLESS_DEMO_ANSWERS"], "w", encoding="utf-8") as answer_file:
        json.dump(answers, answer_file)


main()
