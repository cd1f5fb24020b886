# SPDX-License-Identifier: GPL-2.0-or-later
"""include/tapir/usdt.h as others see it: readelf, gdb, perf and bpftrace are the witnesses."""
import itertools
import os
import re
import struct

CHECK_LIB = {"test_notes_are_exact_when_built_by_each_compiler_at_each_level", "test_notes_are_exact_when_types_are_those_of_cxx",
             "test_gdb_prints_twelve_values_when_stopped_at_the_probe"}
TIMEOUT = 280
CHECK_LONG = {"test_bpftrace_prints_every_value_when_attached"}

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "header_matrix.c")
INCLUDE = os.path.join(HERE, "..", "..", "include")

COMPILERS = (("gcc", "-std=c11"), ("clang", "-std=c11"), ("g++", "-xc++", "-std=c++11"),
             ("clang++", "-xc++", "-std=c++11"))
LEVELS = ("-O0", "-O1", "-O2", "-O3")
KINDS_OF_LINK = ("pie", "static", "shared")
SITE = bytes.fromhex("90" "662e0f1f840000000000")

# probe: sizes of its operands, letters of its arguments
PROBES = {
    "none": ("", ""),
    "ints": ("-1 1 -2 2 -4 4 -8 8", "iuiuiuiu"),
    "small": ("1 1 -1 4 -4", "bbcui"),
    "floats": ("4 8", "ff"),
    "twelve": ("-1 1 -2 2 -4 4 -8 8 4 8 1 -4", "iuiuiuiuffbi"),
    "constants": ("-1 1 -4 4 -8 1", "iuiuib"),
    "pointers": ("8 8 8 8 8 8", "ppssss"),
    "inlined": ("-4", "i"),
    "once": ("-4 -4", "ii"),
    "guarded": ("-4", "i"),
}

BPFTRACE = """
usdt:BIN:matrix:none { printf("none\\n"); }
usdt:BIN:matrix:ints { printf("ints %d %d %d %d %d %u\\n", (int8)arg0, (uint8)arg1,
  (int16)arg2, (uint16)arg3, (int32)arg4, (uint32)arg5); }
usdt:BIN:matrix:small { printf("small %d %d %c %d %d\\n", (uint8)arg0, (uint8)arg1, (int8)arg2,
  (uint32)arg3, (int32)arg4); }
usdt:BIN:matrix:floats { printf("floats %x %lx\\n", (uint32)arg0, (uint64)arg1); }
usdt:BIN:matrix:twelve { printf("twelve %d\\n", (int8)arg0); }
usdt:BIN:matrix:constants { printf("constants %d %d %d %u %lx %d\\n", (int8)arg0, (uint8)arg1,
  (int32)arg2, (uint32)arg3, (uint64)arg4, (uint8)arg5); }
usdt:BIN:matrix:pointers { printf("pointers %lx %s %s %s %s\\n", (uint64)arg0, str(arg2),
  str(arg3), str(arg4), str(arg5)); }
usdt:BIN:matrix:inlined { printf("inlined %d\\n", (int32)arg0); }
usdt:BIN:matrix:once { printf("once %d %d\\n", (int32)arg0, (int32)arg1); }
usdt:BIN:matrix:guarded { printf("guarded %d\\n", (int32)arg0); }
"""
# bpftrace 0.17 knows six arguments of a probe, gdb all.
TWELVE = [-128, 255, -32768, 65535, -2147483648, 4294967295, -9223372036854775808,
          18446744073709551615, 0x3fc00000, 0xc002000000000000, 1, 1]
FIRED = """none
ints -128 255 -32768 65535 -2147483648 4294967295
small 1 0 B 7 -40
floats 3fc00000 c002000000000000
twelve -128
constants -1 255 -3 4294967295 123456789abcdef0 1
pointers 0 50% "off" hi1 u literal
inlined 0
inlined 1
inlined 2
once 1 2
guarded 42
inlined 10
inlined 11
guarded 10
"""


