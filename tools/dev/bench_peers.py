# SPDX-License-Identifier: MIT
"""Other programs beside Grainless, in one run on the same noisy pictures: OpenCV and Tampere's bm3d
from PyPI, G'MIC from the system. Runs in the benchmark's own Python environment (build.sh)."""

import importlib.metadata
import resource
import subprocess
import time

import numpy
from PIL import Image
from skimage import data, metrics

from steps import fail, step

SIGMA, SEED = 25, 1
PICTURES = {"camera": data.camera, "astronaut": data.astronaut}  # 512×512, grey and RGB
OURS = {
    "BM3D, normal": ["--method", "bm3d", "--quality", "normal"],
    "BM3D, fast": ["--method", "bm3d", "--quality", "fast"],
    "BM3D, high": ["--method", "bm3d", "--quality", "high"],
    "NLM 21×21 / 7×7": ["--method", "nlm", "--search", "21", "--patch", "7"],
    "DCT": ["--method", "dct"],
}


def add_noise(clean, sigma):
    noise = numpy.random.default_rng(SEED).standard_normal(clean.shape, dtype=numpy.float32)
    return numpy.clip(numpy.rint(clean + sigma * noise), 0, 255).astype(numpy.uint8)


def psnr(clean, picture):
    return metrics.peak_signal_noise_ratio(clean, picture, data_range=255)


def to_bytes(picture):
    return numpy.clip(numpy.rint(picture), 0, 255).astype(numpy.uint8)


def processor_seconds():
    """Of this process and of its children that have ended, all threads."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def version():
    return run_command(["grainless", "--version"]).splitlines()[0].strip()


class Contender:
    """A function from the noisy picture to the denoised one."""

    def __init__(self, program, method, function):
        self.program, self.method, self.function = program, method, function
        self.result, self.wall, self.processor = None, [], []

    def run(self):
        wall, processor = time.perf_counter(), processor_seconds()
        self.result = self.function()
        self.wall.append(time.perf_counter() - wall)
        self.processor.append(processor_seconds() - processor)


def best_of(clean, functions):
    """Of (strength, function) the one whose result is nearest to the clean picture."""
    return max(functions, key=lambda candidate: psnr(clean, candidate[1]()))


def run_command(command):
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        fail(f"{' '.join(command)} failed: {answer.stderr.strip()}")
    return answer.stdout


def grainless(folder, noisy_file, method, options):
    output = folder / f"grainless{noisy_file.suffix}"
    command = ["grainless", "--device", "cpu", "--auto-sigma", "no", "--sigma", str(SIGMA), *options]
    command += [str(noisy_file), "-o", str(output)]

    def denoise():
        output.unlink(missing_ok=True)
        run_command(command)
        return numpy.asarray(Image.open(output))

    return Contender(version().capitalize(), method, denoise)


def opencv(clean, noisy):
    import cv2  # in the benchmark's own environment only

    def denoise(h):
        if noisy.ndim == 3:
            return cv2.fastNlMeansDenoisingColored(noisy[..., ::-1], None, h, h, 7, 21)[..., ::-1]
        return cv2.fastNlMeansDenoising(noisy, None, h, 7, 21)

    strengths = [SIGMA * factor for factor in (0.6, 0.8, 1.0, 1.2)]
    h, function = best_of(clean, [(h, lambda h=h: denoise(h)) for h in strengths])
    return Contender(f"OpenCV {cv2.__version__}", f"NLM 21×21 / 7×7, h {h:g}", function)


def tampere(noisy):
    import bm3d  # in the benchmark's own environment only

    scaled = noisy / 255.0
    filter_picture = bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d
    return Contender(
        f"bm3d {importlib.metadata.version('bm3d')}",
        "np",
        lambda: to_bytes(filter_picture(scaled, SIGMA / 255, profile="np") * 255),
    )


def gmic(folder, clean, noisy_file, method, filters):
    """The best of several of G'MIC's commands, each with its arguments."""
    output = folder / f"gmic{noisy_file.suffix}"

    def denoise(arguments):
        output.unlink(missing_ok=True)
        run_command(["gmic", str(noisy_file), *arguments, "round", "cut", "0,255", "output", str(output)])
        return numpy.asarray(Image.open(output))

    arguments, function = best_of(clean, [(f, lambda f=f: denoise(f)) for f in filters])
    package = run_command(["dpkg-query", "--show", "--showformat=${Version}", "gmic"])
    name = f"{method} ({' '.join(arguments)})"
    return Contender(f"G'MIC {package.split('-')[0]}", name, function)


# G'MIC's patch smoothing: sigma_s, sigma_p, patch, lookup, smoothness. Its NL-means: patch radius,
# deviation in space and in value.
SMOOTH_PATCH = [["denoise", f"{s},{p},5,8,1"] for s in (3, 5) for p in (10, 15, 20, 30)]
NL_MEANS = [["nlmeans", f"3,10,{tone}"] for tone in (12, 15)]


def contenders_of(folder, name, clean):
    noisy = add_noise(clean, SIGMA)
    noisy_file = folder / f"{name}.{'pgm' if noisy.ndim == 2 else 'ppm'}"
    Image.fromarray(noisy).save(noisy_file)
    return [
        *(grainless(folder, noisy_file, method, options) for method, options in OURS.items()),
        tampere(noisy),
        opencv(clean, noisy),
        gmic(folder, clean, noisy_file, "patch smoothing", SMOOTH_PATCH),
        gmic(folder, clean, noisy_file, "NL-means", NL_MEANS),
    ]


def row_of(name, clean, contender):
    return {
        "picture": name,
        "channels": 1 if clean.ndim == 2 else clean.shape[2],
        "program": contender.program,
        "method": contender.method,
        "processor_seconds": float(numpy.median(contender.processor)),
        "wall_seconds": float(numpy.median(contender.wall)),
        "psnr": float(psnr(clean, contender.result)),
    }


def compare(folder, runs):
    """Rows of the table; the contenders take turns."""
    rows = []
    for name, picture in PICTURES.items():
        clean = picture()
        step(f"{name}: the best strength of each program")
        contenders = contenders_of(folder, name, clean)
        step(f"{name}: {runs} runs each, in turns")
        for _ in range(runs):
            for contender in contenders:
                contender.run()
        rows.extend(row_of(name, clean, contender) for contender in contenders)
    return rows


def print_rows(rows):
    print(f"\n{'':10}{'program':18}{'method':46}{'processor s':>12}{'wall s':>9}{'dB':>8}")
    for row in rows:
        print(
            f"{row['picture']:10}{row['program']:18}{row['method']:46}"
            f"{row['processor_seconds']:12.3f}{row['wall_seconds']:9.3f}{row['psnr']:8.2f}",
            flush=True,
        )
