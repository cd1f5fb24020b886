# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line, used wrongly: every mistake is a line that teaches and an exit code that tells."""
import json
import os
import re
import subprocess
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
          "--ambient-caps=-all")

USAGE = (
    (("lsit",), "the nearest is 'tapir list'"),
    (("--jsno",), "no option '--jsno'"),
    (("list",), "tapir list -p 4242"),
    (("list", "--jsno"), "the nearest is '--json'"),
    (("list", "-p", "x"), "'x' is not a process id"),
    (("list", "-p", "1", "--all"), "remove -p or --all"),
    (("list", "-p"), "--pid requires a value: --pid PID"),
    (("list", "/bin/ls", "a", "b"), "unexpected argument 'b'"),
    (("list", "-p", "1", "a", "b"), "only one GLOB can be given"),
    (("list", "/usr/bin/python3", "a b:c"), "is not allowed in a provider name"),
    (("doctor", "x"), "unexpected argument 'x'"),
    (("doctor", "-p", "1,2"), "only one process can be checked"),
    (("help", "nothing"), "no command or topic 'nothing'"),
    (("--", "ls"), "a command is required before '--'"),
    (("record", "-p", "1", "sleep", "1"), "'sleep' is a command: write -- before it to record while it runs"),
    (("trace", "--comm", "x", "/bin/sleep"), "'/bin/sleep' is a command"),
)


def commands(t):
    text = t.tapir("help").out
    block = text.split("Commands")[1].split("Topics")[0]
    return re.findall(r"^  (\w+) ", block, re.M)


def one_line(t, result, part):
    lines = result.err.splitlines()
    t.ok(len(lines) == 1 and lines[0].startswith("tapir: ") and part in lines[0],
         f"{result.argv}: {part!r} in one line on stderr: {result.err!r}")
    t.eq(result.out, "", "stdout")


def as_nobody(t, *args, env=None):
    t.need("setpriv")
    probe = t.run(*NOBODY, t.tapir_path, "--version")
    if probe.rc:
        t.skip("nobody may not run the build")
    return t.run(*NOBODY, t.tapir_path, *args, env=env)


def test_usage_error_teaches_when_words_are_wrong(t):
    for args, part in USAGE:
        one_line(t, t.tapir(*args, expect=2), part)


def test_counters_that_cannot_be_are_one_line(t):
    target = t.start(t.need("sleep"), 60)
    one_line(t, t.tapir("trace", "--counters", "-p", target.pid, "-d", 1, expect=1), "the process has no such counters")
    one_line(t, t.tapir("trace", "--counters", "-p", 999999999, "-d", 1, expect=1), "process 999999999 does not exist")


def test_every_command_refuses_nonsense_and_has_examples(t):
    t.ok({"list", "doctor", "help"} <= set(commands(t)), "commands are listed")
    for name in commands(t):
        one_line(t, t.tapir(name, "--no-such-option", expect=2), f"'tapir help {name}'")
        text = t.tapir(name, "--help").out
        t.ok("Examples:" in text and f"usage: tapir {name}" in text, f"help of {name}: {text!r}")
        t.eq(text, t.tapir("help", name).out, f"help {name}")


def topics(t):
    return re.findall(r"^  (\w+) ", t.tapir("help").out.split("Topics")[1], re.M)


def test_help_fits_80_columns(t):
    words = [()] + [("help", word) for word in commands(t) + topics(t)]
    t.ok(len(words) > 15, f"few pages: {words}")
    for args in words:
        for line in t.tapir(*args).out.splitlines():
            t.ok(len(line) <= 80, f"tapir {' '.join(args)}: {line!r}")


def test_tables_of_topics_stay_tables(t):
    """Indented lines are rows or commands: wrapped into a paragraph they could not be read."""
    seen = 0
    for topic in topics(t):
        with open(os.path.join(ROOT, f"user/cli/topics/{topic}.txt"), encoding="utf-8") as f:
            rows = [line.rstrip("\n") for line in f if line.startswith("  ")]
        missing = set(rows) - set(t.tapir("help", topic).out.splitlines())
        t.eq(missing, set(), f"rows of {topic} that its help does not have")
        seen += len(rows)
    t.ok(seen > 100, f"rows: {seen}")


def columns_of(t, groff, page):
    """The longest line of a man page on a terminal of 80 columns."""
    text = t.run(groff, "-man", "-rLL=78n", "-Tascii", "-P-cbou", page).out
    t.ok("NAME" in text, f"{page}: {text[:200]!r}")
    return max(text.splitlines(), key=len)


