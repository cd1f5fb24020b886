# SPDX-License-Identifier: GPL-2.0-or-later
"""Async stacks (--profile async, --async) of .NET. The witness is the program, tests/e2e/programs/Awaits.cs: it takes the
processor time of each of its two chains of awaits itself.
"""
import collections
import contextlib
import gzip
import json
import os
import pathlib
import re
import time

from answers import Witness
from dotnet_program import build_dotnet, publish_dotnet
from harness import PATIENCE

CHECK_DOTNET = {"test_dotnet_8_has_the_same", "test_dotnet_9_has_the_same", "test_dotnet_11_has_the_same",
                "test_suspended_methods_of_other_releases_are_found", "test_requests_that_await_each_other_are_a_deadlock",
                "test_methods_that_dotnet_11_suspends_itself_have_the_same"}
NET_11 = "11.0.0"
TIMEOUT = 180
CHAINS = {"Checkout": ["Program.Serve (awaits)", "Program.Checkout (awaits)", "Program.PlaceOrder (awaits)", "Program.Pay (async)"],
          "Browse": ["Program.Serve (awaits)", "Program.Browse (awaits)", "Program.Pay (async)"]}


def record(t, program, ms, env=None):
    """A recording of all that the program does, and the turns of its loop that each chain says it had."""
    file = t.path("awaits.tapir")
    tapir = t.run(t.tapir_path, "record", "-q", "--profile", "async", "-f", "-o", file, "--", program, str(ms), timeout=120, env=env)
    t.eq(tapir.rc, 0, "exit of tapir")
    return file, {name: int(cnt) for name, cnt in re.findall(r"^(Checkout|Browse) (\d+)$", tapir.out, re.M)}


def folded(t, file, *args):
    """The frames of each stack, outermost first, and its weight."""
    result = t.tapir("export", "--format", "folded", "--async", file, *args)
    return [(stack.split(";"), int(weight)) for stack, weight in (line.rsplit(" ", 1) for line in result.out.splitlines())]


def chain_of(frames):
    """By the frames from below the process's to where Burn is called; "called": no await of its chain suspended, since the
    delay had passed before it was awaited. Then its methods call each other, in Serve."""
    above = frames[1:next(i for i, name in enumerate(frames) if name.startswith("Program.Burn("))]
    called = [name.replace("(async)", "(awaits)") for name in above if name.endswith("(async)")][:-1]
    for name, chain in CHAINS.items():
        if above == chain or called == chain[:-1] and above[-1] == chain[-1]:
            return name, above != chain
    return "none", False


def as_machines(frames):
    """Methods that the runtime suspends have names like others; here as those of state machines."""
    frames = [re.sub(r"\([^()]*\)( \(awaits\))$", r"\1", name) for name in frames]
    return [re.sub(r"^(Program\.Pay)\(.*", r"\1 (async)", name) for name in frames]


def compare(t, program, env=None, unknown=0.01):
    """env: of the program."""
    return compare_file(t, *record(t, program, 1500, env), unknown)


def compare_file(t, file, turns, unknown=0.01):
    """unknown: the share of samples whose stacks may stay as they were."""
    samples, called_cnt = collections.Counter(), 0
    for frames, weight in folded(t, file):
        frames = as_machines(frames)
        if any(name.startswith("Program.Burn(") for name in frames):
            chain, is_called = chain_of(frames)
            samples["wrong" if chain == "none" and any(name.endswith(" (awaits)") for name in frames) else chain] += weight
            called_cnt += weight if is_called else 0
    total = sum(samples.values())
    t.ok(total > 500, f"{total} samples in Burn")
    t.ok(called_cnt < 0.2 * total, f"{called_cnt} of {total} samples are in chains that were not awaited")
    t.ok(samples["wrong"] <= 0.01 * total and samples["none"] + samples["wrong"] <= max(0.01, unknown) * total,
         f"samples outside both chains: {dict(samples)}")
    both = samples["Checkout"] + samples["Browse"]
    share, said = samples["Checkout"] / both, turns["Checkout"] / sum(turns.values())
    t.ok(abs(share - said) < 3 * (said * (1 - said) / both) ** 0.5, f"Checkout has {share:.3f} of {both} samples, the program says {said:.3f}")
    return file