def build(t, compiler, level, link, *extra):
    """Compiles the matrix; returns the file that holds the probes."""
    out = t.path("matrix")
    flags = [*compiler[1:], level, "-Wall", "-Wextra", "-Wshadow", "-Wundef", "-pedantic", "-Werror",
             f"-I{INCLUDE}", *extra]
    if link == "shared":
        flags += ["-fPIC", "-DMATRIX_NO_MAIN"]
    objects = [t.path("one.o"), t.path("two.o")]
    for obj, define in zip(objects, ("-DMATRIX_FIRST", "-DMATRIX_SECOND")):
        result = t.run(compiler[0], *flags, define, "-c", SOURCE, "-o", obj)
        t.eq((result.rc, result.err), (0, ""), f"{compiler[0]} {level} {link}")
    flag = {"pie": "-pie", "static": "-static", "shared": "-shared"}[link]
    result = t.run(compiler[0], level, flag, *extra, *objects, "-o", out)
    t.eq((result.rc, result.err), (0, ""), f"{compiler[0]} {level} {link}, linking")
    return out


def notes(t, file, provider="matrix"):
    """[(name, site, semaphore, operands)] of .note.stapsdt, {site: letters} of .note.tapir."""
    text = t.run(t.need("readelf"), "-nW", file).out
    probes = re.findall(rf"Provider: {provider}\n\s+Name: (\w+)\n\s+Location: 0x(\w+), Base: 0x\w+, "
                        r"Semaphore: 0x(\w+)\n\s+Arguments: ?(.*)", text)
    letters = {}
    for data in re.findall(r"tapir\s+0x\w+\t.*description data: ([0-9a-f ]+)", text):
        desc = bytes.fromhex(data)
        letters[struct.unpack_from("<Q", desc)[0]] = desc[8:].decode("ascii")
    return [(n, int(s, 16), int(m, 16), a) for n, s, m, a in probes], letters


def bytes_at(file, va, size):
    """The bytes that an ELF file maps at an address."""
    with open(file, "rb") as f:
        image = f.read()
    phoff, = struct.unpack_from("<Q", image, 32)
    phentsize, phnum = struct.unpack_from("<HH", image, 54)
    for i in range(phnum):
        kind, _, offset, start, _, filesz = struct.unpack_from("<IIQQQQ", image, phoff + i * phentsize)
        if kind == 1 and start <= va < start + filesz:
            return image[offset + va - start:][:size]
    return b""


def check_notes(t, file, what):
    probes, letters = notes(t, file)
    t.eq({p[0] for p in probes}, set(PROBES), f"{what}: probes in .note.stapsdt")
    t.eq(len(letters), len(probes), f"{what}: notes in .note.tapir")
    counters = {semaphore for name, _, semaphore, _ in probes if name == "guarded"}
    t.ok(len(counters) == 1 and 0 not in counters, f"{what}: one semaphore for guarded: {counters}")
    for name, site, semaphore, operands in probes:
        sizes = " ".join(word.split("@")[0] for word in re.findall(r"-?\d+@\S+", operands))
        t.eq((sizes, letters.get(site)), (PROBES[name][0], PROBES[name][1] + "\0"), f"{what}: {name}")
        t.eq(bytes_at(file, site, len(SITE)).hex(), SITE.hex(), f"{what}: code at {name}")
        t.eq(semaphore != 0, name == "guarded", f"{what}: semaphore of {name}")


def fired_under_bpftrace(t, file):
    script = BPFTRACE.replace("BIN", file)
    result = t.run(t.need("bpftrace"), "-c", file, "-e", script, timeout=60)
    return result.out.split("\n", 1)[1].lstrip("\n") if "Attaching" in result.out else result.err


def twelve_in_gdb(t, file):
    prints = [word for i in range(12) for word in ("-ex", f"output $_probe_arg{i}", "-ex", r"echo \n")]
    result = t.run(t.need("gdb"), "-batch", "-nx", "-ex", "break -probe-stap matrix:twelve",
                   "-ex", "run", *prints, file)
    return [int(n) for n in re.findall(r"^-?\d+$", result.out, re.M)]


