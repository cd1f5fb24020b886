# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests by trace id (--profile requests) through two .NET services of one machine: front asks inventory. The witness
is the client, which makes up trace ids and takes the time, and the header that inventory says it was sent.

The program is tests/e2e/programs/Requests.cs. Another witness is OpenTelemetry's SDK in Otel.cs, which exports its spans.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import time
import urllib.request

from answers import Witness, measured, measures
from case_answers_postgresql import make_tables
from case_runtimes import Server
from dotnet_program import build_dotnet
from harness import PATIENCE

CHECK_DOTNET = {"test_items_of_an_iterator_are_what_it_awaits", "test_statements_are_what_requests_await",
                "test_statements_of_npgsql_are_what_requests_await", "test_statements_of_sqlclient_are_what_requests_await",
                "test_statements_of_sqlclient_are_in_the_trees_of_requests", "test_wait_for_a_connection_is_that_of_its_event",
                "test_requests_of_the_default_profile_are_the_clients", "test_recorded_flag_stays_as_it_was", "test_requests_have_the_clients_trace_ids",
                "test_spans_are_those_that_opentelemetry_exports", "test_slow_request_is_followed_into_the_other_process",
                "test_slow_request_is_followed_through_processes_found_by_name", "test_slow_request_is_followed_machine_wide"}
TIMEOUT = 180
SOURCE = "Microsoft-Diagnostics-DiagnosticSource"
PARENT = "cd" * 8


PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
SDK = ("OpenTelemetry", "1.12.0")


class Service:
    def __init__(self, t, *args, name="Requests", packages=(), comm=None, has_cultures=False):
        """comm: the name of its process, if it is not that of the program."""
        program = build_dotnet(t, name, sdk="Microsoft.NET.Sdk.Web", packages=packages, has_cultures=has_cultures)
        if comm:
            place = t.path("named")
            if not os.path.exists(place):
                shutil.copytree(os.path.dirname(program), place)
                os.rename(os.path.join(place, name), os.path.join(place, comm))
            program = os.path.join(place, comm)
        self.own_ns = 0  # of the last answer, by its clock
        self.process = t.start(program, *args)
        self.process.wait_line("pid ", 60)
        self.pid = self.process.pid
        self.url = self.process.wait_line("url ", 60).split()[1]

    def get(self, path, trace=None, flags="00"):
        """What it answers, and the milliseconds that took."""
        headers = {"traceparent": f"00-{trace}-{PARENT}-{flags}"} if trace else {}
        began = time.monotonic()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=30) as answer:
            self.own_ns = float(answer.headers.get("Server-Timing", "dur=0").rpartition("=")[2]) * 1e6
            return answer.read().decode(), (time.monotonic() - began) * 1000


def services(t):
    inventory = Service(t)
    return inventory, Service(t, inventory.url)


def record(t, *running, comm=None, all_of_them=False):
    """comm: all processes of that name, whichever they are. all_of_them: every process of the machine."""
    whom = ("-a", "--sched") if all_of_them else ("--comm", comm) if comm else ("-p", ",".join(str(s.pid) for s in running))
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "--profile", "requests", *whom, "-f", "-o", file)
    tapir.wait_ready("", 60)
    return tapir, file


def stop(t, tapir):
    tapir.signal(2)
    t.eq(tapir.wait(60).rc, 0, "exit of tapir")


def arguments(event):
    return {pair["Key"]: pair["Value"] for pair in event["args"].get("Arguments", [])}


def flags_downstream(front):
    """The recorded flag that inventory is sent: for a request without ids, with ids that are not sampled, and sampled."""
    return [front.get("/order/1", trace, flags)[0][-2:] for trace, flags in
            ((None, ""), ("aa" * 16, "00"), ("bb" * 16, "01"))]


def test_recorded_flag_stays_as_it_was(t):
    inventory, front = services(t)
    before = flags_downstream(front)
    t.eq(before, ["00", "00", "01"], "flags without tapir")
    t.eq(front.get("/outside")[0], "", "header of a request outside any activity, without tapir")
    tapir, file = record(t, inventory, front)
    during = flags_downstream(front)
    outside = [front.get("/outside")[0] for _ in range(3)]
    stop(t, tapir)
    t.eq(during, before, "flags while tapir records")
    t.eq([header[-2:] for header in outside], ["00"] * 3, "flags of headers that are there because of tapir")
    found = [f["text"] for f in t.report(file)["findings"] if f["kind"] == "trace-headers"]
    t.eq(len(found), 1, "findings about headers")
    t.ok(found[0].startswith("3 requests were sent with a traceparent header only because"), found[0])
    t.eq(flags_downstream(front), before, "flags after tapir")
    t.eq(front.get("/outside")[0], "", "header of a request outside any activity, after tapir")