def test_man_pages_fit_80_columns(t):
    groff = t.need("groff")
    t.tapir("help", "--man-pages", t.tmp)
    pages = [t.path(page) for page in os.listdir(t.tmp)]
    for header in ("usdt", "provider", "counter", "gc_event_sink"):
        pages.append(t.path(f"{header}.3"))
        with open(pages[-1], "w", encoding="utf-8") as f:
            f.write(t.run(os.path.join(ROOT, "scripts/man3"), os.path.join(ROOT, f"include/tapir/{header}.h"), header).out)
    t.ok(len(pages) > 25, f"few pages: {pages}")
    for page in pages:
        line = columns_of(t, groff, page)
        t.ok(len(line) <= 80, f"{page}: {line!r}")


def test_lists_in_help_are_those_of_the_tables(t):
    """What an option refuses, its help, its topic and the completion name the same values."""
    for command, option, topic in (("record", "profile", "profiles"), ("report", "view", "views"),
                                   ("export", "format", "formats"), ("record", "lane", None),
                                   ("record", "event", None)):
        line = t.tapir(command, f"--{option}", "no-such-value", expect=2).err
        values = line.split("is not one of ")[1].split("\n")[0].split(", ")
        t.ok(len(values) > 3, line)
        text = " ".join(t.tapir("help", command).out.split())
        t.ok(f"one of {', '.join(values)}" in text, f"{values} in the help of {command}")
        if topic:
            rows = re.findall(r"^  (\S+)  +\S", t.tapir("help", topic).out, re.M)
            t.eq(rows[:len(values)], values, f"rows of the topic {topic}")
        words = complete(t, "tapir", command, f"--{option}", "")
        t.eq(words, [value.split("=")[0] + "=" * ("=" in value) for value in values], "completion")
    t.eq(set(topics(t)) - set(complete(t, "tapir", "help", "")), set(), "topics that completion lacks")


def test_man_pages_and_completion_are_well_formed(t):
    groff = t.need("groff")
    t.tapir("help", "--man-pages", t.tmp)
    pages = sorted(os.listdir(t.tmp))
    t.eq(pages, sorted(["tapir.1"] + [f"tapir-{name}.1" for name in commands(t)]
                       + [f"tapir-{name}.7" for name in topics(t)]), "pages")
    for page in pages:
        result = t.run(groff, "-man", "-ww", "-z", t.path(page))
        t.eq((result.rc, result.err), (0, ""), page)
    with open(t.path("tapir-record.1"), encoding="utf-8") as f:
        t.eq(t.tapir("help", "record", "--man").out, f.read(), "help record --man")
    one_line(t, t.tapir("help", "--man-pages", "/nonexistent", expect=1), "cannot write /nonexistent/tapir.1")
    with open(t.path("completion"), "w", encoding="utf-8") as f:
        f.write(t.tapir("help", "--completion").out)
    result = t.run("bash", "-n", t.path("completion"))
    t.eq((result.rc, result.err), (0, ""), "completion")


def complete(t, *words):
    """What bash offers for the last word."""
    file = t.path("completion")
    with open(file, "w", encoding="utf-8") as f:
        f.write(t.tapir("help", "--completion").out)
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tapir; echo "${COMPREPLY[@]}"'
    return t.run("bash", "-c", script, "bash", file, *words).out.split()


def test_completion_offers_commands_options_and_files(t):
    with open(t.path("here.tapir"), "w", encoding="utf-8"):
        pass
    for words, offered in ((("tapir", "doc"), ["doctor"]), (("tapir", "list", "--js"), ["--json"]),
                           (("tapir", "list", "-p", str(os.getpid())), [str(os.getpid())]),
                           (("tapir", "record", "-o", t.path("he")), [t.path("here.tapir")]),
                           (("tapir", "record", "--profile", "gc,ex"), ["gc,exceptions"]),
                           (("tapir", "report", "--view", "=", "ex"), ["exceptions"]),
                           (("tapir", "export", "--format", "="), ["nettrace", "speedscope", "folded", "collapsed", "pprof", "otlp", "perfscript", "chrome", "firefox", "perfetto", "perfetto57", "ctf", "sqlite"]),
                           (("tapir", "export", "-o", t.path("he")), [t.path("here.tapir")])):
        t.eq(complete(t, *words), offered, f"completion of {words}")


def test_file_is_named_when_it_is_no_program(t):
    plain = t.path("plain")
    with open(plain, "w", encoding="utf-8") as f:
        f.write("no ELF\n" * 100)
    os.mkfifo(t.path("fifo"))
    for file, part in ((t.path("none"), "No such file"), (plain, "is not a valid ELF file"), (t.tmp, t.tmp),
                       (t.path("fifo"), t.path("fifo")), ("/dev/zero", "/dev/zero")):
        one_line(t, t.tapir("list", file, expect=1), part)