def test_notes_are_exact_when_built_by_each_compiler_at_each_level(t):
    t.need(*(compiler[0] for compiler in COMPILERS))
    for compiler, level, link in itertools.product(COMPILERS, LEVELS, KINDS_OF_LINK):
        what = f"{compiler[0]} {level} {link}"
        file = build(t, compiler, level, link)
        check_notes(t, file, what)
        if link != "shared":
            t.eq(t.run(file).rc, 0, f"{what}: exit code untraced")


def test_notes_are_exact_when_built_with_lto_sanitizers_or_gc_sections(t):
    t.need("gcc", "g++")
    for compiler in (COMPILERS[0], COMPILERS[2]):
        for extra in (["-flto"], ["-fsanitize=address,undefined"],
                      ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]):
            file = build(t, compiler, "-O2", "pie", *extra)
            check_notes(t, file, f"{compiler[0]} {extra[0]}")
            t.eq(t.run(file).rc, 0, f"{compiler[0]} {extra[0]}: exit code untraced")


def test_notes_are_written_when_compiled_for_arm64(t):
    """Compiled only: operands and code of aarch64 run nowhere here."""
    out = t.path("arm64.o")
    for level in LEVELS:
        result = t.run(t.need("clang"), "--target=aarch64-linux-gnu", "-ffreestanding", "-std=c11", level,
                       "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-c", SOURCE, "-o", out)
        t.eq((result.rc, result.err), (0, ""), f"clang for arm64 {level}")
        text = t.run(t.need("readelf"), "-nW", out).out
        t.eq(set(re.findall(r"Name: (\w+)", text)), set(PROBES), f"probes {level}")
        letters = {bytes.fromhex(data)[8:-1].decode("ascii") for data in
                   re.findall(r"tapir\s+0x\w+\t.*description data: ([0-9a-f ]+)", text)}
        t.eq(letters, {kinds for _, kinds in PROBES.values()}, f"letters {level}")


def test_notes_are_exact_when_types_are_those_of_cxx(t):
    source = os.path.join(HERE, "header_types.cc")
    expected = {("guarded", "-4 -4", "ii"), ("member", "8 1 -2 8 4 -4 2 4 -4 4", "puipuiuuif"),
                ("generic", "-4 8", "iu"), ("generic", "8 8", "fu")}
    for compiler, standard, level in itertools.product(("g++", "clang++"), ("c++11", "c++20"), LEVELS):
        what, file = f"{compiler} {standard} {level}", t.path("types")
        objects = [t.path("one.o"), t.path("two.o")]
        for obj, define in zip(objects, ("-DHEADER_FIRST", "-DHEADER_SECOND")):
            result = t.run(t.need(compiler), f"-std={standard}", level, "-Wall", "-Wextra", "-Wshadow",
                           "-Werror", f"-I{INCLUDE}", define, "-c", source, "-o", obj)
            t.eq((result.rc, result.err), (0, ""), what)
        t.eq(t.run(compiler, *objects, "-o", file).rc, 0, f"{what}, linking")
        probes, letters = notes(t, file, "cxx")
        seen = {(name, " ".join(w.split("@")[0] for w in operands.split()), letters[site][:-1])
                for name, site, _, operands in probes}
        t.eq(seen, expected, f"{what}: notes")
        t.eq({bytes_at(file, site, len(SITE)).hex() for _, site, _, _ in probes}, {SITE.hex()}, f"{what}: code")
        t.eq(t.run(file).rc, 0, f"{what}: exit code")


def test_compiler_refuses_when_a_probe_cannot_carry_the_argument(t):
    source = t.path("refused.c")
    for argument in ("struct { int a; } v = {0}", "__int128 v = 1", "long double v = 1"):
        with open(source, "w") as f:
            f.write(f'#include "tapir/usdt.h"\nint main(void) {{ {argument}; TAPIR_PROBE(p, n, v); }}\n')
        for compiler in COMPILERS:
            result = t.run(t.need(compiler[0]), *compiler[1:], f"-I{INCLUDE}", "-c", source,
                           "-o", t.path("refused.o"))
            t.ok(result.rc != 0 and "tapir: a probe takes" in result.err,
                 f"{compiler[0]} refuses {argument} in words: {result.err[:300]}")


