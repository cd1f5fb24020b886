# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are slow for a while, by probes and providers that are asked for: what a view has of each of their requests, waits
and collections, beside what the program and its client measured."""
import json
import os
import re
import signal
import statistics
import subprocess
import threading
import time
import urllib.request

from case_runtimes import Server
from case_timeline import MS, RUNTIME, sums, view
from dotnet_program import build_dotnet

TIMEOUT = 180
# They measure time; the causes they arrive at are those of answers*.
CHECK_LONG = {"test_jvm_lock_convoy", "test_postgresql_query_that_waits", "test_dotnet_request_slowed_by_gen2_collections"}


def ask(t, file, *options):
    """A view, or without options all that was counted; shown when the run is verbose."""
    text = t.tapir("report", file, *(options or ("--all",))).out
    if t.verbose:
        print("\n".join("      " + line for line in text.splitlines()[:30]), flush=True)
    return text


# ---- a lock convoy in a JVM ------------------------------------------------------------------------

COMPILED = ("-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Convoy*::*",
            "-XX:CompileCommand=dontinline,Convoy*::*")


def convoy(t, *args, record=None):
    java, javac = t.need("java", "javac")
    classes = t.path("classes")
    if not os.path.isdir(classes):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Convoy.java")
        t.eq(t.run(javac, "--release", "11", "-d", classes, source).rc, 0, "javac")
    command = [java, "-XX:+DTraceMonitorProbes", "-XX:+PreserveFramePointer", *COMPILED, "-cp", classes, "Convoy", *args]
    if not record:
        return t.run(*command).witness()
    return t.tapir("record", "hotspot:monitor__contended__*", "hotspot:thread__sleep__*", "--stack", "-f", "-o", record,
                   "--", *command, timeout=90).witness()


def test_jvm_lock_convoy(t):
    file = t.path("convoy.tapir")
    slow = convoy(t, "200", record=file)  # four workers and 1 ms of work an order: 50 ms would do
    t.ok(slow["ms"] > 200 * 5, f"the symptom: {slow}")
    first = ask(t, file).splitlines()[0]
    t.ok("for locks, " in first and "Convoy$Inventory" in first, f"the report leads with it: {first}")
    ask(t, file, "--view", "contention", "--top", "1")
    worst = view(t, file, "contention", "--top", "1")["locks"][0]
    t.ok(worst["kind"] == "monitor" and worst["label"].startswith("Convoy$Inventory "), f"which lock: {worst['label']}")
    t.ok(worst["percent"] > 90 and worst["ns"] > slow["ms"] * MS, f"four threads wait for most of the time: {worst['ns']}")
    waiters = [way["stack"] for way in worst["waiters"] if way["stack"]]
    t.ok(any("book" in name for name in waiters[0]), f"where they wait: {waiters[0]}")
    holders = [name for way in worst["waiters"] for name in way["holder_stack"] or []]
    t.ok(any("Audit.append" in name for name in holders), f"what the holder does meanwhile: {sorted(set(holders))}")
    t.ok(all((way["held_by"] or "worker-").startswith("worker-") for way in worst["waiters"][:3]), "who lets go")
    fixed = convoy(t, "200", "fixed", record=file)
    left = sum(lock["ns"] for lock in view(t, file, "contention", "--all")["locks"] if lock["kind"] == "monitor")
    t.ok(left < 0.2 * worst["ns"], f"the line behind the lock: {left / MS} ms, it was {worst['ns'] / MS} ms")
    t.ok(fixed["ms"] < slow["ms"], f"and it is faster: {fixed}, it was {slow}")


# ---- a query that waits ------------------------------------------------------------------------------


def session(server, script):
    """A client of its own, in the background."""
    return subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c", script],
                            user=server.user.pw_uid, group=server.user.pw_gid, extra_groups=[], cwd=server.dir,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_postgresql_query_that_waits(t):
    with Server(t) as server:
        file = t.path("waits.tapir")
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c",
                   "create table accounts(id int primary key, cents bigint)", "-c",
                   "insert into accounts select i, 0 from generate_series(1, 1000) i")
        tapir = t.start_tapir("record", "postgresql:query__start", "postgresql:query__done", "postgresql:lock__wait__*",
                              "--comm", "postgres", "-f", "-o", file)
        tapir.wait_ready()
        # A nightly report that holds a row while it sums up: 1 s; and clients that pay meanwhile.
        holder = session(server, "begin; update accounts set cents = 0 where id = 7; select pg_sleep(1); commit")
        payers = [session(server, f"select pg_sleep(0.2); update accounts set cents = cents + {i} where id = {i}")
                  for i in (6, 7, 8)]
        for process in [holder, *payers]:
            t.eq(process.wait(20), 0, f"psql: {process.stdout.read()}")
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
    first = ask(t, file).splitlines()[0]
    t.ok("for locks, " in first, f"the report leads with it: {first}")
    ask(t, file, "--view", "slow=query", "--top", "2")
    queries = {q["label"]: q for q in view(t, file, "slow=query", "--all")["slowest"]}
    waited = next(q for label, q in queries.items() if "where id = 7" in label and "+ 7" in label)
    others = [q for label, q in queries.items() if "where id = 6" in label or "where id = 8" in label]
    t.ok(waited["ns"] > 500 * MS and all(q["ns"] < 400 * MS for q in others), f"the symptom: {waited['ns'] / MS} ms")
    lock = next(p for p in waited["parts"] if p["cause"] == "lock" and p["state"] == "sleeping")
    t.ok(0.3 < lock["ns"] / waited["ns"] and lock["ns"] > 250 * MS, f"in a lock: {lock}")
    t.ok(re.fullmatch(r"transaction \d+", lock["cause_label"]), lock["cause_label"])
    t.ok("ProcSleep" in lock["stack"], f"where it waits: {lock['stack']}")
    t.ok((lock["ended_in"] or "").startswith("query begin; update accounts set cents = 0"), f"who had it, in which query: {lock}")
    t.ok("pg_sleep" in lock["holder_stack"], f"and what that did meanwhile: {lock['holder_stack']}")
    t.eq(sum(p["ns"] for p in waited["parts"]), waited["ns"], "parts add up to the whole")
    t.eq(sums(waited["parts"], cause="lock") > lock["ns"], True, "with what it ran and waited for a CPU inside")


# ---- a .NET request slowed by collections --------------------------------------------------------------

CLIENTS, REQUESTS = 3, 60
WARM_ID = 1_000_000  # from there on: not measured


class Catalog:
    """The service of tests/e2e/programs/Catalog.cs, its collector as it is on one CPU, or by configuration."""

    def __init__(self, t, *args):
        if "Microsoft.AspNetCore.App" not in t.run(t.need("dotnet"), "--list-runtimes").out:
            t.skip("not installed: the ASP.NET runtime")
        self.process = t.start(build_dotnet(t, "Catalog", "Microsoft.NET.Sdk.Web"), *args,
                               env={**os.environ, "DOTNET_gcServer": "0", "DOTNET_gcConcurrent": "0"})
        self.port = int(self.process.wait_line("pid ", timeout=60).split()[3])
        self.pid = self.process.pid

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return json.load(answer)

    def warm_up(self, seconds):
        until, at = time.monotonic() + seconds, WARM_ID
        while time.monotonic() < until:
            self.get(f"/preview/{at}")
            at += 1
            time.sleep(0.05)

    def load(self):
        """Milliseconds by path: (what the service says, what its client waited)."""
        took = {}

        def client(number):
            for at in range(number * REQUESTS, (number + 1) * REQUESTS):
                begin = time.monotonic()
                own = self.get(f"/preview/{at}")["ms"]
                took[f"GET /preview/{at}"] = own, (time.monotonic() - begin) * 1000

        clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        return took


def catalog(t, file, *args):
    """Milliseconds by path, and how many collections of generation 2 there were, and what they took."""
    service = Catalog(t, "2000000", *args)
    service.warm_up(0.5)
    tapir = t.start_tapir("record", f"{RUNTIME}:GC:Verbose", "Microsoft.AspNetCore.Hosting", "-p", service.pid,
                          "-f", "-o", file)
    tapir.wait_ready(".NET events", timeout=30)
    before = service.get("/health")
    took = service.load()
    after = service.get("/health")
    time.sleep(0.2)
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait(30).rc, 0, "exit")
    service.process.signal(signal.SIGTERM)
    t.eq(service.process.wait().rc, 0, "the service ends as ever")
    return took, after["gen2"] - before["gen2"], after["pause_ms"] - before["pause_ms"]


def has(stack, function):
    return any(name.startswith(function) for name in stack or [])


def requests_are_those_of_the_witness(t, file, took):
    found = {r["label"]: r["ns"] / MS for r in view(t, file, "slow=request", "--all")["slowest"]}
    missing = sorted(set(took) - set(found))
    t.ok(not missing, f"{len(missing)} of {len(took)} requests are not in the file: {missing[:3]}")
    early = [(path, found[path], own) for path, (own, _) in took.items() if found[path] < own - 1]
    t.ok(not early, f"shorter than the service says: {early[:3]}")
    late = [(path, found[path], waited) for path, (_, waited) in took.items() if found[path] > waited + 2]
    t.ok(len(late) < len(took) / 10, f"longer than the client waited: {late[:3]}")


def slow_requests_stood_in_the_collector(t, file, gen2):
    slow = [r for r in view(t, file, "slow=request", "--top", str(max(gen2, 2)))["slowest"] if r["ns"] > 40 * MS]
    in_gc = [r for r in slow if sums(r["parts"], cause="gc") > 0.5 * r["ns"]]
    t.ok(slow and len(in_gc) >= len(slow) / 2, f"{len(in_gc)} of the {len(slow)} slowest were in GC for the most part")
    t.eq([sum(p["ns"] for p in r["parts"]) for r in slow], [r["ns"] for r in slow], "parts add up to the whole")
    parts = [p for r in in_gc for p in r["parts"] if p["cause"] == "gc"]
    collects = [p for p in parts if p["state"] == "running" and has(p["stack"], "Catalog.DrawPreview(")]
    waits = [p for p in parts if (p["ended_in"] or "").startswith("request GET /preview/")
             and has(p["holder_stack"], "Catalog.DrawPreview(")]
    t.ok(collects or waits, "which request collects, or waits for another one that does, and from where")


def test_dotnet_request_slowed_by_gen2_collections(t):
    file = t.path("catalog.tapir")
    took, gen2, pause_ms = catalog(t, file)
    own = sorted(ms for ms, _ in took.values())
    median = statistics.median(own)
    t.ok(gen2 and own[-1] > 40 and own[-1] > 5 * median, f"the symptom: {own[-1]} ms, median {median} ms")
    headline = ask(t, file).splitlines()[0]
    t.ok(re.search(rf"GC: \d+ collections? \({gen2} gen 2\), .*; the longest collection: AllocLarge NonConcurrentGC; ", headline),
         f"the report leads with it: {headline}")
    t.ok(" allocated from Catalog.DrawPreview(" in headline, f"and with who allocates: {headline}")
    requests_are_those_of_the_witness(t, file, took)
    ask(t, file, "--view", "slow=request", "--top", "2")
    slow_requests_stood_in_the_collector(t, file, gen2)
    ask(t, file, "--view", "gc", "--top", "3")
    gc = view(t, file, "gc", "--all")
    full = [p for p in gc["pauses"] if (p["reason"] or "").startswith("gen 2 ")]
    t.eq([p["reason"] for p in full], ["gen 2 AllocLarge NonConcurrentGC"] * gen2, "collections")
    # A thread may lose its CPU between the runtime's look at its clock and its event.
    t.ok(abs(gc["sum_ns"] / MS - pause_ms) <= max(gc["count"], 0.1 * pause_ms), f"paused {gc['sum_ns'] / MS} ms, the runtime says {pause_ms}")
    t.ok(all(p["promoted_bytes"] > 100e6 for p in full), f"what it goes through each time: {full[0]}")
    ask(t, file, "--view", "allocations", "--top", "1")
    for name in ("gc", "allocations"):
        most = view(t, file, name, "--top", "1")["allocations"][0]
        t.ok(most["type"] == "System.Byte[]" and most["percent"] > 80, f"--view {name}, what: {most['type']}")
        t.ok(has(most["stacks"][0]["stack"], "Catalog.DrawPreview("), f"and where: {most['stacks'][0]['stack']}")
    fixed, left, _ = catalog(t, t.path("fixed.tapir"), "pooled")
    t.ok(left < gen2 / 2, f"from a pool: {left} collections, they were {gen2}")
    headline = ask(t, t.path("fixed.tapir")).splitlines()[0]
    t.ok(left or "AllocLarge" not in headline, f"the report does not say so any more: {headline}")
    requests_are_those_of_the_witness(t, t.path("fixed.tapir"), fixed)
