# SPDX-License-Identifier: MIT
"""Selections, masks, channels, offsets, several layers, and what is refused."""
import numpy as np
from gi.repository import Gegl, Gimp

from harness import (HEIGHT, QUICK, SUCCESS, WIDTH, add_layer, call, denoise, native_pixels, new_image,
                     noise_left, noisy_picture, set_pixels)

STACK = "plug-in-grainless-denoise-stack"
REPLACE = Gimp.ChannelOps.REPLACE


def check_selection():
    """Outside of the selection not a bit changes; inside it is what a run without selection gives."""
    for arguments in (QUICK, {"method": "bm3d"}):
        image = new_image()
        layer, whole = add_layer(image), add_layer(image)
        before = native_pixels(layer).copy()
        denoise(image, [whole], **arguments)
        image.select_rectangle(REPLACE, 13, 7, 31, 22)
        denoise(image, [layer], **arguments)
        after, expected = native_pixels(layer), native_pixels(whole).copy()
        inside = np.zeros((HEIGHT, WIDTH), bool)
        inside[7:29, 13:44] = True
        assert np.array_equal(after[~inside], before[~inside])
        assert np.array_equal(after[inside], expected[inside])
        assert not np.array_equal(after[inside], before[inside])


def check_soft_selection():
    image = new_image()
    layer = add_layer(image)
    before = native_pixels(layer).copy()
    image.select_ellipse(REPLACE, 16, 12, 40, 30)
    Gimp.Selection.feather(image, 8)
    denoise(image, [layer], **QUICK)
    after = native_pixels(layer)
    assert np.array_equal(after[0], before[0]) and not np.array_equal(after[27, 30:40], before[27, 30:40])


def check_layer_mask():
    image = new_image()
    layer = add_layer(image, alpha=True)
    mask = layer.create_mask(Gimp.AddMaskType.WHITE)
    layer.add_mask(mask)
    set_pixels(mask, noisy_picture(1))
    pixels = native_pixels(layer).copy()
    before = noise_left(mask)
    denoise(image, [mask], **QUICK)
    assert noise_left(mask) < 0.6 * before
    assert np.array_equal(native_pixels(layer), pixels)


def check_channel():
    image = new_image()
    add_layer(image)
    channel = Gimp.Channel.new(image, "channel", WIDTH, HEIGHT, 50, Gegl.Color.new("red"))
    image.insert_channel(channel, None, 0)
    set_pixels(channel, noisy_picture(1))
    before = noise_left(channel)
    denoise(image, [channel], **QUICK)
    assert noise_left(channel) < 0.6 * before


def check_offsets():
    """Where a layer lies in the image changes nothing; the selection is in the image's coordinates."""
    image = new_image()
    still, moved = add_layer(image), add_layer(image)
    moved.set_offsets(-20, 31)
    denoise(image, [still, moved], **QUICK)
    assert np.array_equal(native_pixels(still), native_pixels(moved))
    assert moved.get_offsets()[1:] == (-20, 31) or list(moved.get_offsets())[-2:] == [-20, 31]
    assert (moved.get_width(), moved.get_height()) == (WIDTH, HEIGHT)
    layer = add_layer(image)
    layer.set_offsets(-20, 31)
    before = native_pixels(layer).copy()
    image.select_rectangle(REPLACE, 0, 31, 10, 5)
    denoise(image, [layer], **QUICK)
    after = native_pixels(layer)
    assert np.array_equal(after[:5, 20:30], native_pixels(still)[:5, 20:30])
    assert np.array_equal(after[5:], before[5:]) and np.array_equal(after[:5, :20], before[:5, :20])


def check_several():
    image = new_image()
    together = [add_layer(image, seed=seed) for seed in (1, 2, 3)]
    alone = [add_layer(image, seed=seed) for seed in (1, 2, 3)]
    assert len(denoise(image, together, **QUICK)) == 3
    for layer in alone:
        denoise(image, [layer], **QUICK)
    for a, b in zip(together, alone):
        assert np.array_equal(native_pixels(a), native_pixels(b))


def expect_refusal(image, drawable, sentence, before=None):
    status, message = call(image, [drawable], **QUICK)
    assert status == Gimp.PDBStatusType.EXECUTION_ERROR, (status, message)
    assert sentence in message, message
    assert "\n" not in message.strip() and message.count(".") <= 2, message
    if before is not None:
        assert np.array_equal(native_pixels(drawable), before)


def check_group():
    image = new_image()
    group = Gimp.GroupLayer.new(image, "my group")
    image.insert_layer(group, None, 0)
    inside = add_layer(image, parent=group)
    expect_refusal(image, group, "“my group” is a layer group")
    assert call(image, [inside], **QUICK)[0] == SUCCESS


def check_text():
    image = new_image()
    text = Gimp.TextLayer.new(image, "Hello", Gimp.context_get_font(), 20, Gimp.Unit.pixel())
    image.insert_layer(text, None, 0)
    expect_refusal(image, text, "is a text layer")
    assert text.is_text_layer()


