# SPDX-License-Identifier: MIT
"""An image that there is much to say about, for drive_layout.py: what serve.py loads."""


def grain(width, height, random):
    """Soft and strong, as of film."""
    weights = np.exp(-(np.arange(-4, 5) ** 2) / 4.5)  # noqa: F821
    soft = random.normal(0, 1, (height, width))
    for axis in (0, 1):
        soft = sum(weight * np.roll(soft, i - 4, axis) for i, weight in enumerate(weights))  # noqa: F821
    return 25 * soft / soft.std()


def open_talkative(width, height, count, name):
    """Selected grey layers with a long name: what is noise in them is unsure, and they have hot pixels."""
    global layer, layers
    image = Gimp.Image.new(width, height, Gimp.ImageBaseType.GRAY)  # noqa: F821
    layers = [Gimp.Layer.new(image, f"{name} {i + 1}", width, height, Gimp.ImageType.GRAY_IMAGE, 100,  # noqa: F821
                             Gimp.LayerMode.NORMAL) for i in range(count)]  # noqa: F821
    layer = layers[0]
    random = np.random.default_rng(1)  # noqa: F821
    ramp = 128 + 20 * np.sin(np.arange(width) / 40)  # noqa: F821
    pixels = np.clip(np.rint(ramp + grain(width, height, random) + random.normal(0, 4, (height, width))), 0, 255)  # noqa: F821
    pixels[12:-12:32, 12:-12:32] = 255
    area = Gegl.Rectangle.new(0, 0, width, height)  # noqa: F821
    for one in layers:
        image.insert_layer(one, None, 0)
        buffer = one.get_buffer()
        buffer.set(area, "Y' u8", pixels.astype(np.uint8).tobytes())  # noqa: F821
        buffer.flush()
        one.update(0, 0, width, height)
    image.set_selected_layers(layers)
    show(image)  # noqa: F821
    return state()  # noqa: F821


def add_effects():
    for one in layers:
        one.append_filter(Gimp.DrawableFilter.new(one, "gegl:gaussian-blur", "blur"))  # noqa: F821


def delete_effects():
    for one in layers:
        for effect in one.get_filters():
            effect.delete()


def lock_all(locked):
    for one in layers:
        one.set_lock_content(locked)
