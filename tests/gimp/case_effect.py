# SPDX-License-Identifier: MIT
"""The effect grainless:denoise: the filter's own pixels, whatever it is put on and however it is asked for."""
import os
import pathlib
import signal
import threading
import time

import numpy as np
from gi.repository import Gegl, Gimp, Gio

from case_formats import PRECISIONS
from harness import (HEIGHT, QUICK, SIGMA, SUCCESS, WIDTH, WORK, add_layer, call, denoise, files_of_older_versions, get_pixels,
                     load, native_pixels, new_image, noisy_picture, set_pixels)
from pauses import asked

OPERATION = "grainless:denoise"
# What the files of tests/compat hold on a picture of add_layer(). A key that joins has its default in older files.
WRITTEN = {"method": "nlm", "quality": "fast", "auto-sigma": False, "sigma": 12.5, "strength": 80.0, "luma": 90.0,
           "chroma": 130.0, "shadows": 150.0, "highlights": 60.0, "detail": 20.0, "impulse": "strong", "search": 9, "patch": 5,
           "step": 4, "group": 8, "transform": "dct", "matching": "prefiltered", "stages": "first", "centre": "one",
           "weights": "classic", "noise": "camera", "scales": "2", "device": "cpu", "memory": 512}
BASES = (Gimp.ImageBaseType.RGB, Gimp.ImageBaseType.GRAY)
PERCEPTUAL = Gimp.Precision.U8_NON_LINEAR


def new_effect(drawable, **values):
    effect = Gimp.DrawableFilter.new(drawable, OPERATION, "Denoise")
    set_values(effect, **values)
    return effect


def set_values(effect, **values):
    config = effect.get_config()
    for key, value in values.items():
        config.set_property(key.replace("_", "-"), value)


def merged(drawable, **values):
    """Applies the effect to the drawable's own pixels and returns them."""
    drawable.merge_filter(new_effect(drawable, **values))
    return native_pixels(drawable)


def filtered(drawable, **values):
    """The same by the filter."""
    denoise(drawable.get_image(), [drawable], **values)
    return native_pixels(drawable)


def seen(image):
    layer = Gimp.Layer.new_from_visible(image, image, "seen")
    image.insert_layer(layer, None, 0)
    pixels = native_pixels(layer).copy()
    image.remove_layer(layer)
    return pixels


def check_precision(name, base, values):
    """The same bits where pixels pass as they are. Other precisions go through babl, which chooses its way of converting by the
    time that each takes, in every process anew: there they are the same but for its rounding, which may move a match value."""
    kind, encoding = name.split("_", 1)
    direct = kind in ("U8", "U16", "HALF", "FLOAT") and encoding != "LINEAR"
    image = new_image(base, getattr(Gimp.Precision, name))
    for alpha in (False, True):
        one, other = add_layer(image, alpha=alpha), add_layer(image, alpha=alpha)
        before = native_pixels(one).copy()
        result = merged(one, **values)
        assert not np.array_equal(result, before), "nothing was removed"
        same = np.array_equal(result, filtered(other, **values))
        error = 255 * np.abs(get_pixels(one) - get_pixels(other))
        assert same or (not direct and error.max() < 1 and error.mean() < 0.01), (alpha, error.max(), error.mean())
        assert (one.get_width(), one.get_height(), one.get_offsets()[1:]) == (WIDTH, HEIGHT, (0, 0))
        assert one.has_alpha() == alpha


def graph_of(pixels, name):
    """A graph of GEGL's alone, in this process; returns it with the effect's node."""
    height, width = pixels.shape[:2]
    area = Gegl.Rectangle.new(7, -3, width, height)  # pictures need not begin at 0
    buffer = Gegl.Buffer.new(name, area.x, area.y, width, height)
    buffer.set(area, name, pixels.tobytes())
    graph = Gegl.Node()
    source = graph.create_child("gegl:buffer-source")
    source.set_property("buffer", buffer)
    node = graph.create_child(OPERATION)
    source.connect_to("output", node, "input")
    return graph, node, area, buffer


def rendered(node, area, name, rectangles):
    """What the node gives for the area, asked for in these rectangles."""
    target = Gegl.Buffer.new(name, area.x, area.y, area.width, area.height)
    for x, y, width, height in rectangles:
        node.blit_buffer(target, Gegl.Rectangle.new(area.x + x, area.y + y, width, height), 0, Gegl.AbyssPolicy.NONE)
    return target.get(area, 1.0, name, Gegl.AbyssPolicy.NONE)