def test_cut_program_is_no_crash_wherever_it_ends(t):
    with open(t.target_path("types"), "rb") as f:
        whole = f.read()
    cut, seen = t.path("cut"), set()
    for i in range(48):
        with open(cut, "wb") as f:
            f.write(whole[:len(whole) * i // 48])
        result = t.tapir("list", cut, expect=None)
        t.ok(result.rc in (0, 1), f"{i}/48 of a file: exit {result.rc} {result.err}")
        t.ok(result.err.startswith("tapir: ") or result.out, f"{i}/48 of a file: a word")
        seen.add(result.rc)
    t.ok(1 in seen, "a file cut in its header is refused")


def test_program_without_probes_is_no_failure(t):
    result = t.tapir("list", "/bin/true")
    t.ok("has no USDT probes" in result.err and not result.out, result.err)
    t.eq(t.tapir("-q", "list", "/bin/true", "--json").err, "", "-q")


def test_near_miss_is_named_when_a_glob_finds_nothing(t):
    file = t.target_path("manysites")
    one_line(t, t.tapir("list", file, "zzzz", expect=1), "no probe matches 'zzzz'")
    provider = t.tapir("list", file, "--json").json_lines()[0]["provider"]
    one_line(t, t.tapir("list", file, f"{provider}x:s040", expect=1), f"the nearest is '{provider}:s040'")


def test_process_is_named_when_it_is_none(t):
    child = subprocess.Popen(["true"])
    child.wait()
    for command in ("list", "doctor"):
        one_line(t, t.tapir(command, "-p", child.pid, expect=1), f"process {child.pid} does not exist")
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        one_line(t, t.tapir("list", "-p", thread.native_id, expect=1), f"is a thread of process {os.getpid()}")
    finally:
        done.set()
        thread.join()


def test_rights_are_named_when_they_are_missing(t):
    result = as_nobody(t, "list", "-p", os.getpid())
    t.eq(result.rc, 3, f"exit of list as nobody: {result.err}")
    one_line(t, result, "CAP_SYS_PTRACE")
    for spec in ((), ("shop:order",)):
        result = as_nobody(t, "record", *spec, "-p", os.getpid(), "-d", 1, "-o", "/tmp/none.tapir")
        t.eq(result.rc, 3, f"exit of record as nobody: {result.err}")
        one_line(t, result, f"process {os.getpid()}: it belongs to another user (uid 0)")
    result = as_nobody(t, "doctor")
    t.eq(result.rc, 3, "exit of doctor as nobody")
    t.ok("missing cap_bpf, cap_perfmon" in result.err, f"what is missing: {result.err!r}")
    t.ok("setcap" in result.out, "the way to get it")


def test_doctor_says_no_when_a_feature_is_switched_off(t):
    for disabled, rc in (("btf", 3), ("ring_buffer", 3), ("uprobe_multi", 0), ("sleepable", 3),
                         ("uprobe_multi,perf_uprobe", 3)):
        env = dict(os.environ, TAPIR_DISABLE=disabled)
        result = t.run(t.tapir_path, "doctor", "--json", env=env)
        t.eq(result.rc, rc, f"exit without {disabled}: {result.err}")
        document = json.loads(result.out)
        t.eq(document["can_record"], rc == 0, f"can_record without {disabled}")
        states = {check["name"]: check["state"] for check in document["checks"]}
        for name in disabled.split(","):
            t.ok(states[name] != "ok", f"{name} is not ok without it")


def test_failure_is_reported_when_output_cannot_be_written(t):
    for args in (("list", "/usr/bin/python3"), ("help",), ("doctor",), ("help", "--man")):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([t.tapir_path, *args], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=30, check=False)
        t.eq(done.returncode, 1, f"exit of {args}")
        t.ok("cannot write to standard output: No space left on device" in done.stderr, done.stderr)


def test_no_colour_leaves_a_pipe_or_is_there_against_the_will(t):
    t.ok("\033" not in t.tapir("help").out, "a pipe")
    script = t.need("script")
    for no_color, wanted in (("", True), ("1", False)):
        env = dict(os.environ, TERM="xterm", NO_COLOR=no_color)
        out = t.run(script, "-qec", f"{t.tapir_path} help", "/dev/null", env=env).out
        t.eq("\033[1m" in out, wanted, f"colour on a terminal, wanted {wanted}")


def test_arguments_have_names_when_their_provider_is_known(t):
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        t.skip("no " + python)
    lines = t.tapir("list", python, "python:function__entry", "--json").json_lines()
    if not lines:
        t.skip(python + " is built without probes")
    args = lines[0]["args"]
    t.eq([arg["type"] for arg in args], ["str", "str", "i32"], "types, as CPython's manual has them")
    t.ok(all(arg.get("name") for arg in args), f"names: {args}")
    table = t.tapir("list", python, "python:function__entry").out
    t.ok(f"(str {args[0]['name']}, " in table, table)


def test_program_without_dashes_is_told_what_to_type(t):
    one_line(t, t.tapir("record", "sleep", "5", expect=2), "to run sleep: tapir record -- sleep ...")
    one_line(t, t.tapir("trace", "true", expect=2), "to run true: tapir trace -- true")
    one_line(t, t.tapir("record", "ls", "-lt", expect=2), "to run ls: tapir record -- ls -l ...")
    one_line(t, t.tapir("record", "node", "--inspect", "app.js", expect=2), "tapir record -- node --inspect ...")
    one_line(t, t.tapir("record", "hotspot:gc*", "-l", expect=2), "'tapir help record' lists them")


def recordings(directory):
    return sorted(name for name in os.listdir(directory) if name.endswith(".tapir"))


def test_file_is_named_by_program_and_time_when_out_is_a_directory(t):
    t.tapir("record", "--profile", "gc,cpu", "-g", "--duration", "00:00:01", "-o", t.tmp, "--", "sleep", "0.1")
    names = recordings(t.tmp)
    t.ok(len(names) == 1 and re.fullmatch(r"sleep-\d{8}-\d{6}\.tapir", names[0]), str(names))


def test_newest_recording_is_read_when_none_is_named(t):
    """By whom it was made counts: a link, a directory and another user's file are passed over."""
    script = 'cd "$1" && shift && exec "$@"'
    def there(*args, expect=0):
        result = t.run("sh", "-c", script, "sh", t.tmp, *args)
        t.eq(result.rc, expect, f"{args}: {result.err}")
        return result
    t.ok("FILE is required: no recording of yours" in there(t.tapir_path, "report", expect=2).err, "none")
    for name in ("old.tapir", "new.tapir", "foreign.tapir"):
        t.tapir("record", "--no-sched", "-o", t.path(name), "--", "true")
    os.chown(t.path("foreign.tapir"), 65534, 65534)
    os.utime(t.path("old.tapir"), (1, 1))
    os.symlink("/etc/passwd", t.path("link.tapir"))
    os.mkdir(t.path("directory.tapir"))
    for args in (("report",), ("events",), ("events", "no_such_event*"), ("export", "--format", "folded")):
        t.ok(there(t.tapir_path, *args).err.startswith("tapir: reading new.tapir\n"), f"{args} names what it reads")
    t.ok("old.tapir:" in there(t.tapir_path, "report", "--all", "old.tapir").out, "the one that is named")
    sudo = there("env", "SUDO_UID=65534", t.tapir_path, "report")
    t.ok(sudo.err.startswith("tapir: reading foreign.tapir\n"), f"behind sudo: {sudo.err}")


def on_terminal(t, command, **env):
    script = t.need("script")
    return t.run(script, "-qec", command, "/dev/null", env={**os.environ, "TERM": "xterm", **env})


def test_long_output_goes_through_the_pager_on_a_terminal(t):
    t.tapir("record", "--no-sched", "-o", t.path("a.tapir"), "--", "true")
    report = f"{t.tapir_path} report --all {t.path('a.tapir')}"
    plain = t.tapir("report", t.path("a.tapir"), "--all").out.splitlines()[1][:40]  # a terminal wraps what is longer
    paged = {"PAGER": "sed s/^/paged:/"}
    t.ok(f"paged:{plain}" in on_terminal(t, report, **paged).out, "PAGER")
    for command, env in ((f"{report} --no-pager", paged), (f"{report} --json", paged), (f"{report} | cat", paged),
                         (report, {"PAGER": ""}), (report, {"PAGER": "cat"}), (report, {"PAGER": "no-such-pager"}),
                         (report, {"PAGER": "/no/such/pager"})):
        out = on_terminal(t, command, **env).out
        t.ok("machine" in out and "paged:" not in out, f"{command} {env}: {out[:200]!r}")
    t.eq(on_terminal(t, f"{t.tapir_path} events {t.path('a.tapir')}; echo rc=$?", PAGER="true").out.strip(), "rc=0",
         "a pager that is left at once")
