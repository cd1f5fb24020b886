# SPDX-License-Identifier: GPL-2.0-or-later
"""Tracepoints and system calls as sources: every number equals what the program says of itself."""
import os
import shutil
import signal
import subprocess
import sys

from case_cli import one_line
from harness import PATIENCE, named

THREADS, CALLS = 4, 250
PROGRAM = ("caller", THREADS, CALLS)


def program(t):
    return [t.target_path(PROGRAM[0]), *PROGRAM[1:]]


def ask(t, *options):
    """Rows, and what the program said."""
    table, said = ask_all(t, *options)
    t.eq(table["lost"], 0, "lost")
    return table["rows"], said


def ask_all(t, *options):
    result = t.tapir("trace", *options, "--json", "--", *program(t))
    lines = result.json_lines()
    tables = [line for line in lines if line.get("type") == "total"]
    t.eq(len(tables), 1, "tables")
    return tables[0], next(line for line in lines if "getppid" in line)


def by(rows, *keys):
    return {tuple(row["key"][key] for key in keys): row["count"] for row in rows}


def test_system_calls_are_the_programs(t):
    rows, said = ask(t, "syscall:getppid,close", "--by", "event,err", "--where", "event == \"syscall:getppid\" || err")
    t.eq(by(rows, "event", "err"), {("syscall:getppid", 0): said["getppid"], ("syscall:close", "EBADF"): said["ebadf"]}, "calls")


def test_file_that_is_not_there_has_its_name(t):
    rows, said = ask(t, "syscall:openat", "--where", 'err == ENOENT && filename ~ "/nowhere/*"', "--by", "filename,ret")
    t.eq(sum(row["count"] for row in rows), said["enoent"], "calls that fail")
    t.eq({row["key"]["filename"] for row in rows}, {f"/nowhere/caller-{i}" for i in range(3)}, "files")


def test_calls_last_as_long_as_the_program_sleeps(t):
    rows, said = ask(t, "syscall:nanosleep", "--sum", "took", "--where", "took >= 2ms && ret == 0")
    t.eq(rows[0]["count"], said["sleeps"], "sleeps")
    t.ok(rows[0]["values"][0]["sum"] >= said["slept_ns"], f"slept {rows[0]['values']}")


def check_but_for_lost(t, table, said, what):
    """A tracepoint that is passed while another BPF program of that kind runs on the CPU is counted as lost."""
    count = sum(row["count"] for row in table["rows"])
    t.ok(count <= said <= count + table["lost"], f"{what}: {said}, recorded {count}, lost {table['lost']}")


def test_tracepoints_have_their_fields(t):
    table, said = ask_all(t, "tracepoint:task:task_rename", "--where", 'newcomm ~ "renamed-*"', "--by", "newcomm,comm")
    check_but_for_lost(t, table, said["renames"], "renames")
    t.eq({row["key"]["newcomm"] for row in table["rows"]}, {"renamed-0", "renamed-1"}, "new names")
    table, said = ask_all(t, "tracepoint:signal:signal_generate", "--where", "sig == SIGUSR2 && .comm == \"caller\"", "--count")
    check_but_for_lost(t, table, said["signals"], "signals")


def test_functions_have_their_arguments_and_results(t):
    rows, said = ask(t, "uprobe:caller:caller_twice", "--sum", "arg0")
    t.eq((rows[0]["count"], 2 * rows[0]["values"][0]["sum"]), (THREADS * CALLS, said["twice"]), "arguments")
    rows, said = ask(t, f"uretprobe:{t.target_path('caller')}:caller_twice", "--sum", "ret")
    t.eq((rows[0]["count"], rows[0]["values"][0]["sum"]), (THREADS * CALLS, said["twice"]), "results")


def test_relative_path_of_a_functions_file_is_refused_with_its_name(t):
    said = t.tapir("trace", "uprobe:./caller:caller_twice", "--count", "--", "true", expect=1).err
    t.ok("give its name, 'caller', or its path from '/'" in said, said)


def test_function_from_its_beginning_to_its_end(t):
    rows, _ = ask(t, "uprobe:caller:caller_twice", "--until", "uretprobe:caller:caller_twice", "--hist", "took")
    t.eq(rows[0]["count"], THREADS * CALLS, "calls")


def test_functions_of_cxx_are_named_as_in_the_source(t):
    """With '::', '(' and ',' in the names, as a source and as an interval."""
    for name in ("caller::thrice", "caller::thrice(unsigned long)", "_ZN6caller6thriceEm"):
        rows, _ = ask(t, f"uprobe:caller:{name}", "--until", f"uretprobe:caller:{name}", "--count", "--sum", "took")
        t.eq(rows[0]["count"], THREADS * CALLS, name)
    rows, _ = ask(t, "--pair", "uprobe:caller:caller::thrice,uretprobe:caller:caller::thrice", "--count")
    t.eq(rows[0]["count"], THREADS * CALLS, "calls of the pair")
    target = t.target("caller", "--wait", *PROGRAM[1:])
    result = t.tapir("trace", "uprobe:caller:caller::thrice(int, int)", "--count", "-p", target.pid, expect=1)
    t.ok("it has caller::thrice(unsigned long)" in result.err, result.err)


