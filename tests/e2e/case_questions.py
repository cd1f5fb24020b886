# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions: every number equals the one that the program says of itself. Nothing here depends on time."""
import json
import shlex
import subprocess

from case_runtimes import Server
from harness import EVENTS_ONLY

THREADS, EVENTS, KEYS = 4, 480, 50
PROBES = "asked:*"
CHECK_LONG = {"test_one_liners_run_when_pasted"}
NOBODY = "no-such-program"
COLLECTS = """
import gc
gc.disable()
for generation in (0, 1, 2, 2):
    gc.collect(generation)
"""
CALLS = """
import ctypes, json, mmap, os, signal, socket, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
with open("/proc/self/comm", "w") as comm:
    comm.write("oneliner")
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
libc = ctypes.CDLL(None)
pages = mmap.mmap(-1, 50 * mmap.PAGESIZE)
os.write(1, b"pid %d\\n" % os.getpid())
if len(sys.argv) == 2:
    signal.sigwait({signal.SIGUSR1})
for i in range(30):
    try:
        os.open("/nowhere/%d" % (i % 3), os.O_RDONLY)
    except FileNotFoundError:
        pass
for i in range(20):
    os.write(file, b"x" * 1000)
    os.fsync(file)
for i in range(7):
    os.fdatasync(file)
for i in range(5):
    with socket.socket() as client:
        client.connect_ex(("127.0.0.1", 1))
for i in range(6):
    time.sleep(0.0001)
for i in range(9):
    os.kill(os.getpid(), signal.SIGUSR2)
for i in range(8):
    libc.malloc(123457)
for i in range(50):
    pages[i * mmap.PAGESIZE] = 1
for i in range(4):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
os.write(1, b"{}\\n")
"""
COLLECTOR = """
class Collector {
    public static void main(String[] args) throws Exception {
        System.out.println(ProcessHandle.current().pid());
        System.in.read();
        for (int i = 0; i < 5; i++)
            System.gc();
    }
}
"""
ME = "oneliner"
# What this program does, by the beginning of the line that asks for it: counts, or sums, of these keys.
CALLED = {
    "syscall:* --where err": {(ME, "syscall:openat", "ENOENT"): 30, (ME, "syscall:connect", "ECONNREFUSED"): 5},
    "syscall:* --hist": {("syscall:openat",): 30, ("syscall:fsync",): 20, ("syscall:fdatasync",): 7, ("syscall:connect",): 5, ("syscall:kill",): 9},
    "syscall:open*": {(ME, f"/nowhere/{i}"): 10 for i in range(3)},
    "syscall:fsync": {(ME,): 27},
    "syscall:read,write": {(ME, "syscall:write"): 20 * 1000 + 3},
    "syscall:connect": {(ME, "ECONNREFUSED"): 5},
    "tracepoint:signal": {(ME, 12, ME): 9},
    "tracepoint:sock": {(ME, 1, 2): 5},
}
# The same of the processes that it starts.
STARTED = {"tracepoint:sched:sched_process_exec": {("/bin/true",): 4}, "tracepoint:sched:sched_process_exit": {("true",): 4}}
# By stacks, whose names are those of a Python: how many hits one of them has, and their sum.
STACKS = {"syscall:nanosleep": (6, None), "uprobe:libc:malloc": (8, 8 * 123457)}


def program(t, keys=KEYS):
    return [t.target_path("asked"), THREADS, EVENTS, keys]


def asked(t, *options, argv):
    """What tapir printed of a program that it starts, and what that said: to a file of its own, as its line would come into the midst of
    one of tapir's that is longer than a pipe takes at once."""
    own = t.path("said.json")
    result = t.tapir("trace", *options, "--json", "--", "sh", "-c", 'exec "$0" "$@" >' + own, *argv)
    with open(own, encoding="utf-8") as file:
        return result, next(json.loads(line) for line in file if "fired" in line)


def recording(t):
    """A file, and what the program said."""
    file = t.path("asked.tapir")
    result = t.tapir("record", PROBES, *EVENTS_ONLY, "-f", "-o", file, "--", *program(t))
    return file, result.witness()


