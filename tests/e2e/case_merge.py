# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir merge and tapir cut --host. The hosts are made up: recordings of the corpus, each with a name of its own. Each recording alone is the witness."""
import collections
import json
import os
import pathlib
import re

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
CONVOY, THREADS = str(CORPUS / "python-lock-convoy.tapir"), str(CORPUS / "jvm-more-threads.tapir")
HOST_PIDS, HOST_CPUS = 10_000_000, 1000


def lines(t, file):
    return t.tapir("events", file, "--json").json_lines()


def without(line, *keys):
    return json.dumps({key: value for key, value in line.items() if key not in keys}, sort_keys=True)


def merge(t, *inputs, out="all.tapir", **more):
    t.tapir("merge", *inputs, "-o", t.path(out), "-f", **more)
    return t.path(out)


def test_each_host_comes_back_as_it_was(t):
    files = {"web1": CONVOY, "web2": THREADS, "db": str(CORPUS / "postgresql-plpgsql.tapir"), "net": str(CORPUS / "dotnet-slow-database.tapir")}
    whole = merge(t, *(f"{host}={file}" for host, file in files.items()))
    for host, file in files.items():
        t.tapir("cut", whole, "--host", host, "-o", t.path("one.tapir"), "-f")
        want, got = lines(t, file), lines(t, t.path("one.tapir"))
        t.eq(collections.Counter(without(line, "utc") for line in got), collections.Counter(without(line, "utc") for line in want), f"records of {host}, with their stacks and names")
        want, got = (t.report(name) for name in (file, t.path("one.tapir")))
        for key in ("samples", "switches", "events", "findings", "processes", "meta", "utc"):
            t.eq(got[key], want[key], f"{key} of {host}")


def test_hosts_are_kept_apart(t):
    """A recording and a part of it are two hosts with the same processes, threads, CPUs and times."""
    part = t.path("part.tapir")
    t.tapir("cut", CONVOY, "--from", "0.3", "-o", part)
    whole = merge(t, f"a={CONVOY}", f"b={part}")
    got = [line for line in lines(t, whole) if line["type"] in ("sample", "switch")]
    for number, (host, file) in enumerate((("a", CONVOY), ("b", part)), 1):
        want = [line for line in lines(t, file) if line["type"] in ("sample", "switch")]
        mine = [line for line in got if line["host"] == host]
        t.eq(len(mine), len(want), f"records of {host}")
        t.eq({line["pid"] for line in mine if line["pid"]}, {line["pid"] + number * HOST_PIDS for line in want if line["pid"]}, "its processes")
        t.eq({line["cpu"] for line in mine} - {None}, {line["cpu"] + number * HOST_CPUS for line in want if line["cpu"] is not None}, "its CPUs")
        stacks = [collections.Counter(json.dumps([line.get("stack"), line.get("kernel_stack"), line["comm"]]) for line in of) for of in (mine, want)]
        t.eq(stacks[0], stacks[1], "names of its functions, of the kernel, too")
    report, pid = t.report(whole), t.report(CONVOY)["processes"][0]["pid"]
    t.eq([(host["number"], host["name"]) for host in report["hosts"]], [(1, "a"), (2, "b")], "in JSON")
    t.eq({(row["pid"], row["host"]) for row in report["processes"]}, {(HOST_PIDS + pid, "a"), (2 * HOST_PIDS + pid, "b")}, "processes with their hosts")
    screen = t.tapir("report", whole).out
    t.ok("2 hosts: a, b" in screen and re.search(rf"\({HOST_PIDS + pid} on a\)", screen), screen)
    rows = json.loads(t.tapir("query", whole, "SELECT number, name FROM hosts ORDER BY number", "--json").out)
    t.eq([(row["number"], row["name"]) for row in rows], [(1, "a"), (2, "b")], "in SQL")


