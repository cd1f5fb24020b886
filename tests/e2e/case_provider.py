# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that link libtapir: typed fields, keywords and levels, by tapir and by other tools."""
import collections
import os
import pathlib
import re
import signal

from harness import EVENTS_ONLY, args_of

PROVIDER = "Tapir-Test-Shop"
REPO = pathlib.Path(__file__).resolve().parents[2]


def record(t, spec, *options, count=150, threads=2):
    """(the program's own counts, events by name, losses) of a recording of `shop`."""
    target = t.target("shop", "--wait", count, threads)
    tapir = t.start_tapir("record", spec, *EVENTS_ONLY, *options, "-p", target.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    target.go()
    fired = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    events = collections.defaultdict(list)
    for event in t.events(t.path("trace.tapir")):
        events[event["event"]].append(event)
    return fired, events, t.report(t.path("trace.tapir"))["lost"]


def test_events_have_their_fields_and_none_is_lost_when_the_provider_is_freed_at_once(t):
    fired, events, lost = record(t, PROVIDER)
    t.eq(lost, {}, "losses")
    t.eq({name: len(all) for name, all in events.items()},
         {"OrderPlaced": fired["placed"], "OrderShipped": fired["placed"], "ShopOpened": fired["opened"]}, "counts")
    t.eq({event["lane"] for all in events.values() for event in all}, {"ring"}, "lane")
    placed = sorted(tuple(args_of(event)) for event in events["OrderPlaced"])
    t.eq(placed, sorted((order, f"customer {order % 7}", order / 4, order % 2 == 1, -3) for order in range(fired["placed"])),
         "OrderPlaced")
    shipped = sorted(events["OrderShipped"], key=args_of)
    t.eq(args_of(shipped[5])[:4], [5, "00112233-4455-6677-8899-aabbccddeeff", "K\u00f6ln", 1.5], "OrderShipped")
    t.eq([f["name"] for f in events["OrderPlaced"][0]["stack"]][:2], ["sell", "run"], "stack")


def test_keywords_select_events_in_the_ring(t):
    fired, events, _ = record(t, PROVIDER + ":0x5", "--lane", "ring")
    t.eq({name: len(all) for name, all in events.items()},
         {"OrderPlaced": fired["placed"], "ShopOpened": fired["opened"]}, "counts")


def test_keywords_and_levels_select_probes(t):
    fired, events, _ = record(t, PROVIDER + ":0x6:4", "--lane", "probe", count=50)
    t.eq({name: len(all) for name, all in events.items()}, {"ShopOpened": fired["opened"]}, "level 4, keywords 6")
    fired, events, _ = record(t, PROVIDER + ":-0x4", "--lane", "probe", count=50)
    t.eq(sorted(events), ["OrderPlaced", "OrderShipped"], "all but keyword 4")
    t.eq({event.get("lane") for all in events.values() for event in all}, {None}, "lane")
    t.eq(len(events["OrderPlaced"]), fired["placed"], "counts")
    t.eq(sorted(tuple(args_of(event)) for event in events["OrderPlaced"])[1], (1, "customer 1", 0.25, True, -3), "fields")


def test_list_shows_fields_levels_and_keywords(t):
    sites = t.tapir("list", "--json", t.target_path("shop")).json_lines()
    shown = {site["name"]: (site["id"], site["version"], site["level"], site["keywords"],
                            [arg["name"] + ":" + arg["type"] for arg in site["args"]]) for site in sites}
    t.eq(shown, {
        "OrderPlaced": (1, 0, 4, 1, ["Order:u64", "Customer:str", "Total:f64", "Paid:bool", "Delta:i16"]),
        "OrderShipped": (2, 3, 5, 2, ["Order:u64", "Key:ptr", "Town:ptr", "Weight:f32", "At:u64"]),
        "ShopOpened": (3, 0, 3, 4, [])}, "probes")


def test_list_shows_the_types_of_a_process_fields_in_its_ring(t):
    target = t.target("shop", "--wait", 1)
    rows = {row["name"]: row for row in t.tapir("list", "-p", target.pid, PROVIDER, "--json").json_lines() if row.get("lane") == "ring"}
    t.eq({name: [arg["name"] + ":" + arg["type"] for arg in row["args"]] for name, row in rows.items()}, {
        "OrderPlaced": ["Order:u64", "Customer:str", "Total:f64", "Paid:bool", "Delta:i16"],
        "OrderShipped": ["Order:u64", "Key:guid", "Town:str", "Weight:f32", "At:time"],  # a probe has the addresses of two
        "ShopOpened": [], "EventCounters": ["Payload:struct"]}, "ring")
    text = t.tapir("list", "-p", target.pid, "OrderShipped").out
    t.ok("(u64 Order, guid Key, str Town, f32 Weight, time At)" in text, text)


def test_bpftrace_counts_what_tapir_counts_on_the_same_probes(t):
    t.need("bpftrace")
    program = t.target_path("shop")
    script = "".join(f"usdt:{program}:{PROVIDER}:{name} {{ @{name} = count(); }} "
                     for name in ("OrderPlaced", "OrderShipped", "ShopOpened"))
    target = t.target("shop", "--wait", 150, 2)
    tapir = t.start_tapir("record", PROVIDER, *EVENTS_ONLY, "-p", target.pid, "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    tracer = t.start("bpftrace", "-p", target.pid, "-e", 'BEGIN { printf("ready\\n"); } ' + script)
    tracer.wait_line("ready")
    target.go()
    fired = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    said = tracer.wait().out
    for name, count in (("OrderPlaced", fired["placed"]), ("OrderShipped", fired["placed"]), ("ShopOpened", fired["opened"])):
        t.ok(f"@{name}: {count}\n" in said, f"bpftrace counted {said!r}, fired {count} {name}")
    t.eq(len(t.events(t.path("trace.tapir"))), 2 * fired["placed"] + fired["opened"], "tapir's events")


PERF_PROGRAM = r"""
#include <tapir/provider.h>
#include <unistd.h>

TAPIR_EVENT(Sold, "NAME", "Sold", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U32, Number), (I64, Price));
static struct tapir_event *const events[] = {&Sold};

int main(void)
{
	struct tapir_provider *shop;

	if (tapir_provider__new("NAME", NULL, events, 1, NULL, &shop))
		return 1;
	for (int i = 0; i < 30000 && !TAPIR_EVENT_ENABLED(Sold); i++)
		usleep(1000);
	for (unsigned i = 0; i < 100; i++)
		TAPIR_FIRE(Sold, i, -7 * (long)i);
	tapir_provider__free(shop);
	return 0;
}
"""


def test_perf_records_the_same_probes(t):
    """perf raises the semaphore, too. It takes no provider whose name is not a C identifier."""
    perf, name = (t.need("perf"), "--buildid-dir", t.path("buildids")), f"tapir_test_{os.getpid()}"
    program = t.path("shop_of_perf")
    with open(program + ".c", "w", encoding="ascii") as file:
        file.write(PERF_PROGRAM.replace("NAME", name))
    t.eq(t.run(t.need("gcc"), "-O1", "-D_GNU_SOURCE", f"-I{REPO}/include", program + ".c", os.path.join(t.build, "libtapir.a"),
               "-pthread", "-lm", "-o", program, timeout=120).rc, 0, "gcc")
    t.eq(t.run(*perf, "buildid-cache", "--add", program).rc, 0, "perf buildid-cache")
    added = t.run(*perf, "probe", "--add", f"sdt_{name}:Sold")
    if added.rc:
        t.skip(f"perf probe: {added.err.strip()[:200]}")
    try:
        recorded = t.run(*perf, "record", "-q", "--no-buildid", "-e", f"sdt_{name}:Sold", "-o", t.path("perf.data"), "--", program, timeout=60)
        if recorded.rc < 0:
            t.skip(f"perf record crashed, another tracer requests build IDs: {recorded.err.strip()[:200]}")
        t.eq(recorded.rc, 0, f"perf record: {recorded.err}")
        lines = re.findall(r"arg1=(\d+) arg2=(-?\d+)", t.run(*perf, "script", "-i", t.path("perf.data")).out)
        t.eq(lines, [(str(i), str(-7 * i)) for i in range(100)], "what perf has")
    finally:
        t.run(*perf, "probe", "--del", f"sdt_{name}:Sold")


def test_perf_records_beside_tapir(t):
    """If a tracer requests build IDs, Linux 6.18 marks mappings of others as if they had one, and perf 6.1 aborts."""
    record = (t.need("perf"), "record", "-q", "-o", t.path("perf.data"), "--", "sh", "-c", "for i in 1 2 3; do ls; cat /dev/null; done")
    tapir = t.start_tapir("record", "-a", "-f", "-o", t.path("trace.tapir"))
    tapir.wait_ready()
    beside = [t.run(*record, timeout=60) for _ in range(3)]
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    if any(run.rc for run in beside) and t.run(*record, timeout=60).rc:
        t.skip("perf record fails without tapir, too")
    t.eq([run.rc for run in beside], [0, 0, 0], beside[-1].err)


def check_percentiles(t, values):
    """Of histogram `totals`: the three of each interval, in order, beside its mean."""
    tagged = collections.defaultdict(list)
    for value in values:
        t.eq((value["unit"], value["kind"]), ("EUR", "gauge"), "totals")
        tagged[value["tags"]].append(value["value"])
    t.eq(sorted(tagged), ["shop:1"] + [f"shop:1,Percentile={n}" for n in (50, 95, 99)], "tags")
    busy = [row for row in zip(*(tagged[f"shop:1,Percentile={n}"] for n in (50, 95, 99))) if any(row)]
    t.ok(busy and all(a <= b <= c for a, b, c in busy), f"percentiles {busy}")


def test_list_shows_the_counters_of_a_process(t):
    target = t.target("shop", "--wait", 1)
    rows = [row for row in t.tapir("list", "-p", target.pid, "--json").json_lines() if "counter" in row]
    t.eq(sorted((r["provider"], r["counter"], r["display_name"], r["type"], r["unit"], r["tags"], r["pid"]) for r in rows),
         [(PROVIDER, "orders", "orders", "increments", "pcs", "", target.pid),
          (PROVIDER, "totals", "Order totals", "histogram", "EUR", "shop:1", target.pid)], "counters")
    text = t.tapir("list", "-p", target.pid, "totals").out
    t.eq(re.findall(r"^(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +\d+$", text, re.M), [(PROVIDER, "totals", "histogram", "EUR", "shop:1")], text)
    result = t.tapir("list", "-p", target.pid, PROVIDER + ":totlas", expect=1)
    t.ok(f"the nearest is '{PROVIDER}:totals'" in result.err, result.err)
    # They are no events: a SPEC finds none, and nothing of them is in a recording.
    result = t.tapir("record", PROVIDER + ":totals", *EVENTS_ONLY, "-p", target.pid, "-d", "1", "-f", "-o", t.path("x.tapir"), expect=1)
    t.ok("totals" in result.err, result.err)


def test_events_have_their_threads_activity_and_counters_are_recorded(t):
    target = t.target("shop", "--wait", "--lasts", 100, 2)
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", PROVIDER + ":ev=OrderPlaced", PROVIDER + ":ev=EventCounters::EventCounterIntervalSec=0.1",
                          *EVENTS_ONLY, "-p", target.pid, "-f", "-o", file)
    tapir.wait_ready()
    target.go()
    fired = target.wait().witness()
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    placed = [event for event in t.events(file) if event["event"] == "OrderPlaced"]
    by_thread = collections.defaultdict(set)
    for event in placed:
        by_thread[event["tid"]].add(event["activity_id"])
    t.eq(sorted(len(ids) for ids in by_thread.values()), [1, 1], "one activity a thread")
    t.eq(len(set.union(*by_thread.values())), 2, "each its own")
    values = [c for c in t.events(file, "counter") if c["name"] == "orders"]
    check_percentiles(t, [c for c in t.events(file, "counter") if c["name"] == "totals"])
    t.eq(sum(c["value"] for c in values), fired["placed"], "orders")
    t.eq({(c["provider"], c["unit"], c["kind"]) for c in values}, {(PROVIDER, "pcs", "rate")}, "counter")


def test_ready_means_that_a_slow_process_has_enabled_its_events(t):
    target = t.target("slowstart", "--wait", 100)
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "Tapir-Test-Slow", *EVENTS_ONLY, "-p", target.pid, "-f", "-o", file)
    tapir.wait_ready()
    target.go()
    t.eq(target.wait().witness(), {"begun": 100}, "fired")
    t.eq(tapir.wait().rc, 0, "exit of tapir")
    t.eq([args_of(event) for event in t.events(file)], [[n] for n in range(100)], "events")


