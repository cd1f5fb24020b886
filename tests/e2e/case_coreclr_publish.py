# SPDX-License-Identifier: GPL-2.0-or-later
"""--publish usdt: EventSource events as probes of their own for any USDT tool, here the real bpftrace, with the
program as the witness (tests/e2e/programs/Shop.cs)."""
import json
import os
import pathlib
import re
import signal
import struct
import time

from dotnet_program import build_dotnet
from harness import EVENTS_ONLY, PATIENCE, maps_of_us

CHECK_DOTNET = {"test_bpftrace_reads_typed_fields_and_json_when_events_are_published"}
LINKS = "/run/tapir"


def until(true, what, t, seconds=10):
    end = time.monotonic() + seconds * PATIENCE
    while not true():
        t.ok(time.monotonic() < end, f"{what}: not within {seconds} s")
        time.sleep(0.02)


def shop(t, *how, name="shop"):
    home = t.path(name)
    os.makedirs(home)
    program = t.start(build_dotnet(t, "Shop"), home, *how)
    program.wait_line("pid ")
    return program, pathlib.Path(home)


def publish(t, pid, *specs, seen="OrderPlaced", file="trace.tapir"):
    """tapir, once the event is a probe."""
    tapir = t.start_tapir("record", *specs, *EVENTS_ONLY, "--publish", "usdt", "-p", pid, "-f", "-o", t.path(file))
    tapir.wait_line(f"tapir: process {pid}: probe {specs[0]}:{seen}")
    return tapir


def bpftrace(t, script):
    """It runs when its probes are on."""
    tracer = t.start(t.need("bpftrace"), "-e", script + ' BEGIN { printf("ready\\n"); }',
                     env={**os.environ, "BPFTRACE_STRLEN": "200"})
    tracer.wait_line("ready", timeout=30)
    return tracer


def stop(tracer):
    for _ in range(100):  # bpftrace 0.17 overlooks a signal that comes while it does not wait
        tracer.signal(signal.SIGINT)
        time.sleep(0.2)
        if tracer.child.poll() is not None:
            break
    return tracer.wait().out


def semaphores(pid):
    """All of the images' that are not 0: the writable private mappings."""
    up = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line, _ in maps_of_us(pid):
            fields = line.split()
            if fields[1] != "rw-p" or "tapir-usdt." not in line:
                continue
            start, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(start)
            up += [n for (n,) in struct.iter_unpack("<H", memory.read(end - start)) if n]
    return up


def gone(t, pid):
    until(lambda: not maps_of_us(pid), "the library is out of the process", t)
    t.ok(not os.path.exists(f"{LINKS}/{pid}"), f"links are left: {LINKS}/{pid}")


def end(t, program, home):
    (home / "stop").touch()
    t.eq(program.wait().rc, 0, "exit of the program")


def cents(n):
    return {"Id": n, "Customer": f'caf\u00e9 "{n}"', "Cents": -100 * n, "Rate": n / 8, "Paid": n % 2 == 1,
            "Key": "00112233-4455-6677-8899-aabbccddeeff", "At": f"2026-08-05T10:11:12.{n:07}Z"}


