# SPDX-License-Identifier: GPL-2.0-or-later
"""PostgreSQL in the corpus: a server of its own, clients that keep it busy, and what the server and its clients say of that."""
import contextlib
import pathlib
import subprocess
import tempfile
import time

from case_answers_postgresql import BY_KEY, HOT, LOGGING, QUEUE, SCAN, SORT, WORK, Clients, Log, answer, make_tables, share_of_scans
from case_runtimes import Server
from recording import Recording, expected, finding, waiting

SECONDS = 6  # of pgbench, which says what it did when it ends


class Sessions:
    """As a Witness: a server and its clients, which log what they do. said["waiting"]: whom the report is about, if not about all clients."""

    def __init__(self, case, place, settings, start):
        tempfile.tempdir = place
        self.stack = contextlib.ExitStack()
        self.server = self.stack.enter_context(Server(case, *LOGGING, "max_parallel_workers_per_gather=0", *settings))
        make_tables(self.server)
        self.groups, self.said = [], {}
        start(self)
        time.sleep(1)

    def clients(self, name, script, cnt, *options, database="postgres"):
        group = Clients(self.server, name, script, cnt, SECONDS, "-l", f"--log-prefix={self.server.dir}/{name}", *options, database=database)
        self.groups.append(group)
        return group

    def session(self, script, database="postgres"):
        """A client that does not end by itself, which may have more to say later."""
        child = subprocess.Popen([f"{self.server.bin}/psql", "-X", "-q", "-t", "-h", self.server.dir, "-d", database], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, user="postgres")
        self.stack.callback(child.wait)
        self.stack.callback(child.kill)
        child.stdin.write(script)
        child.stdin.flush()
        time.sleep(0.5)
        return child

    def pid_of(self, like):
        return answer(self.server, f"select pid from pg_stat_activity where query like '{like}' and pid <> pg_backend_pid()")

    def first(self):
        """All processes of the server; those of clients are reported."""
        server = str(self.server.process.pid)
        every = [server, *subprocess.run(["ps", "-o", "pid=", "--ppid", server], capture_output=True, text=True, check=True).stdout.split()]
        self.said["pids"] = self.said.get("waiting") or [pid for group in self.groups for pid in group.pids()] or every
        return ",".join(every)

    def ask(self):
        pass

    def answer(self):
        self.said.update(zip(("tps", "latency_ms"), self.groups[0].said()) if self.groups else ())
        ahead_ns = time.time_ns() - time.monotonic_ns()
        log = Log(self.server)
        words = [line.split() for group in self.groups for path in pathlib.Path(self.server.dir).glob(f"{group.name}.*") if path.suffix != ".sql"
                 for line in path.read_text().splitlines()]
        self.said.update(waits=log.waits(self.said["pids"]), lines=log.lines,
                         transactions=[int(line[4]) * 1_000_000_000 + int(line[5]) * 1000 - ahead_ns for line in words])
        return self.said

    def end(self):
        self.stack.close()


class PostgreSql(Recording):
    runtime, version = "PostgreSQL", ("/usr/bin/psql", "--version")

    def __init__(self, what, start, expect, settings=(), place=None, **limits):
        """start(sessions) starts the clients; place: where the server's files are, if they need a disk."""
        super().__init__((f"postgres: {what}",), expect, **limits)
        self.start, self.settings, self.place = start, settings, place

    def started(self, case, home):
        return Sessions(case, self.place or str(home), self.settings, self.start)

    def begin(self, _witness):
        """Its log has the time of each line."""


def clients(script, cnt, *options, setup=""):
    """start() of so many that do the same."""
    def start(sessions):
        if setup:
            answer(sessions.server, setup)
        sessions.clients("clients", script, cnt, *options)
    return start


# ---- what is wrong with them -------------------------------------------------------------------------

CALM = "\\set i random(1, 90000)\nselect note from orders where id = :i;\n\\sleep 20 ms\n"
INDEX = "create index on orders(id)"
BIG = "create table big as select i as id, repeat('x', 100) as note from generate_series(1, 300000) i; create index on big(id)"


def scan(sessions):
    sessions.said["scans"] = 100 * share_of_scans(sessions.server, "select * from orders where customer = 77")
    sessions.clients("clients", SCAN, 1)


def held(sessions):
    """A client that waits since before for a row that another one has, which sleeps."""
    sessions.session("begin; update accounts set cents = 1 where id = 8; select pg_sleep(60);\n")
    sessions.said["holder"] = sessions.pid_of("select pg_sleep(60)%")
    sessions.session("update accounts set cents = 2 where id = 8;\n")
    sessions.said["waiting"] = [sessions.pid_of("update accounts set cents = 2%")]


