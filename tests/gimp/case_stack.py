# SPDX-License-Identifier: MIT
"""The procedure for stacks: which layers it takes, what it refuses, and the command line's result."""
import os
import pathlib
import re
import subprocess

import numpy as np
from gi.repository import Gimp, Gio

from harness import (PDB, SIGMA, SUCCESS, WORK, add_layer, call, denoise, files_of_older_versions, get_pixels, load,
                     native_bytes, native_pixels, new_image, noise_left, set_pixels, with_alpha)

STACK = "plug-in-grainless-denoise-stack"
KEYS = ["method", "quality", "auto-sigma", "sigma", "strength", "luma", "chroma", "shadows", "highlights", "detail",
        "search", "patch", "step", "group", "transform", "matching", "stages", "centre", "weights", "noise", "scales",
        "depth", "device", "memory"]
QUICK = {"procedure": STACK, "auto_sigma": False, "sigma": SIGMA, "search": 5, "depth": 1}


def add_layers(image, count, **kind):
    """From the bottom up."""
    return [add_layer(image, seed=seed, name=f"frame {seed}", **kind) for seed in range(1, count + 1)]


def pixels_of(layers):
    return [native_pixels(layer).copy() for layer in layers]


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def check_registration():
    procedure = PDB.lookup_procedure(STACK)
    names = [argument.name for argument in procedure.get_arguments()]
    assert names == ["run-mode", "image", "drawables"] + KEYS, names
    assert procedure.get_menu_paths() == ["<Image>/Filters/Enhance"]
    assert procedure.get_menu_label() == "Grainless Denoise Layer _Stack…"
    config = procedure.create_config()
    assert config.get_property("depth") == 3 and config.get_property("method") == "bm3d"
    config.set_property("depth", 0)
    assert config.get_property("depth") == 3, "a depth of 0 is no stack"


def check_gain():
    """A burst of eight frames that stand still: more than 8 dB."""
    image = new_image()
    layers = add_layers(image, 8)
    before = np.mean([noise_left(layer) ** 2 for layer in layers])
    report, = denoise(image, layers, procedure=STACK, depth=7, auto_sigma=False, sigma=SIGMA)
    after = np.mean([noise_left(layer) ** 2 for layer in layers])
    gain = 10 * np.log10(before / after)
    assert gain > 8, gain
    assert report["layers"] == 8 and report["depth"] == 7 and report["method"] == "bm3d", report
    assert report["changed"] and report["drawable"] == "frame 1", report


def check_defaults():
    image = new_image(width=150, height=120)
    layers = add_layers(image, 4)
    before = np.mean([noise_left(layer) for layer in layers])
    report, = denoise(image, layers, procedure=STACK)
    assert report["changed"] and abs(report["sigma"][0] - SIGMA) < 3, report
    assert np.mean([noise_left(layer) for layer in layers]) < 0.6 * before


def moving_picture(frame, width, height, right, down):
    """As from a hand: waves of any length, displaced by so much a frame."""
    y, x = np.mgrid[0:height, 0:width]
    x, y = x - right * frame, y - down * frame
    waves = 0
    for i in range(1, 13):
        for length in (5 + 2.5 * i, 60 + 25 * i):
            along = np.cos(2.4 * i) * x + np.sin(2.4 * i) * y
            waves = waves + np.sqrt(5 + 2.5 * i) * np.sin(2 * np.pi * along / length + i)
    return np.repeat((0.5 + 1.5 * waves / 255)[..., None], 3, axis=-1).astype(np.float32)


def noisy_layers(clean, precision, alpha, sigma=None):
    """An image with a layer of each of these pixels, with noise of SIGMA or of its own."""
    height, width = clean[0].shape[:2]
    image = new_image(precision=getattr(Gimp.Precision, precision), width=width, height=height)
    layers = [add_layer(image, alpha, name=f"frame {frame}") for frame in range(len(clean))]
    for frame, layer in enumerate(layers):
        deviation = (sigma[frame] if sigma else SIGMA) / 255
        noise = np.random.default_rng(frame).normal(0, deviation, clean[frame].shape)
        pixels = (clean[frame] + noise).astype(np.float32)
        set_pixels(layer, with_alpha(pixels, np.float32(1)) if alpha else pixels)
    return image, layers