def ask_calls(t, function, *argv):
    """The table of a function's calls, and what the program counted."""
    result = t.tapir("trace", f"ufunc:{os.path.basename(str(argv[0]))}:{function}", "--sum", "ret", "--json", "--", *argv)
    table, = (line for line in result.json_lines() if line.get("type") == "total")
    t.eq((table["lost"], table["unkeyed"], table["undefined"], table["unbegun"]), (0, 0, 0, 0), f"{function}: losses")
    row = table["rows"][0] if table["rows"] else {"count": 0, "values": [{"sum": 0}]}
    return row["count"], row["values"][0]["sum"], table["unended"], next(line for line in result.json_lines() if "returned" in line)


def test_calls_of_a_function_are_those_that_return(t):
    """Others end in longjmp or with their thread. Each call of the recursive one returns, ten levels deep."""
    argv = (t.target_path("calls"), THREADS, CALLS)
    cnt, _, unended, said = ask_calls(t, "calls_deep", *argv)
    t.eq((cnt, unended), (said["deep"], 0), "levels")
    cnt, total, unended, said = ask_calls(t, "calls_jump", *argv)
    t.eq((cnt, total, unended), (said["returned"], said["sum"], said["jumped"]), "calls that may jump")
    cnt, total, unended, said = ask_calls(t, "calls_between", *argv)
    t.eq((cnt, total, unended), (said["returned"], said["sum"] + said["returned"], said["jumped"]), "calls that are jumped over")
    cnt, _, unended, _ = ask_calls(t, "calls_last", *argv)
    t.eq((cnt, unended), (0, 1), "the end of a thread")


def test_calls_have_their_durations_in_the_kernel(t):
    result = t.tapir("trace", "ufunc:calls:calls_deep", "--hist", "took", "--sum", "took", "--json", "--", t.target_path("calls"), 1, CALLS)
    t.ok("not in the kernel" not in result.err, result.err)
    table, = (line for line in result.json_lines() if line.get("type") == "total")
    t.eq(table["rows"][0]["count"], next(line for line in result.json_lines() if "deep" in line)["deep"], "calls")


def test_exceptions_pass_a_function_that_is_probed(t):
    """Its returns are probed where they are: no return address is replaced, which an unwinder would read."""
    program, source = t.path("throws"), os.path.join(os.path.dirname(__file__), "programs", "throws.cc")
    t.run(t.need("g++"), "-O2", source, "-o", program)
    for function, factor in (("shop::pass", 2), ("shop::leave(long)", 1)):
        cnt, total, unended, said = ask_calls(t, function, program, CALLS)
        t.eq((cnt, 2 * total, unended), (said["returned"], factor * said["sum"], said["thrown"]), function)
        t.eq(said["destroyed"], CALLS, "destructors")


def test_stacks_are_whole_while_calls_are_asked_for(t):
    target, file = t.target("calls", "--wait", 1, CALLS), t.path("trace.tapir")
    tracer = t.start_tapir("trace", "ufunc:calls:calls_deep", "--count", "--json", "-p", target.pid)
    tracer.wait_ready()
    said = t.record_waiting(target, file, "calls:bottom", "--stack")
    tracer.wait()
    events = [event for event in t.events(file) if event["event"] == "bottom"]
    t.eq(len(events), said["returned"] + said["jumped"], "events")
    short = [event for event in events if sum("calls_deep" in str(frame) for frame in event["stack"]) != 10]
    t.eq(short[:1], [], f"stacks of {len(events)} that are not whole: {len(short)}")


def test_return_is_refused_where_it_would_harm(t):
    node = t.path("node")
    shutil.copy2(t.target_path("caller"), node)
    result = t.tapir("trace", "uretprobe:node:main", "--count", "--", node, 1, 1, expect=1)
    t.ok("only uprobe is possible" in result.err, result.err)
    t.ok("events" not in result.out, "no table of nothing")


def test_function_that_is_not_there(t):
    target = t.target("caller", "--wait", *PROGRAM[1:])
    for source, words in (("uprobe:caller:no_such", "no function of that name"), ("uprobe:libnosuch:main", "no traced process maps")):
        result = t.tapir("trace", source, "--count", "-p", target.pid, expect=1)
        t.ok(words in result.err, result.err)
        t.eq(result.out, "", "output")


