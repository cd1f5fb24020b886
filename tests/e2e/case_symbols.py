# SPDX-License-Identifier: GPL-2.0-or-later
"""Names from symbol files elsewhere: --symbols and tapir symbolize, from directories."""
import os
import re
import shutil

from symbol_files import check_named, check_nameless, environment, folded, made, read

CHECK_LONG = {"test_stripped_go_program_has_the_names_that_nm_knew"}


# ---- directories -------------------------------------------------------------------------------


def test_every_reader_names_functions_from_a_directory_when_the_file_is_gone(t):
    there, _ = made(t)
    file = f"{there}/nameless.tapir"
    check_nameless(t, folded(t, file).out, "without --symbols")
    check_named(t, folded(t, file, "--symbols", there).out, "with --symbols")
    for reader in (("report",), ("report", "--json"), ("report", "--view", "cpu"), ("events",), ("events", "--json"),
                   ("flamegraph",), ("export", "--format", "speedscope"), ("export", "--format", "perfscript")):
        result = t.run(t.tapir_path, *reader, file, "--symbols", there, env=environment(t))
        t.eq(result.rc, 0, f"{reader}: {result.err}")
        # A function of the dynamic linker, in which the program may have been seen, has no name here.
        t.ok("inner_loop" in result.out and "nameless!fn_" not in result.out, f"{reader}:\n{result.out[:1500]}")
    named = re.search(r"(\d+) functions of 1 file named", result.err)
    # Three that the loop is in always, and those in which the program happened to be seen when it began.
    known = re.findall(r" [tT] ", t.run(t.need("nm"), f"{there}/nameless.debug").out)
    t.ok(named and 3 <= int(named.group(1)) <= len(known), f"{result.err}, functions: {len(known)}")


def test_a_directory_may_have_any_usual_layout(t):
    there, the_id = made(t)
    for i, form in enumerate((f".build-id/{the_id[:2]}/{the_id[2:]}.debug", f"{the_id}/debuginfo", "nameless.dbg",
                              ".debug/nameless.debug", "nameless", f"_.debug/elf-buildid-sym-{the_id}/_.debug",
                              f"nameless/elf-buildid-{the_id}/nameless", f"{there}/bin/nameless.debug")):
        path = f"{t.path(f'layout{i}')}/{form}"
        os.makedirs(os.path.dirname(path))
        shutil.copy(f"{there}/nameless.debug", path)
        check_named(t, folded(t, f"{there}/nameless.tapir", f"--symbols={t.path(f'layout{i}')}").out, form)


def test_a_file_of_another_build_names_nothing(t):
    there, _ = made(t)
    os.mkdir(t.path("other"))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "nameless.c")
    t.run(t.need("gcc"), "-O2", "-g", "-Wl,--build-id", source, "-o", t.path("other/nameless"))
    result = folded(t, f"{there}/nameless.tapir", "--symbols", t.path("other"))
    check_nameless(t, result.out, "another build")
    t.ok("no symbols found for 1 file" in result.err, result.err)


def test_recording_takes_a_debug_file_beside_the_program(t):
    there, _ = made(t)
    for ending in ("debug", "dbg"):
        os.mkdir(t.path(ending))
        program, file = f"{t.path(ending)}/nameless", t.path(f"{ending}.tapir")
        shutil.copy(f"{there}/whole", program)
        t.run(t.need("strip"), program)
        shutil.copy(f"{there}/nameless.debug", f"{program}.{ending}")
        t.tapir("record", "-F", 997, "--no-sched", "-o", file, "--", program, "0.3")
        check_named(t, folded(t, file).out, f"recorded beside nameless.{ending}")


def test_wrong_values_are_one_line(t):
    there, _ = made(t)
    file = f"{there}/nameless.tapir"
    for value, rc, words in ((t.path("none"), 1, "cannot open"), (file, 1, "is not a directory"),
                             ("ftp://127.0.0.1/", 2, "not an http or https URL"), ("", 1, "cannot open")):
        result = folded(t, file, f"--symbols={value}", expect=rc)
        t.eq(len(result.err.splitlines()), 1, f"{value}: {result.err}")
        t.ok(words in result.err, result.err)
    result = folded(t, file, "--symbols", expect=2)
    t.ok("DEBUGINFOD_URLS" in result.err, result.err)


# ---- symbolize ---------------------------------------------------------------------------------


def test_symbolize_adds_names_and_changes_nothing_else(t):
    there, _ = made(t)
    before, after = f"{there}/nameless.tapir", t.path("copy.tapir")
    shutil.copy(before, after)
    os.chmod(after, 0o600)
    result = t.run(t.tapir_path, "symbolize", after, "--symbols", there, env=environment(t))
    t.eq(result.rc, 0, result.err)
    check_named(t, folded(t, after).out, "symbolized")

    def records(file):
        lines = [line for line in t.tapir("events", "--json", file).json_lines() if line["type"] != "symbol"]
        for line in lines:
            for frame in line.get("stack", []):
                for key in ("name", "range", "offset", "range_offset", "function"):
                    frame.pop(key, None)
        return lines

    t.eq(len(records(after)), len(records(before)), "records")
    t.eq(records(after), records(before), "records but names")
    t.eq(os.stat(after).st_mode & 0o777, 0o600, "mode")
    t.eq(sorted(os.listdir(t.tmp)), ["copy.tapir"], "nothing else is left")
    t.ok(t.tapir("report", after, "--all").out.splitlines()[1].split(":")[1:] ==
         t.tapir("report", before, "--all").out.splitlines()[1].split(":")[1:], "the same times")


