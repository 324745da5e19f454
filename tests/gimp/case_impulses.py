# SPDX-License-Identifier: MIT
"""Hot pixels and tones where they meet GIMP: soft selections, layer masks, values beyond white, effects in files."""
import numpy as np
from gi.repository import Gegl, Gimp, Gio

import changes
from case_effect import new_effect, seen, values_of
from case_faults import code_for
from faults import judge
from harness import (HEIGHT, QUICK, SUCCESS, WIDTH, WORK, add_layer, call, clean_picture, denoise, get_pixels, load,
                     native_pixels, new_image, noisy_picture, set_pixels)
from pauses import STAGES, meanwhile

MENDED = QUICK | {"impulse": "normal"}
REPLACE = Gimp.ChannelOps.REPLACE
REFUSED = Gimp.PDBStatusType.EXECUTION_ERROR


def hot_picture(share=0.02, high=1.0):
    """Noise, and single values that are black or as bright as said; with where these are."""
    random = np.random.default_rng(5)
    pixels = noisy_picture(3)
    hot = random.random(pixels.shape) < share
    pixels[hot] = np.where(random.random(pixels.shape) < 0.5, 0, high)[hot]
    return pixels.astype(np.float32), hot


def hot_layer(image, **kind):
    layer = add_layer(image, **kind)
    pixels, hot = hot_picture()
    set_pixels(layer, pixels)
    return layer, hot


def check_soft_selection(precision):
    """Selected by half is changed by half: the mended pixels, too. What is not selected keeps its hot pixels."""
    image = new_image(precision=getattr(Gimp.Precision, precision))
    layer, hot = hot_layer(image)
    whole, _ = hot_layer(image)
    before = get_pixels(layer, "R'G'B' float")
    denoise(image, [whole], **MENDED)
    full = get_pixels(whole, "R'G'B' float")
    clean = clean_picture(3)
    assert np.abs(full - clean)[hot].mean() < 0.3 * np.abs(before - clean)[hot].mean()
    image.select_ellipse(REPLACE, 8, 6, 44, 36)
    Gimp.Selection.feather(image, 10)
    data = image.get_selection().get_buffer().get(Gegl.Rectangle.new(0, 0, WIDTH, HEIGHT), 1.0, "Y float", Gegl.AbyssPolicy.NONE)
    share = np.frombuffer(data, np.float32).reshape(HEIGHT, WIDTH, 1)
    old = native_pixels(layer).copy()
    denoise(image, [layer], **MENDED)
    new = native_pixels(layer)
    outside = share[..., 0] == 0
    assert outside.sum() > 200 and (share > 0.99).any() and ((share > 0.2) & (share < 0.8)).sum() > 300
    assert np.array_equal(new[outside], old[outside])
    assert hot[outside].any()
    light, full = get_pixels(layer, "RGB float"), get_pixels(whole, "RGB float")
    set_pixels(whole, before, "R'G'B' float")
    start = get_pixels(whole, "RGB float")
    error = 255 * np.abs(light - (start + share * (full - start)))  # GIMP mixes light
    assert error.max() < 2, error.max()


def check_outliers():
    """A value far beyond white stays, and keeps nobody from mending the others. (This picture is too small for auto.)"""
    for precision in ("FLOAT_LINEAR", "FLOAT_NON_LINEAR", "HALF_LINEAR", "DOUBLE_LINEAR"):
        for impulse in ("auto", "normal", "strong"):
            for large in (50.0, 1e4, 1e30, -1e6):
                if precision.startswith("HALF") and abs(large) > 6e4:
                    continue
                image = new_image(precision=getattr(Gimp.Precision, precision))
                layer = add_layer(image)
                pixels, _ = hot_picture(0.03)
                set_pixels(layer, pixels)
                pixels = get_pixels(layer, "RGB float")
                places = [(10, 10), (10, 11), (30, 50)]
                for y, x in places:
                    pixels[y, x] = large
                pixels[40, 20] = np.nan
                set_pixels(layer, pixels, "RGB float")
                before = native_pixels(layer).copy()
                denoise(image, [layer], method="bm3d", quality="fast", impulse=impulse, auto_sigma=False, sigma=12.0)
                after = native_pixels(layer)
                now = get_pixels(layer, "R'G'B' float")
                said = (precision, impulse, large)
                assert np.array_equal(after[40, 20], before[40, 20]), said
                others = np.ones((HEIGHT, WIDTH), bool)
                for y, x in [*places, (40, 20)]:
                    others[y, x] = False
                    if abs(large) > 100 and (y, x) != (40, 20):
                        assert np.array_equal(after[y, x], before[y, x]), (said, now[y, x])
                assert np.isfinite(now[others]).all(), said
                error = 255 * np.abs(now - clean_picture(3))[others]
                assert error.mean() < (12 if impulse == "auto" else 4), (said, error.mean())


def masked_picture():
    image = new_image()
    layer, _ = hot_layer(image)
    mask = layer.create_mask(Gimp.AddMaskType.WHITE)
    layer.add_mask(mask)
    set_pixels(mask, noisy_picture(1))
    other = add_layer(image, seed=9)
    image.clean_all()
    return image, layer, mask, other


