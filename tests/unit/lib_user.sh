#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# libtapir as its users have it: the examples of its headers compile; `make lib` wants no BPF
# toolchain and installs what CMake finds; a C++ header and a Rust crate fire events over its
# functions; every model of code has right notes; the thread sanitizer of a program is quiet.
# A part whose compiler is missing is skipped.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
has() { command -v "$1" >/dev/null 2>&1; }

# ---- the examples at the top of headers, in a function unless they are definitions ------------------

# The first lines of the opening comment that are indented by a tab, and those between them.
example() {
	awk '/^ \*\//{ exit } /^ \*\t/{ seen = 1; print substr($0, 4); next } /^ \*$/{ next } seen{ exit }' "include/tapir/$1.h" |
		sed -e "/^\.\.\.$/d" -e "s/^static void \(.*);\)/extern void \1/"
}

# Arguments: header, the first line of the example that is a statement, declarations it relies on.
compiles() {
	example "$1" >"$dir/example"
	[ -s "$dir/example" ] || { echo "no example in $1.h" && exit 1; }
	{
		echo "#include \"tapir/$1.h\"" && echo '#include "tapir/provider.h"' && echo "$3"
		awk -v from="$2" 'index($0, from) == 1 { exit } { print }' "$dir/example"
		echo 'void example(void);' && echo 'void example(void)' && echo '{'
		awk -v from="$2" 'index($0, from) == 1 { on = 1 } on' "$dir/example"
		echo '}'
	} >"$dir/example.c"
	for compiler in "gcc -std=gnu11" "g++ -x c++ -std=gnu++20"; do
		[ "$compiler" != "${compiler#gcc}" ] || [ "$1" != counter ] || continue # names members out of order in C++
		# shellcheck disable=SC2086
		$compiler -Wall -Wextra -Werror -Wno-unused -Iinclude -fsyntax-only "$dir/example.c" ||
			{ cat "$dir/example.c" && exit 1; }
	done
}

consumer='extern void *ctx; extern struct tapir_event_record *record;'
compiles provider 'tapir_provider__new(' 'extern struct tapir_provider *shop;
extern struct order { uint64_t id; const char *customer; double total; } *order;'
compiles listener 'const struct' "$consumer extern struct tapir_listener *listener;"
compiles file_session 'const struct' "extern struct tapir_session *session;"
compiles logger 'const struct' "$consumer extern struct tapir_logger *logger;"
compiles counter 'static' 'extern struct tapir_provider *shop; extern struct tapir_counter *requests;'
compiles dynamic 'struct tapir_event_about' 'extern struct tapir_dynamic *plugin; extern struct tapir_event *placed;
extern const void *payload; extern size_t bytes;'
compiles payload_parts 'struct tapir_payload_part' "$consumer extern uint64_t order; extern const char *name;"
echo "ok examples"

# ---- every model of code ------------------------------------------------------------------------------

semaphore() { readelf -n "$dir/large" | sed -n "/Name: $1\$/,/Arguments/s/.*Semaphore: 0x0*//p"; }
symbol() { nm "$dir/large" | sed -n "s/^0*\([0-9a-f]*\) . $1\$/\1/p"; }
models=
[ "$(uname -m)" != x86_64 ] || models="-mcmodel=medium|-mcmodel=large -fno-pic -no-pie|-mcmodel=large -fPIE -pie"
IFS='|'
for model in -O0 $models; do
	IFS=' '
	for compiler in "gcc -std=gnu11" "g++ -x c++ -std=c++11"; do
		# shellcheck disable=SC2086
		$compiler -O2 $model -Wall -Wextra -Werror -Iinclude tests/lib_user/large.c -x none "$BUILD/libtapir.a" -pthread -lm -o "$dir/large"
		"$dir/large"
		[ "$(semaphore Sold)" = "$(symbol Sold)" ] && [ "$(semaphore order)" = "$(symbol shop_order_semaphore)" ] ||
			{ echo "$compiler $model: semaphores of the notes" && readelf -n "$dir/large" && exit 1; }
	done
