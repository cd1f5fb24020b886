# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir stacks: who holds what threads of .NET and PostgreSQL wait for. Witness: what the program does, and PostgreSQL's own
pg_blocking_pids()."""
import re
import subprocess
import time

from case_answers import service
from case_runtimes import Server
from case_threads import native, stacks_of
from dotnet_program import publish_dotnet
from harness import PATIENCE

TIMEOUT = 120
CHECK_DOTNET = {"test_deadlock_of_dotnet_9_leads", "test_monitors_of_dotnet_8_have_no_owner"}
CHECK_STACKS = {"test_threads_that_hammer_a_mutex_are_no_deadlock"}
LINK = r"(?:postgres|Defects) (\d+) waits for a [\w ]+ that (?:postgres|Defects) (\d+) holds"


def cycle(headline):
    """{thread: owner} of the deadlock that a headline names."""
    text = headline.split("; ")[0]
    return dict((int(a), int(b)) for a, b in re.findall(LINK, text)) if text.startswith("deadlock: ") else {}


def assert_named(t, pid):
    """Two threads are in Transfer, which takes two locks in opposite orders; three wait for the first of these."""
    found = stacks_of(t, pid)
    transfers = {member["tid"] for group in found["groups"] for member in group["members"]
                 if any(name.startswith("Defects.Transfer") for name in native(group))}
    t.eq(len(transfers), 2, "threads that transfer")
    t.eq(cycle(found["headline"]), dict(zip(sorted(transfers), sorted(transfers, reverse=True))), found["headline"])
    [crowd] = [group for group in found["groups"] if any(name.startswith("Defects.Deadlock") for name in native(group))
               and group["members"][0]["tid"] not in transfers]
    t.eq((crowd["threads"], len({member["owner_tid"] for member in crowd["members"]} & transfers)), (3, 1), "who holds the first")
    t.ok(crowd["held_by"] in {f"Defects {tid}" for tid in transfers}, crowd["held_by"])


def test_deadlocked_dotnet_is_named_first(t):
    with service(t, "deadlock") as running:
        assert_named(t, running.pid)


def test_free_monitors_of_dotnet_make_no_deadlock(t):
    """Six threads wait for one monitor all the time, each for another owner."""
    with service(t, "convoy") as running:
        found = [stacks_of(t, running.pid) for _ in range(3)]
    t.eq([one["headline"] for one in found if one["deadlocks"]], [], "deadlocks")
    tids = [{member["tid"] for group in one["groups"] for member in group["members"]} for one in found]
    owners = [{member["owner_tid"] for group in one["groups"] for member in group["members"]} - {None} for one in found]
    t.ok(any(owners), "somebody holds it at some time")
    t.ok(all(some <= known for some, known in zip(owners, tids)), f"threads of the process: {owners}")


def published(t, version):
    program = subprocess.Popen([publish_dotnet(t, "Defects", version), "deadlock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    program.stdout.readline()
    return program


def test_deadlock_of_dotnet_9_leads(t):
    program = published(t, "9.0.22")
    try:
        assert_named(t, program.pid)
    finally:
        program.kill()
        program.wait()


def test_monitors_of_dotnet_8_have_no_owner(t):
    """Its runtime describes nothing: no owner is better than a guess."""
    program = published(t, "8.0.33")
    try:
        found = stacks_of(t, program.pid)
    finally:
        program.kill()
        program.wait()
    owners = {member["owner_tid"] for group in found["groups"] for member in group["members"]}
    t.eq((owners, found["deadlocks"]), ({None}, []), found["headline"])


def psql(server, *commands):
    args = [word for command in commands for word in ("-c", command)]
    return subprocess.Popen([f"{server.bin}/psql", "-X", "-q", "-h", server.dir, "-d", "postgres", *args],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user="postgres")


def blocked(server):
    """{pid: pids that block it}, by the server itself."""
    rows = server.run("psql", "-X", "-q", "-A", "-t", "-h", server.dir, "-d", "postgres", "-c",
                      "select pid, pg_blocking_pids(pid) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0")
    return {int(pid): {int(other) for other in others.strip("{}").split(",")}
            for pid, others in (row.split("|") for row in rows.split())}


def test_deadlocked_postgresql_is_named_first(t):
    """Two transactions want each other's row; a third process wants a row of the first."""
    wait = "set deadlock_timeout = '1h'"
    with Server(t) as server:
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c", "create table a(id int primary key, c int)",
                   "-c", "insert into a values (1, 0), (2, 0)")
        clients = [psql(server, wait, "begin", f"update a set c = 1 where id = {one}", "select pg_sleep(0.6)",
                        f"update a set c = 1 where id = {other}") for one, other in ((1, 2), (2, 1))]
        time.sleep(1)
        clients.append(psql(server, wait, "update a set c = 2 where id = 1"))
        until, by_server = time.monotonic() + 20 * PATIENCE, {}
        while len(by_server) < 3 and time.monotonic() < until:
            by_server = blocked(server)
        found = stacks_of(t, ",".join(map(str, by_server)))
        lone = min(by_server)
        alone = stacks_of(t, lone)
        server.run("psql", "-X", "-q", "-h", server.dir, "-d", "postgres", "-c",
                   f"select pg_terminate_backend(pid) from unnest(array{sorted(by_server)}) pid")
        for client in clients:
            client.wait()
    owners = {member["tid"]: member["owner_tid"] for group in found["groups"] for member in group["members"]}
    t.eq({pid: owner for pid, owner in owners.items() if owner not in by_server[pid]}, {}, f"by the server: {by_server}")
    links = cycle(found["headline"])
    t.ok(len(links) >= 2 and all(owners[pid] == owner for pid, owner in links.items()), found["headline"])
    t.eq(sorted(links), sorted(links.values()), f"a circle: {found['headline']}")
    t.eq(alone["groups"][0]["held_by"], f"postgres {owners[lone]}", "a process that was not asked for has its name")


def test_threads_that_hammer_a_mutex_are_no_deadlock(t):
    """Seen at different moments, each of two waits for the other: that was called a deadlock in one of twelve snapshots."""
    target = t.start(t.target_path("deadlock"), "none")
    target.wait_line("ready")
    for _ in range(60):
        headline = t.tapir("stacks", "-p", target.pid).out.splitlines()[0]
        t.ok("deadlock" not in headline, headline)
