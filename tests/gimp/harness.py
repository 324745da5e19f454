# SPDX-License-Identifier: MIT
"""What the cases share: images of every kind, the filter's procedure, and a list of results in TAP."""
import json
import os
import pathlib
import traceback

import gi

gi.require_version("Gimp", "3.0")
gi.require_version("Gegl", "0.4")
import numpy as np  # noqa: E402
from gi.repository import Gegl, Gimp, Gio  # noqa: E402

Gegl.init(None)
PDB = Gimp.get_pdb()
PROCEDURE = "plug-in-grainless-denoise"
HERE = pathlib.Path(os.environ["GRAINLESS_TEST_DIR"])
WORK = pathlib.Path(os.environ["GRAINLESS_TEST_WORK"])
REPORT = pathlib.Path(os.environ["GRAINLESS_REPORT"])
SUCCESS = Gimp.PDBStatusType.SUCCESS
WIDTH, HEIGHT = 72, 56
SIGMA = 12.0


class Tap:
    """Results, written out at once: a crash leaves what was known."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.write("TAP version 13")

    def write(self, line):
        self.file.write(line + "\n")
        self.file.flush()

    def run(self, name, body):
        try:
            body()
            self.write(f"ok - {name}")
        except Exception:
            self.write(f"not ok - {name}")
            for line in traceback.format_exc().splitlines():
                self.write(f"# {line}")
        for image in Gimp.get_images():
            image.delete()

    def end(self):
        self.write("# end")


def clean_picture(channels, width=WIDTH, height=HEIGHT):
    """Soft shapes and an edge, 0.2 to 0.8."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    base = 0.5 + 0.15 * np.sin(x / 9.0) * np.cos(y / 7.0) + np.where(x + y > 70, 0.12, -0.08)
    planes = [base, base * 0.9 + 0.03, base * 0.8 + 0.08][:channels]
    return np.stack(planes, axis=-1)


def noisy_picture(channels, seed=1, width=WIDTH, height=HEIGHT):
    noise = np.random.default_rng(seed).normal(0, SIGMA / 255, (height, width, channels))
    return (clean_picture(channels, width, height) + noise).astype(np.float32)


def engine_format(drawable):
    """The perceptual float format of the drawable's kind."""
    name = "R~G~B~" if drawable.is_rgb() else "Y~"
    return name + ("A float" if drawable.has_alpha() else " float")


def rectangle(drawable):
    return Gegl.Rectangle.new(0, 0, drawable.get_width(), drawable.get_height())


def native_bytes(drawable):
    return drawable.get_buffer().get(rectangle(drawable), 1.0, None, Gegl.AbyssPolicy.NONE)


def native_pixels(drawable):
    """Rows of pixels as raw bytes: for comparisons bit for bit."""
    data = np.frombuffer(native_bytes(drawable), np.uint8)
    return data.reshape(drawable.get_height(), drawable.get_width(), -1)


def get_pixels(drawable, name=None):
    data = drawable.get_buffer().get(rectangle(drawable), 1.0, name or engine_format(drawable), Gegl.AbyssPolicy.NONE)
    return np.frombuffer(data, np.float32).reshape(drawable.get_height(), drawable.get_width(), -1).copy()


def set_pixels(drawable, pixels, name=None):
    buffer = drawable.get_buffer()
    buffer.set(rectangle(drawable), name or engine_format(drawable), np.ascontiguousarray(pixels, np.float32).tobytes())
    buffer.flush()
    drawable.update(0, 0, drawable.get_width(), drawable.get_height())


def with_alpha(pixels, alpha):
    return np.concatenate([pixels, np.broadcast_to(alpha, pixels.shape[:2])[..., None].astype(np.float32)], axis=-1)


def new_image(base=Gimp.ImageBaseType.RGB, precision=Gimp.Precision.U8_NON_LINEAR, width=WIDTH, height=HEIGHT):
    return Gimp.Image.new_with_precision(width, height, base, precision)


def add_layer(image, alpha=False, seed=1, name="layer", parent=None):
    """A layer of noise on a clean picture, with an alpha ramp when it has alpha."""
    rgb = image.get_base_type() == Gimp.ImageBaseType.RGB
    kinds = {(True, False): Gimp.ImageType.RGB_IMAGE, (True, True): Gimp.ImageType.RGBA_IMAGE,
             (False, False): Gimp.ImageType.GRAY_IMAGE, (False, True): Gimp.ImageType.GRAYA_IMAGE}
    layer = Gimp.Layer.new(image, name, image.get_width(), image.get_height(), kinds[rgb, alpha], 100,
                           Gimp.LayerMode.NORMAL)
    image.insert_layer(layer, parent, 0)
    pixels = noisy_picture(3 if rgb else 1, seed, image.get_width(), image.get_height())
    if alpha:
        ramp = np.linspace(0.1, 1.0, image.get_width(), dtype=np.float32)
        ramp[:5] = 0
        pixels = with_alpha(pixels, ramp)
    set_pixels(layer, pixels)
    return layer


def call(image, drawables, run_mode=Gimp.RunMode.NONINTERACTIVE, procedure=PROCEDURE, **arguments):
    """Runs the filter; returns its status and message."""
    procedure = PDB.lookup_procedure(procedure)
    config = procedure.create_config()
    config.set_property("run-mode", run_mode)
    config.set_property("image", image)
    config.set_core_object_array("drawables", drawables)
    for key, value in arguments.items():
        config.set_property(key.replace("_", "-"), value)
    values = procedure.run(config)
    return values.index(0), PDB.get_last_error()


def denoise(image, drawables, **arguments):
    """Runs the filter, which must succeed; returns its reports."""
    REPORT.unlink(missing_ok=True)
    status, message = call(image, drawables, **arguments)
    assert status == SUCCESS, f"{status}: {message}"
    return reports()


def reports():
    return [json.loads(line) for line in REPORT.read_text(encoding="utf-8").splitlines()] if REPORT.exists() else []


# NLM with a fixed sigma: fast, and no estimate of tiny pictures is involved.
QUICK = {"method": "nlm", "auto_sigma": False, "sigma": SIGMA, "search": 11}


def noise_left(drawable):
    """RMS distance to the clean picture, in 8-bit steps, where the layer is opaque enough to count."""
    pixels = get_pixels(drawable)
    colours = 3 if drawable.is_rgb() else 1
    clean = clean_picture(colours, drawable.get_width(), drawable.get_height())
    return 255 * float(np.sqrt(np.mean((pixels[:, 5:, :colours] - clean[:, 5:]) ** 2)))


def files_of_older_versions(name):
    """The file as released versions wrote it (tests/compat), those of the newest version last."""
    folders = (path for path in (HERE.parent / "compat").iterdir() if path.is_dir())
    files = [path / name for path in sorted(folders, key=lambda path: [int(part) for part in path.name.split(".")])]
    assert files
    return files


def load(path):
    return Gimp.file_load(Gimp.RunMode.NONINTERACTIVE, Gio.File.new_for_path(str(path)))