def test_other_outputs_read_a_merged_recording(t):
    whole = merge(t, f"a={CONVOY}", f"b={THREADS}")
    want = sum(t.report(file)["samples"]["captured"] for file in (CONVOY, THREADS))
    t.eq(t.report(whole)["samples"]["captured"], want, "samples")
    t.eq(json.loads(t.tapir("query", whole, "SELECT count(*) AS n FROM samples", "--json").out)[0]["n"], want, "in SQL")
    t.tapir("html", whole, "-o", t.path("out.html"))
    t.ok(os.path.getsize(t.path("out.html")) > 10_000, "a page")
    for kind in ("perfetto", "firefox", "speedscope", "chrome", "nettrace"):
        t.tapir("export", whole, "--format", kind, "-o", t.path(f"out.{kind}"))
        t.ok(os.path.getsize(t.path(f"out.{kind}")) > 1000, kind)
    t.tapir("cut", whole, "--to", "0.5", "-o", t.path("part.tapir"))
    t.eq(len(t.report(t.path("part.tapir"))["hosts"]), 2, "a part of it knows its hosts")


def test_findings_are_each_host_s(t):
    """Recorded at one time, each host has the findings that it has alone; recorded later, it does not wait until the other one's end."""
    part = t.path("part.tapir")
    t.tapir("cut", CONVOY, "--from", "0.05", "-o", part)
    pid = HOST_PIDS + t.report(CONVOY)["processes"][0]["pid"]
    want = t.report(CONVOY)["findings"][0]
    got = t.report(merge(t, f"a={CONVOY}", f"b={part}"), "--pid", str(pid))["findings"][0]
    t.eq((got["kind"], got["magnitude"], got["text"]), (want["kind"], want["magnitude"], want["text"]), "at one time")
    whole = merge(t, f"a={CONVOY}", f"b={THREADS}")
    got, want = (t.report(file, "--view", "offcpu", *words) for file, words in ((whole, ("--pid", str(pid))), (CONVOY, ())))
    for key in ("waited_ns", "open_ns", "cut_ns"):
        t.eq(got[key], want[key], f"{key}, though the other recording ends minutes later")


def test_parts_of_one_host_are_joined(t):
    parts = t.path("one.tapir"), t.path("two.tapir")
    t.tapir("cut", THREADS, "--to", "1.5", "-o", parts[0])
    t.tapir("cut", THREADS, "--from", "1.500000001", "-o", parts[1])
    err = t.tapir("merge", parts[1], parts[0], "-o", t.path("all.tapir")).err
    t.ok("2 recordings of host" in err and "overlap" not in err, err)
    want, got = t.report(THREADS), t.report(t.path("all.tapir"))
    t.ok("hosts" not in got, "one host")
    t.eq(got["processes"][0]["pid"], want["processes"][0]["pid"], "its own ids")
    t.eq(got["samples"]["captured"], want["samples"]["captured"], "samples")
    t.eq(sum(event["captured"] for event in got["events"]), sum(event["captured"] for event in want["events"]), "events")
    t.eq(got["duration_ns"], want["duration_ns"], "from the first part's beginning to the last one's end")
    err = t.tapir("merge", parts[0], THREADS, "-o", t.path("twice.tapir")).err
    t.ok("overlap by" in err, "what both recorded is there twice: " + err)


