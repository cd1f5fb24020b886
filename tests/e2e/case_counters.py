# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters and metrics of a .NET process: their values against what the program says it counted.

The program is tests/e2e/programs/Counting.cs. Values reach us when an interval is over, so each case
waits for one more than the program works for.
"""
import json
import re
import signal
import time

from dotnet_program import build_dotnet, publish_dotnet
from screen import on_terminal, plain_lines

TIMEOUT = 120
CHECK_DOTNET = {"test_dotnet_8_has_the_same", "test_dotnet_9_has_the_same", "test_stream_of_the_runtime_has_the_same"}
CHECK_LONG = {"test_values_are_on_the_screen_when_it_is_small"}
VERSION = "meter.version=1.2"
SOURCE, METER, RUNTIME = "MyCompany-Counting", "MyCompany.Meter", "System.Runtime"


def start(t, path=None):
    program = t.start(path or build_dotnet(t, "Counting"))
    program.wait_line("pid ")
    return program


def work(t, program, interval_s=1):
    """Lets it count, and returns what it printed that it counted, when the last interval is over."""
    program.go()
    program.wait_line("done", timeout=60)
    time.sleep(2 * interval_s + 0.3)
    program.go()
    return json.loads(program.wait_line("{", timeout=30))


def end(t, tapir):
    tapir.signal(signal.SIGINT)
    result = tapir.wait(30)
    t.eq(result.rc, 0, result.err)
    return result


def trace(t, *args, interval_s=1, path=None):
    """What the program says, the COUNTER objects, all objects, and tapir's words."""
    program = start(t, path)
    tapir = t.start_tapir("trace", "-p", program.pid, "--json", *args)
    tapir.wait_ready(".NET events", timeout=20)
    time.sleep(1.1 * interval_s)  # what a counter has before its first interval is not counted by it
    did = work(t, program, interval_s)
    result = end(t, tapir)
    lines = [json.loads(line) for line in result.out.splitlines()]
    return did, [line for line in lines if line["type"] == "counter"], lines, result.err


def of(counters, provider, name, kind=None, tags=None):
    """The values of a counter, in the order of their times."""
    found = [c for c in counters if (c["provider"], c["name"]) == (provider, name) and
             (kind is None or c["kind"] == kind) and (tags is None or c["tags"] == tags)]
    return sorted(found, key=lambda c: c["time_ns"])


def total(counters, *which):
    return round(sum(c["value"] for c in of(counters, *which)), 6)


def check_source(t, counters, did):
    t.eq(total(counters, SOURCE, "orders", "rate"), did["orders"], "what an IncrementingEventCounter had, added up")
    t.eq(total(counters, SOURCE, "total", "rate"), did["total"], "an IncrementingPollingCounter's, added up")
    depth = of(counters, SOURCE, "depth", "gauge")
    t.eq((depth[-1]["value"], depth[-1]["unit"], depth[-1]["tags"]), (did["depth"], "items", "queue:main"), "a PollingCounter")
    latency = of(counters, SOURCE, "latency", "gauge")
    t.eq(latency[-1]["unit"], "ms", "an EventCounter's unit")
    busy = [c["value"] for c in latency if c["value"]]
    t.ok(busy == sorted(busy) and 0 < busy[-1] < 25, f"means of what grows from 0 to 24.39: {busy}")
    for c in latency[1:]:
        t.ok(0.5e9 < c["interval_ns"] < 1.6e9, f"an interval of {c['interval_ns']} ns")


def check_meter(t, counters, did):
    for colour in "red", "blue":
        tags = f"{VERSION},colour={colour}"
        t.eq(total(counters, METER, "sold", "rate", tags), did[colour], f"a Counter's {tags}, added up")
        t.eq(of(counters, METER, "sold", "sum", tags)[-1]["value"], did[colour], f"the sum of {tags}")
    t.eq(of(counters, METER, "sold")[0]["unit"], "{item}", "its unit")
    t.eq(of(counters, METER, "open", "gauge")[-1]["value"], did["open"], "an UpDownCounter")
    t.eq(of(counters, METER, "temperature", "gauge")[-1]["value"], did["temperature"], "a gauge")
    t.eq(total(counters, METER, "took.count", "rate"), did["took"], "a histogram's count")
    t.eq(total(counters, METER, "took.sum", "rate"), did["took_sum"], "a histogram's sum")
    for percent, exact in (50, 20.5), (95, 38.5), (99, 40):
        tags = f"{VERSION},route=/a,b=c,Percentile={percent}"
        seen = {c["value"] for c in of(counters, METER, "took", "gauge", tags)}
        t.ok(seen and all(abs(value - exact) <= 1.01 for value in seen), f"{tags} of 1 to 40: {seen}")