def behind(sessions):
    """Who reads waits behind an ALTER TABLE, which waits for a transaction that nobody ends."""
    answer(sessions.server, "create table stock(id int)")
    sessions.session("begin; select count(*) from stock;\n")
    sessions.said["holder"] = sessions.pid_of("%select count(*) from stock%")
    sessions.session("alter table stock add column price int;\n")
    for _ in range(2):
        sessions.session("select * from stock;\n")
    sessions.said["waiting"] = answer(sessions.server, "select pid from pg_stat_activity where query like 'select * from stock%'").split()


def open_transaction(sessions):
    sessions.session("begin; select count(*) from orders;\n")
    sessions.said["waiting"] = [sessions.pid_of("%select count(*) from orders%")]


def row_lock(c):
    return expected(waiting(c, "locks", "lock ", "update accounts set cents = cents + ? where id = ?"))


def asleep(c):
    return expected(finding("requests", "of their time asleep;", ": select pg_sleep(0.3)", magnitude=c.said["latency_ms"], witness="pgbench's latency"))


def scans(c):
    return expected(finding("cpu-purpose", "scans whole tables for rows", "select * from orders where customer = ?", magnitude=c.said["scans"], tolerance=0,
                            less=10, more=5, witness="percent of the time of a statement, by explain analyze"))


def since_before(c):
    return expected(finding("locks", "for a PostgreSQL lock", f"; postgres {c.said['holder']} holds it and sleeps", magnitude=1, tolerance=0.01,
                            witness="how many clients wait"))


def forgotten(c):
    return expected(finding("locks", "a lock is not released: 2 threads", "(relation stock (OID ",
                            f"; postgres {c.said['holder']} holds it, idle in transaction for "))


def statements(words):
    return lambda c: expected(finding("statements", *words, magnitude=c.counted(c.said["transactions"]), witness="pgbench's log"))


def work(name, setup=""):
    """start() and expectation of one of WORK."""
    script, purpose, statement = WORK[name]
    return clients(script, 1, setup=setup), lambda _: expected(finding("cpu-purpose", f"{purpose}, most for {statement}"))


def logged(kind, words, text, unit=1):
    """What the server logs is counted; one at either end may be of the time before or after."""
    def expect(c):
        times = [at_ns for at_ns, _, line in c.said["lines"] if text in line]
        return expected(finding(kind, words, magnitude=c.counted(times) * unit, less=unit / c.seconds, more=unit / c.seconds, witness="lines of the server's log"))
    return expect


SERVERS = {
    "postgresql-row-lock": PostgreSql("clients that update one row", clients(HOT, 4), row_lock),
    "postgresql-sleep": PostgreSql("a statement that sleeps", clients("select pg_sleep(0.3);\n", 1), asleep, seconds=2),
    "postgresql-scan": PostgreSql("a client that needs an index", scan, scans),
    "postgresql-row-is-held": PostgreSql("a client that waits for a row", held, since_before),
    "postgresql-behind-alter-table": PostgreSql("clients behind an ALTER TABLE", behind, forgotten),
    "postgresql-table-lock": PostgreSql("clients that lock a table", clients(QUEUE, 4), lambda c: expected(
        waiting(c, "locks", "for lock relation orders (OID ", "most for lock table orders in "))),
    "postgresql-statements": PostgreSql("a client that asks for each row", clients(BY_KEY, 1, setup=INDEX), statements(
        ("one at a time from 1 session: 100% of them select note from orders where id = ? (",)), seconds=0.5),
    "postgresql-statements-prepared": PostgreSql("clients that ask for each row", clients(BY_KEY, 2, "-M", "prepared", setup=INDEX), statements(
        ("one at a time from 2 sessions, which are prepared",)), seconds=0.5),
    "postgresql-plpgsql": PostgreSql("a function that computes", *work("plpgsql")),
    "postgresql-json": PostgreSql("a statement that makes JSON", *work("json")),
    "postgresql-vacuum": PostgreSql("a table that is vacuumed", *work("vacuum", setup=BIG)),
    "postgresql-commits": PostgreSql("commits that wait for the disk", clients("insert into orders values (1, 1, 'x');\n", 4), lambda _: expected(
        finding("locks", "for a WAL flush")), settings=("fsync=on",), place="/var/tmp", seconds=0.4),
    "postgresql-sorts-in-files": PostgreSql("sorts that do not fit into memory", clients(SORT, 2), logged(
        "file-sorts", " sorts did not fit work_mem", "temporary file: "), settings=("log_temp_files=0", "work_mem=64kB")),
    "postgresql-idle-transaction": PostgreSql("a transaction that nobody ends", open_transaction, lambda _: expected(only=["idle", "idle-transactions"])),
    "postgresql-calm": PostgreSql("clients with a rest", clients(CALM, 2, setup=INDEX), lambda _: expected(only=["idle", "cpu", "cpu-purpose"])),
    "postgresql-idle": PostgreSql("no clients", lambda _: None, lambda _: expected(only=["idle"])),
}
