#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/check-refs accepts a small tree whose comments and pages name what exists, and fails for each name planted in it that does not.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/user/base" "$dir/include/tapir" "$dir/scripts"
git -C "$dir" init -q || { echo "git makes no repository here"; exit 77; }
cat >"$dir/user/base/str.h" <<'END'
/* Its twin is include/tapir/abi.h; tapir_str__fini() releases it. */
void tapir_str__fini(void);
END
cat >"$dir/include/tapir/abi.h" <<'END'
/* What the kernel says of it: kernel/trace/ring_buffer.c. */
END
printf 'int str_cnt; // see base/str.h\n' >"$dir/user/base/str.c"
printf '# `user/base/str.c` is about it; `tapir_str__fini()` ends it.\n' >"$dir/README.md"
printf '#!/bin/sh\n# For user/base/*.c.\n' >"$dir/scripts/check-it"

check() { # STATUS OUTPUT NAME
	out=$("${PYTHON:-python3}" scripts/check-refs "$dir" 2>&1)
	status=$?
	[ "$status" = "$1" ] && [ "$out" = "$2" ] && return
	printf '%s: exit %s, not %s, with "%s", not "%s"\n' "$3" $status "$1" "$out" "$2"
	exit 1
}

planted() { # FILE LINE-NUMBER NAME TEXT
	cp "$dir/$1" "$dir/.kept"
	printf '%s\n' "$4" >>"$dir/$1"
	check 1 "$1:$2: $3 does not exist" "$4"
	mv "$dir/.kept" "$dir/$1"
}

check 0 "" "nothing planted"
planted include/tapir/abi.h 2 user/base/vector.h '/* The list is user/base/vector.h. */'
planted user/base/str.h 3 'tapir_str__free()' '/* Ends with tapir_str__free(). */'
planted user/base/str.c 2 base/strings.h '// the same as base/strings.h'
planted README.md 2 scripts/check-that 'It is checked by `scripts/check-that`.'
planted README.md 2 'tapir_str__take()' 'Text is taken by `tapir_str__take()`.'
planted scripts/check-it 3 'user/base/maps.c' '# Not for user/base/maps.c.'
check 0 "" "nothing planted any more"