done
echo "ok models of code"

# ---- make lib -----------------------------------------------------------------------------------------

built="make --no-print-directory BUILD=$dir/lib CLANG=false BPFTOOL=false PKG_CONFIG=false PYTHON=false"
MAKEFLAGS='' $built DESTDIR="$dir/root" PREFIX=/usr LIBDIR=lib/some/where install-lib >"$dir/log" 2>&1 || { cat "$dir/log" && exit 1; }
if has cmake && has g++; then
	mkdir "$dir/project"
	cat >"$dir/project/CMakeLists.txt" <<-CMAKE
		cmake_minimum_required(VERSION 3.13)
		project(user C CXX)
		find_package(tapir 0.1 REQUIRED CONFIG)
		add_executable(shared "$PWD/tests/lib_user/large.c")
		target_link_libraries(shared tapir::tapir)
		add_executable(seen "$PWD/tests/lib_user/seen.cpp")
		target_compile_features(seen PRIVATE cxx_std_17)
		target_compile_options(seen PRIVATE -Wall -Wextra -Werror)
		target_include_directories(seen PRIVATE "$PWD/usdt/bindings/cpp")
		target_link_libraries(seen tapir::static)
	CMAKE
	{
		cmake -S "$dir/project" -B "$dir/project/build" -DCMAKE_BUILD_TYPE=Release -Dtapir_DIR="$dir/root/usr/lib/some/where/cmake/tapir" &&
			cmake --build "$dir/project/build"
	} >"$dir/log" 2>&1 || { cat "$dir/log" && exit 1; }
	LD_LIBRARY_PATH="$dir/root/usr/lib/some/where" "$dir/project/build/shared"
	"$dir/project/build/seen" >"$dir/out"
	printf "OrderPlaced 5 fields -17 'Ann' 6 bytes 1 0.5\nClosed 0 fields\n" | diff - "$dir/out"
	echo "ok CMake, C++"
fi
if has aarch64-linux-gnu-gcc; then
	MAKEFLAGS='' $built BUILD="$dir/arm64" CC=aarch64-linux-gnu-gcc lib >"$dir/log" 2>&1 || { cat "$dir/log" && exit 1; }
	aarch64-linux-gnu-gcc -O2 -Iinclude tests/lib_user/large.c "$dir/arm64/libtapir.a" -pthread -lm -o "$dir/arm64/large"
	! has qemu-aarch64 || qemu-aarch64 -L /usr/aarch64-linux-gnu "$dir/arm64/large"
	echo "ok make lib for arm64"
fi

# ---- Rust ---------------------------------------------------------------------------------------------

if has cargo && cargo --version >/dev/null 2>&1; then
	cp -r usdt/bindings/rust "$dir/rust"
	TAPIR_LIB_DIR=$dir/lib TAPIR_STATIC=1 CARGO_HOME="$dir/cargo" cargo run --offline -q --manifest-path "$dir/rust/Cargo.toml" \
		--example seen >"$dir/out" 2>"$dir/log" || { cat "$dir/log" && exit 1; }
	echo '[11, 00, 00, 00, 03, 00, 41, 6e, 6e, 01, 00, 00, 80, 3f]' | diff - "$dir/out"
	echo "ok Rust"
fi

# ---- the thread sanitizer of a program ---------------------------------------------------------------

gcc -std=gnu11 -O1 -g -fsanitize=thread -Wall -Wextra -Werror -Iinclude tests/lib_user/tsan.c "$BUILD/libtapir.a" -pthread -lm -o "$dir/tsan"
status=0
"$dir/tsan" >"$dir/out" 2>&1 || status=$?
if grep -q 'unexpected memory mapping' "$dir/out"; then
	echo "the thread sanitizer does not run here"
elif [ $status != 0 ]; then
	head -n 60 "$dir/out" && exit 1
else
	echo "ok thread sanitizer"
fi