def test_of_two_processes_one_is_recorded(t):
    one, other = t.target("caller", "--wait", *PROGRAM[1:]), t.target("caller", "--wait", *PROGRAM[1:])
    tapir = t.start_tapir("trace", "syscall:getppid", "tracepoint:task:task_rename", "--by", "pid,event", "--json",
                          "-p", one.pid)
    tapir.wait_ready()
    other.go()
    other.wait()
    one.go()
    said = one.wait().witness()
    result = tapir.wait()
    table = next(line for line in result.json_lines() if line.get("type") == "total")
    t.eq({int(row["key"]["pid"]) for row in table["rows"]}, {one.pid}, "processes")
    check_but_for_lost(t, table, said["getppid"] + said["renames"], "events")


FAULTING = """
import ctypes, mmap, sys
memory = mmap.mmap(-1, 4096 * 3000)
memory.madvise(15)  # MADV_NOHUGEPAGE
print(ctypes.addressof(ctypes.c_char.from_buffer(memory)), flush=True)
sys.stdin.readline()
for page in range(3000):
    memory[4096 * page] = 1
"""


def test_each_fault_has_its_address(t):
    program = subprocess.Popen([sys.executable, "-c", FAULTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    at = int(program.stdout.readline())
    tapir = t.start_tapir("trace", "perf:minor-faults@1", "--where", f"addr >= {at} && addr < {at + 4096 * 3000}", "--sum", "period",
                          "--by", "comm", "--json", "-p", program.pid)
    tapir.wait_ready()
    program.communicate("\n", timeout=60 * PATIENCE)
    table = next(line for line in tapir.wait().json_lines() if line.get("type") == "total")
    t.eq([(row["count"], row["values"][0]["sum"]) for row in table["rows"]], [(3000, 3000)], "pages that it touches")


def test_timer_finds_who_runs(t):
    burner = t.target("burner", "--wait", 300)
    tapir = t.start_tapir("trace", "timer:997", "--sum", "period", "--by", "comm", "--stack", "--json", "-p", burner.pid)
    tapir.wait_ready()
    burner.go()
    used = burner.wait().witness()
    row, = next(line for line in tapir.wait().json_lines() if line.get("type") == "total")["rows"]
    used_ns = 1_000_000 * (used["user_ms"] + used["kernel_ms"])
    t.ok(row["key"]["comm"] == "burner" and used_ns / 3 < row["values"][0]["sum"] < 3 * used_ns, f"{used}: {row}")


def test_interval_from_one_call_to_another(t):
    rows, said = ask(t, "syscall:getppid", "--until", "syscall:openat", "--hist", "took")
    t.eq(rows[0]["count"], said["getppid"], "intervals")


def test_events_are_listed_with_names(t):
    result = t.tapir("trace", "syscall:getppid", "--json", "--", *program(t))
    lines = result.json_lines()
    said = next(line for line in lines if "getppid" in line)
    events = named([line for line in lines if line.get("type") == "event"], "syscall:getppid")
    t.eq(len(events), said["getppid"], "events")
    t.eq(list(events[0]["args"]), ["ret", "err", "took"], "fields")


def test_what_does_not_exist_is_said_in_one_line(t):
    for source, words in (("syscall:no_such", "no system call matches"), ("tracepoint:sched:no_such", "no tracepoint"),
                          ("tracepoint:sched", "is not tracepoint:CATEGORY:NAME"), ("perf:nope", "no event matches 'perf:nope'"),
                          ("perf:cpu-clock@1", "must be at least"), ("timer:0", "is not timer:HZ")):
        result = t.tapir("trace", source, "-a", expect=None)
        t.ok(result.rc in (1, 2), f"exit {result.rc}")
        t.eq(len(result.err.splitlines()), 1, result.err)
        t.ok(words in result.err, result.err)


def test_ctrl_c_ends_it(t):
    target = t.target("caller", "--wait", *PROGRAM[1:])
    tapir = t.start_tapir("trace", "syscall:*", "--count", "-p", target.pid)
    tapir.wait_ready()
    tapir.signal(signal.SIGINT)
    t.eq(tapir.wait().rc, 0, "exit")


def test_list_shows_fields(t):
    one = t.tapir("list", "syscall:openat", "--json").json_lines()
    t.eq([(line["provider"], line["name"], line["args"][1]) for line in one],
         [("syscall", "openat", {"name": "filename", "type": "str"})], "openat")
    out = t.tapir("list", "tracepoint:task:task_*").out
    t.ok("tracepoint:task:task_rename" in out and "str newcomm" in out, out)


def test_calls_that_the_kernel_rejects_are_counted(t):
    """It decides from some call on: wherever that is, the sums are those of the program."""
    result = t.tapir("trace", "syscall:getppid,close", "--where", "err", "--count", "--json", "--", t.target_path("caller"), THREADS, 4000)
    lines = result.json_lines()
    said = next(line for line in lines if "getppid" in line)
    table = next(line for line in lines if line.get("type") == "total")
    t.eq(table["rows"][0]["count"], said["ebadf"], "calls that fail")
    t.ok(table["rejected"] >= said["getppid"], f"others: {table['rejected']}")
    t.eq((table["hits"], table["lost"]), (table["rejected"] + said["ebadf"], 0), "hits")


def test_calls_are_added_up_in_the_kernel_with_their_names(t):
    result = t.tapir("trace", "syscall:getppid,close", "--hist", "took", "--by", "event, err", "--json", "--", t.target_path("caller"), THREADS, 4000)
    lines = result.json_lines()
    said = next(line for line in lines if "getppid" in line)
    table = next(line for line in lines if line.get("type") == "total")
    counts = {(row["key"]["event"], row["key"]["err"]): row["count"] for row in table["rows"]}
    t.eq((counts["syscall:getppid", 0], counts["syscall:close", "EBADF"]), (said["getppid"], said["ebadf"]), "by name")
    t.ok("evaluated by tapir" not in result.err, result.err)
    t.eq((table["hits"], table["lost"]), (sum(counts.values()), 0), "hits")
    t.eq([sum(step[2] for step in row["values"][0]["steps"]) for row in table["rows"]], [row["count"] for row in table["rows"]], "steps")


def test_tracefs_is_read_whether_it_is_mounted_or_not(t):
    """Machines differ in that; a mount of tapir's own is seen by no other process."""
    t.need("unshare", "mount", "umount")
    for prepare in ("while umount -l /sys/kernel/tracing; do :; done; umount -l /sys/kernel/debug; test ! -e /sys/kernel/tracing/events",
                    "while umount -l /sys/kernel/tracing; do :; done; mount -t tracefs tracefs /sys/kernel/tracing"):
        result = t.run("unshare", "--mount", "sh", "-c", f'{{ {prepare}; }} 2>/dev/null && "$1" list syscall:openat && "$@" && cat /proc/self/mounts >&2',
                       "sh", t.tapir_path, "trace", "tracepoint:task:task_rename", "--where", 'newcomm ~ "renamed-*"', "--count", "--json",
                       "--", *program(t))
        t.ok("str filename" in result.out, result.out + result.err)
        lines = result.json_lines()
        table = next(line for line in lines if line.get("type") == "total")
        check_but_for_lost(t, table, next(line for line in lines if "getppid" in line)["renames"], "renames")
        t.eq(result.err.count(" /sys/kernel/tracing "), prepare.count(" mount "), "mounts that others see")


def test_functions_of_the_kernel_have_their_arguments_and_results(t):
    """dd reads so many bytes so many times; no other read of it has this size."""
    if not os.path.exists("/sys/bus/event_source/devices/kprobe"):
        t.skip("this kernel has no kprobes")
    argv = ("--json", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=7", "count=1000")
    for words, of in ((("kprobe:vfs_rea[d]", "--where", "count == 7", "--sum", "count"), "count"),
                      (("kretprobe:vfs_read", "--where", "ret == 7", "--sum", "ret"), "ret")):
        result = t.tapir("trace", *words, *argv)
        table, = (line for line in result.json_lines() if line.get("type") == "total")
        row, = table["rows"]
        t.eq((row["count"], row["values"], table["unkeyed"], table["undefined"], table["lost"]),
             (1000, [{"of": of, "sum": 7000}], 0, 0, 0), f"{words}")
    named = t.tapir("list", "kprobe:vfs_read").out.split()
    t.eq(named, "kprobe:vfs_read (ptr file, ptr buf, u64 count, ptr pos)".split(), "its arguments")
    one_line(t, t.tapir("trace", "kprobe:no_such_function", "--count", "-a", expect=1), "has no such function")


def test_calls_of_the_kernels_functions_are_intervals(t):
    if not os.path.exists("/sys/bus/event_source/devices/kprobe"):
        t.skip("this kernel has no kprobes")
    result = t.tapir("trace", "kfunc:vfs_read", "--where", "count == 7 && took > 0ns", "--sum", "ret", "--json",
                     "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=7", "count=1000")
    table, = (line for line in result.json_lines() if line.get("type") == "total")
    t.eq([(row["count"], row["values"]) for row in table["rows"]], [(1000, [{"of": "ret", "sum": 7000}])], "reads")
    listed = t.tapir("list", "kfunc:vfs_read").out.split()
    t.ok("kprobe:vfs_read" in listed and "kretprobe:vfs_read" in listed, f"{listed}")


def test_functions_of_the_kernel_are_refused_where_it_has_no_kprobes(t):
    if os.path.exists("/sys/bus/event_source/devices/kprobe"):
        t.skip("this kernel has kprobes")
    for word in ("kprobe", "kfunc"):
        one_line(t, t.tapir("trace", f"{word}:vfs_read", "--count", "-a", expect=3), "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)")