def totals(result):
    return [line for line in result.json_lines() if line.get("type") == "total"]


def total(t, result):
    tables = totals(result)
    t.eq(len(tables), 1, "tables")
    return check_sum(t, tables[0])


def check_sum(t, table):
    parts = sum(table[key] for key in ("rejected", "rows_hits", "more_hits", "unkeyed", "undefined"))
    parts += table["lost"] if table["of"] == "events" else 0
    t.eq(table["hits"], parts, "hits = rejected + rows + more + unkeyed + undefined + lost")
    t.eq(table["rows_hits"], sum(row["count"] for row in table["rows"]), "hits of the rows")
    return table


def events(t, file, *options):
    return total(t, t.tapir("events", file, *options, "--json"))


def values(row):
    """By aggregate: {"sum": 12}."""
    return {key: value for column in row["values"] for key, value in column.items() if key != "of"}


def test_reserved_word_is_refused_in_one_line(t):
    result = t.tapir("trace", "runqueue:x", "-a", expect=2)
    t.eq(len(result.err.splitlines()), 1, "lines")
    t.ok("'runqueue' means waits for a CPU" in result.err, result.err)


def test_sums_of_a_file_are_the_programs(t):
    file, said = recording(t)
    table = events(t, file, "order", "--sum", "arg2", "--min", "arg2", "--max", "arg2", "--avg", "arg2", "--hist", "arg2")
    t.eq(table["hits"], said["fired"], "events")
    row = table["rows"][0]
    t.eq(row["count"], said["fired"], "count")
    numbers = values(row)
    t.eq((numbers["sum"], numbers["min"], numbers["max"]), (said["cents"], said["least"], said["most"]), "sum, least, most")
    t.eq(round(numbers["avg"] * said["fired"]), said["cents"], "mean")
    t.eq(sum(step[2] for step in numbers["steps"]), said["fired"], "values in the histogram")
    table = events(t, file, "order", "--where", "arg2 > 5000", "--count")
    t.eq((table["rows"][0]["count"], table["rejected"]), (said["big"], said["fired"] - said["big"]), "above 5000")
    table = events(t, file, "order", "--by", "comm,tid")
    t.eq(sorted(row["count"] for row in table["rows"]), [EVENTS] * THREADS, "by thread")
    t.ok(all(row["key"]["comm"] == "asked" for row in table["rows"]), "names")


def test_hostile_keys_are_different_rows(t):
    file, said = recording(t)
    table = events(t, file, "order", "--by", "arg1", "--top", 0)
    rows = {(row["key"]["arg1"], row.get("marks", {}).get("arg1")): row["count"] for row in table["rows"]}
    t.eq(rows[None, "null"], said["null"], "NULL")
    t.eq(rows[None, "unreadable"], said["fault"], "unreadable")
    t.eq(rows["x" * 64, "cut"], said["cut"], "cut")
    t.eq(rows["", None], said["empty"], "empty")
    t.eq(rows["<null>", None], said["quoted"], "a text that looks like NULL")
    t.eq(sum(count for (key, _), count in rows.items() if key and key.startswith("\x1b")), said["escape"], "escapes")
    t.eq(sum(rows.values()), said["fired"], "all")
    text = t.tapir("events", file, "order", "--by", "arg1", "--top", 0).out
    t.ok("\x1b" not in text and "\x07" not in text, "no escape sequence reaches the terminal")
    t.ok("<null>" in text and "<unreadable>" in text, "marks")
    table = events(t, file, "order", "--where", "arg1 == NULL", "--count")
    t.eq(table["rows"][0]["count"], said["null"], "== NULL")
    table = events(t, file, "order", "--where", 'arg1 ~ "c*"', "--count")
    t.eq(table["undefined"], said["fault"], "what cannot be read is undefined")


