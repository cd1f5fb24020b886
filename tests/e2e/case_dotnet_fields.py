# SPDX-License-Identifier: GPL-2.0-or-later
"""Fields of .NET events, typed and by name: what the program wrote is what is read, whoever describes
the event (its EventSource's manifest, itself, our tables).

The program is tests/e2e/programs/Fields.cs.
"""
import json
import os

from dotnet_program import build_dotnet
from harness import EVENTS_ONLY

TIMEOUT = 180
RUNTIME = "Microsoft-Windows-DotNETRuntime"
ID = "00112233-4455-6677-8899-aabbccddeeff"
TYPES = {"b": True, "c": "x", "s8": -5, "u8": 200, "s16": -3000, "u16": 60000, "s32": -100000, "u32": 4000000000,
         "s64": -5000000000, "u64": 10000000000000000000, "f": 1.5, "d": -2.25,
         "t": "2026-08-05T10:11:12.0000000Z", "g": ID, "s": "h\u00e9llo \U0001F600", "e": 2, "p": 0x1234}
OBJECT = {"In": {"X": 5, "Y": "why"}, "M": 1.5, "C": "z", "B": True}
MANIFEST = """<instrumentationManifest><instrumentation><events><provider name='MyCompany-Fields'>
<templates><template tid='B'><data name='a' inType='win:Int64'/><data name='n' inType='win:UInt32'/>
<data name='data' inType='win:Binary' length='n'/></template></templates>
<events><event value='2' symbol='Bytes' template='B'/></events></provider></events></instrumentation>
</instrumentationManifest>"""


def seen(t, *specs):
    """A recording of the program, and its events by name: the first of each."""
    fields = t.start(build_dotnet(t, "Fields"))
    fields.wait_line("pid ")
    file = t.path("trace.tapir")
    t.tapir("record", *specs, *EVENTS_ONLY, "-d", "3", "-p", fields.pid, "-o", file)
    first = {}
    for event in t.events(file):
        first.setdefault(event["event"], event)
    return file, first


def test_fields_are_what_the_program_wrote(t):
    file, first = seen(t, "MyCompany-Fields", "MyCompany-Self", "MyCompany-Counters::4:EventCounterIntervalSec=1",
                       f"{RUNTIME}:GC:Informational")
    t.eq(first["Types"]["args"], TYPES, "an event of a manifest-based EventSource")
    t.eq(first["Types"]["version"], 3, "version")
    t.eq(first["Types"]["activity_id"], ID, "activity")
    t.eq(first["Object"]["args"], OBJECT, "a self-describing event")
    t.eq(first["Nothing"]["args"], {}, "an event without fields")
    t.eq(first["EventCounters"]["args"]["Payload"]["Mean"], 42.5, "a counter")
    t.eq(first["GCStart"]["args"]["Reason"], "Induced", "an enumeration")
    t.eq(first["GCStart"]["args"]["Type"], "NonConcurrentGC", "another one")
    t.ok(len(first["GCPerHeapHistory"]["args"]["Values"]) >= 4, "an array of structs")
    text = t.tapir("events", file, "Object").out
    t.ok('In={X=5, Y="why"} M=1.5 C="z" B=true' in text, text)


def traced_by_itself(t):
    """The file that .NET's own EventPipe writes of three rounds of the program."""
    file = t.path("own.nettrace")
    sources = ",".join(f"MyCompany-{name}:0xffffffffffffffff:5" for name in ("Fields", "Self"))
    ran = t.run(build_dotnet(t, "Fields"), "once",
                env={**os.environ, "DOTNET_EnableEventPipe": "1", "DOTNET_EventPipeConfig": sources,
                     "DOTNET_EventPipeOutputPath": file})
    t.eq(ran.rc, 0, ran.err)
    with open(file, "rb") as content:
        return content.read()


def test_payloads_of_provider_h_are_dotnets_byte_for_byte(t):
    """Each stands in the file of EventPipe after its length, which is a varint of one byte below 128."""
    content = traced_by_itself(t)
    fired = dict(line.split(" ") for line in t.run(t.target_path("payloads")).out.splitlines())
    t.eq(list(fired), ["Nothing", "Small", "Large", "Bytes", "Object", "Arrays"], "events")
    t.eq(fired.pop("Nothing"), "", "an event without fields")
    for name, payload in fired.items():
        payload = bytes.fromhex(payload)
        t.ok(4 < len(payload) < 128, f"{len(payload)} bytes of {name}")
        t.ok(content.count(bytes([len(payload)]) + payload) == 3, f"EventPipe has not written {payload.hex()} ({name})")


def test_a_manifest_of_the_users_describes_what_nobody_does(t):
    file, first = seen(t, "MyCompany-Fields")
    t.eq(first["Bytes"]["args"], {"payload": "070000000000000003000000010203"}, "the runtime tells no fields of arrays")
    manifest = t.path("fields.man")
    with open(manifest, "w") as out:
        out.write(MANIFEST)
    lines = t.tapir("events", file, "Bytes", "--json", "--manifest", manifest).out.splitlines()
    t.eq(json.loads(lines[0])["args"], {"a": 7, "n": 3, "data": "010203"}, "with the manifest")
    with open(manifest, "w") as out:
        out.write("<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>" + MANIFEST)
    refused = t.tapir("events", file, "--manifest", manifest, expect=1)
    t.ok("document type" in refused.err, refused.err)