def test_own_counters_and_instruments_are_what_the_program_counted(t):
    did, counters, lines, _ = trace(t, "--counters", SOURCE, "--counters=" + METER)
    check_source(t, counters, did)
    check_meter(t, counters, did)
    t.eq({c["provider"] for c in counters}, {SOURCE, METER}, "whose they are")
    t.eq([line for line in lines if line["type"] == "event"], [], "the events that carry them are not printed")


def test_dotnet_8_has_the_same(t):
    did, counters, _, _ = trace(t, "--counters", SOURCE, "--counters", METER, path=publish_dotnet(t, "Counting", "8.0.33"))
    check_source(t, counters, did)
    check_meter(t, counters, did)


def test_stream_of_the_runtime_has_the_same(t):
    did, counters, _, _ = trace(t, "--lane", "stream", "--counters", SOURCE, "--counters", METER)
    check_source(t, counters, did)
    check_meter(t, counters, did)


def test_dotnet_9_has_the_same(t):
    did, counters, _, _ = trace(t, "--counters", "MyComp*", path=publish_dotnet(t, "Counting", "9.0.22"))
    check_source(t, counters, did)
    check_meter(t, counters, did)


def test_runtime_counters_are_plausible(t):
    did, counters, _, _ = trace(t, "--counters")
    t.eq({c["provider"] for c in counters}, {RUNTIME}, "the default")
    t.eq(total(counters, RUNTIME, "gen-0-gc-count"), did["gen0"], "collections")
    heap = of(counters, RUNTIME, "gc-heap-size", "gauge")[-1]
    t.ok(abs(heap["value"] - did["heap_mb"]) < 2 and heap["unit"] == "MB", f"{heap} beside {did['heap_mb']} MB")
    meter = of(counters, RUNTIME, "dotnet.gc.heap.total_allocated", "sum")
    if meter:  # .NET 9 and later
        t.ok(0.9 * did["allocated"] <= meter[-1]["value"] <= did["allocated"], f"{meter[-1]} of {did['allocated']}")
        each = [of(counters, RUNTIME, "dotnet.gc.collections", "sum", f"gc.heap.generation=gen{g}") for g in range(3)]
        t.eq(sum(generation[-1]["value"] for generation in each), did["gen0"], "collections, by the meter: each is of one generation")


def test_globs_choose_single_counters_and_the_interval_is_asked_for(t):
    did, counters, _, _ = trace(t, "--counters", "MyComp*/o*", "--interval", "500ms", interval_s=0.5)
    t.eq({(c["provider"], c["name"]) for c in counters}, {(SOURCE, "orders"), (METER, "open")}, "what is chosen")
    t.eq(total(counters, SOURCE, "orders"), did["orders"], "orders")
    t.ok(len(of(counters, SOURCE, "orders")) >= 6, f"{len(of(counters, SOURCE, 'orders'))} values of half a second")
    for c in of(counters, METER, "open"):
        t.eq(c["interval_ns"], 500_000_000, "the interval of a meter's session")


def test_recording_has_them_and_the_view_shows_their_course(t):
    program, file = start(t), t.path("trace.tapir")
    tapir = t.start_tapir("record", "-p", program.pid, "--counters", METER, "--counters", SOURCE, "--counters", "No.Such",
                          f"{SOURCE}:Placed", "--no-samples", "--no-sched", "-f", "-o", file)
    tapir.wait_ready(".NET events", timeout=20)
    time.sleep(1.1)
    did = work(t, program)
    result = end(t, tapir)
    t.ok("no value of --counters No.Such arrived" in result.err, result.err)
    t.eq(sum(e["event"] == "Placed" for e in t.events(file)), 25, "events beside them")
    view = json.loads(t.tapir("report", "--view", "counters", "--json", file).out)
    rows = {(r["provider"], r["name"], r["kind"], r.get("tags")): r for r in view["counters"]}
    orders = rows[SOURCE, "orders", "rate", None]
    t.eq(orders["total"], did["orders"], "all of it")
    t.eq(len(orders["points"]), orders["count"], "each value with its time")
    t.ok(orders["least"] <= orders["mean"] <= orders["most"] <= 1300, f"{orders}")
    sold = rows[METER, "sold", "sum", f"{VERSION},colour=red"]
    t.eq((sold["last"], sold["most"]), (did["red"], did["red"]), "a sum's end")
    text = t.tapir("report", "--view", "counters", file).out
    line = [one for one in text.splitlines() if " orders " in one][0]
    t.ok("orders/s" in line and "\u2588" in line, text)


