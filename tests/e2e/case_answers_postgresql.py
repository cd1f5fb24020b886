# SPDX-License-Identifier: GPL-2.0-or-later
"""The first line of a report names what is wrong with a PostgreSQL server. A wait for a lock that lock_timeout ends lasts that long and no
longer; the witnesses are clients' clocks and counts, and the errors that the server reports to them."""
import json
import os
import pathlib
import re
import subprocess
import time

from answers import leads, measured, measures, near, span, within
from case_runtimes import Server

TIMEOUT_MS = 600
# What recordings of the corpus hold, too: postgresql-*.
CHECK_LONG = {"test_first_line_names_what_a_server_does", "test_lock_of_a_table_has_its_name",
              "test_wait_that_a_timeout_ends_lasts_until_then", "test_first_line_names_short_connections",
              "test_first_line_names_the_disk_that_commits_wait_for", "test_first_line_names_settings_that_are_too_small",
              "test_first_line_names_statements_that_are_sent_one_by_one", "test_lines_name_what_else_a_server_computes"}


def psql(server, *commands, database="postgres"):
    args = [word for command in commands for word in ("-c", command)]
    return subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-h", server.dir, "-d", database, *args], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, user="postgres")


def answer(server, query, database="postgres"):
    return server.run("psql", "-X", "-A", "-t", "-q", "-h", server.dir, "-d", database, "-c", query).strip()


def end_sessions(server):
    """Of clients that have ended, too: a server that sleeps does not see it."""
    server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c",
               "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'")


def timed_out(t, server):
    """A client that gives up: the process of the server that serves it, and how long its statement took, in ms, by its own clock."""
    client = psql(server, f"set lock_timeout = '{TIMEOUT_MS}ms'", "select pg_backend_pid()", "\\timing on", "update accounts set cents = 5 where id = 7",
                  "select 1")
    text = client.communicate(timeout=80)[0]
    t.ok("canceling statement due to lock timeout" in text, text)
    return re.search(r"^ *(\d+)$", text, re.M).group(1), float(re.search(r"Time: ([\d.]+) ms", text).group(1))


@measured
def test_wait_that_a_timeout_ends_lasts_until_then(t):
    with Server(t) as server:
        file = t.path("timeout.tapir")
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c", "create table accounts(id int primary key, cents bigint)",
                   "-c", "insert into accounts values (7, 0)")
        holder = psql(server, "begin; update accounts set cents = 1 where id = 7; select pg_sleep(60); commit")
        tapir = t.start_tapir("record", "--comm", "postgres", "-f", "-o", file)
        tapir.wait_ready()
        time.sleep(0.2)  # the holder has the row by now
        pid, took_ms = timed_out(t, server)
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
        holder.kill()
        holder.wait()
        end_sessions(server)
    report = json.loads(t.tapir("report", file, "-p", pid, "--json").out)  # other servers may run
    lock = next(i for i in report["intervals"] if i["name"] == "lock")
    t.eq((lock["count"], lock["half"]), (1, 0), f"it has ended: {lock}")
    near(t, lock["ns"] / 1e6, took_ms, "ms")
    first = next(f for f in report["findings"] if f["kind"] == "locks")
    t.ok("lock transaction " in first["text"] and "update accounts set cents = ? where id = ?" in first["text"], first["text"])


# ---- clients that keep a server busy, each with an application_name --------------------------------------


class Clients:
    """pgbench with a statement of ours, and what it says at the end."""

    def __init__(self, server, name, statement, cnt, seconds, *options, database="postgres"):
        script = os.path.join(server.dir, f"{name}.sql")
        pathlib.Path(script).write_text(statement, encoding="utf-8")
        self.server, self.name = server, name
        self.child = subprocess.Popen([f"{server.bin}/pgbench", "-n", "-h", server.dir, "-c", str(cnt), "-T", str(seconds), "-f", script,
                                       *options, database], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, user="postgres",
                                      env={**os.environ, "PGAPPNAME": name})

    def pids(self):
        """Its servers' processes, by the server's own list."""
        return self.server.run("psql", "-X", "-A", "-t", "-h", self.server.dir, "-d", "postgres", "-c",
                               f"select pid from pg_stat_activity where application_name = '{self.name}'").split()

    def said(self):
        """(transactions a second, milliseconds of one)."""
        text = self.child.communicate(timeout=120)[0]
        return tuple(float(re.search(pattern, text).group(1)) for pattern in (r"tps = ([\d.]+)", r"latency average = ([\d.]+)"))


