# SPDX-License-Identifier: GPL-2.0-or-later
"""From a symptom to its cause, as README tells it: run with --only 'investigations*' -v to see what
tapir says on the way."""
import os
import subprocess

from case_runtimes import Server
from case_timeline import MS, sums, view

TIMEOUT = 180


def ask(t, file, *options):
    """What a person reads; shown when the run is verbose."""
    text = t.tapir("report", file, *options).out
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
    t.ok(all((way["let_go_by"] or "worker-").startswith("worker-") for way in worst["waiters"][:3]), "who lets go")
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
        tapir.wait_line("tapir: ")
        # A nightly report that holds a row while it sums up: 0.6 s; and clients that pay meanwhile.
        holder = session(server, "begin; update accounts set cents = 0 where id = 7; select pg_sleep(0.6); commit")
        payers = [session(server, f"select pg_sleep(0.2); update accounts set cents = cents + {i} where id = {i}")
                  for i in (6, 7, 8)]
        for process in [holder, *payers]:
            t.eq(process.wait(20), 0, f"psql: {process.stdout.read()}")
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
    t.ok("for locks, " in ask(t, file).splitlines()[0], "the report leads with it")
    ask(t, file, "--view", "slow=query", "--top", "2")
    queries = {q["label"]: q for q in view(t, file, "slow=query", "--all")["slowest"]}
    waited = next(q for label, q in queries.items() if "where id = 7" in label and "+ 7" in label)
    others = [q for label, q in queries.items() if "where id = 6" in label or "where id = 8" in label]
    t.ok(waited["ns"] > 500 * MS and all(q["ns"] < 400 * MS for q in others), f"the symptom: {waited['ns'] / MS} ms")
    lock = next(p for p in waited["parts"] if p["cause"] == "lock" and p["state"] == "sleeping")
    t.ok(0.3 < lock["ns"] / waited["ns"] and lock["ns"] > 250 * MS, f"in a lock: {lock}")
    t.ok(lock["cause_label"].startswith("transaction ") and lock["cause_label"].endswith(" Share"), lock["cause_label"])
    t.ok("ProcSleep" in lock["stack"], f"where it waits: {lock['stack']}")
    t.ok((lock["ended_in"] or "").startswith("query begin; update accounts set cents = 0"), f"who had it, in which query: {lock}")
    t.ok("pg_sleep" in lock["holder_stack"], f"and what that did meanwhile: {lock['holder_stack']}")
    t.eq(sum(p["ns"] for p in waited["parts"]), waited["ns"], "parts add up to the whole")
    t.eq(sums(waited["parts"], cause="lock") > lock["ns"], True, "with what it ran and waited for a CPU inside")
