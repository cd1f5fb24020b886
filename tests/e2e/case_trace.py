# SPDX-License-Identifier: GPL-2.0-or-later
"""Events as they happen: the same lines as of a file, while the program still runs."""
import json
import re
import signal

from harness import args_of, named


def test_events_equal_those_of_the_program(t):
    result = t.tapir("trace", "types", "--json", "--", t.target_path("types"), 5)
    lines = result.json_lines()
    said = [line for line in lines if "type" not in line and line["event"] != "types:strings"]
    events = [line for line in lines if line.get("type") == "event"]
    for line in said:
        hits = named(events, line["event"])
        t.eq(len(hits), line["count"], f"events of {line['event']}")
        t.ok(all(args_of(hit) == line["args"] for hit in hits), f"arguments of {line['event']}")
    t.ok(all(e["utc"] and e["comm"] == "types" for e in events), "each has a time and a name")


def test_event_is_printed_while_the_program_runs(t):
    target = t.target("storm", "--wait-attached", 10, 100000, 1)
    tapir = t.start_tapir("trace", "storm:hit", "--json", "-p", target.pid)
    first = json.loads(tapir.wait_line('{"type":"event"', timeout=5))
    t.eq(args_of(first)[1], 0, "the first event comes first, within seconds")
    tapir.signal(signal.SIGINT)
    result = tapir.wait(5)
    t.eq(result.rc, 0, "exit on Ctrl-C")
    indexes = [args_of(e)[1] for e in result.json_lines() if e["type"] == "event"]
    t.eq(indexes, list(range(len(indexes))), "events, without a hole")
    target.kill()


def test_stack_is_below_its_event(t):
    out = t.tapir("trace", "depth:hit", "--stack", "--", t.target_path("depth"), 3, 1).out
    block = out[out.index("depth:hit"):].splitlines()
    t.eq([line.split("+")[0].strip() for line in block[1:6]], ["bottom", "d3", "d2", "d1", "fire_at"], "frames")


def test_tracing_ends_quietly_when_nobody_reads(t):
    storm = t.target_path("storm")
    result = t.run("bash", "-c", f"{t.tapir_path} trace -q storm:hit -- {storm} 0 20000 1 | head -3", timeout=20)
    t.eq((result.rc, result.err), (0, ""), "exit and words")
    t.eq(len(result.out.splitlines()), 3, "lines")


def test_events_are_named_when_none_were_asked_for(t):
    result = t.tapir("trace", "-p", 1, expect=2)
    t.ok("SPEC" in result.err or "which events" in result.err, result.err)


RATE = re.compile(r"^tapir: warning: the probes fire (\d+) times per second, which costs the traced programs (?:about|at least) (\d+)% of a CPU "
                  r"\(estimated, (\d+) ns each\)$", re.M)


def cost_said(t, target, source, *options):
    """Traces a program that does it until it is killed, until tapir has said what that costs. Returns the ns of each hit."""
    tapir = t.start_tapir("trace", source, *options, "--json", "-p", target.pid)
    tapir.wait_ready()
    tapir.wait_line("tapir: warning: the probes fire", 60)
    tapir.signal(signal.SIGINT)
    result = tapir.wait()
    target.kill()
    lines = RATE.findall(result.err)
    t.eq(len(lines), 1, "it is said once: " + result.err[-500:])
    hz, percent, each = map(int, lines[0])
    t.ok(hz > 100000 and abs(percent - hz * each / 1e7) <= 0.5, lines)
    t.eq([line for line in result.out.splitlines() if not line.startswith("{")], [], "what is not JSON")
    return each


def test_cost_of_a_fast_probe_is_said_once(t):
    """Whether its events arrive (the kernel has no globs), are rejected by the kernel or added up there."""
    for options in (("--where", 'arg4 ~ "x*"'), ("--where", "arg1 < 0"), ("--count",), ("--sum", "arg1", "--by", "arg0"),
                    ("--until", "storm:hit", "--count")):
        t.eq(cost_said(t, t.target("storm", 0, 2**40, 4), "storm:hit", *options), 500, "a trap")
    dd = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1")
    t.eq(cost_said(t, t.start(*dd), "syscall:read", "--count"), 260, "a system call")
    asked = t.target("asked", 4, 2**40, 50)
    t.eq(cost_said(t, asked, f"uprobe:{t.target_path('asked')}:fire_even", "--count"), 500, "a trap at a function")


def test_cost_of_a_slow_probe_is_not_said(t):
    """It fires for three seconds: the rate has been looked at twice."""
    for options in ((), ("--count",)):
        result = t.tapir("trace", "storm:hit", *options, "--json", "--", t.target_path("storm"), 1000, 3000)
        t.eq(RATE.findall(result.err), [], "a rate")