def make_tables(server):
    server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres",
               "-c", "create table accounts(id int primary key, cents bigint)", "-c", "insert into accounts values (7, 0), (8, 0)",
               "-c", "create table orders(id int, customer int, note text)",
               "-c", "insert into orders select i, i % 1000, repeat('x', 50) from generate_series(1, 100000) i")


# What the server logs itself: each wait for a lock that lasts longer than deadlock_timeout, and each connection.
LOGGING = ("log_lock_waits=on", "deadlock_timeout=3ms", "log_connections=on", "log_line_prefix=%p %n ", "log_statement=none")


class Log:
    """Lines of the server's log, with their time in ns of CLOCK_MONOTONIC."""

    def __init__(self, server):
        ahead_ns = time.time_ns() - time.monotonic_ns()
        text = pathlib.Path(server.log).read_text("utf-8")
        self.lines = [(int(float(at) * 1e9) - ahead_ns, pid, line)
                      for pid, at, line in re.findall(r"^(\d+) (\d+\.\d+) (.*)$", text, re.M)]

    def waits(self, pids):
        """(from, until) of those processes' waits for locks."""
        found = [(at_ns, pid, re.search(r" acquired \w+ on .* after ([\d.]+) ms", line)) for at_ns, pid, line in self.lines]
        return [(at_ns - float(match.group(1)) * 1e6, at_ns) for at_ns, pid, match in found if match and pid in pids]

    def connections(self, begin_ns, end_ns):
        return sum("connection received" in line and begin_ns <= at_ns <= end_ns for at_ns, _, line in self.lines)


def share_of_scans(server, statement):
    """Of a statement's time, by the server's own clocks: what its scan of a table takes."""
    text = server.run("psql", "-X", "-A", "-t", "-h", server.dir, "-d", "postgres", "-c", f"explain (analyze) {statement}")
    total = float(re.search(r"Execution Time: ([\d.]+) ms", text).group(1))
    return float(re.search(r"Seq Scan .*\(actual time=[\d.]+\.\.([\d.]+) ", text).group(1)) / total


HOT = "begin;\nupdate accounts set cents = cents + 1 where id = 7;\nselect pg_sleep(0.02);\ncommit;\n"
SCAN = "\\set c random(1, 1000)\nselect * from orders where customer = :c;\n"


def recorded_together(t, server, name, groups, seconds, between=lambda: None):
    """name of clients -> the report of their servers' processes; all of them in one recording."""
    time.sleep(1)
    pids = {group: clients.pids() for group, clients in groups.items()}
    t.tapir("record", "--comm", "postgres", "-d", seconds, "-f", "-o", t.path(f"{name}.tapir"))
    between()
    reports = {group: json.loads(t.tapir("report", t.path(f"{name}.tapir"), "-p", ",".join(of), "--json").out) for group, of in pids.items()}
    if t.verbose:
        for group, report in reports.items():
            print(f"      {group}: {report['headline']}", flush=True)
    return reports, pids


