// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go: functions of its runtime and standard library, by the names of packages. A Go function has
 * its package in its name, so one prefix covers a package in every version.
 */
#include "spec/runtime_db/hint_table.h"

const struct tapir_lore tapir_lore_go = {
	.name = "Go",
	.is_library = true,
	.native_library_code = TAPIR_LIST_OF(
		"runtime.", "runtime/", "internal/", "sync.", "sync/", "syscall.", "os.", "os/",
		"io.", "io/", "net.", "net/", "bufio.", "bytes.", "strings.", "strconv.", "fmt.",
		"log.", "sort.", "slices.", "maps.", "reflect.", "regexp.", "regexp/", "encoding/",
		"crypto/", "compress/", "container/", "context.", "database/sql.", "hash/", "html/",
		"math.", "math/", "text/", "time.", "unicode.", "unicode/", "memeqbody",
		"indexbytebody", "aeshashbody", "cmpbody", "gogo", "_rt0_"),
};
