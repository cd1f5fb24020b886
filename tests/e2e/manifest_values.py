# SPDX-License-Identifier: GPL-2.0-or-later
"""Payloads of .NET as calls of the functions that tapir-manifest makes: an own reader of manifests and payloads."""
import os
import re
import struct
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
MANIFESTS = os.path.join(HERE, "..", "..", "usdt", "manifests")
RECORDED = os.path.join(HERE, "..", "data", "dotnet", "recorded.tsv")
NUMBERS = {"UInt8": "B", "Int8": "b", "UInt16": "H", "Int16": "h", "UInt32": "I", "Int32": "i", "HexInt32": "I",
           "UInt64": "Q", "Int64": "q", "HexInt64": "Q", "Float": "f", "Double": "d", "Pointer": "Q", "Boolean": "I",
           "FILETIME": "Q"}
C_TYPES = {"UInt8": "uint8_t", "Int8": "int8_t", "UInt16": "uint16_t", "Int16": "int16_t", "UInt32": "uint32_t",
           "Int32": "int32_t", "HexInt32": "uint32_t", "UInt64": "uint64_t", "Int64": "int64_t", "HexInt64": "uint64_t",
           "Float": "float", "Double": "double", "Pointer": "const void *", "Boolean": "int", "FILETIME": "uint64_t",
           "AnsiString": "const char *", "UnicodeString": "const TAPIR_CHAR16 *"}


def local(element):
    return element.tag.split("}")[-1]


def identifier(text):
    return re.sub(r"\W", "_", text)


class Provider:
    """A provider of a manifest, with the fields of its events by (id, version)."""

    def __init__(self, file, element):
        self.file, self.name, self.id = file, element.get("name"), identifier(element.get("symbol") or element.get("name"))
        parts = {local(part): part for part in element}
        templates = {template.get("tid"): list(template) for template in parts.get("templates", ())}
        self.events = {}
        names = set()
        for event in sorted(parts.get("events", ()), key=lambda e: (int(e.get("value")), int(e.get("version", "0")))):
            key = int(event.get("value")), int(event.get("version", "0"))
            name = event.get("symbol")
            name = name if name not in names else f"{name}_V{key[1]}"
            names.add(name)
            self.events[key] = (name, templates.get(event.get("template"), []))


def providers():
    """Those of usdt/manifests, by name."""
    found = {}
    for name in sorted(os.listdir(MANIFESTS)):
        if name.endswith(".man"):
            for element in ElementTree.parse(os.path.join(MANIFESTS, name)).iter():
                if local(element) == "provider":
                    found[element.get("name")] = Provider(os.path.join(MANIFESTS, name), element)
    return found


def recorded():
    """(provider, id, version, payload) of each line."""
    with open(RECORDED, encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                provider, number, version, _, payload = line.rstrip("\n").split("\t")
                yield provider, int(number), int(version), bytes.fromhex(payload)


class Call:
    """One call of fire_EVENT: declarations and arguments in C, read out of a payload."""

    def __init__(self, provider, name, fields, payload):
        self.payload, self.at, self.lines, self.cnt = payload, 0, [], 0
        values = self.read_all(f"{provider.id}_{name}", fields)
        arguments = ", ".join(text for text, _ in values.values())
        self.lines.append(f"\tfire_{name}({arguments});")
        self.is_whole = self.at == len(payload)

    def declare(self, kind, values):
        self.cnt += 1
        self.lines.append(f"\tstatic {kind} v{self.cnt}[] = {{{', '.join(values) or '0'}}};")
        return f"v{self.cnt}"

    def take(self, size):
        self.at += size
        return self.payload[self.at - size:self.at]

    def one(self, owner, field):
        """(text in C, number or None)"""
        kind = field.get("inType", "").removeprefix("win:")
        if local(field) == "struct":
            members = self.read_all(f"{owner}_{identifier(field.get('name'))}", list(field))
            return "{" + ", ".join(text for text, _ in members.values()) + "}", None
        if kind in NUMBERS:
            value, = struct.unpack("<" + NUMBERS[kind], self.take(struct.calcsize(NUMBERS[kind])))
            text = float(value).hex() if kind in ("Float", "Double") else \
                f"(const void *){value}ull" if kind == "Pointer" else f"({C_TYPES[kind]}){value}ull"
            return text, value
        if kind == "GUID":
            return self.declare("const uint8_t", [str(byte) for byte in self.take(16)]), None
        width = 2 if kind == "UnicodeString" else 1
        units = []
        while True:
            unit = int.from_bytes(self.take(width), "little")
            units.append(str(unit))
            if not unit:
                return self.declare("const TAPIR_CHAR16" if width == 2 else "const char", units), None

    def many(self, owner, field, count):
        kind = field.get("inType", "").removeprefix("win:")
        if field.get("length"):
            return self.declare("const uint8_t", [str(byte) for byte in self.take(count)])
        values = [self.one(owner, field)[0] for _ in range(count)]
        if local(field) == "struct":
            return self.declare(f"const struct {owner}_{identifier(field.get('name'))}", values or ["{0}"])
        return self.declare(f"const {C_TYPES[kind]}" if not C_TYPES[kind].endswith("*") else f"{C_TYPES[kind]}const ", values)

    def read_all(self, owner, fields):
        values = {}
        for field in fields:
            times = field.get("length") or field.get("count")
            if times:
                count = int(times) if times.isdigit() else values[times][1]
                values[field.get("name")] = self.many(owner, field, count), None
                continue
            text, number = self.one(owner, field)
            if local(field) == "struct":
                text = self.declare(f"const struct {owner}_{identifier(field.get('name'))}", [text])
            values[field.get("name")] = text, number
        return values