@measured
def test_first_line_names_what_a_server_does(t):
    with Server(t, *LOGGING) as server:
        make_tables(server)
        scans = share_of_scans(server, "select * from orders where customer = 77")
        groups = {"hot": Clients(server, "hot", HOT, 4, 6), "index": Clients(server, "index", SCAN, 1, 6),
                  "sleep": Clients(server, "sleep", "select pg_sleep(0.3);\n", 1, 6)}
        holder = psql(server, "begin; update accounts set cents = 1 where id = 8; select pg_sleep(20)")
        time.sleep(0.5)
        held_by = server.run("psql", "-X", "-A", "-t", "-h", server.dir, "-d", "postgres", "-c",
                             "select pid from pg_stat_activity where query like 'begin; update%' and pid <> pg_backend_pid()").strip()
        waiter = groups["waiter"] = Clients(server, "waiter", "update accounts set cents = 2 where id = 8;\n", 1, 1)

        def end():
            for child in (holder, waiter.child):
                child.kill()
                child.wait()
            for name in ("hot", "index", "sleep"):
                groups[name].child.wait()
            end_sessions(server)

        reports, pids = recorded_together(t, server, "server", groups, 3, end)
        log = Log(server)
    begin, end = span(t, t.path("server.tapir"))
    near(t, leads(t, reports["hot"], "locks", "lock ", "update accounts set cents = cents + ? where id = ?"),
         1e9 * within(log.waits(pids["hot"]), begin, end) / (end - begin), "waiting clients")
    near(t, leads(t, reports["waiter"], "locks", "for a PostgreSQL lock", f"; postgres {held_by} holds it and sleeps"), 1,
         "threads that have waited since before the recording")
    slept_ms = leads(t, reports["sleep"], "requests", "of their time asleep;", ": select pg_sleep(0.3)")
    near(t, slept_ms, 300, "ms")
    first = next(f for f in reports["index"]["findings"] if f["kind"] != "neighbour")
    leads(t, reports["index"], "cpu-purpose", "scans whole tables for rows", "select * from orders where customer = ?")
    told = float(re.match(r"(\d+)%", first["text"]).group(1)) / 100
    measures(t, abs(told - scans) <= 0.05, f"of the CPU {told}, of the time by the server {scans}")
    # All at once, the worst first: three clients wait at any time, one uses a CPU.
    report = t.report(t.path("server.tapir"))
    leads(t, report, "locks", "update accounts set cents = cents + ? where id = ?")
    t.ok("cpu-purpose" in [f["kind"] for f in report["findings"][:4]], f"both are named: {report['findings']}")


QUEUE = "begin;\nlock table orders in share row exclusive mode;\nselect pg_sleep(0.02);\ncommit;\n"


@measured
def test_lock_of_a_table_has_its_name(t):
    """In the server's memory, where a table is at once, and by its OID; of those who wait by events as of those who wait since before."""
    with Server(t, *LOGGING) as server:
        answer(server, "create database shop")
        answer(server, "create table orders(id int); create table stock(id int); create schema audit; create table audit.log(id int)", "shop")
        orders, log_oid = (answer(server, f"select '{name}'::regclass::oid", "shop") for name in ("orders", "audit.log"))
        queue = Clients(server, "queue", QUEUE, 4, 12, database="shop")
        holder = psql(server, "begin; lock table audit.log in access exclusive mode; select pg_sleep(20)", database="shop")
        time.sleep(0.5)
        waiter = Clients(server, "waiter", "select * from audit.log;\n", 1, 1, database="shop")
        # Whoever reads waits behind the ALTER TABLE, which waits for a transaction that nobody ends.
        forgotten = subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-t", "-h", server.dir, "-d", "shop"], stdin=subprocess.PIPE, text=True,
                                     stdout=subprocess.PIPE, user="postgres")
        forgotten.stdin.write("begin; select count(*) from stock; select pg_backend_pid();\n")
        forgotten.stdin.flush()
        held_by = [forgotten.stdout.readline() for _ in range(3)][2].strip()
        change = psql(server, "alter table stock add column price int", database="shop")
        time.sleep(0.3)
        behind = Clients(server, "behind", "select * from stock;\n", 2, 1, database="shop")

        def end():
            for child in (holder, waiter.child, queue.child, behind.child, change, forgotten):
                child.kill()
                child.wait()
            end_sessions(server)

        reports, pids = recorded_together(t, server, "tables", {"queue": queue, "waiter": waiter, "behind": behind}, 3, end)
        log = Log(server)
    begin, end = span(t, t.path("tables.tapir"))
    near(t, leads(t, reports["queue"], "locks", f"100% of it for lock relation orders (OID {orders} of database shop), most for lock table orders in "),
         1e9 * within(log.waits(pids["queue"]), begin, end) / (end - begin), "waiting clients")
    near(t, leads(t, reports["waiter"], "locks", f"for a PostgreSQL lock (relation audit.log (OID {log_oid} of database shop))"), 1,
         "threads that have waited since before the recording")
    leads(t, reports["behind"], "locks", "a lock is not released: 2 threads", "(relation stock (OID ",
          f"; postgres {held_by} holds it, idle in transaction for ", ", after select pg_backend_pid()")
    locks = json.loads(t.tapir("report", t.path("tables.tapir"), "--view", "contention", "--json").out)["locks"]
    t.eq(len([row for row in locks if f"relation orders (OID {orders} of database shop)" in str(row)]), 1, f"one row for all that wait: {locks}")


