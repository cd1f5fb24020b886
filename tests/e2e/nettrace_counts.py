# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the events of a nettrace file of version 4 by provider and number: a second reader of the format, for tests of the first."""
import collections
import struct
import sys


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, count):
        return int.from_bytes(self.take(count), "little")

    def leb(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self):
        units = []
        while (unit := self.number(2)):
            units.append(unit)
        return struct.pack(f"<{len(units)}H", *units).decode("utf-16-le")


def rows(block):
    """Metadata id, payload of each row of a block."""
    header = block.number(2)
    block.at += header - 2
    kind = size = 0
    while block.at < len(block.data):
        has = block.number(1)
        if has & 1:
            kind = block.leb()
        if has & 2:
            block.leb(), block.leb(), block.leb()
        if has & 4:
            block.leb()
        if has & 8:
            block.leb()
        block.leb()
        block.at += 16 * bool(has & 16) + 16 * bool(has & 32)
        if has & 128:
            size = block.leb()
        yield kind, block.take(size)


def count(path):
    with open(path, "rb") as file:
        stream = Bytes(file.read(), 32)
    kinds, counts = {}, collections.Counter()
    while stream.number(1) == 5:
        stream.at += 2 + 8
        name = stream.take(stream.number(4)).decode()
        stream.at += 1
        if name == "Trace":
            stream.at += 48
        else:
            size = stream.number(4)
            stream.at += -stream.at % 4
            block = Bytes(stream.take(size))
            if name == "MetadataBlock":
                for _, payload in rows(block):
                    blob = Bytes(payload)
                    kind = blob.number(4)
                    kinds[kind] = (blob.text(), blob.number(4))
            elif name == "EventBlock":
                for kind, payload in rows(block):
                    provider, event = kinds[kind]
                    if provider == "Microsoft-DotNETCore-SampleProfiler":
                        event = "managed" if payload[:4] == b"\2\0\0\0" else "outside"
                    counts[provider, event] += 1
        stream.at += 1
    return counts


if __name__ == "__main__":
    for key, times in sorted(count(sys.argv[1]).items(), key=str):
        print(*key, times)