def check_motion():
    """Frames that move are averaged: better than each alone, at 8 and 16 bits, with alpha or without."""
    for size, by, least in (((240, 200), (3.3, -1.7), 2), ((420, 360), (27.3, -16.7), 1.5)):
        clean = [moving_picture(frame, *size, *by) for frame in range(4)]
        for precision, alpha in (("U8_NON_LINEAR", False), ("U16_NON_LINEAR", True)):
            left = {}
            for together in (True, False):
                image, layers = noisy_layers(clean, precision, alpha)
                for selected in [layers] if together else [[layer] for layer in layers]:
                    denoise(image, selected, **({"procedure": STACK} if together else {}))
                left[together] = np.mean([np.mean((get_pixels(layer)[..., :3] - clean[frame]) ** 2)
                                          for frame, layer in enumerate(layers)])
            gain = 10 * np.log10(left[False] / left[True])
            assert gain > least, (by, precision, gain)


def check_lone_layers():
    """Pictures that show nothing alike become what each becomes alone, to the last bit."""
    clean = [moving_picture(frame, 200, 160, 4000, -3000) for frame in range(3)]
    results = []
    for together in (True, False):
        image, layers = noisy_layers(clean, "U8_NON_LINEAR", False, (4, 12, 25))
        for selected in [layers] if together else [[layer] for layer in layers]:
            denoise(image, selected, **({"procedure": STACK} if together else {"impulse": "off"}))
        results.append(pixels_of(layers))
    assert same(*results)


def check_unequal_layers():
    """Frames of one scene: noisy ones take from calm ones, which lose nothing."""
    clean = [moving_picture(0, 200, 160, 0, 0)] * 3
    left = []
    for together in (True, False):
        image, layers = noisy_layers(clean, "U8_NON_LINEAR", False, (5, 12, 20))
        for selected in [layers] if together else [[layer] for layer in layers]:
            denoise(image, selected, **({"procedure": STACK} if together else {}))
        left.append([np.sqrt(np.mean((get_pixels(layer)[..., :3] - clean[0]) ** 2)) for layer in layers])
    calm, *noisy = zip(*left)
    assert calm[0] < 1.02 * calm[1], left
    assert all(stack < 0.75 * alone for stack, alone in noisy), left


def check_given_sigma():
    """Still layers are averaged, however much or little one asks for."""
    for method in ("bm3d", "nlm"):
        for asked, most in ((0.3, 0.8), (0.7, 0.52), (1, 0.52), (3, 0.52)):
            image = new_image(width=150, height=120)
            layers = add_layers(image, 4)
            before = np.mean([noise_left(layer) for layer in layers])
            options = {"method": method, "auto_sigma": False, "sigma": asked * SIGMA}
            report, = denoise(image, layers, procedure=STACK, **options)
            after = np.mean([noise_left(layer) for layer in layers])
            assert report["changed"] and abs(report["sigma"][0] - asked * SIGMA) < 0.01, report
            assert after < most * before, (method, asked, before, after)


def check_which_layers():
    """All selected layers, in the image's order; the layers of a group; or all beside the selected one."""
    expected = None
    for choose in (lambda image, layers, group: layers, lambda image, layers, group: [layers[2], layers[0], layers[1]],
                   lambda image, layers, group: [group], lambda image, layers, group: [layers[1]]):
        image = new_image()
        other = add_layer(image, seed=9)
        group = Gimp.GroupLayer.new(image, "group")
        image.insert_layer(group, None, 0)
        layers = add_layers(image, 3, parent=group)
        untouched = native_bytes(other)
        report, = denoise(image, choose(image, layers, group), **QUICK)
        assert report["layers"] == 3
        expected = expected or pixels_of(layers)
        assert same(pixels_of(layers), expected) and native_bytes(other) == untouched
    image = new_image()
    layers = add_layers(image, 3)
    denoise(image, [layers[0]], **QUICK)
    assert same(pixels_of(layers), expected), "all layers of the image"


def check_selection():
    image, whole = new_image(), new_image()
    layers, others = add_layers(image, 3, alpha=True), add_layers(whole, 3, alpha=True)
    before = pixels_of(layers)
    denoise(whole, others, **QUICK)
    image.select_rectangle(Gimp.ChannelOps.REPLACE, 13, 7, 31, 22)
    denoise(image, layers, **QUICK)
    for old, new, full in zip(before, pixels_of(layers), pixels_of(others)):
        assert np.array_equal(new[7:29, 13:44], full[7:29, 13:44]) and not np.array_equal(old[7:29, 13:44], new[7:29, 13:44])
        new[7:29, 13:44] = old[7:29, 13:44]
        assert np.array_equal(new, old)
    assert all(layer.has_alpha() for layer in layers)