def test_bpftrace_reads_typed_fields_and_json_when_events_are_published(t):
    program, home = shop(t)
    few = t.run("sh", "-c", 'ulimit -n 56; exec "$@"', "sh", t.tapir_path, "record", "My-Shop", "-p", program.pid,
                "--publish", "usdt", "-f", "-o", t.path("few"))
    t.eq(few.rc, 1, few.err)
    t.ok("ulimit -Hn" in few.err and "no .NET" not in few.err and "published:" not in few.err, few.err)
    tapir = publish(t, program.pid, "My-Shop")
    where = f"usdt:{LINKS}/{program.pid}"
    until(lambda: os.path.exists(f"{LINKS}/{program.pid}/tapir_coreclr"), "the library's link", t)
    until(lambda: "probe My-Shop:Nothing(" in "".join(tapir.err), "all of its events", t)
    listed = t.run(t.need("bpftrace"), "-l", f"{where}/My-Shop:*").out.split()
    t.eq(listed, [f"{where}/My-Shop:My-Shop:{name}" for name in
                  ("Always", "Chat", "Failed", "Many", "Nothing", "OnFire", "OrderPlaced", "OrderShipped")], "listed")
    t.eq(semaphores(program.pid), [], "semaphores before anybody attached")
    tracer = bpftrace(t, f"""
        {where}/My-Shop:My-Shop:OrderPlaced {{
            printf("typed %d %d %lx %d %d %s\\n", arg0, arg2, arg3, arg4, *(uint8*)arg5, str(arg1)); }}
        {where}/tapir_coreclr:tapir_coreclr:informational /arg4 == 1/ {{ printf("json %d %s\\n", arg3, str(arg2)); }}
        {where}/My-Shop:My-Shop:OrderShipped /arg0 == 1/ {{ @typed = count(); @sum = sum(arg1); }}
        {where}/tapir_coreclr:tapir_coreclr:warning /strncmp(str(arg2), "{{\\"Burst\\":1,", 11) == 0/ {{ @json = count(); }}
        {where}/tapir_coreclr:tapir_coreclr:logalways {{ @level["0", str(arg1)] = count(); }}
        {where}/tapir_coreclr:tapir_coreclr:critical {{ @level["1", str(arg1)] = count(); }}
        {where}/tapir_coreclr:tapir_coreclr:error {{ @level["2", str(arg1)] = count(); }}
        {where}/tapir_coreclr:tapir_coreclr:verbose {{ @level["5", str(arg1)] = count(); }}
    """)
    (home / "burst").touch()
    until((home / "done").exists, "the burst", t)
    time.sleep(0.2)
    out = stop(tracer)
    numbers = {name: int(value) for name, value in re.findall(r"@(\w+): (\d+)", out)}
    t.eq(numbers, {"typed": 1000, "sum": 499500, "json": 1000}, out[-2000:])
    t.eq(sorted(re.findall(r"@level\[(.*?)\]", out)), ["0, Always", "1, OnFire", "2, Failed", "5, Chat"], "levels")
    typed = sorted((line.split(" ", 6)[1:] for line in out.splitlines() if line.startswith("typed ")),
                   key=lambda row: int(row[0]))  # bpftrace has a buffer a CPU
    numbers = [int(row[0]) for row in typed]
    t.ok(len(numbers) > 5 and numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers)
    for row, n in zip(typed, numbers):
        rate = struct.unpack("<d", struct.pack("<Q", int(row[2], 16)))[0]
        t.eq((int(row[1]), rate, int(row[3]), int(row[4]), row[5]),
             (-100 * n, n / 8, n % 2, 0x33, f'caf\u00e9 "{n}"'), f"fields of {n}")
    texts = [line.split(" ", 2)[1:] for line in out.splitlines() if line.startswith("json ")]
    t.ok(len(texts) > 5, out)
    for length, text in texts:
        t.eq(len(text.encode()), int(length), "bytes of JSON")
        got = json.loads(text)
        t.eq(got, cents(got["Id"]), "JSON")
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    t.ok("tapir: published: 8 events of 1 provider" in result.err, result.err)
    t.ok(" 0 lost" in result.err, result.err)
    gone(t, program.pid)
    end(t, program, home)


def test_probes_are_listed_with_their_types_when_the_program_was_started_so(t):
    home = pathlib.Path(t.path("odd"))
    os.makedirs(home)
    tapir = t.start_tapir("record", "Odd*", "My-Shop", "tapir_coreclr", *EVENTS_ONLY, "--publish", "usdt", "-f", "-o", t.path("trace"), "--",
                          build_dotnet(t, "Shop"), home)
    pid = int(tapir.wait_line("pid ").split()[1])
    until(lambda: "more events are probes" in "".join(tapir.err), "all 13, of which 12 are told", t)
    lines = t.tapir("list", "-p", pid, "--json").json_lines()
    probes = {(line["provider"], line["name"]): line["args"] for line in lines
              if line.get("file", "").startswith("/memfd:tapir-usdt.")}
    t.eq(sorted({(line["provider"], line["link"]) for line in lines if "link" in line}),
         [(name, f"{LINKS}/{pid}/{link}") for name, link in
          (("My-Shop", "My-Shop"), ("Odd_Provider_name__", "Odd_Provider_name__"), ("tapir_coreclr", "tapir_coreclr"),
           ("tapir_coreclr", "tapir_coreclr_source"))], "links that are listed")
    kinds = {key: [(arg.get("name"), arg["type"]) for arg in args] for key, args in probes.items()}
    t.eq(kinds["My-Shop", "OrderPlaced"],
         [("Id", "i32"), ("Customer", "str"), ("Cents", "i64"), ("Rate", "f64"), ("Paid", "bool"), ("Key", "ptr"),
          ("At", "u64")], "typed")
    odd = "Odd_Provider_name__"
    # The first that is seen has the plain name: which one that is depends on when the runtime enables the source.
    alike = [kinds[odd, name] for name in ("Weird__event_1", "Weird__event_1_2", "Weird__event_1_V0")]
    t.eq(sorted(alike), [[("In_X", "i32"), ("In_Y", "str"), ("M", "f64"), ("B", "bool")], [("i", "i32")], [("text", "str")]],
         "nested, and others of that name")
    t.eq(kinds[odd, "Array"], [("Payload", "ptr"), ("Payload_Count", "u32")], "of which the runtime says no fields")
    t.eq(sorted(name for provider, name in kinds if provider == odd),
         ["Array", "Weird__event_1", "Weird__event_1_2", "Weird__event_1_V0"], "names that events share")
    until(lambda: sorted(os.listdir(f"{LINKS}/{pid}")) == ["My-Shop", odd, "tapir_coreclr", "tapir_coreclr_source"], "links", t)
    t.ok(f"its probes are at {LINKS}/{pid}/tapir_coreclr_source" in "".join(tapir.err), tapir.err)
    with open(f"{LINKS}/{pid}/tapir_coreclr", "rb") as library:
        t.eq(library.read(4), b"\x7fELF", "the library by its link")
    (home / "stop").touch()
    t.eq(tapir.wait().rc, 0, "exit")
    t.ok(not os.path.exists(f"{LINKS}/{pid}"), "links of a program that ended")