def test_chains_have_the_time_the_program_gives_them(t):
    file = compare(t, build_dotnet(t, "Awaits"))
    svg = t.tapir("flamegraph", "--async", file).out
    t.ok("Program.PlaceOrder (awaits)" in svg and "</tspan> awaiting " in svg, "marks in the picture")
    t.ok("(awaits)" not in t.tapir("flamegraph", file).out, "none without --async")
    t.ok(any("Program.Serve (awaits)" in frames and "Program.Burn(int, int)" in frames
             for frames, _ in folded(t, file, "--event", "offcpu")), "time off the processor, by chain")
    for form in ("speedscope", "perfscript", "nettrace", "pprof"):
        out = t.path(form)
        t.eq(t.tapir("export", "--format", form, "--async", file, "-o", out).rc, 0, form)
        data = pathlib.Path(out).read_bytes()
        t.ok(b"Program.PlaceOrder (awaits)" in (gzip.decompress(data) if form == "pprof" else data), f"marks in {form}")
    view = json.loads(t.tapir("report", "--async", "--view", "cpu", "--top", 1000, "--json", file).out)
    total = {row["function"]: row["total"] for row in view["functions"]}
    t.ok(total["Program.PlaceOrder (awaits)"] > total["Program.Browse (awaits)"] > 0, f"functions: {total}")


def test_nothing_stays_switched_on(t):
    program = t.start(build_dotnet(t, "AwaitRate"), 1000)
    program.wait_line("pid ")
    tapir = t.start_tapir("record", "-q", "--profile", "async", "-p", program.pid, "-d", 0.5, "-f", "-o", t.path("awaits.tapir"))
    t.eq(tapir.wait(60).rc, 0, "exit of tapir")

    def states():
        return [line.split()[1] for line in program.out if line[0].isdigit()]

    deadline = time.monotonic() + 20 * PATIENCE
    while time.monotonic() < deadline and states()[-1] != "off":
        time.sleep(0.1)
    t.ok("on" in states() and states()[-1] == "off", f"whether somebody listens: {states()}")


def test_a_recording_without_awaits_says_so(t):
    file = t.path("none.tapir")
    t.eq(t.tapir("record", "-q", "-f", "-o", file, "--", "true").rc, 0, "exit of tapir")
    result = t.tapir("report", "--async", file)
    t.ok("record with --profile async" in result.err, result.err)


def test_awaits_have_rows_by_call_site_without_a_profile(t):
    """Twenty loops share one seat for 10 ms each: one method awaits a semaphore, and a delay."""
    with contextlib.ExitStack() as stack:
        seats, file = Witness(build_dotnet(t, "Defects"), "seats"), t.path("seats.tapir")
        stack.callback(seats.end)
        pid = seats.first()
        t.eq(t.tapir("record", "-q", "-p", pid, "-d", 1.5, "-f", "-o", file, timeout=60).rc, 0, "exit of tapir")
    view = json.loads(t.tapir("report", file, "--view", "awaits", "--json").out)
    rows = {row["awaited"]: row for row in view["awaits"]}
    t.eq({row["place"].split(" +")[0] for row in view["awaits"]}, {"Defects.ReserveSeat (async)"}, f"{view}")
    t.eq(set(rows), {"a semaphore", "a delay"}, f"{view}")
    turns, held = rows["a semaphore"], rows["a delay"]
    # Each over the time in which all of its awaits are known, so that the two add up to 20 only about.
    t.ok(held["at_once"] < turns["at_once"] <= 20 and held["at_once"] <= 1, f"{view}")
    t.ok(abs(turns["count"] - held["count"]) <= 20, f"as many have the seat as got it, but for those at the edges: {view}")
    t.ok(all(" +0x" in row["place"] and row["pid"] == int(pid) for row in view["awaits"]), f"{view}")


def suspended(t, pid, is_there=lambda _: True):
    """What tapir says of the async methods, once it is there."""
    deadline = time.monotonic() + 30 * PATIENCE
    while True:
        found = json.loads(t.tapir("stacks", "-p", pid, "--async", "--top", 0, "--json", timeout=60).out)
        if is_there(found) or time.monotonic() > deadline:
            return found


def waiting_for_each_other(t, mode):
    """Of Awaiting.cs, two of whose requests are never answered: the rows of both. Its clients say that none was."""
    with contextlib.ExitStack() as stack:
        service = Witness(build_dotnet(t, "Awaiting", "Microsoft.NET.Sdk.Web"), mode)
        stack.callback(service.end)
        pid = service.first()
        found = suspended(t, pid, lambda found: found["waiting_for_each_other"])
        service.ask()
        service.child.stdout.readline()  # it counts
        service.ask()
        t.eq(service.answer()["requests"], [], "requests that were answered")
    t.eq((found["waiting_for_each_other"], found["not_known"]), (2, 0), found["headline"])
    rows = [row for row in found["suspended"] if row["waits_for_each_other"]]
    t.eq(sum(row["waits_for_each_other"] for row in rows), 2, rows)
    return found, rows