def random_cuts(width, height, random):
    """Rectangles that cover all, in any order."""
    columns = [0, *sorted(random.choice(np.arange(1, width), 3, replace=False)), width]
    rows = [0, *sorted(random.choice(np.arange(1, height), 3, replace=False)), height]
    cells = [(int(x), int(y), int(right - x), int(bottom - y)) for x, right in zip(columns, columns[1:])
             for y, bottom in zip(rows, rows[1:])]
    return [cells[i] for i in random.permutation(len(cells))]


def check_chunks():
    """Promise 1, with random cuts and each method: the same bits."""
    random = np.random.default_rng()
    pixels = (noisy_picture(3, 5, 150, 110) * 255).round().astype(np.uint8)
    for name in ("R'G'B' u8", "R~G~B~ float", "RGB half"):
        kind = {"u8": np.uint8, "float": np.float32, "half": np.float16}[name.split()[1]]
        data = pixels if kind is np.uint8 else (pixels / 255).astype(kind)
        for method in ("bm3d", "nlm", "sw-nlm", "dct"):
            cuts = random_cuts(150, 110, random)
            expected = None
            for rectangles in ([(0, 0, 150, 110)], cuts):
                _graph, node, area, _ = graph_of(data, name)
                node.set_property("method", method)
                result = rendered(node, area, name, rectangles)
                expected = expected or result
                assert result == expected, f"{name} {method}: {cuts}"
                box = node.get_bounding_box()
                assert (box.x, box.y, box.width, box.height) == (area.x, area.y, area.width, area.height)
            assert expected != data.tobytes()


def check_changes():
    """A picture that changes below the effect is measured and computed anew."""
    data = (noisy_picture(3, 5) * 255).round().astype(np.uint8)
    _graph, node, area, buffer = graph_of(data, "R'G'B' u8")
    whole = [(0, 0, WIDTH, HEIGHT)]
    first = rendered(node, area, "R'G'B' u8", whole)
    other = (noisy_picture(3, 6) * 255).round().astype(np.uint8)
    buffer.set(area, "R'G'B' u8", other.tobytes())
    second = rendered(node, area, "R'G'B' u8", whole)
    fresh = graph_of(other, "R'G'B' u8")
    assert second == rendered(fresh[1], area, "R'G'B' u8", whole)
    assert second != first


def check_unusual_formats():
    """Premultiplied, indexed-like and CMYK pixels, no picture at all, and none that ends."""
    data = noisy_picture(3, 5)
    with_alpha = np.concatenate([data, np.ones_like(data[..., :1])], -1)
    for name, pixels in (("RaGaBaA float", with_alpha), ("cairo-ARGB32", (with_alpha * 255).astype(np.uint8)),
                         ("CMYK float", with_alpha), ("YaA float", with_alpha[..., :2])):
        _graph, node, area, _ = graph_of(pixels, name)
        result = rendered(node, area, "R~G~B~A float", [(0, 0, WIDTH, HEIGHT)])
        assert np.isfinite(np.frombuffer(result, np.float32)).all(), name
    graph = Gegl.Node()
    for source in ("gegl:checkerboard", None):
        node = graph.create_child(OPERATION)
        if source:
            graph.create_child(source).connect_to("output", node, "input")
        target = Gegl.Buffer.new("RGBA float", 0, 0, 64, 64)
        node.blit_buffer(target, Gegl.Rectangle.new(0, 0, 64, 64), 0, Gegl.AbyssPolicy.NONE)


def check_bad_values():
    """Values that the filter would refuse are put right: nothing may take GIMP down."""
    data = (noisy_picture(3, 5) * 255).round().astype(np.uint8)
    for bad, good in (({"search": 12}, {"search": 13}), ({"search": 1}, {"search": 3}), ({"patch": 1}, {"patch": 2}),
                      ({"group": 5}, {"group": 4}), ({"patch": 4, "step": 9}, {"patch": 4, "step": 4}),
                      ({"device": "toaster"}, {}), ({"sigma": float("nan"), "auto-sigma": False},
                                                   {"auto-sigma": False})):
        results = []
        for values in (bad, good):
            _graph, node, area, _ = graph_of(data, "R'G'B' u8")
            for key, value in values.items():
                node.set_property(key, value)
            results.append(rendered(node, area, "R'G'B' u8", [(0, 0, WIDTH, HEIGHT)]))
        assert results[0] == results[1], bad
        assert results[0] != data.tobytes(), bad