def program_of_the_page(t):
    """The program that usdt/README.md tells people to paste, compiled."""
    page = (REPO / "usdt" / "README.md").read_text(encoding="utf-8")
    source = t.path("demo.c")
    pathlib.Path(source).write_text(page.split("```c\n")[1].split("```")[0], encoding="utf-8")
    t.ok(len(page.split("```c\n")[1].split("```")[0].splitlines()) <= 26, "a short program")
    t.eq(t.run("gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{REPO}/include", source,
               f"{t.build}/libtapir.a", "-pthread", "-o", t.path("demo")).rc, 0, "compiler")
    return t.path("demo")


def test_the_program_of_the_page_works_when_pasted(t):
    program = program_of_the_page(t)
    t.tapir("record", "Demo-Runtime", *EVENTS_ONLY, "-f", "-o", t.path("trace.tapir"), "--", program)
    events = collections.defaultdict(list)
    for event in t.events(t.path("trace.tapir")):
        events[event["event"]].append(event["args"])
    # The lane is found a few milliseconds after it was made: the first events may be over by then.
    t.ok(len(events["GcStart"]) >= 5 and len(events["GcEnd"]) >= 5, f"{len(events['GcStart'])} of 20 events")
    t.eq(events["GcStart"][-1], {"Count": 19, "Generation": 1, "Reason": "low memory"}, "GcStart")
    t.eq(events["GcEnd"][-1], {"Count": 19, "FreedMb": 9.5}, "GcEnd")
    t.eq(t.report(t.path("trace.tapir"))["lost"], {}, "losses")
