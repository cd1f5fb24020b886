# SPDX-License-Identifier: GPL-2.0-or-later
"""The heap of a running .NET process or JVM: what tapir heap says, compared with what the program counted, and with what
TraceEvent reads out of the exported snapshot."""
import json
import os
import re
import signal

from dotnet_program import build_dotnet

TIMEOUT = 300
CHECK_DOTNET = {"test_a_jvm_says_the_same_to_jcmd"}


def counts_of(line):
    """What the program answers: {type: (count, bytes)}."""
    pairs = (word.rpartition("=") for word in line.split()[1:])
    return {name: tuple(map(int, value.split(":"))) for name, _, value in pairs}


def start_heap(t, orders, nodes, program=None, env=None):
    heap = t.start(program or build_dotnet(t, "Heap"), orders, nodes, env=env)
    heap.wait_line("pid", timeout=60)
    return heap, counts_of(heap.wait_line("counts", timeout=60))


def grow(heap):
    heap.signal(signal.SIGHUP)
    return counts_of(heap.wait_line("counts", timeout=60))


def heap_of(t, *args, **options):
    return json.loads(t.tapir("heap", *args, "--json", **options).out)


def rows(found, table="by_type"):
    return {row["type"]: row for row in found[table]}


def check_counts(t, found, counts):
    t.eq(found["complete"], 1, f"complete: {found['headline']}")
    seen = rows(found)
    for name in ("Shop.Order", "Shop.Blob", "Shop.Node"):
        t.eq((seen[name]["count"], seen[name]["bytes"]), counts[name], f"{name}: count and bytes")
    count, size = counts["System.Byte[]"]
    t.ok(count <= seen["System.Byte[]"]["count"] < count + 100, f"arrays: {seen['System.Byte[]']} of {count}")
    t.eq(found["objects"] >= sum(c for c, _ in counts.values()), True, "objects")


def path_of(found, name):
    return next(row["path"] for row in found["paths"] if row["type"] == name)


def test_counts_bytes_retained_and_paths_are_what_the_program_built(t):
    heap, counts = start_heap(t, 2000, 50000)
    found = heap_of(t, "-p", heap.pid, "-n", 1000)
    check_counts(t, found, counts)
    seen = rows(found)
    blob = seen["Shop.Blob"]["bytes"] + 2000 * 128
    t.eq(seen["Shop.Blob"]["retained_bytes"], blob, "what blobs retain: themselves and their arrays")
    t.eq(seen["Shop.Order"]["retained_bytes"], blob + seen["Shop.Order"]["bytes"], "what orders retain")
    t.eq(seen["Shop.Node"]["retained_bytes"], seen["Shop.Node"]["bytes"], "what a list retains: each node once")
    t.eq(path_of(found, "Shop.Node"), "static chain", "what holds the nodes")
    t.eq(path_of(found, "Shop.Order"),
         "Shop.Order[] <- System.Collections.Generic.List<Shop.Order> <- Shop.Cache <- static Kept", "what holds the orders")
    t.ok(any("collect all generations" in note for note in found["notes"]), f"the collection is reported: {found['notes']}")


def test_what_cannot_be_listed_is_refused_with_a_reason(t):
    sleeper = t.start("sleep", "100")
    refused = t.tapir("heap", "-p", sleeper.pid, expect=3)
    t.ok(f"cannot list the heap of process {sleeper.pid}" in refused.err, refused.err)
    gone = t.start("sleep", "0")
    gone.wait()
    t.ok("does not exist" in t.tapir("heap", "-p", gone.pid, expect=1).err, "a pid that is gone")
    for words in ((), ("-p", "1,2"), ("-p", "1", "x.tapir"), ("-o", "x"), ("diff", "x")):
        t.tapir("heap", *words, expect=2)
    t.ok("No such file" in t.tapir("heap", t.path("none.tapir"), expect=1).err, "a file that does not exist")
    file = t.path("sleep.tapir")
    t.tapir("record", "-f", "-o", file, "--", "sleep", "0.1")
    t.ok("has no heap" in t.tapir("heap", file, expect=1).err, "a recording without a heap")


def start_java(t, count):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Kept.java")
    t.eq(t.run(t.need("javac"), "-d", t.path("classes"), source).rc, 0, "javac")
    java = t.start(t.need("java"), "-Xmx64m", "-cp", t.path("classes"), "Kept", count)
    java.wait_line("ready", timeout=60)
    return java


def test_a_jvm_counts_its_objects_by_class(t):
    java = start_java(t, 5000)
    found = heap_of(t, "-p", java.pid, "-n", 100000)
    t.eq(sum(row["count"] for row in found["by_type"]), found["objects"], "objects")
    t.eq(rows(found)["Kept$Order"]["count"], 5000, "orders, as the program made them")


def test_a_jvm_says_the_same_to_jcmd(t):
    java = start_java(t, 5000)
    seen = rows(heap_of(t, "-p", java.pid, "-n", 100000))["Kept$Order"]
    witness = re.search(r"^ *\d+: +(\d+) +(\d+) +Kept.Order", t.run(t.need("jcmd"), java.pid, "GC.class_histogram").out, re.M)
    t.eq((seen["count"], seen["bytes"]), tuple(map(int, witness.groups())), "orders, by jcmd")
    refused = t.tapir("heap", "-p", java.pid, "-o", t.path("jvm.tapir"), expect=3)
    t.ok("a JVM reports counts by class" in refused.err, refused.err)