def test_requests_that_have_each_other_s_semaphore_are_named(t):
    found, rows = waiting_for_each_other(t, "deadlock")
    t.eq(sorted(row["awaits"] for row in rows), ["a semaphore (static left)", "a semaphore (static right)"], "what they await")
    for row in rows:
        t.ok(row["own_methods"].startswith("Awaiting.Transfer (async) < Awaiting.Serve (lambda "), row)
        t.ok(row["methods"].endswith("KestrelConnection.ExecuteAsync (async)"), row)
    t.ok("2 async methods wait for each other: Awaiting.Transfer (async) awaits a semaphore (static " in found["headline"], found["headline"])
    t.ok("deadlock" not in found["headline"], "who has a semaphore is nowhere")


def test_requests_that_await_each_other_are_a_deadlock(t):
    found, rows = waiting_for_each_other(t, "circle")
    t.eq({row["awaits"] for row in rows}, {"Awaiting.AwaitOther (async)"}, "what they await")
    t.ok(all(row["own_methods"].startswith("Awaiting.AwaitOther (async) < Awaiting.Serve (lambda ") for row in rows), rows)
    t.ok("deadlock: 2 async methods wait for each other: Awaiting.AwaitOther (async) awaits Awaiting.AwaitOther (async)" in found["headline"],
         found["headline"])


def seats_are_awaited(t, program):
    """Twenty loops share a seat: one has it and awaits a delay, or is about to, and the others await the semaphore."""
    with contextlib.ExitStack() as stack:
        seats = Witness(program, "seats")
        stack.callback(seats.end)
        pid = seats.first()
        found = suspended(t, pid, lambda found: found["suspended"])
    rows = [row for row in found["suspended"] if row["own_methods"] and "Defects.ReserveSeat (async)" in row["own_methods"]]
    queue = sum(row["count"] for row in rows if row["awaits"].startswith("a semaphore (static "))
    t.ok(queue in (18, 19) and sum(row["count"] for row in rows) <= 20, rows)
    t.eq(found["waiting_for_each_other"], 0, "one that has the seat goes on")


def test_suspended_methods_are_those_that_the_program_started(t):
    seats_are_awaited(t, build_dotnet(t, "Defects"))


def test_suspended_methods_of_other_releases_are_found(t):
    for version in ("8.0.33", "9.0.22", NET_11):
        seats_are_awaited(t, publish_dotnet(t, "Defects", version))


def test_async_of_what_has_no_such_methods_is_one_line(t):
    sleeper = t.start("sleep", "1000")
    for more, code, said in (((), 3, "is neither a .NET process whose heap can be read, nor a JVM, nor CPython"), (("--threads", "x"), 2, "--async takes one process")):
        result = t.tapir("stacks", "-p", sleeper.pid, "--async", *more, expect=code)
        t.ok(said in result.err and len(result.err.strip().splitlines()) == 1 and not result.out, result.err)


def test_dotnet_8_has_the_same(t):
    compare(t, publish_dotnet(t, "Awaits", "8.0.33"))


def test_dotnet_9_has_the_same(t):
    compare(t, publish_dotnet(t, "Awaits", "9.0.22"))


def no_osr():
    """What replaces a method amid a loop hides its caller in .NET 11 (tapir help limits)."""
    return {**os.environ, "DOTNET_TC_QuickJitForLoops": "0"}


def test_dotnet_11_has_the_same(t):
    compare(t, publish_dotnet(t, "Awaits", NET_11), no_osr())


def test_methods_that_dotnet_11_suspends_itself_have_the_same(t):
    """As event buffers of its AsyncProfilerEventSource have them: of a program from its start, and of one that runs."""
    program = publish_dotnet(t, "Awaits", NET_11, runtime_async=True)
    # What its threads have not sent when it ends is lost, up to 1 KB each; beside other programs that is much of a second.
    file = compare(t, program, no_osr(), unknown=0.5)
    t.ok("not decoded" not in t.tapir("report", "--async", "--view", "cpu", file).err, "every buffer is decoded")
    running = t.start(program, 4000, env=no_osr())
    time.sleep(0.5)
    file = t.path("running.tapir")
    t.eq(t.tapir("record", "-q", "--profile", "async", "-p", running.pid, "-d", 2.5, "-f", "-o", file, timeout=60).rc, 0, "exit of tapir")
    turns = {name: int(cnt) for name, cnt in re.findall(r"^(Checkout|Browse) (\d+)$", "\n".join(running.wait(60).out.splitlines()), re.M)}
    compare_file(t, file, turns, unknown=0.5)  # until its threads have reported what they are in
