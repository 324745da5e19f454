# SPDX-License-Identifier: MIT
"""What people do to an image while the filter works on it, as code for meanwhile.py, and what the filter says then.

The code knows `image`, which is WIDTH x HEIGHT and has a rectangle selected, `layer`, the one that is denoised, and
`other`, a layer above it.
"""
SELECTION = "The selection changed while the filter worked"
PLACE = "was resized or moved while the filter worked"
FORMAT = "The mode, precision or profile of the image changed"
PIXELS = "changed while the filter worked, so nothing was denoised"
GONE = "A layer was deleted while the filter was open"
CHANNELS = "Channels were switched on or off while the filter worked"
CROSSED = "Another filter worked on"
CLOSED = "The image was closed while the filter was open"

# What is done, the code for it, a part of the filter's sentence.
REFUSED = [
    ("selection removed", "Gimp.Selection.none(image)", SELECTION),
    ("selection moved", "Gimp.Selection.translate(image, 7, 5)", SELECTION),
    ("selection inverted", "Gimp.Selection.invert(image)", SELECTION),
    ("selection feathered", "Gimp.Selection.feather(image, 6)", SELECTION),
    ("selection's inside changed",
     "image.select_rectangle(Gimp.ChannelOps.SUBTRACT, 20, 15, 4, 4)", SELECTION),
    ("image scaled up", "image.scale(image.get_width() * 2, image.get_height() * 2)", PLACE),
    ("image scaled down", "image.scale(image.get_width() // 3, image.get_height() // 3)", PLACE),
    ("image rotated by 90°", "image.rotate(Gimp.RotationType.DEGREES90)", PLACE),
    ("image rotated by 180°", "image.rotate(Gimp.RotationType.DEGREES180)", "changed while the filter worked"),
    ("image cropped", "image.crop(image.get_width() - 10, image.get_height() - 10, 5, 5)", PLACE),
    ("image flipped", "image.flip(Gimp.OrientationType.HORIZONTAL)", "changed while the filter worked"),
    ("image turned grey", "image.convert_grayscale()", FORMAT),
    ("precision converted", "image.convert_precision(Gimp.Precision.FLOAT_LINEAR)", FORMAT),
    ("colours indexed", "image.convert_indexed(Gimp.ConvertDitherType.NONE, Gimp.ConvertPaletteType.GENERATE, 16, "
     "False, False, '')", FORMAT),
    ("profile assigned", "image.set_color_profile(Gimp.ColorProfile.new_rgb_adobe())", FORMAT),
    ("a channel switched off", "image.set_component_active(Gimp.ChannelType.GREEN, False)", CHANNELS),
    ("alpha channel added", "layer.add_alpha()", FORMAT),
    ("layer moved", "layer.set_offsets(4, 0)", PLACE),
    ("layer resized", "layer.resize(image.get_width() + 8, image.get_height() + 8, 4, 4)", PLACE),
    ("layer locked", "layer.set_lock_content(True)", "are locked: unlock them first"),
    ("layer deleted", "image.remove_layer(layer)", GONE),
    ("image flattened", "image.flatten()", GONE),
    ("layer above merged down", "image.merge_down(other, Gimp.MergeType.CLIP_TO_BOTTOM_LAYER)", GONE),
    ("one pixel painted", "layer.set_pixel(20, 16, Gegl.Color.new('red'))", PIXELS),
    ("layer inverted", "Gimp.Selection.none(image); layer.invert(False)", "changed while the filter worked")]
# Before the filter reads pixels they may be painted.
ONCE_READ = {"one pixel painted"}

# Of a stack, where one layer changes alone.
STACK_SENTENCES = {"layer moved": "differ in size or place"}

# When no pixel is read or written any more.
END_SENTENCES = {"colours indexed": "can't work on indexed colours"}

# What may be done; the result is the same as without.
ALLOWED = [
    ("layer renamed", "layer.set_name('another name')"),
    ("opacity changed", "layer.set_opacity(40.0)"),
    ("the same selection made again", "image.select_rectangle(Gimp.ChannelOps.REPLACE, 13, 7, 31, 22)"),
    ("other layer deleted", "image.remove_layer(other)"),
    ("other layer painted", "other.set_pixel(20, 16, Gegl.Color.new('red'))")]


def code(image, layer, other, text):
    """For meanwhile.py, with the numbers that GIMP knows them by."""
    return (f"image = Gimp.Image.get_by_id({image})\nlayer = Gimp.Item.get_by_id({layer})\n"
            f"other = Gimp.Item.get_by_id({other})\n{text}\n")
