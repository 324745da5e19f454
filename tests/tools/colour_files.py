# SPDX-License-Identifier: MIT
"""Pictures whose samples are no perceptual ones, written bit by bit: ICC profiles, TIFF and PNG files."""
import struct
import zlib

import numpy as np


def fixed(value):
    return struct.pack(">i", round(value * 65536))


def gamma_curve(exponent):
    return b"curv" + bytes(4) + struct.pack(">IH", 1, round(exponent * 256))


def table_curve(points):
    return b"curv" + bytes(4) + struct.pack(f">I{len(points)}H", len(points), *points)


def formula_curve(kind, *parameters):
    return b"para" + bytes(4) + struct.pack(">HH", kind, 0) + b"".join(map(fixed, parameters))


IDENTITY = b"curv" + bytes(8)
SRGB = formula_curve(3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def xyz(x, y, z):
    return b"XYZ " + bytes(4) + fixed(x) + fixed(y) + fixed(z)


def profile(curve, grey=False):
    """ICC 2.4, of a display, with sRGB's primaries."""
    text = b"test\0"
    tags = {b"desc": b"desc" + bytes(4) + struct.pack(">I", len(text)) + text + bytes(78), b"cprt": b"text" + bytes(4) + text,
            b"wtpt": xyz(0.9642, 1, 0.8249)}
    if grey:
        tags[b"kTRC"] = curve
    else:
        tags |= {b"rXYZ": xyz(0.4361, 0.2225, 0.0139), b"gXYZ": xyz(0.3851, 0.7169, 0.0971),
                 b"bXYZ": xyz(0.1431, 0.0606, 0.7139), b"rTRC": curve, b"gTRC": curve, b"bTRC": curve}
    table, body, start = b"", b"", 132 + 12 * len(tags)
    for name, content in tags.items():
        content += bytes(-len(content) % 4)
        table += name + struct.pack(">II", start + len(body), len(content))
        body += content
    head = struct.pack(">I4sI4s4s4s12s4s", start + len(body), b"lcms", 0x02400000, b"mntr", b"GRAY" if grey else b"RGB ", b"XYZ ",
                       bytes(12), b"acsp")
    head += bytes(28) + fixed(0.9642) + fixed(1) + fixed(0.8249)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


UNSPECIFIED, PREMULTIPLIED, STRAIGHT = range(3)  # TIFF's ExtraSamples


def tiff(pixels, icc=b"", extra_sample=None):
    """Little-endian, one strip. pixels: (height, width, channels) of 8 or 16-bit integers, or 32-bit floats; of four
    channels one is an extra_sample."""
    height, width, channels = pixels.shape
    bits, floats = 8 * pixels.itemsize, pixels.dtype.kind == "f"
    data = pixels.tobytes()
    tags = [(256, 4, 1, width), (257, 4, 1, height), (259, 3, 1, 1), (262, 3, 1, 2 if channels > 2 else 1), (273, 4, 1, 8),
            (277, 3, 1, channels), (278, 4, 1, height), (279, 4, 1, len(data)), (284, 3, 1, 1)]
    if extra_sample is not None:
        tags.append((338, 3, 1, extra_sample))
    at = 8 + len(data)
    extra = b""
    for tag, value in ((258, bits), (339, 3 if floats else 1)):
        if channels < 3:
            tags.append((tag, 3, channels, value))
        else:
            tags.append((tag, 3, channels, at + len(extra)))
            extra += struct.pack("<H", value) * channels + bytes(channels % 2 * 2)
    if icc:
        tags.append((34675, 7, len(icc), at + len(extra)))
        extra += icc + bytes(len(icc) % 2)
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags)) + bytes(4)
    return b"II*\0" + struct.pack("<I", at + len(extra)) + data + extra + directory


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(pixels, icc=b"", gamma=None, srgb=False, cicp=b""):
    height, width, channels = pixels.shape
    rows = pixels.astype(pixels.dtype.newbyteorder(">"))
    body = b"".join(b"\0" + rows[y].tobytes() for y in range(height))
    chunks = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8 * pixels.itemsize, 2 if channels == 3 else 0, 0, 0, 0))
    if icc:
        chunks += chunk(b"iCCP", b"test\0\0" + zlib.compress(icc))
    if cicp:
        chunks += chunk(b"cICP", cicp)
    if srgb:
        chunks += chunk(b"sRGB", b"\0")
    if gamma is not None:
        chunks += chunk(b"gAMA", struct.pack(">I", round(gamma * 100000)))
    return b"\x89PNG\r\n\x1a\n" + chunks + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def read_pnm(path):
    """A raw PGM, PPM, PAM or PFM file as the program writes it."""
    content = path.read_bytes()
    if content.startswith(b"P7"):
        head, body = content.split(b"ENDHDR\n", 1)
        said = dict(line.split(maxsplit=1) for line in head.split(b"\n")[1:-1])
        shape = [int(said[key]) for key in (b"HEIGHT", b"WIDTH", b"DEPTH")]
        return np.frombuffer(body, ">u2" if int(said[b"MAXVAL"]) > 255 else "u1").reshape(shape)
    kind, size, most, body = content.split(b"\n", 3)
    width, height = map(int, size.split())
    if kind in (b"PF", b"Pf"):
        return np.frombuffer(body, "<f4").reshape(height, width, 3 if kind == b"PF" else 1)[::-1]
    return np.frombuffer(body, ">u2" if int(most) > 255 else "u1").reshape(height, width, 3 if kind == b"P6" else 1)


def light_from_perceptual(v):
    return np.where(v <= 0.04045, v / 12.92, ((np.maximum(v, 0) + 0.055) / 1.055) ** 2.4)


def perceptual_from_light(v):
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 0) ** (1 / 2.4) - 0.055)


def scene(width=160, height=120, channels=3, sigma=10.0, seed=5):
    """A noisy picture's perceptual values, from deep shadows on."""
    y, x = np.mgrid[0:height, 0:width]
    base = 0.08 + 0.75 * x / width + 0.06 * np.sin(x / 9.0) * np.cos(y / 7.0)
    planes = np.stack([base, base * 0.9 + 0.03, base * 0.8 + 0.05][:channels], axis=-1)
    noise = np.random.default_rng(seed).normal(0, sigma / 255, planes.shape)
    return np.clip(planes + noise, 0, 1)


def integers(values, dtype):
    return np.round(values * np.iinfo(dtype).max).astype(dtype)