def test_merged_recording_is_merged_as_its_hosts(t):
    files = {"a": CONVOY, "b": THREADS, "c": str(CORPUS / "postgresql-plpgsql.tapir")}
    two = merge(t, f"a={CONVOY}", f"b={THREADS}", out="two.tapir")
    at_once = merge(t, *(f"{host}={file}" for host, file in files.items()), out="at-once.tapir")
    whole = merge(t, two, f"c={files['c']}")
    want, got = (collections.Counter(json.dumps(line, sort_keys=True) for line in lines(t, file)) for file in (at_once, whole))
    t.eq(got - want, collections.Counter(), "lines that a merge of the three does not have")
    t.eq(want - got, collections.Counter(), "lines that are missing")
    t.eq([host["name"] for host in t.report(whole)["hosts"]], list(files), "hosts")
    for host, file in files.items():
        t.tapir("cut", whole, "--host", host, "-o", t.path("one.tapir"), "-f")
        want, got = (collections.Counter(without(line, "utc") for line in lines(t, name)) for name in (file, t.path("one.tapir")))
        t.eq(got, want, f"records of {host}")
    damaged = bytearray(pathlib.Path(two).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    pathlib.Path(t.path("damaged.tapir")).write_bytes(damaged)
    said = t.tapir("merge", t.path("damaged.tapir"), f"c={files['c']}", "-o", t.path("out.tapir"), expect=1).err
    t.ok("is damaged, and is of several hosts" in said and not os.path.exists(t.path("out.tapir")), said)


def test_what_cannot_be_merged_is_refused(t):
    out = t.path("out.tapir")
    pathlib.Path(t.path("copy.tapir")).write_bytes(pathlib.Path(CONVOY).read_bytes())
    whole = merge(t, f"a={CONVOY}", f"b={THREADS}")
    for words, expect, said in (
        ([CONVOY], 2, "two recordings or more"),
        ([CONVOY, CONVOY], 1, "the same recording"),
        ([f"a={CONVOY}", "b=" + t.path("copy.tapir")], 1, "the same recording"),
        ([THREADS, f"c={whole}"], 1, "c= names one host"),
        ([CONVOY, "/dev/null"], 1, "not a .tapir recording"),
        ([CONVOY, t.path("none.tapir")], 1, "cannot open"),
    ):
        t.ok(said in t.tapir("merge", *words, "-o", out, expect=expect).err, said)
    t.ok("-o OUT is required" in t.tapir("merge", CONVOY, THREADS, expect=2).err, "no OUT")
    t.ok("is one of the recordings" in t.tapir("merge", CONVOY, whole, "-o", whole, "-f", expect=1).err, "OUT is an input")
    t.ok("No space left" in t.tapir("merge", CONVOY, THREADS, "-o", "/dev/full", expect=1).err, "a full disk")
    t.ok("no host c" in t.tapir("cut", whole, "--host", "c", "-o", out, expect=1).err, "a host that it does not have")
    t.ok("cut that again" in t.tapir("cut", whole, "--host", "a", "--from", "1", "-o", out, expect=2).err, "--host with another choice")
    t.ok(not os.path.exists(out), "nothing was written")


def test_damage_of_one_leaves_the_others(t):
    data = bytearray(pathlib.Path(THREADS).read_bytes())
    pathlib.Path(t.path("short.tapir")).write_bytes(data[: len(data) * 2 // 3])
    data[len(data) // 2] ^= 0x40
    pathlib.Path(t.path("flipped.tapir")).write_bytes(data)
    want = t.report(CONVOY)["samples"]["captured"]
    for name, said in (("short", "short.tapir is incomplete"), ("flipped", "flipped.tapir is damaged")):
        err = t.tapir("merge", f"a={CONVOY}", "b=" + t.path(name + ".tapir"), "-o", t.path("all.tapir"), "-f", expect=1).err
        t.ok(said in err, err)
        t.tapir("cut", t.path("all.tapir"), "--host", "a", "-o", t.path("a.tapir"), "-f")
        t.eq(t.report(t.path("a.tapir"))["samples"]["captured"], want, "samples of the other host")


def test_ten_recordings(t):
    parts = []
    for number in range(10):
        parts.append(f"h{number}=" + t.path(f"{number}.tapir"))
        t.tapir("cut", CONVOY, "--from", f"{number / 100:.2f}", "-o", t.path(f"{number}.tapir"))
    whole = merge(t, *parts)
    t.eq(len(t.report(whole)["hosts"]), 10, "hosts")
    counts = collections.Counter(line["host"] for line in lines(t, whole) if line["type"] == "sample")
    t.eq(counts, {f"h{n}": t.report(t.path(f"{n}.tapir"))["samples"]["captured"] for n in range(10)}, "samples of each")
    times = [line["time_ns"] for line in lines(t, whole) if line["type"] in ("sample", "switch", "event")]
    t.eq(times, sorted(times), "in the order of their times")


def test_ctrl_c_leaves_no_file(t):
    """It reads a pipe, which holds 64 KB: what was written is more, so that it reads when the write has ended, and waits for the rest."""
    fifo = t.path("fifo")
    os.mkfifo(fifo)
    child = t.start("sh", "-c", 'exec "$0" merge "$3" - -o "$1" <"$2"', t.tapir_path, t.path("out.tapir"), fifo, THREADS)
    with open(fifo, "wb", buffering=0) as pipe:
        pipe.write(pathlib.Path(CONVOY).read_bytes() + bytes(200_000))
        child.signal(2)
        t.ok(child.wait(30).rc != 0, "it is interrupted")
    t.eq([name for name in os.listdir(t.tmp) if name.startswith("out")], [], "nothing is left")
