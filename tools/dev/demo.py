#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The demo: the real GIMP, without a window, denoises photographs through the plug-in's procedure.

usage: demo.py PLUGIN_DIR OUT_DIR [PHOTO…]

Leaves in OUT_DIR for each photograph NAME-denoised.png and NAME-comparison.png (before | after |
removed noise), and prints one JSON object; with several photographs it is {"photos": [one object
each]}. A photograph is never written to.

Without a PHOTO a noisy one is made from astronaut.jpg (Eileen Collins, by NASA; public domain), the
way a camera does it (camera.py, "photosites"). The clean picture is then known, and PSNR and SSIM
before and after are part of the answer.
"""

import json
import math
import os
import pathlib
import subprocess
import sys

import numpy
from PIL import Image, ImageDraw, ImageFont

import camera
from steps import fail, step

HERE = pathlib.Path(__file__).parent
GIMP_ENV = HERE / "gimp-env.sh"
ISO, SEED = 6400, 20260101
SHOWN = 640  # pixels of the comparison's sides: the middle of larger photographs, at 1:1
REMOVED_GAIN = 4


def camera_noise(clean, seed=SEED):
    return camera.photosites(clean, camera.LEVELS[ISO], seed)


def astronaut():
    return numpy.asarray(Image.open(HERE / "astronaut.jpg"))


def make_photograph(folder):
    clean = astronaut()
    path = folder / "astronaut-noisy.png"
    Image.fromarray(camera_noise(clean)).save(path)
    Image.fromarray(clean).save(folder / "astronaut-clean.png")
    return path, clean


def make_burst(folder, frames):
    """The photograph again and again, each with noise of its own."""
    paths = [folder / f"frame-{number}.png" for number in range(1, frames + 1)]
    for number, path in enumerate(paths):
        Image.fromarray(camera_noise(astronaut(), SEED + number)).save(path)
    return paths


def jobs_for(photos, folder):
    jobs, names = [], set()
    for photo in photos:
        name = photo.stem.removesuffix("-noisy")
        while name in names:
            name += "-2"
        names.add(name)
        jobs.append(
            {
                "input": str(photo),
                "before": str(folder / f"{name}-before.png"),
                "result": str(folder / f"{name}-denoised.png"),
                "comparison": str(folder / f"{name}-comparison.png"),
            }
        )
        if any(pathlib.Path(path).resolve() == photo for path in list(jobs[-1].values())[1:]):
            fail(f"{photo} would be overwritten: move it out of {folder} first")
    return jobs


def wait_aloud(process):
    while True:
        try:
            process.wait(timeout=15)
            return
        except subprocess.TimeoutExpired:
            step("GIMP is still at work")


def run_gimp(plugin_folder, folder, jobs):
    """Each job's {"seconds"} or {"error"}, and its report by the procedure, in order."""
    answers, report, log = folder / "answers.json", folder / "report.jsonl", folder / "gimp.log"
    for path in (answers, report):
        path.unlink(missing_ok=True)
    environment = os.environ | {
        "GRAINLESS_DEMO_JOBS": json.dumps(jobs),
        "GRAINLESS_DEMO_ANSWERS": str(answers),
        "GRAINLESS_REPORT": str(report),
    }
    script = (
        f"exec(compile(open({str(HERE / 'demo_in_gimp.py')!r}).read(), 'demo_in_gimp.py', 'exec'))"
    )
    command = [
        GIMP_ENV,
        "--kept",
        folder / "gimp-profile",
        plugin_folder,
        "gimp-console",
        "--no-interface",
        "--no-data",
        "--no-fonts",
        "--batch-interpreter=python-fu-eval",
        "--batch",
        script,
        "--quit",
    ]
    with open(log, "w", encoding="utf-8") as log_file, subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file
    ) as gimp:
        wait_aloud(gimp)
    if not answers.exists():
        fail(f"GIMP ended without an answer: {log} names the reason")
    reports = (
        [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        if report.exists()
        else []
    )
    return json.loads(answers.read_text(encoding="utf-8")), reports


def read_rgb(path):
    """8-bit RGB, on grey where the picture is transparent."""
    image = Image.open(path)
    if image.mode in ("I", "I;16"):
        return numpy.stack([(numpy.asarray(image) / 257).round().astype(numpy.uint8)] * 3, axis=2)
    if "A" in image.getbands():
        image = Image.alpha_composite(
            Image.new("RGBA", image.size, (128, 128, 128, 255)), image.convert("RGBA")
        )
    return numpy.asarray(image.convert("RGB"))


def middle(pixels):
    top, left = (max(0, (side - SHOWN) // 2) for side in pixels.shape[:2])
    return pixels[top : top + SHOWN, left : left + SHOWN]


def draw_comparison(before, after, path, caption):
    difference = (before.astype(float) - after) * REMOVED_GAIN + 128
    panels = [before, after, numpy.clip(difference.round(), 0, 255).astype(numpy.uint8)]
    captions = ["before", caption, f"removed noise, {REMOVED_GAIN} times"]
    height, width, bar, gap = *before.shape[:2], 24, 4
    canvas = Image.new("RGB", (3 * width + 2 * gap, height + bar), (32, 32, 32))
    draw = ImageDraw.Draw(canvas)
    font = ImageFont.truetype("DejaVuSans.ttf", 14)
    for index, (panel, text) in enumerate(zip(panels, captions)):
        left = index * (width + gap)
        canvas.paste(Image.fromarray(panel), (left, bar))
        draw.text((left + 6, 4), text, fill=(230, 230, 230), font=font)
    canvas.save(path)


def psnr(clean, picture):
    return 10 * math.log10(255**2 / numpy.square(clean.astype(float) - picture).mean())


def box_means(plane, side=7):
    sums = numpy.pad(plane, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    boxes = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return boxes / side**2


def ssim_of_channel(a, b):
    """As scikit-image's structural_similarity: uniform windows of 7 x 7, sample covariances."""
    mean_a, mean_b = box_means(a), box_means(b)
    unbiased = 49 / 48
    variances = unbiased * (box_means(a * a) - mean_a**2 + box_means(b * b) - mean_b**2)
    covariance = unbiased * (box_means(a * b) - mean_a * mean_b)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    likeness = (2 * mean_a * mean_b + c1) * (2 * covariance + c2)
    return (likeness / ((mean_a**2 + mean_b**2 + c1) * (variances + c2))).mean()


def ssim(clean, picture):
    channels = zip(*(numpy.moveaxis(pixels.astype(float), 2, 0) for pixels in (clean, picture)))
    return float(numpy.mean([ssim_of_channel(a, b) for a, b in channels]))


def quality(clean, picture):
    return {
        "psnr": round(psnr(clean, picture), 3),
        "ssim": round(ssim(clean, picture), 4),
    }


def describe(job, answer, report, clean):
    before, after = read_rgb(job["before"]), read_rgb(job["result"])
    sigma = ", ".join(f"{value:.1f}" for value in report["sigma"])
    draw_comparison(
        middle(before),
        middle(after),
        job["comparison"],
        f"after ({report['device']}, sigma {sigma})",
    )
    described = {
        "photo": job["input"],
        "result": job["result"],
        "comparison": job["comparison"],
        **report,
    }
    pathlib.Path(job["before"]).unlink()
    seconds = report["seconds"] | {f"gimp_{key}": value for key, value in answer["seconds"].items()}
    described["seconds"] = {key: round(value, 4) for key, value in seconds.items()}
    if clean is not None:
        for when, picture in (("before", before), ("after", after)):
            described |= {f"{key}_{when}": value for key, value in quality(clean, picture).items()}
    return described


def main():
    plugin_folder, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    photos, clean = [pathlib.Path(argument).resolve() for argument in sys.argv[3:]], None
    folder.mkdir(parents=True, exist_ok=True)
    for photo in photos:
        if not photo.is_file():
            fail(f"there is no photograph {photo}")
    if not photos:
        step("making a noisy photograph: an astronaut, with camera-like noise")
        photo, clean = make_photograph(folder)
        photos = [photo]
    jobs = jobs_for(photos, folder)
    step(f"GIMP runs the filter with its default settings on {len(jobs)} photograph(s)")
    answers, reports = run_gimp(plugin_folder, folder, jobs)
    finish(jobs, answers, reports, clean)


def finish(jobs, answers, reports, clean):
    errors = [
        f"{job['input']}: {answer['error']}"
        for job, answer in zip(jobs, answers)
        if "error" in answer
    ]
    done = [(job, answer) for job, answer in zip(jobs, answers) if "error" not in answer]
    if len(reports) != len(done):
        fail("; ".join(errors) or f"the plug-in reported {len(reports)} runs, and GIMP {len(done)}")
    described = [
        describe(job, answer, report, clean) for (job, answer), report in zip(done, reports)
    ]
    for entry in described:
        step(f"picture: {entry['comparison']}")
    if described:
        print(json.dumps(described[0] if len(jobs) == 1 else {"photos": described}, indent=2))
    if errors:
        fail("; ".join(errors))


if __name__ == "__main__":
    main()
