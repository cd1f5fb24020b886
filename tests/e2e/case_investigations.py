# SPDX-License-Identifier: GPL-2.0-or-later
"""From a symptom to its cause by two commands, as INVESTIGATIONS.md tells it: run with --only 'investigations*' -v to see
what tapir says on the way."""
import os
import signal
import statistics
import subprocess
import threading
import time
import urllib.error
import urllib.request

from answers import measured, near
from case_answers_postgresql import end_sessions, psql
from case_runtimes import Server
from case_slow_programs import ask
from case_timeline import view
from dotnet_program import build_dotnet

TIMEOUT = 120
# They measure time; the causes they arrive at are those of answers*.
CHECK_LONG = {"test_dotnet_checkouts_that_block_the_pool", "test_jvm_lock_convoy", "test_postgresql_payments_that_wait"}


# ---- checkouts that block the thread pool ------------------------------------------------------------

CLIENTS = 60


class Checkout:
    """The service of tests/e2e/programs/Checkout.cs and its warehouse, and clients, each with one checkout at a time."""

    def __init__(self, t, *how):
        if "Microsoft.AspNetCore.App" not in t.run(t.need("dotnet"), "--list-runtimes").out:
            t.skip("not installed: the ASP.NET runtime")
        program = build_dotnet(t, "Checkout", "Microsoft.NET.Sdk.Web")
        self.warehouse, self.stock = self.start(t, program)
        self.service, self.url = self.start(t, program, self.stock, *how)
        self.took, self.is_over = [], threading.Event()
        self.clients = [threading.Thread(target=self.buy, args=(at,), daemon=True) for at in range(CLIENTS)]

    @staticmethod
    def start(t, program, *args):
        process = t.start(program, *args)
        return process, f"http://127.0.0.1:{process.wait_line('pid ', timeout=60).split()[3]}"

    @staticmethod
    def get(url):
        begin = time.monotonic()
        with urllib.request.urlopen(url, timeout=60) as answer:
            answer.read()
        return time.monotonic() - begin

    def buy(self, at):
        while not self.is_over.is_set():
            try:
                self.took.append((time.monotonic(), self.get(f"{self.url}/checkout/{at}")))
            except (OSError, urllib.error.URLError):
                return  # the service has ended
            at += CLIENTS

    def workers(self):
        """Of its thread pool, by /proc."""
        tasks = f"/proc/{self.service.pid}/task"
        names = []
        for tid in os.listdir(tasks):
            try:
                with open(f"{tasks}/{tid}/comm", encoding="utf-8") as file:
                    names.append(file.read().strip())
            except OSError:
                pass  # it has ended
        return names.count(".NET TP Worker")

    def end(self):
        self.is_over.set()
        for process in (self.service, self.warehouse):
            process.signal(signal.SIGKILL)
            process.wait()


def record_checkouts(t, file, *how):
    """Seconds of each checkout that began and ended meanwhile, by its client's clock, and the pool's threads, over time."""
    checkout = Checkout(t, *how)
    for client in checkout.clients:
        client.start()
    time.sleep(0.5)
    tapir = t.start_tapir("record", "-p", checkout.service.pid, "-d", "6", "-f", "-o", file)
    tapir.wait_ready(".NET events", timeout=30)
    begin, workers = time.monotonic(), []
    while time.monotonic() < begin + 6:
        workers.append(checkout.workers())
        time.sleep(0.05)
    t.eq(tapir.wait(30).rc, 0, "exit")
    took = [seconds for at, seconds in list(checkout.took) if at > begin]
    asked = statistics.median(checkout.get(f"{checkout.stock}/stock/1") for _ in range(5))
    checkout.end()
    return took, statistics.mean(workers), asked