def test_symbolize_writes_another_file_only_when_told(t):
    there, _ = made(t)
    before, out = read(f"{there}/nameless.tapir"), t.path("out.tapir")
    options = ("symbolize", f"{there}/nameless.tapir", "--symbols", there, "-o", out)
    t.tapir(*options)
    check_named(t, folded(t, out).out, "OUT")
    result = t.tapir(*options, expect=1)
    t.ok("exists" in result.err, result.err)
    t.tapir(*options, "-f")
    t.eq(read(f"{there}/nameless.tapir"), before, "FILE is unchanged")


def test_symbolize_leaves_a_recording_alone_that_it_cannot_name_or_that_is_cut(t):
    there, _ = made(t)
    whole = read(f"{there}/nameless.tapir")
    for content, options, words in ((whole, (), "no symbols were found"),
                                    (whole[:-48], ("--symbols", there), "incomplete or still being written")):
        with open(t.path("f.tapir"), "wb") as file:
            file.write(content)
        result = t.run(t.tapir_path, "symbolize", t.path("f.tapir"), *options, env=environment(t))
        t.eq(result.rc, 1, result.err)
        t.ok(words in result.err, result.err)
        t.eq(read(t.path("f.tapir")), content, "the recording")
    t.tapir("symbolize", t.path("f.tapir"), "--symbols", there, "-o", t.path("named.tapir"))
    result = folded(t, t.path("named.tapir"))
    check_named(t, result.out, "a cut recording, named")
    t.ok("is incomplete" in result.err, "its copy still says that it is cut")


def test_symbolize_leaves_nothing_when_the_disk_is_full(t):
    there, _ = made(t)
    unshare = t.need("unshare")
    os.mkdir(t.path("small"))
    script = (f"mount -t tmpfs -o size=4k none {t.path('small')} && "
              f"{t.tapir_path} symbolize {there}/nameless.tapir --symbols {there} -o {t.path('small')}/o.tapir; "
              f"echo exit $?; ls -A {t.path('small')}")
    result = t.run(unshare, "-m", "sh", "-c", script, env=environment(t))
    t.eq(result.out.split(), ["exit", "1"], f"{result.out}{result.err}")
    t.ok("No space left" in result.err, result.err)


# ---- names -------------------------------------------------------------------------------------


def test_control_characters_in_names_do_not_reach_the_terminal(t):
    there, _ = made(t)
    os.mkdir(t.path("bad"))
    data = read(f"{there}/nameless.debug")
    with open(t.path("bad/nameless.debug"), "wb") as file:
        file.write(data.replace(b"inner_loop\0", b"in\x1b[31m\r\n\x07\0"))
    file = t.path("o.tapir")
    t.tapir("symbolize", f"{there}/nameless.tapir", "--symbols", t.path("bad"), "-o", file)
    for reader in (("report",), ("report", "--stacks"), ("report", "--json"), ("events",), ("events", "--json"),
                   ("flamegraph",), ("export", "--format", "folded"), ("export", "--format", "perfscript"),
                   ("export", "--format", "speedscope")):
        for options in ((file,), (f"{there}/nameless.tapir", "--symbols", t.path("bad"))):
            out = t.tapir(*reader, *options).out
            t.ok("\x1b" not in out and "\x07" not in out and "\r" not in out, f"{reader} shows control characters")
            t.ok("31m" in out, f"{reader} shows the name")


def test_report_says_how_to_get_symbols_when_many_samples_lack_them(t):
    there, _ = made(t)
    file = f"{there}/nameless.tapir"
    said = t.tapir("report", file, "--all").out
    line = re.search(r"^names: (\d+)% of stacks have functions without a name in nameless$", said, re.M)
    t.ok(line and int(line[1]) > 50 and "--symbols" in said, said[:800])
    t.ok(line[0] in t.tapir("report", file, "--view", "cpu").out, "the view has the line")
    named = t.tapir("report", file, "--all", "--symbols", there).out
    t.ok("without a name in nameless" not in named, named[:800])


def test_stripped_go_program_has_the_names_that_nm_knew(t):
    go, nm, strip = t.need("go", "nm", "strip")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "nameless.go")
    env = environment(t, GO111MODULE="off", GOCACHE=os.path.join(t.build, "tests", "gocache"), HOME=t.tmp)
    for mode in ("exe", "pie"):
        program, file = t.path(mode), t.path(f"{mode}.tapir")
        result = t.run(go, "build", f"-buildmode={mode}", "-o", program, source, timeout=300, env=env)
        t.eq(result.rc, 0, result.err)
        known = set(re.findall(r"^[0-9a-f]+ [tT] (\S+)$", t.run(nm, program).out, re.M))
        t.run(strip, program)
        t.eq(t.run(nm, program).out, "", "symbols after strip")
        t.tapir("record", "-F", 997, "--no-sched", "-o", file, "--", program)
        frames = [f for s in t.events(file, "sample") for f in s.get("stack", []) if f.get("module") == program]
        t.ok(len(frames) > 100, f"{len(frames)} frames of {program}")
        named = {f["name"] for f in frames if f.get("name")}
        t.ok("main.(*shop).burn" in named and "main.work" in named, f"{named}")
        wrong = [name for name in named if name not in known and f"{name}.abi0" not in known]
        t.eq(wrong, [], "names that nm does not know")
        t.ok(len([f for f in frames if f.get("name")]) >= 0.99 * len(frames), "frames without a name")
