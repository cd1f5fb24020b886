# SPDX-License-Identifier: GPL-2.0-or-later
"""libtapir-coreclr.so in a program that plays the runtime, by glibc and by musl."""
import os
import re

CHECK_LONG = {"test_an_event_takes_no_memory_when_the_program_has_taken_all_cheap_keys",
              "test_one_file_fits_when_the_c_library_is_musl"}

TESTS = os.path.dirname(os.path.abspath(__file__))


def library(t):
    return os.path.join(t.build, "libtapir-coreclr.so")


def plays(t, host, *how):
    result = t.run(host, library(t), *how)
    t.eq(result.rc, 0, result.out + result.err)
    t.ok(result.out.endswith("over\n"), result.out)
    return result.out


def test_the_runtime_is_served_when_it_attaches_or_starts_with_it(t):
    for how in "attach", "start":
        out = plays(t, t.target_path("coreclr_host"), how)
        t.ok("still mapped 0\n" in out, out)


def test_an_event_takes_no_memory_when_the_program_has_taken_all_cheap_keys(t):
    """The C library allocates the value of the 33rd key and later ones: the host counts its calls of malloc."""
    for how in "attach", "start":
        plays(t, t.target_path("coreclr_host"), how, "keys")


def test_one_file_fits_when_the_c_library_is_musl(t):
    host = t.path("host")
    built = t.run(t.need("musl-gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", f"-I{TESTS}/../../include",
                  f"{TESTS}/targets/coreclr_host.c", "-o", host)
    t.eq(built.rc, 0, built.err)
    for how in ("attach",), ("start", "keys"):
        plays(t, host, *how)  # musl never unmaps


def test_it_needs_no_library_and_no_version_of_a_symbol(t):
    dynamic = t.run("readelf", "-dW", library(t)).out
    t.ok("NEEDED" not in dynamic, dynamic)
    t.ok("TLS" not in t.run("readelf", "-lW", library(t)).out, "a TLS segment: ring_thread.c")
    t.eq(t.run("readelf", "-VW", library(t)).out.strip(), "No version information found in this file.", "versions")
    symbols = t.run("readelf", "--dyn-syms", "-W", library(t)).out
    exported = re.findall(r" (?:GLOBAL|WEAK) +\w+ +[0-9]+ (\S+)", symbols)
    t.eq(exported, ["DllGetClassObject"], "exported")
    # What glibc 2.27 and musl have; fstat, for one, came to glibc with 2.33.
    t.eq(re.findall(r" WEAK .* UND (\S+)", symbols), ["gnu_get_libc_version"], "imported where it exists")
    wanted = set(re.findall(r" UND (\S+)", symbols)) - {"gnu_get_libc_version"}
    t.eq(wanted - {"clock_gettime", "dl_iterate_phdr", "getenv", "memcpy", "memset", "memmove", "memcmp",
                   "mmap", "munmap", "nanosleep",
                   "pthread_attr_destroy", "pthread_attr_init", "pthread_attr_setstacksize", "pthread_create",
                   "pthread_getspecific", "pthread_join",
                   "pthread_key_create", "pthread_key_delete", "pthread_setspecific", "strchr",
                   "strcmp", "strlen", "strncmp", "strrchr"}, set(), "imported")
