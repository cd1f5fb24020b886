# SPDX-License-Identifier: GPL-2.0-or-later
"""tapir list, held against readelf on the traced programs."""
import re

TARGETS = ("types", "storm", "manysites", "depth", "plug", "operands")
NOTE = re.compile(r"Provider: (.*)\n\s+Name: (.*)\n\s+Location: 0x(\w+), Base: 0x\w+, Semaphore: 0x(\w+)"
                  r"\n\s+Arguments: ?(.*)")


def segments(t, file):
    """[(file offset, address, bytes in the file)] of what is mapped."""
    text = t.run(t.need("readelf"), "-lW", file).out
    return [tuple(int(n, 16) for n in row)
            for row in re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", text)]


def file_offset(loads, va):
    return next((off + va - start for off, start, size in loads if start <= va < start + size), 0)


def by_readelf(t, file):
    """Sorted (provider, name, offset, semaphore, operands)."""
    loads = segments(t, file)
    text = t.run(t.need("readelf"), "-nW", file).out
    return sorted((p, n, file_offset(loads, int(site, 16)), file_offset(loads, int(sem, 16)), args.split())
                  for p, n, site, sem, args in NOTE.findall(text))


def by_tapir(lines):
    def operand(arg):
        size = -arg["size"] if arg["signed"] else arg["size"]
        return f"{size}{'f' if arg['float'] else ''}@{arg['operand']}"
    return sorted((line["provider"], line["name"], line["offset"], line["semaphore"],
                   [operand(arg) for arg in line["args"]]) for line in lines)


def test_sites_equal_readelf_when_a_file_is_listed(t):
    for name in TARGETS:
        file = t.target_path(name)
        expected = by_readelf(t, file)
        t.ok(expected, f"readelf finds notes in {name}")
        listed = by_tapir(t.tapir("list", file, "--json").json_lines())
        t.eq(len(listed), len(expected), f"sites of {name}")
        for got, want in zip(listed, expected):
            t.eq(got, want, f"a site of {name}")


def test_sites_of_a_program_are_listed_when_it_runs(t):
    target = t.target("types", "--wait", 1)
    lines = t.tapir("list", "-p", target.pid, "types:*", "--json").json_lines()
    t.eq(sorted(line["name"] for line in lines),
         sorted(row[1] for row in by_readelf(t, t.target_path("types"))), "names")
    target.go()
    t.eq(target.wait().rc, 0, "the program goes on")


def test_only_matching_sites_are_listed_when_a_glob_is_given(t):
    lines = t.tapir("list", t.target_path("manysites"), "s04*", "--json").json_lines()
    t.eq(sorted(line["name"] for line in lines), [f"s04{i}" for i in range(10)], "names")
