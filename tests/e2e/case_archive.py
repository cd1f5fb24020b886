# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir archive and record --archive: a recording that another machine reads as this one does. The other machine is a root
directory without a program, a library or a debug file of what was recorded."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import threading

from case_lines import BUILD, SOURCE
from case_offbox import empty_root
from dotnet_program import build_dotnet
from symbol_files import build_id, check_named, environment, folded, made, read
from symbol_server import SymbolServer

TIMEOUT = 120
READERS = (("report", "--json"), ("report", "--view", "cpu"), ("flamegraph",), ("events", "--json"), ("export", "--format", "folded"))
LINES = ("--lines", "--inline")


def built(t, *more):
    """A program with debug information in a directory of its own, and the recording of it."""
    program = t.path("bin/inlined")
    os.makedirs(os.path.dirname(program))
    t.run(t.need("gcc"), *BUILD, *more, SOURCE, "-o", program)
    return program, t.path("a.tapir")


def record(t, program, file, *more):
    return t.tapir("record", "-F", 997, "-f", "-o", file, *more, "--", program, "0.4")


def lines_of(text):
    return set(re.findall(r"\binlined\.c:\d+", text))


# ---- elsewhere ---------------------------------------------------------------------------------


def samples_of(folded, function):
    """Of a library's functions, whose debug files are not damaged, one stack without lines is several with them: samples are counted."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines() if re.search(rf"(^|;){function}( \(|;| \d)", line))


def compare_elsewhere(t, file, options):
    """Each reader prints in an empty root, which has no directory for temporary files, what it prints here."""
    chroot, root = t.need("chroot"), empty_root(t, file)
    for reader in READERS:
        here = t.tapir(*reader, file, *options)
        there = t.run(chroot, root, "/tapir", *reader, file, *options, env={"TMPDIR": "/nowhere"})
        t.eq(there.rc, 0, f"{reader}: {there.err}")
        t.eq(there.out, here.out, f"{reader} {options} in the empty root ({there.err}; here {here.err})")
    shutil.rmtree(root)
    return here.out


def test_c_program_has_its_names_and_lines_where_its_files_are_gone(t):
    program, file = built(t)
    said = record(t, program, file, "--archive", "--debug-files").err
    t.ok(re.search(r"debug files: \d+ files?, [\d.]+ .?B before compression", said), said)
    here = t.tapir("export", "--format", "folded", file, *LINES).out
    t.ok(len(lines_of(here)) > 1, f"lines here: {here[:500]}")
    debug = os.path.realpath(t.path("debug"))
    os.rename(os.path.dirname(program), debug)
    t.eq(lines_of(compare_elsewhere(t, file, LINES)), lines_of(here), "lines without the program")
    compare_elsewhere(t, file, ())


def test_dotnet_program_has_its_names_where_its_files_are_gone(t):
    hot, file = build_dotnet(t, "Hot"), t.path("hot.tapir")
    t.tapir("record", "-F", 997, "-o", file, "--archive", "--debug-files", "--", hot, "1.5", timeout=60)
    out = compare_elsewhere(t, file, LINES)
    for name in ("Hot.Main(string[])", "Hot.Middle(int)", "Hot.Leaf(int)"):
        t.ok(name in out, f"no {name} in\n{out[:1500]}")


def test_archive_adds_names_of_stripped_functions(t):
    there, _ = made(t)
    file = t.path("named.tapir")
    t.tapir("archive", f"{there}/nameless.tapir", "--symbols", there, "-o", file)
    check_named(t, folded(t, file).out, "archived")
    shutil.copy(file, t.path("again.tapir"))
    before = read(file)
    said = t.run(t.tapir_path, "archive", t.path("again.tapir"), env=environment(t))
    t.ok(said.rc == 0 and "is not changed" in said.err, said.err)
    t.eq(read(t.path("again.tapir")), before, "a recording that has all")


def test_json_has_the_counts_of_the_line(t):
    program, file = built(t)
    record(t, program, file, "--no-sched")
    result = t.tapir("archive", file, "--debug-files", "--json")
    said, files = json.loads(result.out), json.loads(result.out)["debug_files"]
    line = re.search(r"debug files: (\d+) files?, (.*) before compression(.*)", result.err)
    t.ok(said["written"] and said["file"] == file and files["files"] == int(line.group(1)) > 0, f"{said} {result.err}")
    missing = re.search(r"none found for (\d+) file", line.group(3))
    t.eq(files["files_not_found"], int(missing.group(1)) if missing else 0, f"what is missing: {line.group(0)}")
    t.ok(os.path.getsize(program) <= files["bytes"], f"the program at least: {said}")
    again = json.loads(t.tapir("archive", file, "--debug-files", "--json").out)
    t.eq((again["written"], again["debug_files"]["files"], again["debug_files"]["files_already_there"]),
         (False, 0, files["files"]), f"the second time: {again}")
    refused = t.tapir("archive", file, "--json").out
    t.ok("debug_files" not in json.loads(refused), f"they were not asked for: {refused}")


def test_json_says_what_was_named_and_that_nothing_was_written(t):
    there, _ = made(t)
    file = t.path("named.tapir")
    shutil.copy(f"{there}/nameless.tapir", file)
    lacking = t.run(t.tapir_path, "symbolize", file, "--json", env=environment(t))
    said = json.loads(lacking.out)
    t.eq((lacking.rc, said["written"], said["names"]["functions"]), (1, False, 0), f"{said} {lacking.err}")
    t.ok(said["names"]["files_without_symbols"] >= 1, f"{said}")
    named = t.run(t.tapir_path, "symbolize", file, "--json", "--symbols", there, env=environment(t))
    said = json.loads(named.out)
    t.ok(said["written"] and f"{said['names']['functions']} functions of {said['names']['files']} file" in named.err, f"{said} {named.err}")
    check_named(t, folded(t, file).out, "named")


def test_cut_merge_and_symbolize_keep_the_debug_files(t):
    program, file = built(t)
    record(t, program, file, "--no-sched", "--archive", "--debug-files")
    os.unlink(program)
    # Half of its samples, however late the program was given a CPU.
    middle = json.loads(t.tapir("query", file, "SELECT time_s FROM samples ORDER BY time_s LIMIT 1 OFFSET (SELECT count(*) / 2 FROM samples)", "--json").out)
    t.tapir("cut", file, "--to", f"{middle[0]['time_s']:.3f}", "-o", t.path("cut.tapir"))
    t.tapir("merge", f"a={file}", f"b={t.path('cut.tapir')}", "-o", t.path("merged.tapir"))
    t.tapir("symbolize", file, "-o", t.path("named.tapir"))
    t.tapir("cut", t.path("merged.tapir"), "--host", "a", "-o", t.path("back.tapir"))
    size = os.path.getsize(file)
    for name in ("cut", "merged", "named", "back"):
        out = t.tapir("export", "--format", "folded", t.path(f"{name}.tapir"), *LINES).out
        t.ok(lines_of(out), f"{name} has no lines: {out[:300]}")
        t.ok(os.path.getsize(t.path(f"{name}.tapir")) < 1.2 * size, f"{name} has the files once")
    again = t.tapir("archive", t.path("merged.tapir"), "--debug-files").err
    t.ok("0 files, 0 bytes before compression; already there:" in again, again)


# ---- what may go wrong ---------------------------------------------------------------------------


def test_limit_of_size_is_checked_before_anything_is_written(t):
    program, file = built(t)
    pathlib.Path(t.path("much")).write_bytes(os.urandom(3 << 20))
    t.run(t.need("objcopy"), "--add-section", f".much={t.path('much')}", program)
    record(t, program, file)
    before = read(file)
    said = t.tapir("archive", file, "--debug-files", "--max-size", 2, expect=1).err
    t.ok(said.index("before compression") < said.index("larger than 2.1 MB: nothing was written"), said)
    t.eq(read(file), before, "the recording")
    t.tapir("archive", file, "--debug-files")
    t.ok(os.path.getsize(file) > 3 << 20, "without the limit it is there")


def test_full_disk_loses_nothing(t):
    program, file = built(t)
    pathlib.Path(t.path("much")).write_bytes(os.urandom(3 << 20))
    t.run(t.need("objcopy"), "--add-section", f".much={t.path('much')}", program)
    record(t, program, file)
    os.mkdir(t.path("small"))
    script = (f"mount -t tmpfs -o size=1m none {t.path('small')} && cp {file} {t.path('small')}/a.tapir && "
              f"{t.tapir_path} archive {t.path('small')}/a.tapir --debug-files; echo exit $?; "
              f"ls -A {t.path('small')}; cmp {file} {t.path('small')}/a.tapir && echo same")
    result = t.run(t.need("unshare"), "-m", "sh", "-c", script, env=environment(t))
    t.eq(result.out.split(), ["exit", "1", "a.tapir", "same"], f"{result.out}{result.err}")
    t.ok("No space left" in result.err, result.err)


def test_ctrl_c_leaves_the_recording_as_it_was(t):
    there, _ = made(t)
    file = t.path("a.tapir")
    shutil.copy(f"{there}/nameless.tapir", file)
    asked = threading.Event()

    def never(handler):
        asked.set()
        handler.wait_for_the_end()

    with SymbolServer(otherwise=never) as server:
        process = t.start(t.tapir_path, "archive", file, "--debug-files", "--symbols", server.url, env=environment(t))
        t.ok(asked.wait(30), "the server is asked")
        process.signal(signal.SIGINT)
        result = process.wait(30)
    t.ok(result.rc == 1 and "interrupted" in result.err, f"{result.rc}: {result.err}")
    t.eq(read(file), read(f"{there}/nameless.tapir"), "the recording")
    t.eq(sorted(os.listdir(t.tmp)), ["a.tapir", "cache"], "nothing else is left")


def test_damaged_archive_costs_the_lines_of_a_file_alone(t):
    program, file = built(t)
    record(t, program, file, "--no-sched", "--archive", "--debug-files")
    whole, the_id = read(file), bytes.fromhex(build_id(t, program))
    os.unlink(program)
    plain = t.tapir("export", "--format", "folded", file).out
    t.ok(samples_of(plain, "main") > 0, plain)
    at = whole.rindex(the_id)  # of its last part, in front of what is compressed
    for what, data, words in (("flipped", whole[:at + 100] + bytes([whole[at + 100] ^ 1]) + whole[at + 101:], "it is damaged"),
                              ("cut", whole[:at + 100], "is incomplete"),
                              ("another build", whole[:at] + bytes(20) + whole[at + 20:], "none found for")):
        pathlib.Path(file).write_bytes(data)
        result = t.run(t.tapir_path, "export", "--format", "folded", file, *LINES, env=environment(t))
        t.ok(words in result.err, f"{what}: {result.err}")
        t.eq(lines_of(result.out), set(), f"{what}: lines of the program")
        t.eq(samples_of(result.out, "main"), samples_of(plain, "main"), f"{what}: samples of its stacks")


def test_wrong_options_are_one_line(t):
    there, _ = made(t)
    file = f"{there}/nameless.tapir"
    for args, words in ((("archive", file, "-o", file), "is the recording itself"),
                        (("archive", file, "--json", "-o", "-"), "--json excludes -o -"),
                        (("symbolize", file, "--json", "-o", "-"), "--json excludes -o -"),
                        (("archive", "-"), "-o OUT is required"),
                        (("record", "--debug-files", "-a"), "--debug-files requires --archive"),
                        (("record", "--archive", "-a", "-o", "-"), "--archive requires a file"),
                        (("record", "--archive", "-a", "--continuous", "16"), "--continuous excludes --archive"),
                        (("archive", file, "--max-size", "5000"), "max-size")):
        result = t.tapir(*args, expect=2)
        t.ok(words in result.err and len(result.err.splitlines()) == 1, f"{args}: {result.err}")


# ---- servers by name -----------------------------------------------------------------------------


@contextlib.contextmanager
def proxy():
    """A proxy that notes what it is asked to connect to, and refuses."""
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client, contextlib.suppress(OSError):
                    asked.append(client.recv(4096).split(b"\r\n")[0].decode())
                    client.sendall(b"HTTP/1.1 403 no\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        server.shutdown(socket.SHUT_RDWR)


def test_servers_have_names_and_none_is_asked_without_one(t):
    there, the_id = made(t)
    file = t.path("a.tapir")
    shutil.copy(f"{there}/nameless.tapir", file)
    with proxy() as (url, asked):
        env = environment(t, https_proxy=url, http_proxy=url)
        for command in (("archive", "--debug-files"), ("symbolize",), ("report",), ("report", "--lines")):
            t.run(t.tapir_path, *command, file, env=env)
        t.eq(asked, [], "connections that nobody asked for")
        for name, host in (("microsoft", "msdl.microsoft.com"), ("debuginfod", "debuginfod.elfutils.org")):
            t.run(t.tapir_path, "symbolize", file, "--symbols", name, env=env)
            t.eq({line.split()[:2] == ["CONNECT", f"{host}:443"] for line in asked}, {True}, f"{name}: {asked}")
            asked.clear()
    with SymbolServer({f"/buildid/{the_id}/debuginfo": read(f"{there}/nameless.debug")}) as server:
        said = t.run(t.tapir_path, "symbolize", "--symbols", "debuginfod", file, env=environment(t, DEBUGINFOD_URLS=server.url))
        t.ok(said.rc == 0 and server.asked, f"debuginfod is the servers of DEBUGINFOD_URLS: {said.err}")
    check_named(t, folded(t, file).out, "by DEBUGINFOD_URLS")
