#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tapir-reader is built without libbpf and prints what tapir prints. Its sources compile where Linux
# is not: with headers in front that refuse those of Linux, and hide what GNU adds to others.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
CC=${CC:-gcc}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
reader=$BUILD/tapir-reader

${MAKE:-make} -s BUILD="$BUILD" reader
nm -u "$reader" | grep -i ' bpf_' && { echo "tapir-reader wants libbpf" && exit 1; }

# ---- what it prints ----------------------------------------------------------------------------

compare() { # ARGS...
	"$BUILD/tapir" "$@" >"$out/want" 2>"$out/err" || { cat "$out/err" && exit 1; }
	"$reader" "$@" >"$out/got" 2>"$out/err" || { cat "$out/err" && exit 1; }
	cmp "$out/want" "$out/got" || { echo "differs: tapir-reader $*" && exit 1; }
}

cnt=0
for file in tests/corpus/{python-lock-convoy,dotnet-orders,jvm-more-threads,postgresql-plpgsql,node-calm}.tapir; do
	compare report "$file"
	compare report "$file" --all
	compare report "$file" --json
	compare report "$file" --async --view offcpu
	compare events "$file" --json
	compare flamegraph "$file"
	compare query "$file" 'SELECT count(*), min(time_ns), max(tid) FROM samples'
	compare export "$file" --format folded
	cnt=$((cnt + 8))
done
for program in "$BUILD/tapir" "$reader"; do
	name=$out/$(basename "$program")
	"$program" html tests/corpus/node-calm.tapir -q -o "$name.html"
	"$program" cut tests/corpus/node-calm.tapir -q --to 1 -o "$name.part"
	"$program" merge -q a=tests/corpus/node-calm.tapir b=tests/corpus/jvm-more-threads.tapir -o "$name.both" 2>"$out/err"
done
for kind in html part both; do
	cmp "$out/tapir.$kind" "$out/tapir-reader.$kind" || { echo "differs: $kind" && exit 1; }
done
status=0
said=$("$reader" record 2>&1) || status=$?
[ "$status $said" = "3 tapir-reader: 'record' is a command of tapir; this reads recordings" ] ||
	{ echo "record: $status $said" && exit 1; }
echo "$cnt outputs, and a page, a cut and a merge, are tapir's"

# ---- elsewhere ---------------------------------------------------------------------------------

for name in linux/{magic,openat2,bpf,perf_event,futex,fs,btf,capability,version} bpf/{bpf,libbpf,btf} \
	sys/{epoll,prctl,timerfd,eventfd,signalfd,inotify,fanotify,vfs,statfs,syscall,sysmacros} \
	sys/{sendfile,personality,ptrace,capability,auxv,timex,xattr} byteswap malloc error; do
	mkdir -p "$out/include/$(dirname "$name")"
	echo "#error \"<$name.h> is of Linux\"" >"$out/include/$name.h"
done
hide() { # HEADER NAME...: behind the header the name is not there.
	header=$out/include/$1
	mkdir -p "$(dirname "$header")"
	# Once: what elsewhere.h says afterwards stays.
	printf '#include_next <%s>\n#ifndef IS_HIDDEN_%s\n#define IS_HIDDEN_%s\n' "$1" "${1//[^a-z]/_}" "${1//[^a-z]/_}" >"$header"
	shift
	for name; do echo "#undef $name"; done >>"$header"
	echo '#endif' >>"$header"
}
hide fcntl.h O_PATH O_TMPFILE
hide sys/mman.h MFD_CLOEXEC
hide stdio.h RENAME_NOREPLACE
hide errno.h EMEDIUMTYPE
hide time.h CLOCK_BOOTTIME
export BUILD CC out
${MAKE:-make} -s BUILD="$BUILD" reader-sources | tr ' ' '\n' >"$out/sources"
xargs grep -lE '^#include <(endian|byteswap|linux/|bpf/)' <"$out/sources" && { echo "headers of Linux" && exit 1; }
# shellcheck disable=SC2016
xargs -P2 -n8 sh -c 'for file; do
	$CC -std=gnu11 -D_GNU_SOURCE -DTAPIR_VERSION="\"\"" -DTAPIR_BUILD="\"\"" -U__linux__ -Ulinux -U__linux -fsyntax-only \
		-I"$out/include" -Iinclude -Iuser -I. -isystem "$BUILD/gen" -isystem /usr/include/libxml2 \
		-include user/base/elsewhere.h "$file" || exit 255
done' sh <"$out/sources"
echo "$(wc -l <"$out/sources") sources compile without Linux"