BY_KEY = "\\set i random(1, 90000)\nselect note from orders where id = :i;\n"


def transactions(server, name, begin_ns, end_ns):
    """That ended then, by pgbench's own log."""
    ahead_ns = time.time_ns() - time.monotonic_ns()
    words = [line.split() for path in pathlib.Path(server.dir).glob(f"{name}.*") if path.suffix != ".sql" for line in path.read_text().splitlines()]
    return sum(begin_ns <= int(line[4]) * 1_000_000_000 + int(line[5]) * 1000 - ahead_ns <= end_ns for line in words)


@measured
def test_first_line_names_statements_that_are_sent_one_by_one(t):
    """A program that asks for each row by a statement of its own. The witness: what its log says."""
    with Server(t, *LOGGING) as server:
        make_tables(server)
        answer(server, "create index on orders(id)")
        groups = {name: Clients(server, name, BY_KEY, cnt, 4, "-l", f"--log-prefix={server.dir}/{name}", *options)
                  for name, cnt, options in (("plain", 1, ()), ("prepared", 2, ("-M", "prepared")))}
        reports, _ = recorded_together(t, server, "statements", groups, 2)
        for clients in groups.values():
            clients.said()
        begin, end = span(t, t.path("statements.tapir"))
        for name, words in (("plain", ("one at a time from 1 session: 100% of them select note from orders where id = ? (",)),
                            ("prepared", ("one at a time from 2 sessions, which are prepared",))):
            near(t, leads(t, reports[name], "statements", *words), transactions(server, name, begin, end) * 1e9 / (end - begin), f"a second, {name}")


# A function of PL/pgSQL that computes, JSON, a query in parallel, and a table that is vacuumed.
WORK = {"plpgsql": ("do $$ declare t bigint := 0; begin for i in 1..300000 loop t := t + i % 7; end loop; end $$;\n", "runs functions of PL/pgSQL", "do $$"),
        "json": ("select sum(length((jsonb_build_object('a', id, 'b', note, 'c', array[1,2,3])::text::jsonb)::text)) from orders;\n",
                 "reads and writes JSON", "select sum(length((jsonb_build_object("),
        "vacuum": ("update big set id = id + 0 where id % 7 = 1;\nvacuum big;\n", "vacuums tables", "vacuum big")}
PARALLEL = ("set parallel_setup_cost=0; set parallel_tuple_cost=0; set min_parallel_table_scan_size=0; set max_parallel_workers_per_gather=2; "
            "select count(*) from big where md5(md5(md5(note || id))) < '1';\n")


@measured
def test_lines_name_what_else_a_server_computes(t):
    with Server(t, *LOGGING, "max_parallel_workers_per_gather=0") as server:
        make_tables(server)
        answer(server, "create table big as select i as id, repeat('x', 100) as note from generate_series(1, 300000) i; create index on big(id)")
        for name, (script, words, statement) in WORK.items():
            clients = Clients(server, name, script, 1, 3)
            reports, _ = recorded_together(t, server, name, {name: clients}, 1.5)
            clients.child.wait()
            text = next((f["text"] for f in reports[name]["findings"] if words in f["text"]), "")
            t.ok(f"{words}, most for {statement}" in text, f"{name}: {reports[name]['findings']}")
        clients = Clients(server, "parallel", PARALLEL, 1, 3)
        time.sleep(1)
        t.tapir("record", "--comm", "postgres", "-d", 1.5, "-f", "-o", t.path("parallel.tapir"))
        clients.child.wait()
    findings = t.report(t.path("parallel.tapir"))["findings"]
    text = next(f["text"] for f in findings if f["kind"] == "cpu")
    share = re.search(r"(\d+)% of the CPU for .*select count\(\*\) from big where md5", text)
    t.ok(share, f"of its workers, too: {findings}")
    measures(t, int(share.group(1)) >= 80, f"of all samples: {findings}")  # a worker's first 10 ms are nobody's, and more at load


def in_fdatasync(t, file):
    """Seconds of all processes in fdatasync(): asleep, or waiting for a CPU, and on one by samples."""
    rows = json.loads(t.tapir("report", file, "--view", "offcpu", "--json", "--all").out)["waits"]
    samples = (event for event in t.tapir("events", file, "--json").json_lines() if event["type"] == "sample")
    return (sum(row["ns"] for row in rows if any("fdatasync" in name for name in row["stack"])) +
            sum(event["period"] for event in samples if any("fdatasync" in (frame["name"] or "") for frame in event.get("stack", [])))) / 1e9


