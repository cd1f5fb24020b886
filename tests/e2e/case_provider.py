# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that link libtapir: typed fields, keywords and levels, by tapir and by other tools."""
import collections

from harness import EVENTS_ONLY, args_of

PROVIDER = "Tapir-Test-Shop"


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
