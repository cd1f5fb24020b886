// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Zend's frames (zend_execute_data) as they are in memory. The offsets are what PHP's headers give
 * on x86-64; a version without a row of offsets is not read, because wrong ones give plausible
 * names.
 */
#include "runtime/php/php_frames.h"

#include <string.h>

#include "bpf/interp.h"
#include "runtime/function_code.h"

#define EXECUTE_DATA_OFF  0x1e8u /* executor_globals.current_execute_data */
#define FUNCTION_OFF	  24u	 /* of an execute_data */
#define PREVIOUS_OFF	  48u
#define CALL_INFO_OFF	  42u /* the third byte of This.u1.type_info */
#define CALL_TOP	  2u  /* ZEND_CALL_TOP: called by C */
#define NAME_OFF	  8u  /* of a function: its type is its first byte */
#define CLASS_OFF	  16u
#define CLASS_NAME_OFF	  8u
#define TEXT_LEN_OFF	  16u
#define TEXT_OFF	  24u
#define INTERNAL_FUNCTION 1u
#define USER_FUNCTION	  2u
#define EVAL_CODE	  4u
#define MAX_NAME_BYTES	  256u
#define MAX_FILE_BYTES	  1024u

/* The text that php_version returns begins so; before 8.3 there is no such function. */
struct layout {
	const char *version;
	uint16_t globals_bytes;
	uint16_t file; /* of a function of PHP */
};

static const struct layout layouts[] = {
	{NULL, 0x708, 152}, /* 8.2 */
	{"8.4.", 0x7c0, 168},
};

static bool is_version(const struct tapir_process_memory *memory, uint64_t fn_va,
		       const char *version)
{
	char text[8];

	if (!version || !fn_va)
		return !version && !fn_va;
	return tapir_process_memory__get(memory, tapir_function_code__returned(memory, fn_va), text,
					 strlen(version)) &&
	       !memcmp(text, version, strlen(version));
}

bool tapir_php__read(struct tapir_php *out, const struct tapir_process_memory *memory,
		     const uint64_t vas[TAPIR_PHP_EXPORT_CNT],
		     const uint64_t bytes[TAPIR_PHP_EXPORT_CNT])
{
	uint64_t loop_va = vas[TAPIR_PHP_LOOP];

	if (!vas[TAPIR_PHP_GLOBALS] || !loop_va)
		return false;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (bytes[TAPIR_PHP_GLOBALS] != layouts[i].globals_bytes ||
		    !is_version(memory, vas[TAPIR_PHP_VERSION], layouts[i].version))
			continue;
		*out = (struct tapir_php){
			.globals_va = vas[TAPIR_PHP_GLOBALS],
			.loop = {.va = loop_va, .end_va = loop_va + bytes[TAPIR_PHP_LOOP]},
			.file = layouts[i].file};
		return true;
	}
	return false;
}

void tapir_php__interp(const struct tapir_php *php, struct tapir_interp *out)
{
	*out = (struct tapir_interp){
		.root_va = php->globals_va + EXECUTE_DATA_OFF,
		.root = TAPIR_INTERP_VA,
		.language = TAPIR_INTERP_PHP,
		.flags = TAPIR_INTERP_FIRST_THREAD,
		.code = FUNCTION_OFF,
		.previous = PREVIOUS_OFF,
		.last = CALL_INFO_OFF,
		.last_mask = CALL_TOP,
		.last_value = CALL_TOP,
		.cookie = NAME_OFF,
	};
}

/* A zend_string; without control characters. */
static bool add_php_text(const struct tapir_process_memory *memory, uint64_t va, size_t max_bytes,
			 struct tapir_str *out)
{
	char bytes[MAX_FILE_BYTES];
	uint64_t len;

	if (!va || va & 7 ||
	    !tapir_process_memory__get(memory, va + TEXT_LEN_OFF, &len, sizeof(len)) || !len ||
	    len > max_bytes || !tapir_process_memory__get(memory, va + TEXT_OFF, bytes, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return false;
	tapir_str__add(out, bytes, len);
	return true;
}

static bool add_php_function(const struct tapir_process_memory *memory, uint64_t va,
			     struct tapir_str *out)
{
	uint64_t name_va = tapir_process_memory__u64(memory, va + NAME_OFF),
		 class_va = tapir_process_memory__u64(memory, va + CLASS_OFF);

	if (!name_va) {
		tapir_str__adds(out, "{main}"); /* of a file */
		return true;
	}
	if (class_va) {
		if (!add_php_text(memory,
				  tapir_process_memory__u64(memory, class_va + CLASS_NAME_OFF),
				  MAX_NAME_BYTES, out))
			return false;
		tapir_str__adds(out, "::");
	}
	return add_php_text(memory, name_va, MAX_NAME_BYTES, out);
}

bool tapir_php__add_name(const struct tapir_php *php, const struct tapir_process_memory *memory,
			 uint64_t function_va, struct tapir_str *out, bool *is_internal)
{
	uint8_t type = 0;

	if (!tapir_process_memory__get(memory, function_va, &type, sizeof(type)) ||
	    (type != INTERNAL_FUNCTION && type != USER_FUNCTION && type != EVAL_CODE))
		return false;
	*is_internal = type == INTERNAL_FUNCTION;
	tapir_str__adds(out, "php::");
	if (!add_php_function(memory, function_va, out))
		return false;
	tapir_str__addc(out, ':');
	if (*is_internal)
		tapir_str__adds(out, "[internal]");
	else if (!add_php_text(memory, tapir_process_memory__u64(memory, function_va + php->file),
			       MAX_FILE_BYTES, out))
		return false;
	return !out->failed;
}