def test_requests_have_the_clients_trace_ids(t):
    inventory, front = services(t)
    front.get("/order/1")
    tapir, file = record(t, inventory, front)
    front.get("/burn/400", "bb" * 16)
    traces = {f"{n:032x}": front.get(f"/order/{n * 5}", f"{n:032x}", "01" if n % 2 else "00")[1] for n in range(1, 7)}
    stop(t, tapir)
    events = [e for e in t.events(file) if e["provider"] == SOURCE and "Arguments" in e["args"]]
    for trace, took_ms in traces.items():
        path = f"/{{}}/{int(trace, 16) * 5}"
        of = [(e, arguments(e)) for e in events if arguments(e).get("TraceId") == trace]
        begun = {(e["pid"], e["event"]): a for e, a in of if e["event"].endswith("1Start") or e["event"].endswith("2Start")}
        t.eq(set(begun), {(front.pid, "Activity1Start"), (front.pid, "Activity2Start"), (inventory.pid, "Activity1Start")},
             f"spans of {trace}")
        asked, sent, served = (begun[key] for key in sorted(begun, key=lambda k: (k[0] != front.pid, k[1])))
        t.eq(asked["ParentSpanId"], PARENT, "the client's span")
        t.eq([sent["ParentSpanId"], served["ParentSpanId"]], [asked["SpanId"], sent["SpanId"]], "parents")
        t.eq([asked["Path"], served["Path"]], [path.format("order"), path.format("inventory")], "paths")
        # A server's own end may come after its client has the answer.
        times = [e["time_ns"] for e, _ in of if e["event"] not in ("Activity1Stop", "ActivityStop")]
        t.ok(max(times) - min(times) <= took_ms * 1e6, f"{trace} took {took_ms} ms for its client, {max(times) - min(times)} ns here")
    chosen = t.tapir("events", file, "--trace-id", f"{3:032x}", "--json").json_lines()
    t.eq({e["pid"] for e in chosen}, {front.pid, inventory.pid}, "processes of one trace")
    t.ok(all(f"{3:032x}" in json.dumps(e["args"]) for e in chosen), "events of one trace")
    slow = json.loads(t.tapir("report", file, "--view", "slow=request", "--top", 50, "--json").out)
    one = json.loads(t.tapir("report", file, "--view", "slow=request", "--trace-id", f"{6:032x}", "--all", "--json").out)
    t.eq({row["label"] for row in one["slowest"]}, {"GET /order/30", "GET /inventory/30"}, "requests of one trace")
    cpu = json.loads(t.tapir("report", file, "--view", "cpu", "--trace-id", "bb" * 16, "--all", "--json").out)
    burnt = sum(row["samples"] for row in cpu["works"])
    t.ok(burnt >= 10 and cpu["ids_joined"] >= burnt, f"{burnt} samples of /burn, joined: {cpu['ids_joined']}")
    t.ok(one["ids_recorded"] == 0 and one["ids_joined"] <= one["ids_samples"] > 0, f"coverage of ids: {one}")
    tree = json.loads(t.tapir("report", file, "--view", "requests", "--trace-id", f"{6:032x}", "--json").out)["slowest"]
    t.eq([row["trace_id"] for row in tree], [f"{6:032x}"], "trees of one trace")
    locked = [row for row in slow["slowest"] if row["label"] == "GET /inventory/30"]
    t.eq(len(locked), 1, f"slow requests for /inventory/30 in {[row['label'] for row in slow['slowest']]}")
    waited = sum(part["ns"] for part in locked[0]["parts"] if part["reason"] == "monitor")
    t.ok(30e6 <= waited <= locked[0]["ns"], f"{waited} ns of {locked[0]['ns']} in a monitor that was held for 40 ms")
    locks, every = (json.loads(t.tapir("report", file, "--view", "contention", "--all", "--json", *options).out)
                    for options in (("--trace-id", f"{6:032x}"), ()))
    t.ok(30e6 <= locks["waited_ns"] <= every["waited_ns"] and locks["count"] <= every["count"], f"locks: {locks} of {every}")


def flows_of(t, file, trace):
    """The processes with markers of that trace, which Firefox Profiler joins by arrows."""
    profile = json.loads(t.tapir("export", "--format", "firefox", file).out)
    strings = profile["shared"]["stringArray"]
    return {int(thread["pid"]) for thread in profile["threads"] for data in thread["markers"]["data"]
            if data and "trace" in data and strings[data["trace"]] == trace}