@measured
def test_dotnet_checkouts_that_block_the_pool(t):
    file = t.path("checkout.tapir")
    took, workers, asked = record_checkouts(t, file)
    t.ok(len(took) < CLIENTS and asked < 0.5, f"the symptom: {len(took)} checkouts in 6 s, the warehouse answers in {asked} s")
    first = ask(t, file).splitlines()[0]
    t.ok(first.startswith("thread pool starvation: ") and " pool threads are blocked on average in Checkout.AskWarehouse(int)" in first,
         f"the report leads with it: {first}")
    near(t, float(first.split()[3]), workers, "threads of the pool, all of which are blocked")
    ask(t, file, "--view", "threadpool", "--top", "2")
    blocked = view(t, file, "threadpool")["blocked"][0]
    t.ok(any(name.startswith("Checkout.Reserve(") for name in blocked["stack"]), f"who calls it: {blocked['stack']}")
    fixed, _, _ = record_checkouts(t, file, "await")
    first = ask(t, file).splitlines()[0]
    t.ok("starvation" not in first, f"awaited: {first}")
    t.ok(len(fixed) > 10 * max(len(took), CLIENTS), f"awaited: {len(fixed)} checkouts in 6 s, it were {len(took)}")


# ---- a lock convoy in a JVM ------------------------------------------------------------------------

ORDERS = 1200  # a little above 5 ms each


def test_jvm_lock_convoy(t):
    java, javac = t.need("java", "javac")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "Convoy.java")
    t.eq(t.run(javac, "--release", "11", "-d", t.path("classes"), source).rc, 0, "javac")
    file, command = t.path("convoy.tapir"), (java, "-cp", t.path("classes"), "Convoy", str(ORDERS))
    convoy = t.start(*command)
    time.sleep(0.7)  # it starts
    t.eq(t.tapir("record", "-p", convoy.pid, "-d", "4", "-f", "-o", file).rc, 0, "record")
    slow = convoy.wait(60).witness()
    t.ok(slow["ms"] > ORDERS * 5, f"the symptom: {slow}, 5 ms an order, as many workers there are")
    first = ask(t, file).splitlines()[0]
    t.ok(first.startswith("threads waited ") and " for a monitor: " in first and "worker-*, in Convoy$Inventory.book(int)" in first,
         f"the report leads with it: {first}")
    ask(t, file, "--view", "contention", "--top", "1")
    worst = view(t, file, "contention", "--top", "1")["locks"][0]
    t.ok(worst["kind"] == "monitor" and worst["percent"] > 90, f"nearly all of it: {worst['percent']} % {worst['kind']}")
    t.ok(all((way["held_by"] or "worker-").startswith("worker-") for way in worst["waiters"][:3]), f"who lets go: {worst['waiters'][:3]}")
    fixed = t.run(*command, "fixed").witness()
    t.ok(fixed["ms"] < slow["ms"] / 2, f"written after the lock is released: {fixed}, it was {slow}")


# ---- payments that wait for a report -----------------------------------------------------------------


@measured
def test_postgresql_payments_that_wait(t):
    file = t.path("waits.tapir")
    with Server(t) as server:
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c", "create table accounts(id int primary key, cents bigint)",
                   "-c", "insert into accounts select i, 0 from generate_series(1, 1000) i")
        report = psql(server, "begin", "update accounts set cents = 0 where id = 7", "select pg_sleep(60)")
        time.sleep(0.5)  # it has the row
        payers = [psql(server, f"update accounts set cents = cents + {i} where id = {i}") for i in (6, 7, 8)]
        time.sleep(0.5)
        waits = [payer.poll() is None for payer in payers]
        t.eq(waits, [False, True, False], "the symptom: one of three payments is not made")
        t.eq(t.tapir("record", "--comm", "postgres", "-d", "2", "-f", "-o", file).rc, 0, "record")
        for client in (report, *payers):
            client.kill()
            client.wait()
        end_sessions(server)
    first = ask(t, file).splitlines()[0]
    t.ok("accounts" in first and "pg_sleep" in first, f"the report leads with it: {first}")