def test_what_an_event_source_has_to_complain_of_is_reported(t):
    _, _, _, err = trace(t, "--counters", "MyCompany-Broken", "--counters", SOURCE)
    t.ok("MyCompany-Broken: ERROR: Exception in Command Processing" in err and "no such luck" in err, err)


def test_two_tools_share_the_metrics_and_another_interval_is_reported(t):
    program = start(t)
    tapirs = []
    for more in (), (), ("--interval", "3"):
        tapirs.append(t.start_tapir("trace", "-p", program.pid, "--json", "--counters", METER, *more))
        tapirs[-1].wait_ready(".NET events", timeout=20)
    time.sleep(1.1)
    did = work(t, program)
    for tapir in tapirs[:2]:
        result = end(t, tapir)
        counters = [json.loads(line) for line in result.out.splitlines()]
        t.eq(of(counters, METER, "sold", "sum", f"{VERSION},colour=blue")[-1]["value"], did["blue"], "each tool's")
    t.ok("a different interval" in end(t, tapirs[2]).err, "the third says why it has none of its own")


def drawn(t, program, columns, rows, *globs):
    """The frames of the table, each as the lines of a terminal of that size."""
    options = [word for glob in globs for word in ("--counters", glob)]
    text = on_terminal(t, columns, rows, "trace", "-p", program.pid, "-d", 6, *options)
    return [plain_lines(frame) for frame in text.split("\x1b[H")[1:]]


def test_terminal_gets_a_table_that_is_drawn_anew(t):
    program = start(t)
    frames = drawn(t, program, 70, 12, METER, SOURCE)
    t.ok(len(frames) >= 4, f"{len(frames)} tables")
    lines = frames[-1]
    t.ok(len(lines) < 12 and all(len(line) <= 70 for line in lines), lines)
    t.ok(any(re.search(r"MyComp\S*\u2026\S*ting +total ", line) for line in lines) and "PROVIDER" in lines[0], lines)


def check_values(t, lines, columns, rows, all_rows):
    t.ok(len(lines) <= rows - 1 and max(map(len, lines)) <= columns, f"on {columns}x{rows}: {lines}")
    t.ok(re.match(r"(PROVIDER +)?COUNTER .*VALUE .*RATE/S", lines[0]), f"titles: {lines[0]}")
    end = lines[0].index("RATE/S") + len("RATE/S")
    bare = [line for line in lines[1:-1] if not re.search(r"\s[-0-9][0-9.,e+]*\s*$", line[:end])]
    t.eq(bare, [], "rows without a value")
    left = re.fullmatch(r"(\d+) more counters do not fit", lines[-1])
    t.ok(left and len(lines) - 2 + int(left.group(1)) == all_rows, f"{all_rows} rows, the last line: {lines[-1]}")


def test_values_are_on_the_screen_when_it_is_small(t):
    program = start(t)
    wide = drawn(t, program, 240, 200, RUNTIME)[-1]
    t.ok(len(wide) > 24 and "\u2026" not in "".join(wide), f"nothing is cut on a large terminal: {wide}")
    for columns, rows in (80, 24), (40, 10):
        check_values(t, drawn(t, program, columns, rows, RUNTIME)[-1], columns, rows, len(wide) - 1)
    names = [line.split()[0] for line in drawn(t, program, 80, 200, RUNTIME)[-1][1:]]
    t.ok(any(re.fullmatch(r"dotnet\.gc\.last.*\u2026.*ation\.size", name) for name in names), f"names keep both ends: {names}")


def test_wrong_words_are_usage_errors(t):
    for args in (("--counters", ""), ("--counters=a;b",), ("--counters=a/",), ("--counters", "--interval", "1ms"), ("--interval", "1")):
        t.tapir("trace", "-p", 1, *args, expect=2)