def check_unchanged():
    image = new_image()
    layers = add_layers(image, 2)
    before = pixels_of(layers)
    image.clean_all()
    report, = denoise(image, layers, **(QUICK | {"sigma": 0.0}))
    assert not report["changed"] and report["note"]
    layers[0].set_offsets(50, 0)
    layers[1].set_offsets(50, 0)
    image.select_rectangle(Gimp.ChannelOps.REPLACE, 0, 0, 20, 20)
    report, = denoise(image, layers, **QUICK)
    assert not report["changed"] and "selected" in report["note"], report
    assert same(pixels_of(layers), before)


def refuse(image, drawables, sentence):
    layers = [layer for layer in image.get_layers() if not layer.is_group()]
    before = pixels_of(layers)
    status, message = call(image, drawables, **QUICK)
    assert status == Gimp.PDBStatusType.EXECUTION_ERROR, (status, message)
    assert sentence in message and "\n" not in message.strip(), message
    assert same(pixels_of(layers), before)


def check_refusals():
    image = new_image()
    layer = add_layer(image, name="only")
    refuse(image, [layer], "at least two layers")
    small = Gimp.Layer.new(image, "small", 20, 20, Gimp.ImageType.RGB_IMAGE, 100, Gimp.LayerMode.NORMAL)
    image.insert_layer(small, None, 0)
    refuse(image, [layer], "differ in size or place")
    image.remove_layer(small)
    moved = add_layer(image, name="moved")
    moved.set_offsets(3, 0)
    refuse(image, [layer, moved], "“only” and “moved” differ in size or place")
    moved.set_offsets(0, 0)
    moved.add_alpha()
    refuse(image, [layer, moved], "alpha channel")
    layer.add_alpha()
    moved.set_lock_content(True)
    refuse(image, [layer], "The pixels of “moved” are locked")
    moved.set_lock_content(False)
    mask = layer.create_mask(Gimp.AddMaskType.WHITE)
    layer.add_mask(mask)
    refuse(image, [mask], "not of layer masks")
    group = Gimp.GroupLayer.new(image, "group")
    image.insert_layer(group, None, 0)
    refuse(image, [layer], "is a layer group")
    refuse(image, [group], "at least two layers")
    image.remove_layer(group)
    assert call(image, [layer], **QUICK)[0] == SUCCESS


def check_bad_relations():
    image = new_image()
    layers = add_layers(image, 2)
    before = pixels_of(layers)
    status, message = call(image, layers, **(QUICK | {"search": 4}))
    assert status == Gimp.PDBStatusType.CALLING_ERROR and "search takes" in message, message
    assert same(pixels_of(layers), before)


def check_last_values():
    """Repeat uses the settings of the last dialog for stacks."""
    image, again = new_image(), new_image()
    expected, layers = add_layers(image, 3), add_layers(again, 3)
    denoise(image, expected, **(QUICK | {"sigma": 21.5, "depth": 2}))
    folder = pathlib.Path(Gimp.directory()) / "plug-in-settings"
    folder.mkdir(exist_ok=True)
    path = folder / f"GimpProcedureConfigRun-{STACK}.last"
    path.write_text("# settings\n\n(auto-sigma no)\n(sigma 21.5)\n(search 5)\n(depth 2)\n\n# end of settings\n",
                    encoding="utf-8")
    denoise(again, layers, procedure=STACK, run_mode=Gimp.RunMode.WITH_LAST_VALS)
    path.unlink()
    assert same(pixels_of(layers), pixels_of(expected))