def test_the_program_is_unharmed_when_tools_stay_and_tapirs_go_or_are_killed(t):
    program, home = shop(t)
    first = publish(t, program.pid, "My-Shop", file="first")
    second = publish(t, program.pid, "My-Shop", file="second")
    where = f"usdt:{LINKS}/{program.pid}"
    until(lambda: sorted(os.listdir(f"{LINKS}/{program.pid}")) ==
          ["My-Shop", "My-Shop.2", "tapir_coreclr", "tapir_coreclr.2"], "links of two tapirs", t)

    def files():
        rows = [line.split() for line in t.tapir("list", "-p", program.pid, "My-Shop:OnFire").out.splitlines()]
        return [row[-1] for row in rows if row[:2] == ["My-Shop", "OnFire"] and row[-1].startswith(LINKS)]
    until(lambda: files() == [f"{LINKS}/{program.pid}/{name}" for name in ("My-Shop", "My-Shop.2")], "its probe of two tapirs", t)
    tracer = bpftrace(t, f"""{where}/My-Shop:My-Shop:OnFire {{ @first = count(); }}
                             {where}/My-Shop.2:My-Shop:OnFire {{ @second = count(); }}""")
    until(lambda: sum(semaphores(program.pid)) == 2, "one semaphore up in each image", t)
    time.sleep(0.2)
    second.signal(signal.SIGINT)
    t.eq(second.wait().rc, 0, "exit of the second")
    first.signal(signal.SIGKILL)
    first.wait()
    t.ok(os.path.exists(f"{LINKS}/{program.pid}"), "who is killed leaves its links")
    until(lambda: not maps_of_us(program.pid), "the library is out of the process", t)
    out = stop(tracer)
    counts = {name: int(value) for name, value in re.findall(r"@(\w+): (\d+)", out)}
    t.ok(counts["first"] > 0 and counts["second"] > 0, out)
    third = publish(t, program.pid, "My-Shop", file="third")
    until(lambda: sorted(os.listdir(f"{LINKS}/{program.pid}")) == ["My-Shop", "tapir_coreclr"], "dead links cleared", t)
    t.eq(semaphores(program.pid), [], "semaphores of a later session")
    third.signal(signal.SIGINT)
    t.eq(third.wait().rc, 0, "exit of the third")
    gone(t, program.pid)
    end(t, program, home)


def test_a_thousand_types_are_probes_when_tools_come_and_go_under_load(t):
    program, home = shop(t, "types", 1000, 4)
    tapir = publish(t, program.pid, "My-Types", seen="Event")
    where = f"usdt:{LINKS}/{program.pid}/My-Types:My-Types"
    until(lambda: "tapir: process" in "".join(tapir.err) and "more events are probes" in "".join(tapir.err), "told", t)

    def listed():
        return len([line for line in t.tapir("list", "-p", program.pid, "--json").json_lines()
                    if line["provider"] == "My-Types" and "file" in line])
    until(lambda: listed() == 1000, "1,000 probes", t, 20)
    for n in 0, 300, 999:
        tracer = bpftrace(t, f"{where}:Event{n} {{ @seen = count(); if (arg0 != 7) {{ @odd = count(); }} }}")
        time.sleep(0.3)
        out = stop(tracer)
        t.ok(re.search(r"@seen: [1-9]", out) and not re.search("@odd: [1-9]", out), out)
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    t.ok("published: 1000 events of 1 provider" in result.err, result.err)
    gone(t, program.pid)
    (home / "stop").touch()
    ended = program.wait()
    t.eq(ended.rc, 0, ended.err)
    t.ok(ended.witness()["fired"] > 100000, ended.out)


def test_it_is_refused_when_nobody_could_publish(t):
    program = t.target("ringer", "--wait")
    for args, rc, words in ((("--publish", "perf"), 2, "--publish: 'perf' is not one of usdt"),
                            (("--publish", "usdt", "--lane", "probe"), 2, "--publish excludes --lane probe"),
                            (("--publish", "usdt"), 3, "has no .NET runtime that can load tapir's library")):
        for command in "record", "trace":
            output = ("-f", "-o", t.path("none")) if command == "record" else ()
            result = t.tapir(command, "My-Shop", "-p", program.pid, *args, *output, expect=rc)
            t.ok(words in result.err and "published:" not in result.err, result.err)
    t.ok(not os.path.exists(t.path("none")), "a file though nothing was recorded")
