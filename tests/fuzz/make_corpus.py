#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the seeds that lie in corpus/: make_corpus.py CORPUS

Small pictures of every kind that the readers know, each with as much beside the pixels as it can hold.
Files that a fuzzer found lie among them under other names, and stay.
"""
import io
import pathlib
import struct
import sys
import zlib

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools"))
import colour_files

RANDOM = numpy.random.default_rng(1)


def samples(width, height, channels, dtype=numpy.uint8):
    top = numpy.iinfo(dtype).max
    values = RANDOM.integers(0, top, (height, width, channels), endpoint=True).astype(dtype)
    return values[:, :, 0] if channels == 1 else values


def exif_block(order="<"):
    """Make, orientation, a camera's directory with an exposure and a maker's note, a place."""
    def entry(tag, kind, count, value):
        return struct.pack(order + "HHI", tag, kind, count) + value

    def long(value):
        return struct.pack(order + "I", value)

    def short(value):
        return struct.pack(order + "HH", value, 0)

    camera_at, place_at, values_at = 62, 104, 134
    first = [entry(0x010f, 2, 4, b"ACME"), entry(0x0112, 3, 1, short(6)),
             entry(0x8769, 4, 1, long(camera_at)), entry(0x8825, 4, 1, long(place_at))]
    camera = [entry(0x829a, 5, 1, long(values_at)), entry(0x927c, 7, 6, long(values_at + 8)),
              entry(0xa005, 4, 1, long(8))]
    place = [entry(0x0000, 1, 4, b"\2\3\0\0"), entry(0x0002, 5, 1, long(values_at))]
    block = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8)
    for directory in (first, camera, place):
        block += struct.pack(order + "H", len(directory)) + b"".join(directory) + long(0)
    return block + struct.pack(order + "II", 1, 250) + b"notes!"


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width, height, bits, colour, extra=b"", interlace=0):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    if interlace:
        passes = [((width + 7) // 8, (height + 7) // 8), ((width + 3) // 8, (height + 7) // 8),
                  ((width + 3) // 4, (height + 3) // 8), ((width + 1) // 4, (height + 3) // 4),
                  ((width + 1) // 2, (height + 1) // 4), (width // 2, (height + 1) // 2), (width, height // 2)]
    else:
        passes = [(width, height)]
    raw = b"".join(bytes([row % 5]) + RANDOM.bytes((w * bits * channels + 7) // 8)
                   for w, h in passes for row in range(h if w else 0))
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)
    palette = chunk(b"PLTE", RANDOM.bytes(3 << bits)) if colour == 3 else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra_before(extra) + palette + extra
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def extra_before(extra):
    return chunk(b"gAMA", struct.pack(">I", 45455)) + chunk(b"sRGB", b"\0") if extra else b""


def png_seeds():
    for bits, colour in ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (4, 3), (8, 4), (16, 4),
                         (8, 6), (16, 6)):
        yield f"{colour}-{bits}", png(5, 4, bits, colour)
    for bits, colour in ((8, 2), (1, 0), (16, 6)):
        yield f"interlaced-{colour}-{bits}", png(9, 10, bits, colour, interlace=1)
    yield "transparent-palette", png(3, 3, 2, 3, chunk(b"tRNS", b"\0\x80"))
    yield "transparent-grey", png(3, 3, 8, 0, chunk(b"tRNS", b"\0\x80"))
    yield "transparent-rgb", png(3, 3, 8, 2, chunk(b"tRNS", b"\0\x80\0\1\0\2"))
    texts = (chunk(b"tEXt", b"Title\0A caption") + chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"long " * 9))
             + chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x/>")
             + chunk(b"iTXt", b"Author\0\1\0de\0Autor\0" + zlib.compress(b"me")))
    yield "texts", png(2, 2, 8, 0, texts)
    yield "camera", png(2, 2, 8, 2, chunk(b"eXIf", exif_block()) + chunk(b"pHYs", struct.pack(">IIB", 2835, 2835, 1)))
    primaries = struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
    yield "colours", png(2, 2, 8, 2, chunk(b"cHRM", primaries))
    profile = bytearray(132)
    profile[:4] = struct.pack(">I", len(profile))
    profile[36:40] = b"acsp"
    yield "profile", png(2, 2, 8, 2, chunk(b"iCCP", b"mine\0\0" + zlib.compress(bytes(profile))))


def tiff(order, big, entries, blocks, tail=b""):
    """One directory; `blocks` are the strips or tiles, and entries hold (tag, type, values)."""
    form = {1: "B", 2: "B", 3: "H", 4: "I", 5: "I", 7: "B", 16: "Q"}
    pointer, count_form, entry_count, width = ("Q", "Q", "Q", 20) if big else ("I", "I", "H", 12)
    room = 8 if big else 4
    head = 16 if big else 8
    tiled = any(tag == 322 for tag, _, _ in entries)
    number = len(entries) + 2
    values_at = head + struct.calcsize(order + entry_count) + number * width + room
    data, blocks_at = b"", []
    for block in blocks:
        blocks_at.append(values_at + len(data))
        data += block + b"\0" * (len(block) % 2)
    entries = sorted(entries + [(324 if tiled else 273, 4, blocks_at), (325 if tiled else 279, 4, [len(b) for b in blocks])])
    table = b""
    for tag, kind, values in entries:
        per = 2 if kind == 5 else 1
        packed = b"".join(struct.pack(order + form[kind], v) for v in values)
        if len(packed) > room:
            place = values_at + len(data)
            data += packed + b"\0" * (len(packed) % 2)
            packed = struct.pack(order + pointer, place)
        table += struct.pack(order + "HH" + count_form, tag, kind, len(values) // per) + packed.ljust(room, b"\0")
    magic = b"II" if order == "<" else b"MM"
    header = magic + (struct.pack(order + "HHHQ", 43, 8, 0, 16) if big else struct.pack(order + "HI", 42, 8))
    return header + struct.pack(order + entry_count, number) + table + b"\0" * room + data + tail


def tiff_of(order="<", big=False, width=4, height=4, bits=8, samples_=1, photometric=1, compression=1, kind=1,
            planar=1, strips=1, more=(), tile=None, data=None):
    entries = [(256, 3, [width]), (257, 3, [height]), (258, 3, [bits] * samples_), (259, 3, [compression]),
               (262, 3, [photometric]), (277, 3, [samples_]), (284, 3, [planar]), (339, 3, [kind] * samples_)]
    per_plane = samples_ if planar == 1 else 1
    planes = 1 if planar == 1 else samples_
    if tile:
        entries += [(322, 3, [tile]), (323, 3, [tile])]
        number = -(-width // tile) * -(-height // tile) * planes
        length = tile * tile * bits * per_plane // 8
    else:
        entries += [(278, 3, [height // strips])]
        number, length = strips * planes, (width * bits * per_plane + 7) // 8 * (height // strips)
    raw = [data or RANDOM.bytes(length) for _ in range(number)]
    packed = {8: zlib.compress, 32773: lambda block: bytes([len(block) - 1]) + block}
    blocks = [packed.get(compression, bytes)(block) for block in raw]
    return tiff(order, big, entries + list(more), blocks)


def tiff_seeds():
    for bits in (1, 2, 4, 8, 16):
        yield f"grey-{bits}", tiff_of(bits=bits)
    yield "rgb", tiff_of(samples_=3, photometric=2)
    yield "rgb-16-big-endian", tiff_of(order=">", bits=16, samples_=3, photometric=2, strips=2)
    yield "rgba-planes", tiff_of(samples_=4, photometric=2, planar=2, more=[(338, 3, [1])])
    yield "float", tiff_of(bits=32, kind=3, data=numpy.linspace(-1, 2, 16, dtype="<f4").tobytes())
    halves = numpy.linspace(0, 1, 32, dtype="<f2").tobytes()
    yield "half", tiff_of(bits=16, kind=3, samples_=2, data=halves, more=[(338, 3, [2])])
    yield "deflate", tiff_of(compression=8, samples_=3, photometric=2, strips=4)
    yield "deflate-predictor", tiff_of(compression=8, bits=16, more=[(317, 3, [2])])
    yield "packbits", tiff_of(compression=32773)
    yield "inverted", tiff_of(photometric=0, bits=16)
    yield "palette", tiff_of(bits=2, photometric=3, more=[(320, 3, list(range(0, 65535, 5500))[:12])])
    yield "tiles", tiff_of(width=20, height=18, tile=16, samples_=1)
    yield "bigtiff", tiff_of(big=True, samples_=3, photometric=2)
    texts = [(270, 2, list(b"A caption\0")), (271, 2, list(b"ACME\0")), (306, 2, list(b"2026:01:01 00:00:00\0")),
             (274, 3, [6]), (282, 5, [300, 1]), (283, 5, [300, 1]), (296, 3, [2]),
             (700, 1, list(b"<x:xmpmeta/>")), (33723, 4, [1, 2]), (34377, 1, list(b"8BIM\4\4\0\0\0\0\0\0")),
             (34675, 7, list(b"a profile"))]
    yield "texts", tiff_of(more=texts)
    with_camera = tiff_of(more=[(34665, 4, [0])])
    camera = (struct.pack("<H", 2) + struct.pack("<HHII", 0x829a, 5, 1, 8) + struct.pack("<HHII", 0x927c, 7, 6, 8)
              + struct.pack("<I", 0))
    at = len(with_camera)
    place = with_camera.index(struct.pack("<HHI", 34665, 4, 1)) + 8
    yield "camera", with_camera[:place] + struct.pack("<I", at) + with_camera[place + 4:] + camera
    for name, save in {"lzw": {"compression": "tiff_lzw"}, "jpeg": {"compression": "jpeg"},
                       "fax": {"compression": "group4"}}.items():
        picture = Image.fromarray(samples(8, 8, 1 if name == "fax" else 3))
        out = io.BytesIO()
        (picture.convert("1") if name == "fax" else picture).save(out, "TIFF", **save)
        yield name, out.getvalue()
    out = io.BytesIO()
    pages = [Image.fromarray(samples(3, 3, 1)) for _ in range(3)]
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:])
    yield "pages", out.getvalue()


def jpeg_marker(number, content):
    return struct.pack(">BBH", 0xff, number, len(content) + 2) + content


def jpeg_seeds():
    for name, channels, options in (("grey", 1, {}), ("colour", 3, {}), ("progressive", 3, {"progressive": True}),
                                    ("full", 3, {"subsampling": 0}), ("restarts", 1, {"restart_marker_blocks": 1})):
        out = io.BytesIO()
        Image.fromarray(samples(17, 9, channels)).save(out, "JPEG", quality=20, optimize=True, **options)
        yield name, out.getvalue()
        if name != "grey":
            continue
        plain = out.getvalue()
        resource = b"Photoshop 3.0\0" + b"8BIM\4\4\0\0" + struct.pack(">I", 8) + b"\x1c\2\x50\0\3you"
        markers = {"camera": jpeg_marker(0xe1, b"Exif\0\0" + exif_block(">")), "iptc": jpeg_marker(0xed, resource),
                   "xmp": jpeg_marker(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x/>"),
                   "more-xmp": jpeg_marker(0xe1, b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 40 + b"<x/>"),
                   "profile": jpeg_marker(0xe2, b"ICC_PROFILE\0\1\2one") + jpeg_marker(0xe2, b"ICC_PROFILE\0\2\2two")}
        for key, marker in markers.items():
            yield key, plain[:2] + marker + plain[2:]
    out = io.BytesIO()
    Image.fromarray(samples(8, 8, 4), "CMYK").save(out, "JPEG", quality=10)
    yield "cmyk", out.getvalue()


def pnm_seeds():
    yield "plain-grey", b"P2\n# words\n3 2\n255\n0 1 2\n253 254 255\n"
    yield "plain-colour", b"P3 1 2 7\n0 1 2 7 6 5\n"
    yield "grey", b"P5 3 2 255\n" + RANDOM.bytes(6)
    yield "grey-deep", b"P5 2 2 1023\n" + struct.pack(">4H", 0, 1, 512, 1023)
    yield "colour", b"P6\n2 2\n255\n" + RANDOM.bytes(12)
    yield "colour-deep", b"P6\n1 2\n65535\n" + RANDOM.bytes(12)
    yield "pam", b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + RANDOM.bytes(8)
    yield "pam-deep", b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 65535\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\0\1\2\3"
    yield "pfm-grey", b"Pf\n2 2\n-1.0\n" + struct.pack("<4f", 0, 0.5, -1, 2e30)
    yield "pfm-colour", b"PF\n1 2\n2.5\n" + struct.pack(">6f", 0, 0.5, 1, float("nan"), float("inf"), 1e-40)
    yield "two-pictures", b"P5 1 1 255\n\1P5 1 1 255\n\2"


def exif_seeds():
    yield "little", exif_block("<")
    yield "big", exif_block(">")


def icc_seeds():
    curves = {"identity": colour_files.IDENTITY, "gamma": colour_files.gamma_curve(1.8),
              "table": colour_files.table_curve([0, 9000, 30000, 65535]), "srgb": colour_files.SRGB,
              "formula": colour_files.formula_curve(4, 3, 0.8, 0.19, 0.3, 0.05, 0.01, 0.0065)}
    for name, curve in curves.items():
        yield name, colour_files.profile(curve)
    yield "grey", colour_files.profile(colour_files.gamma_curve(2.2), grey=True)


def preset_seeds():
    yield "all", (b"# words\nmethod = nlm\nquality = high\nauto-sigma = no\nsigma = 12.5\nstrength = 80\nluma = 50\n"
                  b"chroma = 150\ndetail = 10\nsearch = 21\npatch = 7\nstep = 3\ngroup = 16\ntransform = dct\n"
                  b"matching = noisy\nstages = first\ncentre = one\nweights = classic\nscales = 2\n")
    yield "windows", b"\xef\xbb\xbfsigma=1e-4\r\nluma=0\r\n"
    yield "refused", b"device = cpu\n"
    yield "name", b"portrait at night"


def helper_seeds():
    """A message of each kind (plugin/helper/message.h)."""
    def message(kind, numbers="", *values):
        return struct.pack("<IHH" + numbers, 0x4c4e5247, 1, kind, *values)

    def text(value):
        return struct.pack("<I", len(value)) + value

    yield "hello", message(0)
    yield "open", message(1, "Qiiii", 1, 0, 3, 640, 480)
    yield "close", message(2, "Q", 1)
    yield "render", message(3, "QQiiii", 1, 1, 0, 0, 64, 64) + text(b"method=nlm\nsigma=12\n")
    yield "progress", message(4, "Q", 1)
    yield "done", (message(5, "Qi", 1, 0) + text(b"") + text(b"cpu") + text(b"note") + struct.pack("<I", 1) + text(b"why")
                   + b"\x01")


def options_seeds():
    yield "words", b"--method\nnlm\n--sigma=5\n--search\n21\n--device\ncuda:0,1\n--memory\n512"
    yield "help", b"--help"
    yield "again", b"--strength\n50\n--strength\n1e2\n--scales\nauto\n--depth=3"


def drawn_seeds():
    for number in range(4):
        yield f"random-{number}", RANDOM.bytes(60 + 120 * number)


def main():
    corpus = pathlib.Path(sys.argv[1])
    kinds = {"png": png_seeds, "tiff": tiff_seeds, "jpeg": jpeg_seeds, "pnm": pnm_seeds, "exif": exif_seeds, "icc": icc_seeds,
             "preset": preset_seeds, "helper": helper_seeds, "options": options_seeds, "engine": drawn_seeds,
             "module": drawn_seeds}
    for kind, seeds in kinds.items():
        folder = corpus / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / f"seed-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