def check_rasterized_text():
    """From GIMP 3.2 on a text layer that became pixels is still one."""
    image = new_image()
    text = Gimp.TextLayer.new(image, "Hello", Gimp.context_get_font(), 20, Gimp.Unit.pixel())
    image.insert_layer(text, None, 0)
    text.rasterize()
    assert text.is_text_layer() and text.is_rasterized()
    denoise(image, [text], **QUICK)
    assert text.is_text_layer() and text.is_rasterized()


def check_locked():
    image = new_image()
    layer = add_layer(image, name="mine")
    layer.set_lock_content(True)
    expect_refusal(image, layer, "The pixels of “mine” are locked", native_pixels(layer).copy())
    group = Gimp.GroupLayer.new(image, "group")
    image.insert_layer(group, None, 0)
    child = add_layer(image, parent=group)
    group.set_lock_content(True)
    expect_refusal(image, child, "are locked", native_pixels(child).copy())


def check_locked_mask():
    image = new_image()
    layer = add_layer(image, alpha=True)
    mask = layer.create_mask(Gimp.AddMaskType.WHITE)
    layer.add_mask(mask)
    layer.set_lock_content(True)
    expect_refusal(image, mask, "are locked")


def check_indexed():
    image = new_image()
    layer = add_layer(image)
    image.convert_indexed(Gimp.ConvertDitherType.NONE, Gimp.ConvertPaletteType.GENERATE, 16, False, False, "")
    expect_refusal(image, layer, "indexed", native_pixels(layer).copy())


def check_one_refused_of_two():
    """Refusals come before any work: nothing is half done."""
    image = new_image()
    fine, locked = add_layer(image), add_layer(image)
    locked.set_lock_content(True)
    before = native_pixels(fine).copy()
    assert call(image, [fine, locked], **QUICK)[0] == Gimp.PDBStatusType.EXECUTION_ERROR
    assert np.array_equal(native_pixels(fine), before)


def check_strangers():
    """What a script hands over and the image doesn't have: one sentence, and no pixel of any image changes."""
    image, another = new_image(), new_image()
    own, below, foreign = add_layer(image), add_layer(image, seed=2), add_layer(another, name="foreign")
    add_layer(another, seed=2)
    loose = Gimp.Layer.new(image, "loose", WIDTH, HEIGHT, Gimp.ImageType.RGB_IMAGE, 100, Gimp.LayerMode.NORMAL)
    set_pixels(loose, noisy_picture(3))
    channel = Gimp.Channel.new(image, "channel", WIDTH, HEIGHT, 50, Gegl.Color.new("red"))
    everything = [own, below, foreign, loose, *another.get_layers()]
    before = [native_pixels(one).copy() for one in everything]
    for stranger in (foreign, loose, own.create_mask(Gimp.AddMaskType.WHITE), channel):
        for drawables in ([stranger], [own, stranger]):
            for arguments in (QUICK, {"procedure": STACK, "auto_sigma": False}):
                status, message = call(image, drawables, **arguments)
                assert status == Gimp.PDBStatusType.CALLING_ERROR, f"{stranger.get_name()}: {status}: {message}"
                assert "is not in this image" in message and "\n" not in message.strip(), message
    assert all(np.array_equal(native_pixels(one), old) for one, old in zip(everything, before))


def check_twice():
    """A drawable that a script names twice is denoised once."""
    image = new_image()
    layer = add_layer(image)
    mask = layer.create_mask(Gimp.AddMaskType.WHITE)
    layer.add_mask(mask)
    set_pixels(mask, noisy_picture(1), "Y float")
    assert len(denoise(image, [mask, layer, mask, layer], **QUICK)) == 2


def check_nothing_selected():
    image = new_image()
    layer = add_layer(image)
    layer.set_offsets(50, 0)
    image.select_rectangle(REPLACE, 0, 0, 20, 20)
    before = native_pixels(layer).copy()
    report = denoise(image, [layer], **QUICK)[0]
    assert not report["changed"] and "selected" in report["note"], report
    assert np.array_equal(native_pixels(layer), before)


def check_tiny():
    """1×1, 1×N and other sizes under a patch come back unchanged, with a reason."""
    for width, height in ((1, 1), (1, 40), (3, 2)):
        image = new_image(width=width, height=height)
        layer = add_layer(image)
        before = native_pixels(layer).copy()
        report = denoise(image, [layer], method="bm3d", auto_sigma=False, sigma=20)[0]
        assert not report["changed"] and report["note"], report
        assert np.array_equal(native_pixels(layer), before)


def cases():
    yield "selection: outside unchanged, inside as without selection", check_selection
    yield "feathered selection", check_soft_selection
    yield "layer mask", check_layer_mask
    yield "channel", check_channel
    yield "layer offsets", check_offsets
    yield "several layers", check_several
    yield "group layers are refused", check_group
    yield "text layers are refused", check_text
    if hasattr(Gimp, "Rasterizable"):
        yield "rasterized text layers are denoised", check_rasterized_text
    yield "locked layers are refused", check_locked
    yield "masks of locked layers are refused", check_locked_mask
    yield "indexed images are refused", check_indexed
    yield "one refused layer stops all before any work", check_one_refused_of_two
    yield "drawables that are not in the image are refused", check_strangers
    yield "a drawable named twice is denoised once", check_twice
    yield "nothing selected", check_nothing_selected
    yield "images smaller than a patch", check_tiny