def test_site_adds_only_its_nops_when_arguments_are_in_registers(t):
    source, out = t.path("bare.c"), t.path("bare.o")
    with open(source, "w") as f:
        f.write('#include "tapir/usdt.h"\n'
                "#ifdef __cplusplus\nextern \"C\"\n#endif\n"
                "void bare(int a, const char *text, void *p, unsigned long u, short s, int b);\n"
                "void bare(int a, const char *text, void *p, unsigned long u, short s, int b)\n"
                "{\n\tTAPIR_PROBE(p, n, a, text, p, u, s, b);\n}\n")
    for compiler, level in itertools.product(COMPILERS, ("-O1", "-O2", "-O3")):
        result = t.run(t.need(compiler[0]), *compiler[1:], level, "-fomit-frame-pointer", "-fcf-protection=none",
                       f"-I{INCLUDE}", "-c", source, "-o", out)
        t.eq((result.rc, result.err), (0, ""), f"{compiler[0]} {level}")
        size = re.search(r"\s(\d+) FUNC\s.*\sbare$", t.run(t.need("readelf"), "-sW", out).out, re.M)
        t.eq(int(size[1]), len(SITE) + 1, f"{compiler[0]} {level}: bytes of a function with a site and a ret")


def test_bpftrace_prints_every_value_when_attached(t):
    t.need(*(compiler[0] for compiler in COMPILERS))
    for compiler, level in itertools.product(COMPILERS, ("-O0", "-O2")):
        file = build(t, compiler, level, "pie")
        t.eq(fired_under_bpftrace(t, file).strip(), FIRED.strip(), f"{compiler[0]} {level}")


def test_gdb_prints_twelve_values_when_stopped_at_the_probe(t):
    t.need(*(compiler[0] for compiler in COMPILERS))
    for compiler, level in itertools.product(COMPILERS, ("-O0", "-O2")):
        file = build(t, compiler, level, "pie")
        t.eq(twelve_in_gdb(t, file), TWELVE, f"{compiler[0]} {level}")


def test_bpftrace_prints_every_value_when_static_or_lto(t):
    t.need("gcc")
    for link, extra in (("static", ()), ("pie", ("-flto",))):
        file = build(t, COMPILERS[0], "-O2", link, *extra)
        t.eq(fired_under_bpftrace(t, file).strip(), FIRED.strip(), f"{link} {extra}")


def test_bpftrace_gdb_and_perf_list_the_probes_when_asked(t):
    file = build(t, COMPILERS[0], "-O2", "pie")
    expected = set(PROBES)
    listed = t.run(t.need("bpftrace"), "-l", f"usdt:{file}:*").out
    t.eq(set(re.findall(r":matrix:(\w+)", listed)), expected, "bpftrace -l")
    listed = t.run(t.need("gdb"), "-batch", "-nx", "-ex", "info probes stap matrix", file).out
    t.eq(set(re.findall(r"^stap\s+matrix\s+(\w+)", listed, re.M)), expected, "gdb info probes")
    perf = [t.need("perf"), "--buildid-dir", t.path("buildid")]
    t.eq(t.run(*perf, "buildid-cache", "--add", file).rc, 0, "perf buildid-cache")
    listed = t.run(*perf, "list", "sdt").out
    t.eq(set(re.findall(r"sdt_matrix:(\w+)", listed)), expected, "perf list sdt")
    t.eq(t.run(*perf, "probe", "-n", "-x", file, "sdt_matrix:twelve").rc, 0, "perf probe, dry run")


def test_red_zone_is_whole_when_a_tracer_is_attached(t):
    file = t.target_path("redzone")
    result = t.run(t.need("bpftrace"), "-c", f"{file} 1000", "-e",
                   f"usdt:{file}:redzone:hit {{ @hits = count(); }}")
    t.eq(result.witness(), {"fired": 1000, "damaged": 0}, "what redzone says")
    t.ok("@hits: 1000" in result.out, f"bpftrace counts 1000 hits: {result.out}")


def test_children_live_when_forked_while_traced(t):
    file = t.target_path("forker")
    result = t.run(t.need("bpftrace"), "-c", f"{file} 3 100", "-e",
                   f"usdt:{file}:forker:* {{ @hits[probe] = count(); }}")
    t.eq(result.witness()["bad_exits"], 0, "children that died")