@measured
def test_first_line_names_the_disk_that_commits_wait_for(t):
    with Server(t, *LOGGING, "fsync=on", "track_wal_io_timing=on") as server:
        make_tables(server)
        file = t.path("commit.tapir")
        tapir = t.start_tapir("record", "--comm", "postgres", "-f", "-o", file)
        tapir.wait_ready()
        time.sleep(1)  # unwind tables are there
        answer(server, "select pg_stat_reset_shared('wal')")
        commit = Clients(server, "commit", "insert into orders values (1, 1, 'x');\n", 4, 4)
        time.sleep(1)
        pids = commit.pids()
        commit.said()
        synced = float(answer(server, "select wal_sync_time from pg_stat_wal")) / 1e3  # of clients that have ended it is complete
        tapir.signal(2)
        t.eq(tapir.wait(30).rc, 0, "exit")
    report = json.loads(t.tapir("report", file, "-p", ",".join(pids), "--json").out)
    if t.verbose:
        print(f"      commit: {report['headline']}; in fdatasync by the server {synced:.3f} s, by tapir {in_fdatasync(t, file):.3f} s", flush=True)
    begin, end = span(t, file)
    waits = json.loads(t.tapir("report", file, "-p", ",".join(pids), "--view", "offcpu", "--json").out)["waits"]
    flushes = [row for row in waits if row["reason"] == "WAL flush"]
    slept, for_cpu = (sum(row[key] or 0 for row in flushes) / (end - begin) for key in ("ns", "ready_ns"))
    near(t, leads(t, report, "locks", "for a WAL flush"), slept - for_cpu, "of the same waits in the view, without those for a CPU")
    near(t, in_fdatasync(t, file), synced, "seconds in fdatasync, by the server's own clock")


@measured
def test_first_line_names_short_connections(t):
    with Server(t, *LOGGING) as server:
        file = t.path("short.tapir")
        short = Clients(server, "short", "select 1;\n", 2, 4, "-C")
        time.sleep(0.3)
        t.tapir("record", "--comm", "postgres", "-d", 2, "-f", "-o", file)
        short.said()
        begin, end = span(t, file)
        rate = Log(server).connections(begin, end) * 1e9 / (end - begin)
    near(t, leads(t, t.report(file), "processes", "started a second, each for one connection"), rate, "connections a second")


# A sort of 40,000 rows, and an update that writes 2 MB of log.
SORT = "select count(*) from (select * from orders where id < 40000 order by note, customer desc offset 0) x;\n"
WRITE = "\\set a random(1, 90000)\nupdate orders set note = repeat('y', 200) where id between :a and :a + 4000;\n"


@measured
def test_first_line_names_settings_that_are_too_small(t):
    """Memory of sorts, by the temporary files that the server logs, and the size of its log, by the checkpoints that it logs."""
    with Server(t, *LOGGING, "log_temp_files=0", "log_checkpoints=on", "work_mem=64kB", "max_parallel_workers_per_gather=0", "max_wal_size=32MB",
                "min_wal_size=32MB") as server:
        make_tables(server)
        for name, script in (("sorts", SORT), ("writes", WRITE)):
            clients = Clients(server, name, script, 2, 5)
            time.sleep(1)
            t.tapir("record", "--comm", "postgres", "-d", 3, "-f", "-o", t.path(f"{name}.tapir"))
            clients.said()
        lines = Log(server).lines
    for name, kind, words, logged in (("sorts", "file-sorts", " sorts did not fit work_mem", "temporary file: "),
                                      ("writes", "checkpoints", ", most since max_wal_size was reached", "checkpoint starting: wal")):
        begin, end = span(t, t.path(f"{name}.tapir"))
        report = t.report(t.path(f"{name}.tapir"))
        said = leads(t, report, kind, words) * (end - begin) / (60e9 if kind == "checkpoints" else 1e9)
        witness = sum(logged in line and begin <= at_ns <= end for at_ns, _, line in lines)
        t.ok(witness > 5, f"{name}: {witness} in the log: {report['headline']}")
        measures(t, abs(said - witness) <= max(1.1, 0.05 * witness), f"{name}: {said:.1f} said, {witness} by the server")
