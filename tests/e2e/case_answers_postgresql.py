# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a PostgreSQL server: a wait for a lock that lock_timeout ends lasts that long and
no longer, and is told with its statement. The witness is the client's clock, and the error the server reports to it."""
import json
import re
import subprocess
import time

from case_runtimes import Server

ALONE = True  # it measures time
TIMEOUT_MS = 600


def psql(server, *commands):
    args = [word for command in commands for word in ("-c", command)]
    return subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-h", server.dir, "-d", "postgres", *args], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, user="postgres")


def timed_out(t, server):
    """A client that gives up; how long its statement took, in ms, by its own clock."""
    client = psql(server, f"set lock_timeout = '{TIMEOUT_MS}ms'", "\\timing on", "update accounts set cents = 5 where id = 7",
                  "select 1")
    text = client.communicate(timeout=20)[0]
    t.ok("canceling statement due to lock timeout" in text, text)
    return float(re.search(r"Time: ([\d.]+) ms", text).group(1))


def test_wait_that_a_timeout_ends_lasts_until_then(t):
    with Server(t) as server:
        file = t.path("timeout.tapir")
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c", "create table accounts(id int primary key, cents bigint)",
                   "-c", "insert into accounts values (7, 0)")
        holder = psql(server, "begin; update accounts set cents = 1 where id = 7; select pg_sleep(2); commit")
        tapir = t.start_tapir("record", "--comm", "postgres", "-f", "-o", file)
        tapir.wait_ready()
        time.sleep(0.2)  # the holder has the row by now
        took_ms = timed_out(t, server)
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
        holder.kill()
        holder.wait()
    report = json.loads(t.tapir("report", file, "--json").out)
    lock = next(i for i in report["intervals"] if i["name"] == "lock")
    t.eq((lock["count"], lock["half"]), (1, 0), f"it has ended: {lock}")
    t.ok(abs(lock["ns"] / 1e6 - took_ms) < 0.05 * took_ms, f"{lock} {took_ms}")
    first = next(f for f in report["findings"] if f["kind"] == "locks")
    t.ok("lock transaction " in first["text"] and "update accounts set cents = ? where id = ?" in first["text"], first["text"])
