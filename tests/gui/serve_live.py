# SPDX-License-Identifier: MIT
"""Changes of the image for drive_live.py: what serve.py loads."""


def size(index=0):
    return layers[index].get_width(), layers[index].get_height()  # noqa: F821


def select_feathered(x, y, width, height, radius):
    select(x, y, width, height)  # noqa: F821
    Gimp.Selection.feather(layer.get_image(), radius)  # noqa: F821


def deselect(x, y, width, height):
    layer.get_image().select_rectangle(Gimp.ChannelOps.SUBTRACT, x, y, width, height)  # noqa: F821


def write_selection(path):
    """0..1 for the layer's pixels."""
    selection, (_, x, y) = layer.get_image().get_selection(), layer.get_offsets()  # noqa: F821
    area = Gegl.Rectangle.new(x, y, layer.get_width(), layer.get_height())  # noqa: F821
    if Gimp.Selection.is_empty(layer.get_image()):  # noqa: F821
        values = np.ones(layer.get_width() * layer.get_height(), np.float32).tobytes()  # noqa: F821
    else:
        values = selection.get_buffer().get(area, 1.0, "Y float", Gegl.AbyssPolicy.NONE)  # noqa: F821
    pathlib.Path(path).write_bytes(values)  # noqa: F821


def open_large():
    """24 megapixels of stripes with noise."""
    open_layer(6000, 4000, "u8", 25)  # noqa: F821
    area = Gegl.Rectangle.new(0, 0, 6000, 4000)  # noqa: F821
    data = np.frombuffer(layer.get_buffer().get(area, 1.0, "R'G'B' u8", Gegl.AbyssPolicy.NONE), np.uint8)  # noqa: F821
    x = np.arange(6000)  # noqa: F821
    stripes = np.where(x // 60 % 2, 60, -30)[None, :, None]  # noqa: F821
    striped = np.clip(data.reshape(4000, 6000, 3) + stripes, 0, 255).astype(np.uint8)  # noqa: F821
    buffer = layer.get_buffer()  # noqa: F821
    buffer.set(area, "R'G'B' u8", striped.tobytes())
    buffer.flush()
    layer.update(0, 0, 6000, 4000)  # noqa: F821
    layer.get_image().clean_all()  # noqa: F821


def add_hot_pixels(number):
    """Single white ones, away from the borders; returns where."""
    width, height = layer.get_width(), layer.get_height()  # noqa: F821
    area = Gegl.Rectangle.new(0, 0, width, height)  # noqa: F821
    data = layer.get_buffer().get(area, 1.0, "R'G'B' u8", Gegl.AbyssPolicy.NONE)  # noqa: F821
    pixels = np.frombuffer(data, np.uint8).reshape(height, width, 3).copy()  # noqa: F821
    cells = np.random.default_rng(3).permutation((width // 8 - 2) * (height // 8 - 2))[:number]  # noqa: F821
    places = [(8 * int(cell // (width // 8 - 2)) + 12, 8 * int(cell % (width // 8 - 2)) + 12) for cell in cells]
    for y, x in places:
        pixels[y, x] = 255
    buffer = layer.get_buffer()  # noqa: F821
    buffer.set(area, "R'G'B' u8", pixels.tobytes())
    buffer.flush()
    layer.update(0, 0, width, height)  # noqa: F821
    layer.get_image().clean_all()  # noqa: F821
    return places


def offset(x, y):
    layer.set_offsets(x, y)  # noqa: F821


def brighten():
    layer.brightness_contrast(0.2, 0)  # noqa: F821


def lock(locked):
    layer.set_lock_content(locked)  # noqa: F821


def scale(width, height):
    Gimp.Selection.none(layer.get_image())  # noqa: F821
    layer.get_image().scale(width, height)  # noqa: F821


def switch_channels(*active):
    """Those of the names given stay on."""
    image = layer.get_image()  # noqa: F821
    grey = image.get_base_type() == Gimp.ImageBaseType.GRAY  # noqa: F821
    for name in ("GRAY",) if grey else ("RED", "GREEN", "BLUE"):
        image.set_component_active(getattr(Gimp.ChannelType, name), name in active)  # noqa: F821


def vary_layers():
    """The topmost layer hidden, the one below it smaller, all selected."""
    image = layer.get_image()  # noqa: F821
    layers[2].set_visible(False)  # noqa: F821
    layers[1].resize(200, 120, -10, -10)  # noqa: F821
    image.set_selected_layers(layers)  # noqa: F821
    image.clean_all()


def select_all_layers():
    layer.get_image().set_selected_layers(layers)  # noqa: F821


def add_effect():
    effect = Gimp.DrawableFilter.new(layer, "gegl:gaussian-blur", "blur")  # noqa: F821
    layer.append_filter(effect)  # noqa: F821


def delete_layer():
    layer.get_image().remove_layer(layer)  # noqa: F821


def close_image():
    display.delete()  # noqa: F821