def check_selection():
    """With a selection GIMP gives an effect the selected rectangle for its picture; outside nothing changes."""
    image = new_image()
    one, other = add_layer(image), add_layer(image)
    before = native_pixels(one).copy()
    other.resize(40, 33, -11, -7)
    expected = filtered(other, auto_sigma=True)
    image.select_rectangle(Gimp.ChannelOps.REPLACE, 11, 7, 40, 33)
    result = merged(one, auto_sigma=True)
    assert np.array_equal(result[7:40, 11:51], expected)
    outside = np.ones((HEIGHT, WIDTH), bool)
    outside[7:40, 11:51] = False
    assert np.array_equal(result[outside], before[outside])


def check_mask():
    image = new_image()
    masks = []
    for _ in range(2):
        layer = add_layer(image)
        mask = layer.create_mask(Gimp.AddMaskType.WHITE)
        layer.add_mask(mask)
        set_pixels(mask, noisy_picture(1))
        masks.append(mask)
    assert np.array_equal(merged(masks[0], **QUICK), filtered(masks[1], **QUICK))


def check_group():
    """On a group the effect sees what the group shows."""
    image = new_image()
    group = Gimp.GroupLayer.new(image, "group")
    image.insert_layer(group, None, 0)
    add_layer(image, parent=group)
    plain = Gimp.Layer.new_from_visible(image, image, "plain")
    group.append_filter(new_effect(group, auto_sigma=True))
    result = seen(image)
    image.insert_layer(plain, None, 0)
    assert np.array_equal(result, filtered(plain, auto_sigma=True))


def check_two():
    """The second takes what the first gives, which GIMP doesn't round to 8 bits in between."""
    for precision, most in ((Gimp.Precision.FLOAT_NON_LINEAR, 0), (PERCEPTUAL, 1)):
        image = new_image(precision=precision)
        layer = add_layer(image)
        other = layer.copy()
        layer.append_filter(new_effect(layer, **QUICK))
        layer.append_filter(new_effect(layer, method="dct", strength=50.0))
        layer.merge_filters()
        image.insert_layer(other, None, 0)
        filtered(other, **QUICK)
        expected = filtered(other, method="dct", strength=50.0)
        result = native_pixels(layer)
        difference = np.abs(result.astype(int) - expected).max()
        assert difference <= most, f"{precision.value_nick}: {difference}"


def values_of(effect):
    config = effect.get_config()
    return {pspec.name: config.get_property(pspec.name) for pspec in config.list_properties()}


def check_file():
    """An XCF file keeps the effect with its values, which GIMP names as the operation does."""
    image = new_image()
    layer = add_layer(image)
    layer.append_filter(new_effect(layer, method="nlm", auto_sigma=False, sigma=SIGMA, search=11, luma=80.0))
    result = seen(image)
    path = WORK / "effect.xcf"
    Gimp.file_save(Gimp.RunMode.NONINTERACTIVE, image, Gio.File.new_for_path(str(path)), None)
    opened = load(path)
    effects = opened.get_layers()[0].get_filters()
    assert [effect.get_operation_name() for effect in effects] == [OPERATION]
    assert values_of(effects[0]) == values_of(layer.get_filters()[0])
    assert values_of(effects[0])["search"] == 11
    assert np.array_equal(seen(opened), result)


def check_files_of_older_versions():
    """XCF files with the effect, as released versions wrote them: values and pixels. The newest has no key's default."""
    files = files_of_older_versions("effect.xcf")
    for file in files:
        image = load(file)
        layer, = image.get_layers()
        effect, = layer.get_filters()
        assert effect.get_operation_name() == OPERATION, file
        assert WRITTEN.items() <= values_of(effect).items(), values_of(effect)
        layer.merge_filters()
        fresh = add_layer(new_image())
        values = {key.replace("-", "_"): value for key, value in WRITTEN.items()}
        assert np.array_equal(native_pixels(layer), filtered(fresh, **values)), file
        if file == files[-1]:
            defaults = values_of(new_effect(layer))
            assert WRITTEN.keys() == defaults.keys(), WRITTEN.keys() ^ defaults.keys()
            assert not WRITTEN.items() & defaults.items(), WRITTEN.items() & defaults.items()


def check_edit():
    """An effect that is changed later gives what a new one with these values gives; hidden, nothing."""
    image = new_image()
    layer = add_layer(image)
    plain = seen(image)
    effect = new_effect(layer, **QUICK)
    layer.append_filter(effect)
    weak = seen(image)
    set_values(effect, strength=150.0)
    effect.update()
    strong = seen(image)
    assert not np.array_equal(weak, strong)
    other = new_image()
    fresh = add_layer(other)
    fresh.append_filter(new_effect(fresh, strength=150.0, **QUICK))
    assert np.array_equal(seen(other), strong)
    effect.set_visible(False)
    effect.update()
    assert np.array_equal(seen(image), plain)


