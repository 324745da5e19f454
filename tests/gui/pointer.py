# SPDX-License-Identifier: MIT
"""A mouse for the Wayland display: a client of its own that speaks wlr-virtual-pointer, the protocol for that."""
import os
import socket
import struct
import time

import desktop

BUTTON = 0x110  # the left one, as Linux numbers it
DISPLAY, REGISTRY, MANAGER, POINTER = 1, 2, 3, 4  # this client's objects


def text(words):
    data = words.encode() + b"\0"
    return struct.pack("=I", len(data)) + data + b"\0" * (-len(data) % 4)


class Pointer:
    """Places are device pixels of the only screen."""

    def __init__(self):
        self.size = [desktop.screen().shape[1], desktop.screen().shape[0]]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(os.environ["XDG_RUNTIME_DIR"], os.environ["WAYLAND_DISPLAY"]))
        self.socket.settimeout(10)
        self.send(DISPLAY, 1, struct.pack("=I", REGISTRY))
        name, version = self.find("zwlr_virtual_pointer_manager_v1")
        self.send(REGISTRY, 0, struct.pack("=I", name) + text("zwlr_virtual_pointer_manager_v1")
                  + struct.pack("=II", min(version, 1), MANAGER))
        self.send(MANAGER, 0, struct.pack("=II", 0, POINTER))  # of any seat
        time.sleep(0.5)  # the windows hear that there is a mouse now

    def send(self, target, request, arguments=b""):
        self.socket.sendall(struct.pack("=II", target, (8 + len(arguments)) << 16 | request) + arguments)

    def find(self, interface):
        """The registry's number and version of it."""
        data = b""
        while True:
            data += self.socket.recv(65536)
            while len(data) >= 8 and len(data) >= struct.unpack_from("=I", data, 4)[0] >> 16:
                target, size = struct.unpack_from("=II", data)
                event, data = data[8:size >> 16], data[size >> 16:]
                if target != REGISTRY or size & 0xFFFF:
                    continue
                name, length = struct.unpack_from("=II", event)
                if event[8:8 + length - 1].decode() == interface:
                    return name, struct.unpack_from("=I", event, len(event) - 4)[0]

    def tell(self, request, arguments):
        self.send(POINTER, request, arguments)
        self.send(POINTER, 4)  # that is all of this event
        time.sleep(0.1)

    def move(self, x, y):
        self.tell(1, struct.pack("=5I", now(), x, y, *self.size))

    def press(self):
        self.tell(2, struct.pack("=3I", now(), BUTTON, 1))

    def release(self):
        self.tell(2, struct.pack("=3I", now(), BUTTON, 0))


def now():
    return int(time.monotonic() * 1000) & 0xFFFFFFFF
