# SPDX-License-Identifier: MIT
"""Runs in GIMP's Python beside the window: does what session.py asks for. WORK is set by the caller."""
import hashlib
import json
import os
import pathlib
import time
import traceback

import gi

gi.require_version("Gimp", "3.0")
gi.require_version("Gegl", "0.4")
import numpy as np  # noqa: E402
from gi.repository import Gegl, Gimp, Gio  # noqa: E402

folder = pathlib.Path(WORK)  # noqa: F821
FORMATS = {"u8": (Gimp.Precision.U8_NON_LINEAR, "R'G'B' u8"), "u8-linear": (Gimp.Precision.U8_LINEAR, "R~G~B~ float"),
           "u16": (Gimp.Precision.U16_NON_LINEAR, "R~G~B~ float"), "float": (Gimp.Precision.FLOAT_LINEAR, "R~G~B~ float")}
layer = display = None
layers = []


def open_layer(width, height, precision="u8", sigma=12, count=1):
    """A new image with layers of noise on a ramp becomes the one that the others are about."""
    global layer, layers
    kind, name = FORMATS[precision]
    image = Gimp.Image.new_with_precision(width, height, Gimp.ImageBaseType.RGB, kind)
    layers = [Gimp.Layer.new(image, f"layer {i + 1}", width, height, Gimp.ImageType.RGB_IMAGE, 100,
                             Gimp.LayerMode.NORMAL) for i in range(count)]
    for one in layers:
        image.insert_layer(one, None, 0)
    layer = layers[0]
    random = np.random.default_rng(7)
    band = min(height, 256)  # the same rows again and again: noise of 24 megapixels takes a while
    ramp = np.linspace(60, 190, width)[None, :, None] + random.normal(0, sigma, (band, width, 3))
    rows = np.clip(ramp, 0, 255).astype(np.float32)
    rows = np.rint(rows).astype(np.uint8) if precision == "u8" else rows / 255
    data = np.tile(rows, (-(-height // band), 1, 1))[:height]
    for one in layers:
        buffer = one.get_buffer()
        buffer.set(Gegl.Rectangle.new(0, 0, width, height), name, np.ascontiguousarray(data).tobytes())
        buffer.flush()
        one.update(0, 0, width, height)
    show(image)
    return state()


def open_stack(width, height, count, grey=False, sigma=15):
    """Frames of a pattern, each with noise and a brightness of its own, from the bottom up: "frame 1"…"""
    open_layer(width, height, "u8", 0, count)
    if grey:
        layer.get_image().convert_grayscale()
    y, x = np.mgrid[0:height, 0:width]
    base = 120 + 50 * np.sin(x / 11) * np.cos(y / 9) + np.where(x + y > width, 20, -20)
    for number, one in enumerate(layers):
        one.set_name(f"frame {number + 1}")
        clean = np.stack([base + 6 * number, base * 0.9, 255 - base], axis=-1)
        noisy = clean + np.random.default_rng(number).normal(0, sigma, clean.shape)
        buffer = one.get_buffer()
        buffer.set(Gegl.Rectangle.new(0, 0, width, height), "R'G'B' u8",
                   np.clip(np.rint(noisy), 0, 255).astype(np.uint8).tobytes())
        buffer.flush()
        one.update(0, 0, width, height)
    layer.get_image().clean_all()
    Gimp.displays_flush()
    return state()


def open_mask(width, height):
    """The mask of a layer, with noise."""
    global layer, layers
    open_layer(width, height)
    mask = layer.create_mask(Gimp.AddMaskType.COPY)
    layer.add_mask(mask)
    layer, layers = mask, [mask]
    layer.get_image().clean_all()
    return state()


def write_pixels(index, path):
    """A layer as 8-bit RGB."""
    one = layers[index]
    area = Gegl.Rectangle.new(0, 0, one.get_width(), one.get_height())
    pathlib.Path(path).write_bytes(one.get_buffer().get(area, 1.0, "R'G'B' u8", Gegl.AbyssPolicy.NONE))


def open_file(path, *others):
    """The others become layers above it."""
    global layer, layers
    image = Gimp.file_load(Gimp.RunMode.NONINTERACTIVE, Gio.File.new_for_path(path))
    layers = [image.get_layers()[0]]
    layer = layers[0]
    for other in others:
        layers.append(Gimp.file_load_layer(Gimp.RunMode.NONINTERACTIVE, image, Gio.File.new_for_path(other)))
        image.insert_layer(layers[-1], None, 0)
    show(image)
    return state()


def show(image):
    """In a window of its own, the only one."""
    global display
    if display is not None:
        display.delete()  # and its image with it
    image.clean_all()
    display = Gimp.Display.new(image)
    Gimp.displays_flush()


def display_number():
    return display.get_id()


def close_display():
    global display
    display.delete()
    display = None


def forget_display():
    """Somebody else has closed it."""
    global display
    display = None


def select(x, y, width, height):
    layer.get_image().select_rectangle(Gimp.ChannelOps.REPLACE, x, y, width, height)
    layer.get_image().clean_all()


def fingerprint(one):
    area = Gegl.Rectangle.new(0, 0, one.get_width(), one.get_height())
    return hashlib.sha256(one.get_buffer().get(area, 1.0, None, Gegl.AbyssPolicy.NONE)).hexdigest()


def state():
    if not all(one.is_valid() for one in layers):
        return {}
    pixels = [fingerprint(one) for one in layers]
    return {"pixels": pixels[0], "all": pixels, "width": layer.get_width(), "height": layer.get_height(),
            "dirty": bool(layer.get_image().is_dirty())}


def open_fault_picture(count):
    """What changes.py is about: layers to denoise, one above them, and a selection; returns their numbers."""
    global layers, layer
    open_layer(96, 72, "u8", 12, count + 1)
    image = layer.get_image()
    above = image.get_layers()[0]
    layers = [one for one in reversed(image.get_layers()) if one != above]
    layer = layers[0]
    image.select_rectangle(Gimp.ChannelOps.REPLACE, 13, 7, 31, 22)
    image.clean_all()
    return {"image": image.get_id(), "layer": layer.get_id(), "other": above.get_id(), "all": image_pixels(image.get_id())}


def image_number():
    return layer.get_image().get_id()


def image_pixels(number):
    """Of all layers of an image; None when it is gone."""
    image = Gimp.Image.get_by_id(number)
    if image is None or not image.is_valid():
        return None
    return [fingerprint(one) for one in image.get_layers()]


def change(number, code):
    """Does it in this process; what the image is then."""
    exec(code, {"Gimp": Gimp, "Gegl": Gegl})
    return image_pixels(number)


def run_filter(name="plug-in-grainless-denoise"):
    """Opens the dialog and waits for its end."""
    procedure = Gimp.get_pdb().lookup_procedure(name)
    config = procedure.create_config()
    config.set_property("run-mode", Gimp.RunMode.INTERACTIVE)
    config.set_property("image", layer.get_image())
    config.set_core_object_array("drawables", layers)
    values = procedure.run(config)
    return {"status": values.index(0).value_nick, "message": Gimp.get_pdb().get_last_error() or "", **state()}


def load(path):
    """More of what can be asked for."""
    exec(pathlib.Path(path).read_text(encoding="utf-8"), globals())


done, gimp = 0, os.getppid()
while os.getppid() == gimp:  # a GIMP that is ended leaves its plug-ins to themselves
    time.sleep(0.05)
    path = folder / "request.json"
    request = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"number": 0}
    if request["number"] == done:
        continue
    done = request["number"]
    try:
        answer = {"result": globals()[request["call"]](*request["arguments"])}
    except Exception:
        answer = {"error": traceback.format_exc()}
    part = folder / "answer.part"
    part.write_text(json.dumps(answer), encoding="utf-8")
    os.replace(part, folder / f"answer{done}.json")