def check_unusual_values():
    image = new_image(precision=Gimp.Precision.FLOAT_LINEAR)
    layer = add_layer(image, alpha=True)
    pixels = get_pixels(layer).copy()
    pixels[10, 10, 0] = np.nan
    pixels[40, 50, 1] = np.inf
    set_pixels(layer, pixels)
    before = native_pixels(layer).copy()
    after = merged(layer, **QUICK)
    assert np.array_equal(after[10, 10], before[10, 10])
    assert np.array_equal(after[40, 50], before[40, 50])
    assert not np.array_equal(after[20, 20], before[20, 20])


def check_by_the_procedure():
    """The filter's own procedure puts the effect on layers, with its settings, and leaves their pixels alone."""
    image = new_image()
    layers = [add_layer(image), add_layer(image, seed=2)]
    copies = [layer.copy() for layer in layers]
    before = [native_pixels(layer).copy() for layer in layers]
    status, message = call(image, layers, as_effect=True, method="nlm", auto_sigma=False, sigma=SIGMA, search=11)
    assert status == SUCCESS, message
    for layer, copy, pixels in zip(layers, copies, before):
        assert np.array_equal(native_pixels(layer), pixels)
        effects = layer.get_filters()
        assert [effect.get_operation_name() for effect in effects] == [OPERATION]
        assert values_of(effects[0])["method"] == "nlm" and values_of(effects[0])["sigma"] == SIGMA
        layer.merge_filters()
        image.insert_layer(copy, None, 0)
        assert np.array_equal(native_pixels(layer), filtered(copy, **QUICK))


def check_groups_and_text():
    """The procedure puts the effect on what GIMP's menu does: it is the one that GIMP puts there, and text stays text."""
    image = new_image()
    group = Gimp.GroupLayer.new(image, "group")
    image.insert_layer(group, None, 0)
    add_layer(image, parent=group)
    text = Gimp.TextLayer.new(image, "text", Gimp.context_get_font(), 20, Gimp.Unit.pixel())
    image.insert_layer(text, None, 0)
    for target in (group, text):
        copy = image.duplicate()
        other = next(layer for layer in copy.get_layers() if layer.get_name() == target.get_name())
        other.append_filter(new_effect(other, **QUICK))
        status, message = call(image, [target], as_effect=True, **QUICK)
        assert status == SUCCESS, message
        assert [effect.get_operation_name() for effect in target.get_filters()] == [OPERATION]
        assert np.array_equal(seen(image), seen(copy)), target.get_name()
        copy.delete()
    assert text.is_text_layer() and text.get_text() == "text"
    group.set_lock_content(True)
    status, message = call(image, [group], as_effect=True, **QUICK)
    assert status != SUCCESS and "locked" in message and len(group.get_filters()) == 1, message
    status, message = call(image, [text], **QUICK)
    assert status != SUCCESS and "text layer" in message, message


def check_refused():
    """Only layers have effects; nothing is changed then, and the message says so."""
    image = new_image()
    layer = add_layer(image)
    mask = layer.create_mask(Gimp.AddMaskType.WHITE)
    layer.add_mask(mask)
    status, message = call(image, [mask], as_effect=True)
    assert status != SUCCESS and "only layers" in message, message
    status, message = call(image, [layer], as_effect=True, search=4)
    assert status != SUCCESS and "search" in message, message
    assert not layer.get_filters() and not mask.get_filters()


def check_nothing_selected():
    """The effect would keep a selection that misses the layer, and never do anything: that layer stays without."""
    image = new_image()
    missed, met = add_layer(image), add_layer(image, seed=2)
    missed.set_offsets(WIDTH, 0)
    image.select_rectangle(Gimp.ChannelOps.REPLACE, 0, 0, 20, 20)
    image.clean_all()
    status, message = call(image, [missed], as_effect=True)
    assert status == SUCCESS, message
    assert not missed.get_filters() and not image.is_dirty()
    status, message = call(image, [missed, met], as_effect=True)
    assert status == SUCCESS, message
    assert not missed.get_filters() and len(met.get_filters()) == 1


