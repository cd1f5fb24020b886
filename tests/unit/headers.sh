#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every public header compiles alone: C11 and C++11, gcc and clang, and abi.h for BPF, without
# implicit padding. Sizes and offsets are asserted in the headers themselves.
set -eu
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for header in include/tapir/*.h; do
	echo "#include \"tapir/${header##*/}\"" >"$dir/one.c"
	echo 'int tapir_header_test;' >>"$dir/one.c"
	cp "$dir/one.c" "$dir/one.cc"
	flags="-Wall -Wextra -Werror -Wundef -Iinclude -fsyntax-only"
	case $header in
	*/usdt.h) pedantic="" ;; # GNU asm and statement expressions
	*) pedantic="-pedantic -Wpadded" ;;
	esac
	gcc -std=c11 $flags $pedantic "$dir/one.c"
	clang -std=c11 $flags $pedantic "$dir/one.c"
	g++ -std=c++11 $flags $pedantic "$dir/one.cc"
	echo "ok ${header##*/}"
done
printf '#include "vmlinux.h"\n#include "tapir/abi.h"\nint tapir_header_test;\n' >"$dir/bpf.c"
clang -target bpf -O2 -Wall -Wextra -Werror -Wundef -Wno-missing-declarations -Iinclude \
	-isystem "vmlinux/$(uname -m)" -fsyntax-only "$dir/bpf.c"
echo "ok abi.h for BPF"