def test_intervals_are_those_of_the_program(t):
    file, said = recording(t)
    pair = ("--pair", "asked:work__start,asked:work__done")
    table = events(t, file, *pair, "--hist", "took")
    t.eq((table["of"], table["hits"], table["unbegun"], table["unended"]), ("intervals", said["fired"], 0, 0), "intervals")
    table = events(t, file, *pair, "--by", "end.arg1")
    t.eq({row["key"]["end.arg1"]: row["count"] for row in table["rows"]}, dict(zip((-1, 0, 1), said["statuses"])), "by a field of the end")
    table = events(t, file, "asked:work__start", "--until", "asked:work__done", "--key", "arg0", "--count")
    t.eq(table["hits"], said["fired"], "intervals by key")
    report = t.report(file, "--pair", "asked:work__start,asked:work__done")
    rows = [i for i in report["intervals"] if i["name"] == "work__start"]
    t.eq([row["count"] for row in rows], [said["fired"]], "as in the report")


def test_table_says_what_it_had_no_room_for(t):
    file, said = recording(t)
    table = events(t, file, "order", "--by", "arg0,arg1,arg2", "--table-size", 1)
    t.eq(table["hits"], said["fired"], "hits")
    t.ok(table["more_rows"] > 0 or table["unkeyed"] > 0, "something is left out")
    text = t.tapir("events", file, "order", "--by", "arg0", "--top", 3).out.splitlines()
    t.eq(len(text), 6, "a title, three rows, what is more, and the sum")
    t.ok(text[-1].startswith(f"{said['fired']:,} hits = "), text[-1])


