# SPDX-License-Identifier: GPL-2.0-or-later
"""Names from symbol servers, good and bad, and the cache of what they sent."""
import contextlib
import os
import pty
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

from harness import PATIENCE
from serve_agent import Server, write_config
from symbol_files import (DEBUGINFOD, MICROSOFT, MICROSOFT_FILE, build_id, cached, check_named, check_nameless, environment, folded,
                          made, read)
from symbol_server import SymbolServer

CHECK_STACKS = {"test_a_server_that_never_ends_an_answer_costs_a_minute", "test_an_answer_without_a_length_ends_at_one_gigabyte"}


# ---- good servers ------------------------------------------------------------------------------


def test_debian_debuginfod_server_names_functions(t):
    there, _ = made(t)
    server = t.need("debuginfod")
    shutil.copytree(there, t.path("served"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = t.start(server, "-p", port, "-d", t.path("served.sqlite"), "-F", t.path("served"))
    for _ in range(100):
        result = folded(t, f"{there}/nameless.tapir", "--symbols", f"http://127.0.0.1:{port}/")
        if "inner_loop" in result.out:
            break
        time.sleep(0.2)  # tapir has not read the mapped files yet
    check_named(t, result.out, "debuginfod")
    process.kill()
    result = folded(t, f"{there}/nameless.tapir", "--symbols", f"http://127.0.0.1:{port}/")
    check_named(t, result.out, "from the cache, when the server is gone")
    t.ok("cannot fetch" not in result.err, result.err)


def test_symbol_server_of_microsofts_keys_names_functions_and_is_asked_once(t):
    there, the_id = made(t)
    debug = read(f"{there}/nameless.debug")
    for form in (MICROSOFT, MICROSOFT_FILE):
        shutil.rmtree(t.path("cache"), ignore_errors=True)
        with SymbolServer({form.format(the_id): debug}) as server:
            for _ in range(2):
                check_named(t, folded(t, f"{there}/nameless.tapir", "--symbols", f"{server.url}/").out, form)
            t.eq(server.asked.count(form.format(the_id)), 1, f"requests {server.asked}")
    t.eq(cached(t), [the_id], "cache")
    for path, mode in (("cache/tapir/symbols", 0o700), ("cache/tapir/symbols/" + the_id, 0o600)):
        t.eq(stat.S_IMODE(os.stat(t.path(path)).st_mode), mode, path)


def test_agent_names_functions_by_the_places_of_its_configuration(t):
    """Recordings of an earlier agent, read with a server and then from the cache; without the key nothing is asked."""
    there, the_id = made(t)
    os.mkdir(t.path("state"), 0o700)
    shutil.copy(f"{there}/nameless.tapir", t.path("state/0123456789abcdef.tapir"))
    wrap = ("env", f"XDG_CACHE_HOME={t.path('cache')}")
    with SymbolServer({MICROSOFT.format(the_id): read(f"{there}/nameless.debug")}) as server:
        for config, check in ({}, check_nameless), ({"symbols": [server.url]}, check_named):
            agent = Server(t, "--config", write_config(t, config), wrap=wrap)
            for _ in range(2):
                check(t, agent.ask("/v1/sessions/0123456789abcdef/trace?format=folded")[2].decode(), f"with {config}")
            agent.process.signal(signal.SIGTERM)
            agent.process.wait()
        t.eq(server.asked.count(MICROSOFT.format(the_id)), 1, f"requests {server.asked}")
    t.eq(cached(t), [the_id], "cache")
    wrong = t.run(t.tapir_path, "serve", "--state", t.path("state"), "--config", write_config(t, {"symbols": ["debug"]}))
    t.ok(wrong.rc == 2 and "symbols: 'debug' is no absolute path" in wrong.err, f"a wrong place: {wrong.rc} {wrong.err}")


def test_every_frame_of_a_library_is_named_by_a_server(t):
    """A stripped library that is gone: a server that has its symbols names each of its frames, also those of switches."""
    cc, objcopy, strip = t.need("gcc", "objcopy", "strip")
    os.mkdir(t.path("there"))
    library, program = t.path("there/libnameless.so"), t.path("there/user")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "nameless.c")
    t.run(cc, "-O1", "-g", "-shared", "-fPIC", "-Dmain=burn_all", "-Wl,--build-id", source, "-o", library)
    with open(t.path("user.c"), "w", encoding="ascii") as file:
        file.write("int burn_all(int, char **);\nint main(int argc, char **argv) { return burn_all(argc, argv); }\n")
    t.run(cc, "-O1", t.path("user.c"), library, "-Wl,-rpath," + t.path("there"), "-o", program)
    t.run(objcopy, "--only-keep-debug", library, t.path("debug"))
    t.run(strip, library)
    the_id, file, sections = build_id(t, library), t.path("library.tapir"), t.run(t.need("readelf"), "-SW", library).out
    t.tapir("record", "-F", 997, "-o", file, "--", program, "0.5")
    shutil.rmtree(t.path("there"))

    def frames(*options):
        lines = t.run(t.tapir_path, "events", "--json", file, *options, env=environment(t)).json_lines()
        return [frame for line in lines for frame in line.get("stack") or [] if (frame.get("module") or "").endswith("/libnameless.so")]

    with SymbolServer({MICROSOFT.format(the_id): read(t.path("debug"))}) as server:
        found = frames("--symbols", server.url)
    stubs = [int(word, 16) for word in re.search(r" \.plt +PROGBITS +\w+ (\w+) (\w+)", sections).groups()]
    nameless = [frame for frame in found if not frame.get("name") and not 0 <= frame["offset"] - stubs[0] < stubs[1]]
    t.eq(nameless, [], "frames without a name, but for the linker's stubs, which have no symbol")
    t.eq({frame["name"] for frame in found if frame.get("name")}, {"burn_all", "outer_loop", "inner_loop"}, "names")
    t.ok(len(found) > 50 and any(not frame.get("name") for frame in frames()), f"without the server some of {len(found)} have none")


def test_servers_are_asked_only_with_the_option(t):
    there, the_id = made(t)
    with SymbolServer({DEBUGINFOD.format(the_id): read(f"{there}/nameless.debug")}) as server:
        env = environment(t, DEBUGINFOD_URLS=f"{server.url} http://127.0.0.1:1")
        shutil.copy(f"{there}/whole", t.path("nameless"))
        t.run(t.need("strip"), t.path("nameless"))
        t.run(t.tapir_path, "record", "-F", 997, "-o", t.path("r.tapir"), "--", t.path("nameless"), "0.2", env=env)
        for reader in ("report", "events", "flamegraph"):
            t.run(t.tapir_path, reader, t.path("r.tapir"), env=env)
        check_nameless(t, folded(t, f"{there}/nameless.tapir", env=env).out, "the variable alone")
        t.run(t.tapir_path, "symbolize", t.path("r.tapir"), env=env)
        t.eq(server.asked, [], "requests without the option")
        check_named(t, folded(t, t.path("r.tapir"), "--symbols", env=env).out, "--symbols without a value")
        t.eq(server.asked, [DEBUGINFOD.format(the_id)], "requests")


def test_curl_is_loaded_for_a_url_alone(t):
    there, _ = made(t)
    strace = t.need("strace")
    for options, is_loaded in (((), False), (("--symbols", there), False), (("--symbols", "http://127.0.0.1:1"), True)):
        result = t.run(strace, "-f", "-e", "trace=openat", t.tapir_path, "export", "--format", "folded",
                       f"{there}/nameless.tapir", *options, env=environment(t))
        t.eq("libcurl" in result.err, is_loaded, f"libcurl with {options}")


def test_without_curl_a_url_is_one_line(t):
    """Where the library is not installed; here it is hidden, in a namespace of mounts."""
    there, _ = made(t)
    unshare = t.need("unshare")
    with open(t.path("empty"), "wb"):
        pass
    script = (f"for lib in $(ldconfig -p | sed -n 's/.*libcurl.*=> //p'); do mount --bind {t.path('empty')} $lib || exit 9; done; "
              f"exec {t.tapir_path} report {there}/nameless.tapir --symbols http://127.0.0.1:1")
    result = t.run(unshare, "-m", "sh", "-c", script, env={**environment(t), "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"})
    t.eq((result.rc, len(result.err.splitlines()), result.out), (3, 1, ""), result.err)
    t.ok("cannot fetch symbols" in result.err and "libcurl3-gnutls" in result.err, result.err)


# ---- bad servers -------------------------------------------------------------------------------


def hostile_elf(t, there):
    """The debug file, its table of symbols replaced by nonsense: the right build ID, and 2^60 bytes of names."""
    data = bytearray(read(f"{there}/nameless.debug"))
    offset = int.from_bytes(data[0x28:0x30], "little")
    for i in range(int.from_bytes(data[0x3c:0x3e], "little")):
        section = offset + 64 * i
        if int.from_bytes(data[section + 4:section + 8], "little") == 3:  # SHT_STRTAB
            data[section + 32:section + 40] = (1 << 60).to_bytes(8, "little")
    return bytes(data)


def test_a_server_that_lies_costs_a_line(t):
    there, the_id = made(t)
    other = read(shutil.which("true"))
    gigabytes = 10 << 30

    def huge(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(gigabytes))
        handler.end_headers()
        handler.wfile.write(b"\x7fELF" + bytes(1 << 16))

    def shorter(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(read(f"{there}/nameless.debug"))

    def cut(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"\x7fELF")

    def broken(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"4\r\n\x7fELF\r\nzz\r\n")

    def to(where, status=302):
        return lambda handler: handler.reply(status, Location=where)

    lies = {
        "a page": (b"<html>not found</html>", None),
        "another build": (other, "another build"),
        "a hostile file": (hostile_elf(t, there), None),
        "10 GB": (huge, "larger than 1 GB"),
        "half of it": (cut, "cannot fetch symbols of nameless"),
        "more than it says": (shorter, None),
        "pieces that are none": (broken, "cannot fetch symbols of nameless"),
        "an error": (lambda handler: handler.reply(500, b"sorry"), "HTTP status 500"),
        "no content": (lambda handler: handler.reply(206, b"\x7fELF"), "HTTP status 206"),
        "redirect to itself": (to("/again"), "redirect"),
        "redirect to a file": (to(f"file://{there}/nameless.debug"), "cannot fetch symbols"),
        "redirect to a pipe": (to("gopher://127.0.0.1/x"), "cannot fetch symbols"),
    }
    for what, (answer, words) in lies.items():
        with SymbolServer(otherwise=answer) as server:
            start = time.monotonic()
            result = folded(t, f"{there}/nameless.tapir", "--symbols", server.url)
            check_nameless(t, result.out, what)
            t.ok(words is None or words in result.err, f"{what}: {result.err}")
            t.ok(len(result.err.splitlines()) <= 5, f"{what}: {result.err}")
            t.ok(time.monotonic() - start < 10 * PATIENCE, f"{what} took {time.monotonic() - start:.1f} s")
        t.eq(cached(t), [], f"cache after {what}")


def test_a_redirect_is_followed_and_its_end_checked(t):
    there, the_id = made(t)
    with SymbolServer({MICROSOFT.format(the_id): lambda handler: handler.reply(302, Location="/blob"),
                       "/blob": read(f"{there}/nameless.debug")}) as server:
        check_named(t, folded(t, f"{there}/nameless.tapir", "--symbols", server.url).out, "redirected")


def test_another_host_is_told_no_password_and_is_checked_too(t):
    there, the_id = made(t)
    for answer, is_named in ((read(f"{there}/nameless.debug"), True), (read(shutil.which("true")), False)):
        shutil.rmtree(t.path("cache"), ignore_errors=True)
        with SymbolServer({"/blob": answer}) as other:
            moved = SymbolServer({MICROSOFT.format(the_id): lambda handler, at=f"{other.url}/blob": handler.reply(302, Location=at)})
            with moved as server:
                result = folded(t, f"{there}/nameless.tapir", "--symbols", server.url.replace("//", "//user:secret@"))
                t.ok(server.passwords and all(server.passwords), f"the server itself: {server.passwords}")
            t.eq((other.asked, other.passwords), (["/blob"], [None]), "the other")
        t.eq(("inner_loop" in result.out, "another build" in result.err), (is_named, not is_named), result.err)
        t.ok("secret" not in result.err, result.err)
        t.eq(cached(t), [the_id] if is_named else [], "cache")


def test_a_server_that_does_not_accept_costs_five_seconds_once(t):
    there, _ = made(t)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        fill = [socket.socket() for _ in range(3)]  # the queue of the listening socket; the next connection waits for ever
        for client in fill:
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        start = time.monotonic()
        result = folded(t, f"{there}/nameless.tapir", "--symbols", f"http://127.0.0.1:{server.getsockname()[1]}")
        took = time.monotonic() - start
        for client in fill:
            client.close()
    t.ok(4 < took < 9, f"{took:.1f} s")
    t.eq(result.err.count("cannot fetch"), 1, result.err)
    t.ok("not asked again" in result.err, result.err)


def test_a_server_that_never_ends_an_answer_costs_a_minute(t):
    """A server that answers with nothing, or with one byte now and then."""
    there, _ = made(t)
    with SymbolServer(otherwise=lambda handler: handler.wait_for_the_end()) as silent, \
            SymbolServer(otherwise=lambda handler: handler.drip()) as slow:
        start = time.monotonic()
        readers = [t.start(t.tapir_path, "export", "--format", "folded", f"{there}/nameless.tapir", "--symbols", server.url,
                           env=environment(t)) for server in (silent, slow)]
        for reader in readers:
            result = reader.wait(150)
            t.ok(55 < time.monotonic() - start < 110, f"{time.monotonic() - start:.1f} s: {result.err}")
            t.eq((result.rc, result.err.count("cannot fetch")), (0, 1), result.err)
            check_nameless(t, result.out, "names")
    t.eq(cached(t), [], "cache")


def test_an_answer_without_a_length_ends_at_one_gigabyte(t):
    """A server that sends 10 GB until the connection is closed; then the same as a chunked response."""
    there, _ = made(t)
    sent = [0]

    def endless(handler):
        is_chunked = len(server.asked) > 1
        handler.send_response(200)
        if is_chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        piece = bytes(1 << 20)
        with contextlib.suppress(OSError):
            while sent[0] < 10 << 10:
                handler.wfile.write(b"100000\r\n" + piece + b"\r\n" if is_chunked else piece)
                sent[0] += 1

    with SymbolServer(otherwise=endless) as server:
        result = folded(t, f"{there}/nameless.tapir", "--symbols", server.url)
    check_nameless(t, result.out, "names")
    t.ok(result.err.count("larger than 1 GB") == len(server.asked) == 3, f"under each of three keys: {result.err}")
    t.ok(3 * 1023 <= sent[0] < 3 * 1100, f"{sent[0]} MB")
    t.eq(cached(t), [], "cache")


def test_ctrl_c_ends_a_download_at_once_and_leaves_nothing(t):
    there, _ = made(t)
    shutil.copy(f"{there}/nameless.tapir", t.path("f.tapir"))
    before = read(t.path("f.tapir"))
    for manner in ("wait_for_the_end", "drip"):
        with SymbolServer(otherwise=lambda handler, manner=manner: getattr(handler, manner)()) as server:
            for command in (("symbolize",), ("report",), ("export", "--format", "folded")):
                server.asked.clear()
                process = t.start(t.tapir_path, *command, t.path("f.tapir"), "--symbols", server.url, env=environment(t))
                while not server.asked:
                    time.sleep(0.02)
                time.sleep(0.3)
                process.child.send_signal(signal.SIGINT)
                result, took = process.wait_timed(20)
                t.ok(took < 1.5, f"{command} with {manner}: {took:.1f} s")
                t.ok(result.rc != 0, f"exit of {command}")
        t.eq(cached(t), [], "cache")
    t.eq(read(t.path("f.tapir")), before, "the recording")
    t.eq(sorted(os.listdir(t.tmp)), ["cache", "f.tapir"], "what is left")


def test_progress_is_shown_on_a_terminal(t):
    there, _ = made(t)
    ours, theirs = pty.openpty()
    with SymbolServer(otherwise=lambda handler: handler.drip()) as server:
        child = subprocess.Popen([t.tapir_path, "symbolize", f"{there}/nameless.tapir", "-o", t.path("o"), "--symbols",
                                  server.url], stderr=theirs, env=environment(t), start_new_session=True)
        os.close(theirs)
        shown, end = b"", time.monotonic() + 10 * PATIENCE
        while b"of 1" not in shown and time.monotonic() < end:
            shown += os.read(ours, 4096)
        child.send_signal(signal.SIGINT)
        child.wait(5 * PATIENCE)
        os.close(ours)
    t.ok(re.search(rb"\r\x1b\[K  nameless: .* of 1", shown), f"{shown[:300]}")


# ---- the cache ---------------------------------------------------------------------------------


def test_a_cache_of_another_user_is_not_used(t):
    there, the_id = made(t)
    good = read(f"{there}/nameless.debug")
    os.makedirs(t.path("cache/tapir/symbols"))
    for path, uid, mode in (("cache/tapir/symbols", 65534, 0o700), ("cache/tapir", 65534, 0o755),
                            ("cache/tapir/symbols", 0, 0o777)):
        for name in ("cache", "cache/tapir", "cache/tapir/symbols"):
            os.chown(t.path(name), 0, 0)
            os.chmod(t.path(name), 0o755)
        os.chown(t.path(path), uid, 0)
        os.chmod(t.path(path), mode)
        with SymbolServer({DEBUGINFOD.format(the_id): good}) as server:
            result = folded(t, f"{there}/nameless.tapir", "--symbols", server.url)
        check_named(t, result.out, f"{path} of {uid}, mode {mode:o}")
        t.ok("are not cached" in result.err and "another user" in result.err, result.err)
        t.eq(cached(t), [], "cache")


def test_a_cached_file_is_checked_again(t):
    there, the_id = made(t)
    os.makedirs(t.path("cache/tapir/symbols"), mode=0o700)
    for name in ("cache", "cache/tapir", "cache/tapir/symbols"):
        os.chmod(t.path(name), 0o700)
    shutil.copy(shutil.which("true"), t.path(f"cache/tapir/symbols/{the_id}"))
    with SymbolServer({DEBUGINFOD.format(the_id): read(f"{there}/nameless.debug")}) as server:
        check_named(t, folded(t, f"{there}/nameless.tapir", "--symbols", server.url).out, "a false file in the cache")
    t.eq(read(t.path(f"cache/tapir/symbols/{the_id}")), read(f"{there}/nameless.debug"), "the cache")


def test_a_full_disk_below_the_cache_costs_a_line(t):
    there, the_id = made(t)
    unshare = t.need("unshare")
    os.mkdir(t.path("cache"))
    with SymbolServer({DEBUGINFOD.format(the_id): read(f"{there}/nameless.debug") + bytes(1 << 20)}) as server:
        script = (f"mount -t tmpfs -o size=64k,mode=700 none {t.path('cache')} && {t.tapir_path} export "
                  f"--format folded {there}/nameless.tapir --symbols {server.url}; echo exit $?; "
                  f"ls -A {t.path('cache')}/tapir/symbols")
        result = t.run(unshare, "-m", "sh", "-c", script, env=environment(t))
    t.eq(result.out.splitlines()[-1], "exit 0", f"{result.out}{result.err}")
    t.ok("No space left on device" in result.err, result.err)


def test_the_file_used_longest_ago_leaves_the_cache_first(t):
    there, the_id = made(t)
    os.makedirs(t.path("cache/tapir/symbols"))
    for name in ("cache", "cache/tapir", "cache/tapir/symbols"):
        os.chmod(t.path(name), 0o700)
    for i, name in enumerate(("aa00", "bb00", "cc00")):  # sparse: 1.5 GB each, as their sizes say
        path = t.path(f"cache/tapir/symbols/{name}")
        with open(path, "wb") as file:
            file.truncate(3 << 29)
        os.utime(path, (1000 + i, 1000 + i))
    with open(t.path("cache/tapir/symbols/of the user"), "wb") as file:
        file.write(b"x")
    with SymbolServer({DEBUGINFOD.format(the_id): read(f"{there}/nameless.debug")}) as server:
        folded(t, f"{there}/nameless.tapir", "--symbols", server.url)
    t.eq(cached(t), sorted(["bb00", "cc00", the_id, "of the user"]), "cache")