def check_refused_by_gimp():
    """GIMP refuses the effect on one of three layers: none has it."""
    for refused in (1, 3):
        image = new_image()
        layers = [add_layer(image, seed=seed) for seed in (1, 2, 3)]
        before = [native_pixels(layer).copy() for layer in layers]
        with asked("refuse", str(refused)):
            status, message = call(image, layers, as_effect=True)
        assert status != SUCCESS and "GIMP refused to put the effect on" in message, message
        assert not any(layer.get_filters() for layer in layers), [len(layer.get_filters()) for layer in layers]
        assert all(np.array_equal(native_pixels(layer), old) for layer, old in zip(layers, before))


def helpers_of_gimp():
    """The helpers that GIMP itself has started."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
        except OSError:
            continue
        if name == "grainless-engin" and rest[0] != "Z" and int(rest[1]) == os.getppid():
            found.append(int(folder.name))
    return found


def ticks_of(process):
    """The processor's time that it has taken, in hundredths of a second."""
    stat = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return sum(map(int, stat.rpartition(")")[2].split()[11:13]))


def check_killed():
    """The helper killed in mid-work: the right pixels, another helper, and GIMP alive."""
    image = new_image(width=700, height=600)
    one, other = add_layer(image), add_layer(image)
    slow = {"method": "bm3d", "quality": "high", "device": "cpu"}
    expected = filtered(other, **slow)
    assert len(helpers_of_gimp()) == 1, "one helper for all effects"
    killed = helpers_of_gimp()
    before = ticks_of(killed[0])
    done = threading.Event()

    def kill():
        while ticks_of(killed[0]) < before + 20 and not done.is_set():
            time.sleep(0.005)
        if not done.is_set():
            os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    result = merged(one, **slow)
    done.set()
    thread.join()
    assert helpers_of_gimp() and helpers_of_gimp() != killed, "it was too quick to be killed"
    assert np.array_equal(result, expected)


def memory_files():
    """Pictures that GIMP shares with the helper."""
    links = []
    for path in pathlib.Path(f"/proc/{os.getppid()}/fd").iterdir():
        try:
            links.append(os.readlink(path))
        except OSError:  # closed meanwhile
            continue
    return sum("memfd:grainless" in link for link in links), len(links)


def check_leaks():
    """A hundred effects that come and go leave neither processes nor memory nor open files."""
    def once(number):
        image = new_image()
        layer = add_layer(image, seed=number)
        layer.append_filter(new_effect(layer, **QUICK))
        seen(image)
        image.delete()

    def resident():
        return int(pathlib.Path(f"/proc/{os.getppid()}/statm").read_text(encoding="utf-8").split()[1]) * 4096

    for number in range(20):
        once(number)
    before, (_, files) = resident(), memory_files()
    for number in range(100):
        once(number)
    shared, now = memory_files()
    assert shared <= 5, f"{shared} pictures are kept"
    assert now <= files + 5, f"{files} open files became {now}"
    assert resident() < before + (32 << 20), f"{(resident() - before) >> 20} MiB more"
    assert len(helpers_of_gimp()) == 1


def check_nothing_started():
    """Before the first effect: a GIMP that has loaded the module, and an effect that nobody has asked for pixels."""
    image = new_image()
    new_effect(add_layer(image), **QUICK)
    assert Gegl.has_operation(OPERATION)
    assert not helpers_of_gimp()


def cases():
    yield "effect, nothing is started without work", check_nothing_started
    for base in BASES:
        for name in PRECISIONS:
            yield (f"effect, {base.value_nick} {name}: the filter's pixels",
                   lambda name=name, base=base: check_precision(name, base, QUICK))
    yield "effect, noise measured: the filter's pixels", lambda: check_precision("U8_NON_LINEAR", BASES[0], {})
    yield "effect, files of older versions", check_files_of_older_versions
    yield "effect, any chunks give the same bits", check_chunks
    yield "effect, a changed picture is computed anew", check_changes
    yield "effect, formats that GIMP has not, and no picture", check_unusual_formats
    yield "effect, bad values are put right", check_bad_values
    yield "effect through a selection", check_selection
    yield "effect on a layer mask", check_mask
    yield "effect on a group", check_group
    yield "two effects on one layer", check_two
    yield "effect in an XCF file", check_file
    yield "effect changed and hidden later", check_edit
    yield "effect, NaN and infinity", check_unusual_values
    yield "effect by the filter's procedure", check_by_the_procedure
    yield "effect, groups and text by the procedure", check_groups_and_text
    yield "effect, what can have none", check_refused
    yield "effect, nothing selected", check_nothing_selected
    yield "effect, refused by GIMP", check_refused_by_gimp
    yield "effect, a hundred times", check_leaks
    yield "effect, its helper killed in mid-work", check_killed
