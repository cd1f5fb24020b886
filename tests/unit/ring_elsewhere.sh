#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The process side of the ring lane compiles for other C libraries and machines without a
# warning, where their compilers are: musl, aarch64. A program with musl fires and is read.
set -eu
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
FLAGS="-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -Wshadow -Wundef -Iinclude -I. -fPIC
       -fvisibility=hidden -fno-omit-frame-pointer -fno-stack-protector"
# musl has no headers of the kernel: behind its own, those of this machine.
MUSL="-idirafter /usr/include -idirafter /usr/include/$(gcc -print-multiarch)"
found=0

compile() { # COMPILER FLAGS...
	cc=$1
	shift
	for file in usdt/ring/*.c; do
		# shellcheck disable=SC2086
		"$cc" $FLAGS "$@" -c "$file" -o "$out/$(basename "$file" .c).o"
	done
	found=1
}

if command -v aarch64-linux-gnu-gcc >/dev/null; then
	compile aarch64-linux-gnu-gcc -mgeneral-regs-only
	echo "aarch64: compiled"
fi
if command -v musl-gcc >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	# shellcheck disable=SC2086
	compile musl-gcc -mgeneral-regs-only -mtls-dialect=gnu2 $MUSL
	# shellcheck disable=SC2086
	musl-gcc $FLAGS -Wno-error $MUSL tests/e2e/targets/ringself.c "$out"/*.o -o "$out/ringself"
	"$out/ringself"
	echo "musl: compiled, fired and read"
fi
[ $found = 1 ] || { echo "neither musl-gcc nor aarch64-linux-gnu-gcc" && exit 77; }