def follow_slow_request(t, inventory, front, comm=None, all_of_them=False):
    """A request of 400 ms through both: its parts, beside the client's time."""
    front.get("/order/10")
    tapir, file = record(t, inventory, front, comm=comm, all_of_them=all_of_them)
    front.get("/order/10")
    trace = os.urandom(16).hex()  # machine-wide, requests of other cases are recorded, too
    took_ns = front.get("/order/400", trace)[1] * 1e6
    stop(t, tapir)
    found = json.loads(t.tapir("report", file, "--view", "requests", "--top", 50, "--json").out)["slowest"]
    # On a busy machine the first request under tapir can take longer.
    slowest = next((row for row in found if row["trace_id"] == trace), found[0])
    t.eq((slowest["trace_id"], slowest["pid"], slowest["label"]), (trace, front.pid, "GET /order/400"), "slowest")
    t.eq([row["ns"] for row in found], sorted((row["ns"] for row in found), reverse=True), "the slowest first")
    parts = slowest["parts"]
    adds_up = sum(part["ns"] for part in parts if part["kind"] in ("own", "wait"))
    t.ok(abs(adds_up - slowest["ns"]) <= 0.01 * slowest["ns"], f"parts are {adds_up} ns of {slowest['ns']}: {parts}")
    # The service's own clock runs within the span, the client's around it, whatever both wait for before and after it.
    t.ok(400e6 <= front.own_ns <= adds_up <= took_ns, f"parts are {adds_up} ns, by the service's clock {front.own_ns}, the client's {took_ns}: {parts}")
    spans = [(part["pid"], part["part"].strip().split("/")[-2:]) for part in parts if part["kind"] == "span"]
    t.eq(spans, [(front.pid, ["order", "400"]), (front.pid, ["inventory", "400"]), (inventory.pid, ["inventory", "400"])], "spans")
    t.ok(re.fullmatch(rf"GET /order/{{n}} \S+ m?s > GET /inventory/{{n}} \S+ m?s \(pid {inventory.pid}\)", slowest["path"][0]["path"]), slowest["path"])
    t.eq([row["kind"] for row in check_spans(t, file, [slowest]) if row["trace_id"] == trace], ["request", "call", "request"], "kinds of spans")
    t.eq(flows_of(t, file, trace), {front.pid, inventory.pid}, "processes of one flow")
    # "monitor", or while unwind tables are being loaded the kernel's "futex".
    locked = sum(part["ns"] for part in parts if part["pid"] == inventory.pid and part["part"].strip().startswith("waits: "))
    t.ok(380e6 <= locked <= took_ns, f"{locked} ns of a lock that was held for 400 ms: {parts}")