def test_live_tables_of_intervals_add_up(t):
    result, said = asked(t, PROBES, "--sum", "arg0", "--by", "event", "--interval", "0.1", argv=program(t))
    table = total(t, result)
    t.eq({row["key"]["event"]: row["count"] for row in table["rows"]},
         {f"asked:{name}": said["fired"] for name in ("order", "work__start", "work__done")}, "events")
    ids = THREADS * EVENTS
    t.ok(all(values(row)["sum"] == ids * (ids - 1) // 2 for row in table["rows"]), "sums")
    counts = {}
    parts = [check_sum(t, line) for line in result.json_lines() if line.get("type") == "interval"]
    for part in parts:
        for row in part["rows"]:
            sums = counts.setdefault(row["key"]["event"], [0, 0])
            sums[0] += row["count"]
            sums[1] += values(row)["sum"]
    t.eq(counts, {row["key"]["event"]: [row["count"], values(row)["sum"]] for row in table["rows"]}, "intervals add up")
    t.eq(sum(part["hits"] for part in parts), table["hits"], "hits add up")


def test_live_sentences_are_several_questions(t):
    result = t.tapir("trace", 'asked:order if arg2 > 5000 count', 'asked:order if arg3 ~ "/cart*" sum arg2 by arg3',
                     "--json", "--", *program(t))
    said = next(line for line in result.json_lines() if "fired" in line)
    tables = [check_sum(t, table) for table in totals(result)]
    t.eq(len(tables), 2, "tables")
    t.eq(tables[0]["rows"][0]["count"], said["big"], "the first")
    t.eq([row["key"]["arg3"] for row in tables[1]["rows"]], ["/cart/odd"], "the second")


def test_live_condition_lists_events(t):
    result, said = asked(t, "asked:order", "--where", "arg2 > 9990 && tid > 0", argv=program(t))
    hits = [line for line in result.json_lines() if line.get("type") == "event"]
    file, _ = recording(t)
    t.eq(len(hits), events(t, file, "order", "--where", "arg2 > 9990", "--count")["rows"][0]["count"], f"of {said['fired']}")


def test_mistake_has_a_caret(t):
    file, _ = recording(t)
    result = t.tapir("events", file, "order", "--where", "arg0 > 1 && centz > 5", "--count", expect=2)
    lines = result.err.splitlines()
    t.ok("asked:order has no field 'centz'" in lines[0], result.err)
    t.eq((lines[1], lines[2]), ("  arg0 > 1 && centz > 5", "  " + " " * 12 + "^~~~~"), "expression and caret")
    t.ok(lines[3].startswith("  it has ") and "everywhere: pid, tid" in lines[3], lines[3])
    result = t.tapir("trace", "asked:order", "--where", "arg0 = 5", "-a", expect=2)
    t.ok("'=' does not compare" in result.err, result.err)


def one_liners(t):
    text = t.tapir("help", "oneliners").out.replace("\\\n", "")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  tapir ")]


def has_sources(t, line):
    """Returns true if this kernel has the tracepoints."""
    return all(t.tapir("list", word, expect=None).rc == 0 for word in line if word.startswith("tracepoint:"))


def test_one_liners_run_when_pasted(t):
    file, said = recording(t)
    lines = one_liners(t)
    t.ok(len(lines) >= 40, f"{len(lines)} lines")
    for line in lines:
        if line[:2] == ["events", "FILE"]:
            t.tapir(*[file if word == "FILE" else word for word in line])
        elif "--" not in line and has_sources(t, line):  # it waits for a program that nobody starts
            at = next(i for i, word in enumerate(line) if word in ("-p", "--comm", "-a"))
            t.tapir(*line[:at], "--comm", NOBODY, "--duration", "0.1")
    fired = said["fired"]
    for line, counts in zip([line for line in lines if line[0] == "events"], ([fired] * 3, [3 * EVENTS] * THREADS, [fired])):
        table = total(t, t.tapir(*[{"FILE": file, "gc__*": "order"}.get(word, word) for word in line], "--json"))
        rows = [row["count"] for row in table["rows"]]
        t.eq([sum(rows)] if "bucket" in line[-1] else rows, counts, " ".join(line))


def pasted(t, begin, **names):
    """The line that begins so, without its target; None: this kernel has no such source."""
    line = next(line for line in one_liners(t) if " ".join(line[1:]).startswith(begin))
    at = next(i for i, word in enumerate(line) if word in ("-p", "--comm", "-a"))
    return [names.get(word, word) for word in line[:at]] if has_sources(t, line) else None


def calls(t, *more):
    app = t.path("calls.py")
    with open(app, "w", encoding="ascii") as out:
        out.write(CALLS)
    return ["/usr/bin/python3", "-I", "-S", app, t.path("written"), *more]


def ask(t, line, pid, go):
    """What a line prints about a process that waits for go(), and ends then."""
    tapir = t.start_tapir(*line, "--json", "-p", pid)
    tapir.wait_ready()
    go()
    result = tapir.wait()
    t.eq(result.rc, 0, result.err)
    return result


def ask_running(t, line, process):
    """The table of a line, and what the process said."""
    table = total(t, ask(t, [*line, "--top", 0], process.pid, process.go))
    t.eq((table["lost"], table["unkeyed"]), (0, 0), f"{line}")
    return table, process.wait()


def numbers(table):
    """By keys: the sum, or where none was asked for, the count."""
    return {tuple(row["key"].values()): next((value["sum"] for value in row["values"] if value["of"] != "took"), row["count"])
            for row in table["rows"]}


def check_numbers(t, begin, table, expected):
    rows = numbers(table)
    t.eq({key: rows.get(key) for key in expected}, expected, begin)


def waiting(t):
    process = t.start(*calls(t))
    process.wait_line("pid ")
    return process


def test_one_liners_of_the_machine_count_what_a_program_does(t):
    t.need("/usr/bin/python3")
    for begin, expected in CALLED.items():
        line = pasted(t, begin)
        if line:
            check_numbers(t, begin, ask_running(t, line, waiting(t))[0], expected)
    for begin, expected in STARTED.items():
        line = pasted(t, begin)
        if line:
            check_numbers(t, begin, total(t, t.tapir(*line, "--json", "--", *calls(t, "now"))), expected)


def test_one_liners_by_stack_count_what_a_program_does(t):
    t.need("/usr/bin/python3")
    for begin, (count, summed) in STACKS.items():
        table, _ = ask_running(t, pasted(t, begin), waiting(t))
        rows = [(row["count"], values(row)["sum"] if summed else None) for row in table["rows"]]
        t.ok((count, summed) in rows, f"{begin}: {rows}")
    line = pasted(t, "tracepoint:exceptions:page_fault_user")
    if line:
        table, _ = ask_running(t, line, waiting(t))
        t.ok(table["hits"] >= 50, "each page is written once: %d" % table["hits"])


STATEMENTS = {"UPDATE sums SET sum = 7;": 4, "select pg_sleep(0.02);": 2, "select sum from sums;": 5}


def ask_server(t, server, begin):
    """What a line prints about a session that sends STATEMENTS."""
    with subprocess.Popen([f"{server.bin}/psql", "-X", "-A", "-t", "-q", "-h", server.dir, "-d", "postgres"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, user=server.user.pw_uid) as client:
        client.stdin.write("select pg_backend_pid();\n")
        client.stdin.flush()

        def go():
            client.stdin.write("".join(f"{statement}\n" * cnt for statement, cnt in STATEMENTS.items()))
            client.stdin.close()
        return ask(t, pasted(t, begin), client.stdout.readline().strip(), go)


def test_one_liners_of_a_database_count_its_statements(t):
    with Server(t) as server:
        if "query__start" not in t.tapir("list", f"{server.bin}/postgres", expect=None).out:
            t.skip("this PostgreSQL has no probes")
        server.run("psql", "-h", server.dir, "-d", "postgres", "-c", "create table sums(sum int)")
        cnt = sum(STATEMENTS.values())
        t.eq(total(t, ask_server(t, server, "postgresql:query --hist took"))["rows_hits"], cnt, "statements")
        table = total(t, ask_server(t, server, "postgresql:query --hist took --by"))
        t.eq(numbers(table), {(statement,): count for statement, count in STATEMENTS.items()}, "by statement")
        lines = ask_server(t, server, "postgresql:query --where").out.splitlines()
        t.eq(sum("pg_sleep" in line for line in lines), STATEMENTS["select pg_sleep(0.02);"], "slow statements")
        table = total(t, ask_server(t, server, "postgresql:query__start --where"))
        t.eq(table["rows_hits"], STATEMENTS["UPDATE sums SET sum = 7;"], "those that begin so")
        queries, locks = totals(ask_server(t, server, "postgresql:query hist took"))
        t.eq((queries["rows_hits"], locks["rows"]), (cnt, []), "two questions")


def test_one_liner_of_a_jvm_counts_its_collections(t):
    t.need("javac")  # which java runs a source with
    source = t.path("Collector.java")
    with open(source, "w", encoding="ascii") as out:
        out.write(COLLECTOR)
    with subprocess.Popen([t.need("java"), "-XX:+UseSerialGC", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as jvm:
        pid = jvm.stdout.readline().strip()
        if "gc__begin" not in t.tapir("list", "-p", pid, expect=None).out:
            jvm.stdin.close()
            t.skip("this JVM has no probes")
        table = total(t, ask(t, pasted(t, "hotspot:gc"), pid, jvm.stdin.close))
    check_numbers(t, "hotspot:gc", table, {(1,): 5})


def test_one_liner_of_ruby_counts_what_it_requires(t):
    t.need("ruby")
    files = {t.path(f"lib{i}.rb"): i + 1 for i in range(3)}
    for file in files:
        with open(file, "w", encoding="ascii") as out:
            out.write("$required = 1\n")
    requires = "".join(f"{cnt}.times {{ require {json.dumps(file)} }}\n" for file, cnt in files.items())
    process = t.start("ruby", "--disable-gems", "-e", 'r, w = IO.pipe\ntrap("USR1") { w.write "x" }\nputs "pid #{$$}"\n$stdout.flush\nr.read 1\n' + requires)
    process.wait_line("pid ")
    if "require__entry" not in t.tapir("list", "-p", process.pid, expect=None).out:
        t.skip("this Ruby has no probes")
    table, _ = ask_running(t, pasted(t, "ruby:require"), process)
    t.eq({row["key"]["required_file"]: row["count"] for row in table["rows"] if row["key"]["required_file"] in files}, files, "required")


def test_one_liners_of_two_events_count_the_intervals(t):
    """Their names stand for those of a program."""
    file = t.target_path("asked")
    until = {"shop:sold": "asked:work__start", "shop:shipped,refunded": "asked:work__done", "order": "arg0"}
    pair = {"shop:sold,shop:shipped,key=order": "asked:work__start,asked:work__done,key=arg0"}
    function = {f"{word}:FILE:FUNCTION": f"{word}:{file}:fire_even" for word in ("uprobe", "uretprobe")}
    for begin, names, part in (("shop:sold --until", until, 1), ("--pair", pair, 1), ("uprobe:FILE", function, 2)):
        table, result = ask_running(t, pasted(t, begin, **names), t.target("asked", "--wait", THREADS, EVENTS, KEYS))
        t.eq((table["hits"], table["rows"][0]["count"]), (result.witness()["fired"] // part,) * 2, begin)


def test_one_liner_of_python_counts_its_collections(t):
    t.need("/usr/bin/python3")
    if "gc__start" not in t.tapir("list", "/usr/bin/python3", expect=None).out:
        t.skip("this Python has no probes")
    app = t.path("app.py")
    with open(app, "w", encoding="ascii") as out:
        out.write(COLLECTS)
    program = ("--", "/usr/bin/python3", "-I", app)
    line = next(line for line in one_liners(t) if "python:gc" in line)
    table = total(t, t.tapir(*line[:line.index("--")], "--json", *program))
    counts = {row["key"]["generation"]: row["count"] for row in table["rows"]}
    t.ok(counts.get(0, 0) >= 1 and counts.get(1, 0) >= 1 and counts.get(2, 0) >= 2, f"collections {counts}")
    whole, began = totals(t.tapir("trace", "python:gc hist took by generation", "python:gc__start count by generation", "--json", *program))
    t.eq({row["key"]["generation"]: row["count"] for row in whole["rows"]},
         {row["key"]["generation"]: row["count"] for row in began["rows"]}, "each that began has ended")


def test_a_histogram_has_all_its_bars(t):
    file, said = recording(t)
    text = t.tapir("events", file, "order", "--lhist", "arg2,0,10000,50").out
    bars = [line.split() for line in text.splitlines() if line.endswith("#")]
    t.ok(len(bars) > 100, "bars: %d" % len(bars))
    t.eq(sum(int(bar[3].replace(",", "")) for bar in bars), said["fired"], "values in the bars")


def test_a_file_of_questions_may_be_of_any_system(t):
    file, said = recording(t)
    questions = t.path("questions")
    with open(questions, "wb") as out:
        out.write(b"# both\r\n\r\norder count\r\n  order sum arg2\r\n")
    tables = totals(t.tapir("events", file, "@" + questions, "--json"))
    t.eq([table["hits"] for table in tables], [said["fired"]] * 2, "events of each")
    t.eq(values(tables[1]["rows"][0])["sum"], said["cents"], "sum")
    with open(questions, "wb") as out:
        out.write(b"order count\0by arg1\n")
    result = t.tapir("events", file, "@" + questions, expect=2)
    t.eq(len(result.err.splitlines()), 1, "lines")
    t.ok("has a NUL" in result.err, result.err)


def test_from_each_event_to_the_next_one_of_its_thread(t):
    file, said = recording(t)
    table = events(t, file, "asked:order", "--until", "asked:order", "--count")
    t.eq(table["hits"], said["fired"] - THREADS, "intervals")


def test_a_file_has_at_most_64_questions(t):
    path = t.path("questions")
    with open(path, "w", encoding="utf-8") as file:
        file.write("asked:order count\n" * 65)
    result = t.tapir("trace", "@" + path, "-a", expect=2)
    t.ok("more than 64 questions" in result.err, result.err)


def test_no_table_of_a_process_that_is_not_there(t):
    result = t.tapir("trace", PROBES, "--count", "-p", 2**22 + 1, expect=1)
    t.eq(result.out, "", "output")
    t.eq(len(result.err.splitlines()), 1, result.err)


def test_what_the_kernel_rejects_is_counted(t):
    """The kernel decides from some event on: wherever that is, the sums are those of the program."""
    result = t.tapir("trace", "asked:order", "--where", "arg2 > 5000 && arg2 <= 9999", "--sum", "arg2", "--hist", "arg2", "--json",
                     "--", t.target_path("asked"), THREADS, 5000, KEYS)
    said = next(line for line in result.json_lines() if "fired" in line)
    file = t.path("same.tapir")
    again = t.tapir("record", "asked:order", *EVENTS_ONLY, "-o", file, "--", t.target_path("asked"), THREADS, 5000, KEYS).witness()
    t.eq(again, said, "the program does the same each time")
    live, read = total(t, result), events(t, file, "--where", "arg2 > 5000 && arg2 <= 9999", "--sum", "arg2", "--hist", "arg2")
    t.eq((live["hits"], live["rejected"], live["lost"]), (said["fired"], said["fired"] - said["big"], 0), "hits")
    t.eq(live["rows"], read["rows"], "rows of both lanes")


LANES = ("--sum", "arg2", "--min", "arg2", "--max", "arg2", "--avg", "arg2", "--hist", "arg2", "--top", 0)


def live(t, *options, events=5000, keys=KEYS, source="asked:order"):
    """Tables of a program that runs while it is asked, what it said, and what tapir said."""
    result, said = asked(t, source, *options, argv=(t.target_path("asked"), THREADS, events, keys))
    return result, total(t, result), said


def test_sums_of_the_kernel_are_those_of_a_file(t):
    """Wherever the kernel begins to add up: rows of both lanes are the same, and those of the program."""
    file = t.path("same.tapir")
    said = t.tapir("record", "asked:order", *EVENTS_ONLY, "-o", file, "--", t.target_path("asked"), THREADS, 1000, KEYS).witness()
    for keys in ((), ("--by", "arg2"), ("--by", "arg1, comm"), ("--by", "bucket(arg2, 100), event")):
        result, table, again = live(t, *LANES, *keys, events=1000)
        t.eq(again, said, "the program does the same each time")
        t.eq((table["hits"], table["lost"], table["unkeyed"]), (said["fired"], 0, 0), "hits")
        t.eq(table["rows"], events(t, file, "order", *LANES, *keys)["rows"], "rows of both lanes")
        t.ok(("in the kernel: arithmetic" in result.err) == ("bucket" in str(keys)), result.err)
        t.ok(f"{said['fired']:,} events, 0 lost" in result.err, "what the kernel added up are events")


def test_intervals_of_the_kernel_add_up(t):
    """Four threads, 10,000 keys: sums of all intervals are the total, and the program's."""
    result, table, said = live(t, "--sum", "arg2", "--max", "arg2", "--by", "arg2", "--top", 0, "--interval", "0.1", events=10000)
    parts = [check_sum(t, line) for line in result.json_lines() if line.get("type") == "interval"]
    t.eq((table["hits"], table["lost"], table["unkeyed"]), (said["fired"], 0, 0), "hits")
    t.eq(len(table["rows"]), 10000, "keys")
    t.eq(sum(part["hits"] for part in parts), said["fired"], "hits of intervals")
    for t_rows in ([table], parts):
        t.eq(sum(values(row)["sum"] for part in t_rows for row in part["rows"]), said["cents"], "sum")
    t.ok(all(values(row)["max"] == row["key"]["arg2"] for part in (table, *parts) for row in part["rows"]), "largest of each key")


def test_stacks_are_keys_in_the_kernel(t):
    """By their innermost frames, rows of both lanes are the same; outer ones may lack their table at first."""
    file = t.path("same.tapir")
    t.tapir("record", "asked:order", *EVENTS_ONLY, "--stack", "-o", file, "--", t.target_path("asked"), THREADS, 1000, KEYS)
    result, table, said = live(t, *LANES, "--by", "ustack(2), comm", events=1000)
    t.eq((table["hits"], table["lost"], table["unkeyed"]), (said["fired"], 0, 0), "hits")
    t.eq(table["rows"], events(t, file, "order", *LANES, "--by", "ustack(2), comm")["rows"], "rows of both lanes")
    t.ok("evaluated by tapir" not in result.err, result.err)
    _, table, said = live(t, "--sum", "arg2", "--by", "stack", events=1000)
    for caller in ("fire_odd", "fire_even"):
        t.eq(sum(row["count"] for row in table["rows"] if f"fire;{caller};run;" in row["key"]["stack"]), said["fired"] // 2, caller)
    t.eq(sum(values(row)["sum"] for row in table["rows"]), said["cents"], "sum")


def test_keys_without_room_in_the_kernel_are_counted(t):
    result, table, said = live(t, "--by", "arg0", "--top", 0, "--table-size", 1, events=10000)
    t.eq((table["hits"], table["lost"]), (said["fired"], 0), "hits")
    t.ok(table["unkeyed"] > 0 and table["rows"], "not all have found room")
    t.ok("evaluated by tapir" not in result.err, result.err)
    result, table, said = live(t, "--sum", "arg1", "--by", "arg1, event", source="asked:work__done")
    t.eq([(row["key"]["arg1"], row["count"], values(row)["sum"]) for row in sorted(table["rows"], key=lambda row: row["key"]["arg1"])],
         [(key, cnt, key * cnt) for key, cnt in zip((-1, 0, 1), said["statuses"])], "numbers with signs")


NUMBERS = ("--sum", "arg0", "--min", "arg0", "--max", "arg0", "--avg", "arg0", "--hist", "arg0", "--top", 0)
PAIRS = {"thread": ("asked:work__start", "--until", "asked:work__done"),
         "key": ("asked:work__start", "--until", "asked:work__done", "--key", "arg0"),
         "text": ("asked:order", "--until", "asked:work__done")}


def test_intervals_of_the_kernel_are_those_of_a_file(t):
    """The same load by both lanes: rows are the same, but for how long each took."""
    file = t.path("same.tapir")
    said = t.tapir("record", PROBES, *EVENTS_ONLY, "-o", file, "--", t.target_path("asked"), THREADS, 1000, KEYS).witness()
    for pair, keys in (("thread", ()), ("thread", ("--by", "arg0")), ("thread", ("--by", "comm", "--where", "arg0 < 2000")),
                       ("key", ()), ("key", ("--by", "arg0")), ("text", ("--by", "arg1")), ("thread", ("--by", "event"))):
        source, *until = PAIRS[pair]
        result, table, again = live(t, *until, *NUMBERS, *keys, events=1000, source=source)
        read = events(t, file, source, *until, *NUMBERS, *keys)
        t.eq(again, said, "the program does the same each time")
        for key in "hits", "rejected", "undefined", "unkeyed", "unbegun", "unended":
            t.eq(table[key], read[key], f"{key} of {pair} {keys}")
        t.eq(table["hits"], said["fired"], "intervals")
        t.eq(table["rows"], read["rows"], f"rows of {pair} {keys}")
        t.eq("in the kernel: a key is the name" in result.err, "event" in keys, result.err)
        t.ok(f"{2 * said['fired']:,} events, 0 lost" in result.err, "what the kernel added up are events")


def test_lengths_of_intervals_are_added_up_in_the_kernel(t):
    """Each is in the histogram, by the condition or not, and the intervals of tables add up."""
    source, *until = PAIRS["thread"]
    result, table, said = live(t, *until, "--hist", "took", "--max", "took", "--interval", "0.1", events=5000, source=source)
    row = {key: value for column in table["rows"][0]["values"] for key, value in column.items()}
    t.eq((table["hits"], sum(cnt for _, _, cnt in row["steps"])), (said["fired"],) * 2, "intervals")
    t.ok(0 < row["p50"] <= row["p99"] <= row["max"], row)
    parts = [check_sum(t, line) for line in result.json_lines() if line.get("type") == "interval"]
    t.eq(sum(part["hits"] for part in parts), said["fired"], "hits of tables")
    t.ok("evaluated by tapir" not in result.err, result.err)
    _, table, said = live(t, *until, "--count", "--where", "took >= 0ns && took < 1h", events=1000, source=source)
    t.eq((table["rows_hits"], table["rejected"]), (said["fired"], 0), "all of them")
    _, table, said = live(t, *until, "--count", "--where", "took > 1h", events=1000, source=source)
    t.eq((table["rows_hits"], table["rejected"]), (0, said["fired"]), "none of them")


def test_halves_of_intervals_in_the_kernel_are_counted(t):
    """From an order to the next beginning of its thread: the first beginning ends none, and the last order does not end."""
    result, table, said = live(t, "--until", "asked:work__start", "--count", events=2000, source="asked:order")
    t.eq((table["hits"], table["unbegun"], table["unended"]), (said["fired"] - THREADS, THREADS, THREADS), "of four threads")
    t.ok("evaluated by tapir" not in result.err, result.err)
