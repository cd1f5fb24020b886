# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a PostgreSQL server. A wait for a lock that lock_timeout ends lasts that long and no
longer; the witnesses are clients' clocks and counts, and the errors that the server reports to them."""
import json
import os
import pathlib
import re
import subprocess
import time

from answers import NotSeen, alone, leads, measures, near
from case_runtimes import Server

ALONE = True  # it measures time
TIMEOUT_MS = 600


def psql(server, *commands):
    args = [word for command in commands for word in ("-c", command)]
    return subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-h", server.dir, "-d", "postgres", *args], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, user="postgres")


def end_sessions(server):
    """Of clients that have ended, too: a server that sleeps does not see it."""
    server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c",
               "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'")


def timed_out(t, server):
    """A client that gives up; how long its statement took, in ms, by its own clock."""
    client = psql(server, f"set lock_timeout = '{TIMEOUT_MS}ms'", "\\timing on", "update accounts set cents = 5 where id = 7",
                  "select 1")
    text = client.communicate(timeout=20)[0]
    t.ok("canceling statement due to lock timeout" in text, text)
    return float(re.search(r"Time: ([\d.]+) ms", text).group(1))


@alone
def test_wait_that_a_timeout_ends_lasts_until_then(t):
    with Server(t) as server:
        file = t.path("timeout.tapir")
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c", "create table accounts(id int primary key, cents bigint)",
                   "-c", "insert into accounts values (7, 0)")
        holder = psql(server, "begin; update accounts set cents = 1 where id = 7; select pg_sleep(60); commit")
        tapir = t.start_tapir("record", "--comm", "postgres", "-f", "-o", file)
        tapir.wait_ready()
        time.sleep(0.2)  # the holder has the row by now
        took_ms = timed_out(t, server)
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
        holder.kill()
        holder.wait()
        end_sessions(server)
    report = json.loads(t.tapir("report", file, "--json").out)
    lock = next(i for i in report["intervals"] if i["name"] == "lock")
    t.eq((lock["count"], lock["half"]), (1, 0), f"it has ended: {lock}")
    near(t, lock["ns"] / 1e6, took_ms, "ms")
    first = next(f for f in report["findings"] if f["kind"] == "locks")
    t.ok("lock transaction " in first["text"] and "update accounts set cents = ? where id = ?" in first["text"], first["text"])


# ---- clients that keep a server busy, each with an application_name --------------------------------------


class Clients:
    """pgbench with a statement of ours, and what it says at the end."""

    def __init__(self, server, name, statement, cnt, seconds, *options):
        script = os.path.join(server.dir, f"{name}.sql")
        pathlib.Path(script).write_text(statement, encoding="utf-8")
        self.server, self.name = server, name
        self.child = subprocess.Popen([f"{server.bin}/pgbench", "-n", "-h", server.dir, "-c", str(cnt), "-T", str(seconds), "-f", script,
                                       *options, "postgres"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, user="postgres",
                                      env={**os.environ, "PGAPPNAME": name})

    def pids(self):
        """Its servers' processes, by the server's own list."""
        return self.server.run("psql", "-X", "-A", "-t", "-h", self.server.dir, "-d", "postgres", "-c",
                               f"select pid from pg_stat_activity where application_name = '{self.name}'").split()

    def said(self):
        """(transactions a second, milliseconds of one)."""
        text = self.child.communicate(timeout=30)[0]
        return tuple(float(re.search(pattern, text).group(1)) for pattern in (r"tps = ([\d.]+)", r"latency average = ([\d.]+)"))


def make_tables(server):
    server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres",
               "-c", "create table accounts(id int primary key, cents bigint)", "-c", "insert into accounts values (7, 0), (8, 0)",
               "-c", "create table orders(id int, customer int, note text)",
               "-c", "insert into orders select i, i % 1000, repeat('x', 50) from generate_series(1, 100000) i")


def connected(server):
    return int(server.run("psql", "-X", "-A", "-t", "-h", server.dir, "-d", "postgres", "-c",
                          "select sessions from pg_stat_database where datname = 'postgres'"))


@alone
def test_first_line_names_what_a_server_does(t):
    with Server(t) as server:
        make_tables(server)
        file, seconds = t.path("server.tapir"), 7
        groups = {
            "hot": Clients(server, "hot", "begin;\nupdate accounts set cents = cents + 1 where id = 7;\nselect pg_sleep(0.02);\ncommit;\n", 4,
                           seconds),
            "index": Clients(server, "index", "\\set c random(1, 1000)\nselect * from orders where customer = :c;\n", 1, seconds),
            "sleep": Clients(server, "sleep", "select pg_sleep(0.3);\n", 1, seconds)}
        holder = psql(server, "begin; update accounts set cents = 1 where id = 8; select pg_sleep(20)")
        time.sleep(0.5)
        waiter = Clients(server, "waiter", "update accounts set cents = 2 where id = 8;\n", 1, 1)
        time.sleep(1)
        pids = {name: clients.pids() for name, clients in groups.items()}
        pids["waiter"] = waiter.pids()
        t.tapir("record", "--comm", "postgres", "-d", 3, "-f", "-o", file)
        holder.kill()
        holder.wait()
        said = {name: clients.said() for name, clients in groups.items()}
        waiter.child.kill()
        waiter.child.communicate()
        end_sessions(server)
        short = Clients(server, "short", "select 1;\n", 2, 4, "-C")
        time.sleep(0.3)
        recorder = t.start_tapir("record", "--comm", "postgres", "-d", 1.5, "-f", "-o", t.path("short.tapir"))
        recorder.wait_ready(timeout=30)
        connections, begin = connected(server), time.monotonic()
        recorder.wait(30)
        rate = (connected(server) - connections) / (time.monotonic() - begin)
        short.said()
    reports = {name: json.loads(t.tapir("report", file, "-p", ",".join(of), "--json").out) for name, of in pids.items()}
    if t.verbose:
        for name, report in reports.items():
            print(f"      {name}: {report['headline']}\n        {said.get(name)}", flush=True)
    tps, _ = said["hot"]
    # What its clients measure has their own time between two transactions, and pgbench counts for longer than the recording lasts.
    near(t, leads(t, reports["hot"], "locks", "lock ", "update accounts set cents = cents + ? where id = ?"), 4 - tps * 0.02, "waiting clients", 0.25)
    if re.search(r"stacks of (100|[5-9]\d)% of samples lack callers", reports["index"]["headline"]):
        raise NotSeen(reports["index"]["headline"])  # what they need is made in the background
    leads(t, reports["index"], "cpu-purpose", "scans whole tables for rows", "select * from orders where customer = ?")
    slept_ms = leads(t, reports["sleep"], "requests", "of their time asleep;", ": select pg_sleep(0.3)")
    measures(t, slept_ms >= 294, f"it sleeps that long, as exact as a histogram is: {slept_ms}")
    near(t, leads(t, reports["waiter"], "locks", "for a PostgreSQL lock"), 1, "threads that have waited since before the recording", 0.05)
    report = json.loads(t.tapir("report", t.path("short.tapir"), "--json").out)
    # The server counts a connection when it is over, and processes begin in bursts.
    near(t, leads(t, report, "processes", "started a second, each for one connection"), rate, "connections a second", 0.5)
