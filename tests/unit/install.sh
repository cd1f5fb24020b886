#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make install` puts below DESTDIR is enough to build a program that writes ring events, and
# `make uninstall` removes all of it.
set -eu
cd "$(dirname "$0")/../.."
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
make --no-print-directory BUILD="${BUILD:-build}" DESTDIR="$dest/root" PREFIX=/usr install >/dev/null
cat >"$dest/fires.c" <<'C'
#include <tapir/ring_writer.h>
#include <tapir/usdt.h>

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "installed", .event = "hit"};

int main(void)
{
	struct tapir_ring_write write;

	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		return 1;
	if (tapir_ring__wanted(&event) && tapir_ring__begin(&write, &event, 0))
		tapir_ring__commit(&write);
	TAPIR_PROBE(installed, probe);
	return 0;
}
C
gcc -std=gnu11 -Wall -Wextra -Werror -I"$dest/root/usr/include" "$dest/fires.c" "$dest/root/usr/lib/libtapir.a" \
	-pthread -o "$dest/fires"
"$dest/fires"
"$dest/root/usr/bin/tapir" --version
# tapir finds tapir-agent where it is installed: it answers that these two are not for one agent.
"$dest/root/usr/bin/tapir" serve --stdio --state memory 2>"$dest/said" || [ $? = 2 ]
grep -q '^tapir: serve: --stdio: takes no other option' "$dest/said" || { cat "$dest/said" && exit 1; }
grep -q tapir-serve "$dest/root/usr/share/man/man1/tapir-agent.1"
# libtapir.so by pkg-config, with the program of usdt/README.md; nothing but the API is visible.
sed -n '/^```c$/,/^```$/p' usdt/README.md | sed '/^```/d' >"$dest/demo.c"
pc=$(PKG_CONFIG_SYSROOT_DIR="$dest/root" PKG_CONFIG_PATH="$dest/root/usr/lib/pkgconfig" pkg-config --cflags --libs tapir)
# shellcheck disable=SC2086
gcc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror "$dest/demo.c" -I"$dest/root/usr/include" -L"$dest/root/usr/lib" $pc -o "$dest/demo"
LD_LIBRARY_PATH="$dest/root/usr/lib" "$dest/demo"
readelf -d "$dest/demo" | grep -q 'libtapir.so.0'
# The same by its environment: what it fires is in a file, of the provider and level that are asked for.
TAPIR_SESSION_FILE="$dest/%p.tapir" TAPIR_SESSION_EVENTS="Demo-*:0x1:4" LD_LIBRARY_PATH="$dest/root/usr/lib" "$dest/demo"
[ "$("$dest/root/usr/bin/tapir" events --json "$dest"/*.tapir | grep -c '"event":"GcStart"')" = 20 ]
! "$dest/root/usr/bin/tapir" events --json "$dest"/*.tapir | grep -q GcEnd || { echo "an event of a higher level" && exit 1; }
seen=$(nm -D --defined-only "$dest/root/usr/lib/libtapir.so" | awk '{ print $3 }' |
	grep -vE '^(tapir_[a-z_]+__[a-z_]+|otel_thread_ctx_v1|TAPIR_0)(@@TAPIR_0)?$' || true)
[ -z "$seen" ] || { echo "visible in libtapir.so: $seen" && exit 1; }
! nm -D --defined-only "$dest/root/usr/lib/libtapir.so" | grep -q tapir_ring__ || { echo "the ring is visible" && exit 1; }
for page in provider listener counter activity usdt ring_writer; do
	head -n 1 "$dest/root/usr/share/man/man3/tapir_$page.3" | grep -q '^\.TH TAPIR_'
	grep -q '^#include\|^TAPIR_API\|^#define' "$dest/root/usr/share/man/man3/tapir_$page.3"
done
make --no-print-directory BUILD="${BUILD:-build}" DESTDIR="$dest/root" PREFIX=/usr uninstall >/dev/null
left=$(find "$dest/root" ! -type d)
[ -z "$left" ] || { echo "left behind: $left" && exit 1; }