def check_settings_of_older_versions():
    """As check_settings_of_older_versions of pictures."""
    files = files_of_older_versions(f"GimpProcedureConfigRun-{STACK}.last")
    written = re.findall(r"^\(([\w-]+) ", files[-1].read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(written) == sorted(KEYS), set(written) ^ set(KEYS)
    image = new_image()
    expected = add_layers(image, 3)
    denoise(image, expected, **(QUICK | {"method": "nlm", "sigma": 12.5, "strength": 80.0, "luma": 90.0, "chroma": 130.0,
                                         "detail": 20.0, "search": 5, "patch": 3, "centre": "one", "weights": "classic",
                                         "depth": 2}))
    folder = pathlib.Path(Gimp.directory()) / "plug-in-settings"
    folder.mkdir(exist_ok=True)
    for file in files:
        again = new_image()
        layers = add_layers(again, 3)
        (folder / file.name).write_bytes(file.read_bytes())
        denoise(again, layers, procedure=STACK, run_mode=Gimp.RunMode.WITH_LAST_VALS)
        (folder / file.name).unlink()
        assert same(pixels_of(layers), pixels_of(expected)), file


def check_grey_and_float():
    """Formats that pass as they are and formats that are converted give one result."""
    results = []
    for precision in (Gimp.Precision.FLOAT_NON_LINEAR, Gimp.Precision.FLOAT_LINEAR):
        image = new_image(Gimp.ImageBaseType.GRAY, precision)
        layers = add_layers(image, 3)
        denoise(image, layers, **QUICK)
        results.append([get_pixels(layer) for layer in layers])
    assert max(np.abs(a - b).max() for a, b in zip(*results)) < 2e-3


def saved(image, layers):
    """A file of each."""
    names = []
    for number, layer in enumerate(layers):
        single = Gimp.Image.new_with_precision(image.get_width(), image.get_height(),
                                                 Gimp.ImageBaseType.RGB, image.get_precision())
        copy = Gimp.Layer.new_from_drawable(layer, single)
        single.insert_layer(copy, None, 0)
        names.append(WORK / f"frame{number}.png")
        Gimp.file_save(Gimp.RunMode.NONINTERACTIVE, single, Gio.File.new_for_path(str(names[-1])), None)
    return names


def by_command_line(names, *options):
    """From the bottom up."""
    result = WORK / "stack.tif"
    result.unlink(missing_ok=True)
    subprocess.run([os.environ["GRAINLESS_CLI"], *options, *names, "-o", result], check=True)
    return reversed(load(result).get_layers())


def check_command_line():
    """The plug-in and the command line give the same bits; the lowest layer is the first."""
    image = new_image(width=90, height=70)
    names = saved(image, add_layers(image, 5))
    for options in ({"auto_sigma": False, "sigma": SIGMA}, {"auto_sigma": True}):
        stack = [load(name).get_layers()[0] for name in names]
        together = new_image(width=90, height=70)
        stack = [Gimp.Layer.new_from_drawable(layer, together) for layer in stack]
        for layer in stack:
            together.insert_layer(layer, None, 0)
        denoise(together, stack, procedure=STACK, depth=2, search=7, chroma=130.0, **options)
        given = [] if options["auto_sigma"] else [f"--sigma={SIGMA}"]
        pages = by_command_line(names, "--depth=2", "--search=7", "--chroma=130", *given)
        assert same(pixels_of(pages), pixels_of(stack)), options


def check_more_than_are_measured():
    """Of many layers some are measured: what is found of these is not taken for the first ones'."""
    width, height, count = 160, 128, 33
    clean = [moving_picture(frame, width, height, 5000, -5000) for frame in range(count)]
    image, layers = noisy_layers(clean, "U8_NON_LINEAR", False, [4 + frame % 7 for frame in range(count)])
    names = saved(image, layers)
    denoise(image, layers, procedure=STACK, quality="fast")
    assert same(pixels_of(by_command_line(names, "--depth=3", "--quality=fast")), pixels_of(layers))


def cases():
    yield "stack: registration", check_registration
    yield "stack: a burst of eight frames gains 8 dB", check_gain
    yield "stack: defaults", check_defaults
    yield "stack: frames that move", check_motion
    yield "stack: frames that show nothing alike", check_lone_layers
    yield "stack: frames that hold different noise", check_unequal_layers
    yield "stack: a sigma of one's own", check_given_sigma
    yield "stack: which layers", check_which_layers
    yield "stack: selection and transparency", check_selection
    yield "stack: nothing to do, and it says so", check_unchanged
    yield "stack: refusals leave all as it was", check_refusals
    yield "stack: impossible combinations are refused", check_bad_relations
    yield "stack: repeat with last values", check_last_values
    yield "settings of stacks of older versions are read", check_settings_of_older_versions
    yield "stack: grey and linear float", check_grey_and_float
    if os.environ["GRAINLESS_CLI"]:
        yield "stack: more layers than are measured", check_more_than_are_measured
        yield "stack: same result as the command line", check_command_line