MASK_ALLOWED = [("layer mask painted", "layer.get_mask().set_pixel(20, 16, Gegl.Color.new('black'))"),
                ("layer mask deleted", "layer.remove_mask(Gimp.MaskApplyMode.DISCARD)"),
                ("layer mask switched off", "layer.set_apply_mask(False)"),
                ("layer mask shown", "layer.set_show_mask(True)"),
                ("layer mask edited", "layer.set_edit_mask(True)")]


def check_mask_allowed(fault, text, stage):
    """What happens to a layer's mask is not about its pixels."""
    image, layer, _, other = masked_picture()
    assert call(image, [layer], **MENDED)[0] == SUCCESS
    expected = native_pixels(layer).copy()
    image, layer, mask, other = masked_picture()
    untouched = native_pixels(mask).copy()
    with meanwhile(STAGES[stage], code_for(image, layer, other, text)):
        status, message = call(image, [layer], **MENDED)
    ok = status == SUCCESS and np.array_equal(native_pixels(layer), expected)
    if "painted" in fault:
        changed = (native_pixels(mask) != untouched).any(axis=-1)
        ok = ok and changed.sum() == 1
    judge(fault, stage, "batch", "denoised, the mask as the user left it", f"{status.value_nick}: {message}",
          "" if ok else "not the usual result")


def check_mask_refused(fault, text, sentence, stage, of_mask):
    image, layer, mask, other = masked_picture()
    with meanwhile(STAGES[stage], code_for(image, layer, other, text)):
        status, message = call(image, [mask if of_mask else layer], **QUICK)
    found = native_pixels(layer).copy()
    found_mask = native_pixels(mask).copy() if layer.get_mask() else None
    image, layer, mask, other = masked_picture()
    exec(text, {"Gimp": Gimp, "Gegl": Gegl, "image": image, "layer": layer, "other": other})
    same = np.array_equal(native_pixels(layer), found)
    if found_mask is not None:
        same = same and np.array_equal(native_pixels(mask), found_mask)
    ok = status == REFUSED and sentence in message and same
    judge(fault + (", the mask is denoised" if of_mask else ""), stage, "batch", "one sentence, no pixel denoised",
          f"{status.value_nick}: {message}", "" if ok else f"not so, same {same}")


TONES = {"shadows": 160.0, "highlights": 40.0, "impulse": "strong"}


def check_effect_file(unknown):
    """Of a file that an older or newer version has written, without a value or with one that nobody knows."""
    image = new_image()
    layer, _ = hot_layer(image)
    values = QUICK | TONES
    layer.append_filter(new_effect(layer, **values))
    result = seen(image)
    path = WORK / "tones.xcf"
    Gimp.file_save(Gimp.RunMode.NONINTERACTIVE, image, Gio.File.new_for_path(str(path)), None)
    data = path.read_bytes()
    for key in unknown:
        old = key.encode() + b"\0"
        assert data.count(old) == 1, (key, data.count(old))
        data = data.replace(old, b"x" + old[1:])
    path.write_bytes(data)
    opened = load(path)
    effect = opened.get_layers()[0].get_filters()[0]
    kept = {key: value for key, value in TONES.items() if key not in unknown}
    found = values_of(effect)
    assert all(found[key] == value for key, value in kept.items()), found
    for key, default in (("shadows", 100.0), ("highlights", 100.0), ("impulse", "auto")):
        assert key not in unknown or found[key] == default, (key, found[key])
    other = new_image()
    fresh, _ = hot_layer(other)
    fresh.append_filter(new_effect(fresh, **(QUICK | kept)))
    expected = seen(other)
    assert np.array_equal(seen(opened), expected)
    assert np.array_equal(expected, result) == (not unknown)


def cases():
    for precision in ("U8_NON_LINEAR", "U16_LINEAR", "FLOAT_NON_LINEAR"):
        yield f"hot pixels in a feathered selection, {precision}", lambda p=precision: check_soft_selection(p)
    yield "hot pixels and values far beyond white", check_outliers
    for fault, text in MASK_ALLOWED:
        for stage in STAGES:
            yield f"{fault} at the {stage}", lambda f=fault, t=text, s=stage: check_mask_allowed(f, t, s)
    for fault, text, sentence, of_mask in (
            ("layer mask applied", "layer.remove_mask(Gimp.MaskApplyMode.APPLY)", "changed while the filter worked", False),
            ("layer mask applied", "layer.remove_mask(Gimp.MaskApplyMode.APPLY)", changes.GONE, True),
            ("layer mask deleted", "layer.remove_mask(Gimp.MaskApplyMode.DISCARD)", changes.GONE, True),
            ("layer mask painted", "layer.get_mask().set_pixel(20, 16, Gegl.Color.new('black'))", changes.PIXELS, True)):
        yield (f"{fault}{', the mask is denoised' if of_mask else ''}",
               lambda f=fault, t=text, s=sentence, m=of_mask: check_mask_refused(f, t, s, "middle", m))
    yield "effect with tones in an XCF file", lambda: check_effect_file([])
    yield "effect in an older XCF file", lambda: check_effect_file(["shadows", "highlights", "impulse"])