def check_spans(t, file, trees):
    """The table has the spans of the view's trees, each below the one that it has as its parent there."""
    rows = query(t, file, "SELECT * FROM spans ORDER BY begin_ns, depth")
    for tree in trees:
        of_trace = [row for row in rows if row["trace_id"] == tree["trace_id"]]
        shown = [(part["pid"], part["part"].strip(), (len(part["part"]) - len(part["part"].lstrip())) // 2) for part in tree["parts"] if part["kind"] == "span"]
        t.eq([(row["pid"], row["name"], row["depth"]) for row in of_trace], shown, f"spans of {tree['trace_id']}")
        by_id = {(row["pid"], row["span_id"]): row for row in of_trace}
        for row in of_trace[1:]:
            above = by_id[row["parent_pid"], row["parent_id"]]
            t.ok(above["depth"] == row["depth"] - 1 and above["begin_ns"] <= row["begin_ns"], f"{row} is below {above}")
        t.ok(all(0 <= row["self_ns"] <= row["took_ns"] == row["end_ns"] - row["begin_ns"] for row in of_trace), f"times of {of_trace}")
        t.eq((of_trace[0]["took_ns"], of_trace[0]["kind"], of_trace[0]["status"]), (tree["ns"], "request", 200), "the request")
    return rows


def test_slow_request_is_followed_into_the_other_process(t):
    follow_slow_request(t, *services(t))


def test_slow_request_is_followed_through_processes_found_by_name(t):
    comm = f"shop-{os.getpid()}"
    inventory = Service(t, comm=comm)
    follow_slow_request(t, inventory, Service(t, inventory.url, comm=comm), comm)


def test_slow_request_is_followed_machine_wide(t):
    follow_slow_request(t, *services(t), all_of_them=True)


def spans_of(path):
    """What the SDK exported: {(trace id, span id): (parent's id, kind, microseconds, name)}."""
    with open(path, encoding="utf-8") as lines:
        fields = (line.rstrip("\n").split(" ", 5) for line in lines)
        return {(trace, span): (parent, kind, int(us), name) for trace, span, parent, kind, us, name in fields}


def ask(front, first):
    """Requests that are sampled, that are not, and that have no ids: their answers."""
    return [front.get(f"/order/{n}", f"{n:032x}" if n % 3 else None, "01" if n % 3 == 1 else "00")[0] for n in range(first, first + 6)]


def exported(files, cnt):
    """Once there are as many: a span ends after its client has the answer."""
    deadline = time.monotonic() + 20 * PATIENCE
    while time.monotonic() < deadline and sum(len(spans_of(file)) for file in files) < cnt:
        time.sleep(0.05)
    return [spans_of(file) for file in files]


def test_spans_are_those_that_opentelemetry_exports(t):
    files = [t.path("inventory.spans"), t.path("front.spans")]
    inventory = Service(t, files[0], name="Otel", packages=[SDK])
    front = Service(t, files[1], inventory.url, name="Otel", packages=[SDK])
    ask(front, 1)
    # Of six requests two are not sampled: of each other one front has two spans, inventory two.
    before = [len(spans) for spans in exported(files, 16)]
    t.eq(before, [8, 8], "spans exported without tapir")
    tapir, file = record(t, inventory, front)
    t.eq(ask(front, 101), [str(n) for n in range(101, 107)], "answers")
    after = exported(files, 32)
    stop(t, tapir)
    t.eq([len(spans) for spans in after], [16, 16], "spans exported until then, as many of each half")
    events = [(e, arguments(e)) for e in t.events(file) if e["provider"] == SOURCE and "Arguments" in e["args"]]
    for service, spans in zip((inventory, front), after):
        seen = {(a["TraceId"], a["SpanId"]): a for e, a in events if e["pid"] == service.pid}
        of_recording = {ids: span for ids, span in spans.items() if ids in seen}
        t.eq(len(of_recording), 8, f"exported spans of {service.pid} that tapir has: of {len(seen)}")
        for ids, (parent, kind, _, name) in of_recording.items():
            t.eq(seen[ids]["ParentSpanId"], parent, f"parent of {kind} {name}")
        times = {}
        for e, a in events:
            if e["pid"] == service.pid and e["event"] in ("Activity1Start", "Activity2Start", "Activity1Stop", "Activity2Stop"):
                times.setdefault((a["TraceId"], a["SpanId"]), []).append(e["time_ns"] / 1000)
        took = [(us, max(times[ids]) - min(times[ids])) for ids, (_, _, us, _) in of_recording.items() if ids in times]
        near = [abs(us - ours) <= 0.05 * us + 1000 for us, ours in took]
        # A thread that is preempted between the SDK's clock and the event makes a difference of any size.
        t.ok(len(took) >= 4 and 2 * sum(near) >= len(near), f"microseconds by the SDK and by tapir: {took}")
    tree = json.loads(t.tapir("report", file, "--view", "requests", "--top", 50, "--json").out)["slowest"]
    t.eq(len(tree), 6, "requests, sampled or not")


@measured
def test_requests_of_the_default_profile_are_the_clients(t):
    """Without a profile or a flag: as many requests by route as the client made, as long as it waited, and no header."""
    inventory, front = services(t)
    for service, path in ((front, "/order/1"), (front, "/outside"), (inventory, "/inventory/10"), (inventory, "/burn/5")):
        service.get(path)
    flags = flags_downstream(front)
    file = t.path("trace.tapir")
    tapir = t.start_tapir("record", "-p", f"{inventory.pid},{front.pid}", "-o", file)
    tapir.wait_ready("", 60)
    t.eq(front.get("/outside")[0], "", "header of a request outside any activity, while tapir records")
    t.eq(flags_downstream(front), flags, "flags while tapir records")
    took = {"GET /order/{n}": [front.get(f"/order/{n * 10}")[1] for n in range(1, 6)],
            "GET /burn/{n}": [inventory.get(f"/burn/{ms}")[1] for ms in (400, 401, 402)]}
    stop(t, tapir)
    found = json.loads(t.tapir("report", file, "--view", "requests", "--top", 50, "--json").out)
    routes = {(row["pid"], row["route"]): row for row in found["routes"]}
    # flags_downstream() makes three more, /outside one.
    t.eq({key: row["count"] for key, row in routes.items()},
         {(front.pid, "GET /order/{n}"): 8, (front.pid, "GET /outside"): 1, (inventory.pid, "GET /inventory/{n}"): 9,
          (inventory.pid, "GET /burn/{n}"): 3}, "requests by route")
    t.eq((found["count"], found["incomplete"], found["at_attach"], found["not_known"]), (21, 0, 0, 0), "requests")
    t.ok("calls" not in found, "calls are not told as requests")
    for row in found["routes"]:
        t.eq(sum(part["ns"] for part in row["parts"]), row["sum_ns"], f"parts of {row['route']}")
    order, burn = routes[front.pid, "GET /order/{n}"], routes[inventory.pid, "GET /burn/{n}"]
    for row, route in ((order, "GET /order/{n}"), (burn, "GET /burn/{n}")):
        worst = max(took[route]) * 1e6
        t.ok(row["max_ns"] <= worst, f"{route}: {row['max_ns']} ns, the client waited {worst} ns")
    worst = max(took["GET /burn/{n}"]) * 1e6
    measures(t, worst - burn["max_ns"] <= 0.05 * worst, f"{burn['max_ns']} ns, the client waited {worst} ns")
    ran = sum(part["ns"] for part in burn["parts"] if part["part"] in ("on CPU", "waits for a CPU"))
    measures(t, ran >= 0.95 * 1203e6, f"{ran} ns on the CPU or waiting for it, of 1,203 ms: {burn['parts']}")
    awaited = sum(part["ns"] for part in order["parts"] if part["part"].startswith("HTTP in Program.<Main>$ (lambda "))
    t.ok(awaited >= 0.5 * order["sum_ns"], f"the first requests of their connections await HTTP: {order['parts']}")
    t.eq(front.get("/outside")[0], "", "header of a request outside any activity, after tapir")


KESTREL = "Microsoft-AspNetCore-Server-Kestrel"
RECORDED = {"calls": "HTTP in Awaiting.AskPrice (async)", "semaphore": "a semaphore in Awaiting.ReserveSeat (async)",
            "slow": "HTTP in Awaiting.AskPrice (async)"}  # recordings of the corpus, and the cause that is planted there


def query(t, file, sql):
    return json.loads(t.tapir("query", file, sql, "--json").out)


def pairs_of_events(t, file):
    """{route: durations in order} and how many have one of the two: by the keys in the events, not by the timeline."""
    begun, took, half = {}, {}, 0
    for row in query(t, file, f"SELECT time_ns, event, args FROM events WHERE provider = '{KESTREL}' AND event LIKE 'RequestSt%' ORDER BY time_ns"):
        args = json.loads(row["args"])
        if row["event"] == "RequestStart":
            begun[args["requestId"]] = row["time_ns"]
        elif args["requestId"] in begun:
            route = args["method"] + " " + re.sub(r"/\d+(?=/|$)", "/{n}", args["path"])
            took.setdefault(route, []).append(row["time_ns"] - begun.pop(args["requestId"]))
        else:
            half += 1
    return {route: sorted(ns) for route, ns in took.items()}, half + len(begun)


def test_requests_by_route_are_pairs_of_recorded_events(t):
    """The table, the first screen and the view are one: as many requests, and as long, as the recorded events say."""
    for name, cause in RECORDED.items():
        file = f"tests/corpus/dotnet-awaits-{name}.tapir"
        took, half = pairs_of_events(t, file)
        made = query(t, file, "SELECT * FROM requests WHERE NOT is_call")
        t.eq({row["route"]: (row["count"], row["sum_ns"], row["max_ns"]) for row in made},
             {route: (len(ns), sum(ns), max(ns)) for route, ns in took.items()}, f"{name}: requests")
        t.eq(sum(row["incomplete"] for row in made), half, f"{name}: requests of which one event was recorded")
        for row in made:
            median = took[row["route"]][(row["count"] - 1) // 2]
            t.ok(0.96 * median <= row["p50_ns"] <= 1.04 * median, f"{name}: median {row['p50_ns']}, of the events {median}")
        viewed = json.loads(t.tapir("report", file, "--view", "requests", "--json").out)["routes"]
        t.eq([{key: value for key, value in row.items() if key not in ("is_call", "errors")} for row in made],
             [{key: row[key] for key in made[0] if key not in ("is_call", "errors")} for row in viewed], f"{name}: the view's rows")
        parts = query(t, file, "SELECT * FROM request_parts ORDER BY ns DESC")
        t.eq(sum(part["ns"] for part in parts), sum(row["sum_ns"] for row in made), f"{name}: parts add up")
        t.eq({part["part"]: part["ns"] for part in parts if part["ns"]}, {part["part"]: part["ns"] for row in viewed for part in row["parts"]},
             f"{name}: the view's parts")
        t.eq(parts[0]["part"], cause, f"{name}: the largest part")
        report = json.loads(t.tapir("report", file, "--json").out)
        row = report["overview"]["requests"][0]
        t.eq([row[key] for key in ("name", "count", "ns", "p99_ns", "per_second")],
             [made[0][key] for key in ("route", "count", "sum_ns", "p99_ns", "per_second")], f"{name}: the first screen's row")
        lines = report["first_screen"].splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("Requests "))
        t.ok(lines[at].startswith(f"Requests   {made[0]['route']}  ") and cause in lines[at + 1], lines[at:at + 2])
        t.ok(max(map(len, lines[at:at + 2])) <= 80, lines[at:at + 2])


def test_first_example_of_the_readme_is_what_tapir_prints(t):
    """Of a recording of the corpus; "..." stands for lines that are left out."""
    file = "tests/corpus/dotnet-awaits-one-slow.tapir"
    _, *parts = re.split(r"^\$ ", pathlib.Path("README.md").read_text("utf-8").split("```")[1], flags=re.M)
    shown = 0
    for part in parts:
        command, _, text = part.partition("\n")
        if command.startswith("tapir report slow.tapir"):
            printed = t.tapir("report", file, *command.split()[3:]).out.splitlines()
            lines = [line for line in text.splitlines() if line != "..."]
            t.eq([line for line in lines if line not in printed], [], f"{command}: lines that tapir does not print")
            shown += len(lines)
    t.ok(shown >= 10, f"{shown} lines")


def test_wait_for_a_connection_is_a_part_of_its_own(t):
    """The program has 2 connections to a server that takes 20 ms for an answer: calls that have one of them are never more than two at a time."""
    file = "tests/corpus/dotnet-awaits-connections.tapir"
    parts = {row["part"]: row for row in query(t, file, "SELECT * FROM request_parts WHERE count")}
    queue, call = (parts.get(f"{what} in Awaiting.AskPrice (async)") for what in ("a free connection", "HTTP"))
    t.ok(queue and call, f"both parts: {list(parts)}")
    t.ok(call["each_ns"] >= 20e6, f"a call takes {call['each_ns'] / 1e6:.1f} ms, its server 20")
    report = json.loads(t.tapir("report", file, "--json").out)
    t.ok(call["ns"] <= 2 * report["duration_ns"], f"calls took {call['ns']} ns together, two connections had {report['duration_ns']} each")
    awaited = json.loads(t.tapir("report", file, "--view", "awaits", "--json").out)["awaits"][0]
    t.ok(0.9 * awaited["mean_ns"] <= queue["each_ns"] + call["each_ns"] <= 1.1 * awaited["mean_ns"], f"both are the await: {awaited['mean_ns']}")
    t.ok(queue["ns"] > 2 * call["ns"], "8 requests share two connections: most of the time is the queue's")


def test_requests_without_a_route_are_their_kind(t):
    """Activities of a program are requests without method and path: the intervals of the report, by their name."""
    report = json.loads(t.tapir("report", "tests/corpus/dotnet-orders.tapir", "--json").out)
    row, kinds = report["overview"]["requests"][0], {f"{i['provider']}:{i['name']}": i for i in report["intervals"]}
    t.eq((row["name"], row["route"], "pid" in row), ("Shop-Orders:Order", False, False), "no route")
    t.eq((row["count"], row["ns"]), (kinds[row["name"]]["count"], kinds[row["name"]]["ns"]), "as many, and as long, as the report's intervals")
    t.ok(row["spent"].endswith("% awaiting Task.Delay"), row)
    t.eq(query(t, "tests/corpus/dotnet-orders.tapir", "SELECT * FROM requests"), [], "rows by route")


STATEMENT = "select price, note from orders where id = @id"


def wait_recorded(t, file, cnt):
    """Until so many requests have ended in a recording that goes on."""
    deadline, ended = time.monotonic() + 30 * PATIENCE, 0
    while ended < cnt:
        t.ok(time.monotonic() < deadline, f"{ended} requests of {cnt} were recorded in {30 * PATIENCE:.0f} s")
        time.sleep(0.2)
        answer = t.run(t.tapir_path, "query", file, f"SELECT count(*) AS n FROM events WHERE provider = '{KESTREL}' AND event = 'RequestStop'", "--json")
        ended = json.loads(answer.out)[0]["n"] if answer.rc == 0 else 0


def record_awaiting(t, mode, *options, cnt=40):
    """A recording of programs/Awaiting.cs with so many requests, and what it said of the time until then."""
    program, file = Witness(build_dotnet(t, "Awaiting", "Microsoft.NET.Sdk.Web"), mode), t.path("trace.tapir")
    try:
        pid = program.first()
        program.ask()
        program.child.stdout.readline()  # it counts
        tapir = t.start_tapir("record", *options, "-p", pid, "-f", "-o", file)
        tapir.wait_ready("", 60)
        wait_recorded(t, file, cnt)
        stop(t, tapir)
        program.ask()
        return file, program.answer()
    finally:
        program.end()


def test_statements_are_what_requests_await(t):
    """By events with the names and fields of Microsoft.Data.SqlClient's: of its own, which need a server, none was seen here."""
    file, said = record_awaiting(t, "sql")
    calls, routes = (query(t, file, f"SELECT * FROM requests WHERE {which} is_call") for which in ("", "NOT"))
    t.eq([(row["route"], len(routes)) for row in calls], [(STATEMENT, 1)], "statements, and routes")
    took = sorted(until - begin for begin, until in said["requests"])
    t.ok(0 < calls[0]["count"] <= said["count"], f"{calls[0]['count']} statements, by the program {said['count']}")
    t.ok(150e6 <= calls[0]["p50_ns"] and calls[0]["max_ns"] <= took[-1], f"{calls[0]}, a request took its client up to {took[-1]} ns")
    parts = query(t, file, "SELECT * FROM request_parts WHERE count ORDER BY ns DESC")
    t.eq(parts[0]["part"], f"{STATEMENT} in Awaiting.LoadOrder (async)", "what they await most")
    t.ok(0.5 * routes[0]["sum_ns"] <= parts[0]["ns"] <= routes[0]["sum_ns"], f"{parts[0]} of {routes[0]}")
    t.ok(STATEMENT in json.loads(t.tapir("report", file, "--json").out)["first_screen"], "it is on the first screen")


NPGSQL = ("Npgsql", "9.0.3")


def test_statements_of_npgsql_are_what_requests_await(t):
    """Of a real client and a real server: as many as its log has, and as long as the program's clock around them says."""
    statement = "select note from orders, pg_sleep(0.06) where id = $1"
    with Server(t) as server:
        make_tables(server)
        orders = Service(t, f"Host={server.dir};Username=postgres;Database=postgres", name="Orders", packages=[NPGSQL])
        orders.get("/order/1")  # code is compiled, and its connection is there
        file = t.path("orders.tapir")
        tapir = t.start_tapir("record", "-p", orders.pid, "-f", "-o", file)
        tapir.wait_ready("", 60)
        before, took = server_count(server, statement), []
        for n in range(2, 22):
            t.eq(orders.get(f"/order/{n}")[0], "x" * 50, "the order's note")
            took.append(orders.own_ns)
        stop(t, tapir)
        t.eq(server_count(server, statement) - before, 20, "statements in the server's log")
    found = json.loads(t.tapir("report", file, "--view", "requests", "--json").out)
    route, = found["routes"]
    t.eq((route["route"], route["count"] + found["at_attach"]), ("GET /order/{n}", 20), "requests")
    parts = {part["part"]: part for part in query(t, file, "SELECT * FROM request_parts WHERE count")}
    part = parts.get("select note from orders, pg_sleep(?) where id = $1 in Orders.LoadOrder (async)")  # the program's method, not Npgsql's
    t.ok(part, f"parts: {list(parts)}")
    t.eq(part["count"], route["count"], f"{part}")
    own = sum(took[found["at_attach"]:])
    t.ok(0.8 * own <= part["ns"] <= own, f"{part['ns']} ns, by the program's clock {own}")
    t.ok("select note from orders" in json.loads(t.tapir("report", file, "--json").out)["first_screen"], "it is on the first screen")


def server_count(server, statement):
    """The server logs each when it is executed."""
    return pathlib.Path(server.log).read_text("utf-8").count(f": {statement}")


SQL_CLIENT = ("Microsoft.Data.SqlClient", "6.1.1")
SQL = {"order": "select note from orders where id = @id and year > 2020", "basket": "select price from prices where id = @id"}


@contextlib.contextmanager
def sql_service(t):
    """The peer that answers statements, whose clock is the witness, and the service that makes them."""
    peer = Witness(t.need("python3"), str(PROGRAMS / "sql_peer.py"), "orders=150", "prices=20")
    try:
        service = Service(t, peer.first(), name="SqlOrders", packages=[SQL_CLIENT], has_cultures=True)
        for path in ("/order/1", "/basket/1"):
            service.get(path)  # code is compiled, and its connection is there
        yield peer, service
    finally:
        peer.end()


def seen_by(peer):
    """{statement: how long its answer took each time} since it was asked before."""
    peer.ask()
    took = {}
    for sql, begin, until in peer.answer()["seen"]:
        took.setdefault(sql, []).append(until - begin)
    return took


def test_statements_of_sqlclient_are_what_requests_await(t):
    """Of a real client, and a server whose own clock says how long each statement took it."""
    with sql_service(t) as (peer, service):
        file, took = t.path("sql.tapir"), {"order": [], "basket": []}
        tapir = t.start_tapir("record", "-p", service.pid, "-f", "-o", file)
        tapir.wait_ready("", 60)
        seen_by(peer)
        for n in range(1, 13):
            for path in ("order", "basket"):
                service.get(f"/{path}/{n}")
                took[path].append(service.own_ns)
        stop(t, tapir)
        seen = seen_by(peer)
    t.eq({sql: len(ns) for sql, ns in seen.items()}, {SQL["order"]: 12, SQL["basket"]: 36}, "statements that the server answered")
    found = json.loads(t.tapir("report", file, "--view", "requests", "--json").out)
    t.eq({row["route"]: row["count"] + row["at_attach"] for row in found["routes"]}, {"GET /order/{n}": 12, "GET /basket/{n}": 12}, "requests")
    for row, path, each in ((row, path, each) for row in found["routes"] for path, each in (("order", 1), ("basket", 3)) if path in row["route"]):
        name = f"{SQL[path].replace('2020', '?')} in SqlOrders.Read (async)"
        part = next((part for part in row["dependencies"] if part["what"] == name), None)
        t.ok(part, f"{name}: {row['dependencies']}")
        t.eq((part["count"], part["a_request"]), (each * row["count"], each), f"{part}")
        t.eq(part["how"], "one after the other" if each > 1 else None, f"{part}")
        # From after the server has it to before it answers lies within what its client awaits, and that within the program's clock.
        low, high = sum(sorted(seen[SQL[path]])[:part["count"]]), sum(sorted(took[path])[-row["count"]:])
        t.ok(low <= part["ns"] <= high, f"{part['ns']} ns, by the server's clock {low}, by the program's {high}")
    slow, = (f["text"] for f in t.report(file)["findings"] if f["kind"] == "requests")
    t.ok(f"most of it awaiting the statement {SQL['order'].replace('2020', '?')} in SqlOrders.Read (async), " in slow and "(1 a request)" in slow, slow)


def test_statements_of_sqlclient_are_in_the_trees_of_requests(t):
    """With trace ids: each below the request that made it, whatever thread it was made on."""
    with sql_service(t) as (peer, service):
        tapir, file = record(t, service)
        seen_by(peer)
        traces = {f"{n:032x}": ("order", "basket")[n % 2] for n in range(1, 7)}
        for trace, path in traces.items():
            service.get(f"/{path}/1", trace)
        stop(t, tapir)
        seen = seen_by(peer)
    tree = {row["trace_id"]: row for row in json.loads(t.tapir("report", file, "--view", "requests", "--top", 50, "--json").out)["slowest"]}
    t.eq(sorted(tree), sorted(traces), "requests by their trace ids")
    kinds = [row["kind"] for row in check_spans(t, file, tree.values())]
    t.eq((kinds.count("request"), kinds.count("statement"), len(kinds)), (6, 12, 18), "spans")
    for trace, path in traces.items():
        spans = [(part["part"].strip(), part["ns"]) for part in tree[trace]["parts"] if part["kind"] == "span"]
        t.eq([name for name, _ in spans], [f"GET /{path}/1"] + [SQL[path]] * (1 if path == "order" else 3), f"spans of {trace}")
        t.ok(all(ns >= min(seen[SQL[path]]) for _, ns in spans), f"{spans}, by the server's clock {seen[SQL[path]]}")
        t.ok(sum(ns for _, ns in spans[1:]) <= spans[0][1], f"{spans}")


def test_items_of_an_iterator_are_what_it_awaits(t):
    """Each request reads six pages of an IAsyncEnumerable, one after the other, of which each takes 25 ms at least."""
    file, _ = record_awaiting(t, "pages")
    route, = query(t, file, "SELECT * FROM requests WHERE NOT is_call")
    parts = query(t, file, "SELECT * FROM request_parts WHERE count ORDER BY ns DESC")
    t.eq((parts[0]["part"], parts[0]["how"]), ("HTTP in Awaiting.ReadPages (async)", "one after the other"), f"{parts}")
    t.ok(route["count"] and parts[0]["each_ns"] >= 25e6 and 5.5 <= parts[0]["a_request"] <= 6, f"{route}: {parts}")


def test_wait_for_a_connection_is_that_of_its_event(t):
    """The client says of each call how long it waited for a connection: 8 at a time have 2 connections."""
    file, _ = record_awaiting(t, "connections", "--profile", "default", "System.Net.Http:ev=RequestLeftQueue:Informational",
                             "System.Threading.Tasks.TplEventSource:0x21:Informational")
    said = sorted(json.loads(row["args"])["timeOnQueueMilliseconds"] * 1e6
                  for row in query(t, file, "SELECT args FROM events WHERE event = 'RequestLeftQueue'"))
    parts = {row["part"]: row for row in query(t, file, "SELECT * FROM request_parts WHERE count")}
    queue = parts.get("a free connection in Awaiting.AskPrice (async)")
    t.ok(queue, f"parts: {list(parts)}")
    # The edges of the recording cut the requests of all clients.
    t.ok(0.9 * sum(said[:-16]) <= queue["ns"] <= 1.05 * sum(said), f"{queue} by {len(said)} events, {sum(said)} ns")
