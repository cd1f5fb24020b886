/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_ipc.h - the messages of .NET's diagnostics port: requests as bytes, replies as values.
 *
 * A message is "DOTNET_IPC_V1\0", u16 size of all of it, u8 command set, u8 command, u16 0, and a
 * payload; all little-endian. Text is a u32 count of UTF-16 units with its NUL, and the units; a
 * missing text is a count of 0. A connection carries one request and its reply. Layouts and replies
 * were checked with .NET 8, 9 and 10.
 *
 * A payload that is too short makes the runtime read what is not there and end (seen): so a request
 * is made whole here, or not at all, and every field of it has an argument.
 *
 * Pure and thread-safe. Replies come from a process that may be hostile.
 */
#ifndef TAPIR_USER_DOTNET_IPC_H
#define TAPIR_USER_DOTNET_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define TAPIR_DOTNET_HEADER_BYTES    20u
#define TAPIR_DOTNET_ADVERT_BYTES    34u
#define TAPIR_DOTNET_MAX_BYTES	     65535u /* of a message */
#define TAPIR_DOTNET_MAX_PROVIDERS   1000u
#define TAPIR_DOTNET_RUNDOWN_KEYWORD 0x80020139ull

/* Command set << 8 | command. */
enum tapir_dotnet_command {
	TAPIR_DOTNET_STOP_TRACING = 0x0201,
	TAPIR_DOTNET_COLLECT_TRACING = 0x0202,
	TAPIR_DOTNET_COLLECT_TRACING2 = 0x0203,
	TAPIR_DOTNET_COLLECT_TRACING3 = 0x0204, /* 8.0 */
	TAPIR_DOTNET_COLLECT_TRACING4 = 0x0205, /* 9.0 */
	TAPIR_DOTNET_COLLECT_TRACING5 = 0x0206, /* 10.0 */
	TAPIR_DOTNET_ATTACH_PROFILER = 0x0301,
	TAPIR_DOTNET_STARTUP_PROFILER = 0x0302, /* 6.0 */
	TAPIR_DOTNET_PROCESS_INFO = 0x0400,
	TAPIR_DOTNET_RESUME_RUNTIME = 0x0401,
	TAPIR_DOTNET_SET_ENVIRONMENT_VARIABLE = 0x0403,
	TAPIR_DOTNET_PROCESS_INFO2 = 0x0404,
	TAPIR_DOTNET_ENABLE_PERF_MAP = 0x0405,	  /* 8.0 */
	TAPIR_DOTNET_DISABLE_PERF_MAP = 0x0406,	  /* 8.0 */
	TAPIR_DOTNET_APPLY_STARTUP_HOOK = 0x0407, /* 8.0 */
	TAPIR_DOTNET_PROCESS_INFO3 = 0x0408,	  /* 8.0 */
};

enum tapir_dotnet_perf_map {
	TAPIR_DOTNET_PERF_MAP_ALL = 1,
	TAPIR_DOTNET_PERF_MAP_JITDUMP = 2,
	TAPIR_DOTNET_PERF_MAP_PERF_MAP = 3,
};

/* Codes by which a runtime refuses. */
#define TAPIR_DOTNET_BAD_ENCODING      0x80131384u
#define TAPIR_DOTNET_UNKNOWN_COMMAND   0x80131385u
#define TAPIR_DOTNET_UNKNOWN_MAGIC     0x80131386u
#define TAPIR_DOTNET_NOT_SUPPORTED     0x80131515u
#define TAPIR_DOTNET_FAIL	       0x80004005u
#define TAPIR_DOTNET_NOT_YET_AVAILABLE 0x8013135bu
#define TAPIR_DOTNET_UNINITIALIZED     0x80131371u
#define TAPIR_DOTNET_INVALID_ARG       0x80070057u
#define TAPIR_DOTNET_ENV_NOT_FOUND     0x800000cbu
#define TAPIR_DOTNET_PROFILER_ACTIVE   0x8013136au
#define TAPIR_DOTNET_MODULE_NOT_FOUND  0x8007007eu
#define TAPIR_DOTNET_OUT_OF_MEMORY     0x8007000eu

/* Returns the code in words; "an error it has no name for". Static. */
const char *tapir_dotnet__error_text(uint32_t hresult);

struct tapir_dotnet_provider {
	const char *name, *filter; /* UTF-8; filter "Key=Value;...", NULL: none */
	uint64_t keywords;
	uint32_t level;	       /* 0 to 5 */
	bool has_event_filter; /* COLLECT_TRACING5 only: false: all events */
	bool is_allow_list;    /* event_ids are those wanted; false: those not wanted */
	const uint32_t *event_ids;
	uint32_t event_id_cnt;
};

struct tapir_dotnet_session {
	uint32_t buffer_mb;	  /* > 0 */
	uint64_t rundown_keyword; /* 0: no rundown; before COLLECT_TRACING4 only whether it is 0
				     counts */
	bool has_stacks;	  /* before COLLECT_TRACING3 always */
	const struct tapir_dotnet_provider *providers;
	uint32_t provider_cnt; /* 1 to 1000 */
};

/* ---- requests ----------------------------------------------------------------------------
 *
 * *out is cleared and gets the message. 0; -EINVAL: an argument is out of bounds or no UTF-8;
 * -EMSGSIZE: longer than 64 KB; -ENOMEM. No line.
 */

/* Commands without a payload: PROCESS_INFO, 2, 3, RESUME_RUNTIME, DISABLE_PERF_MAP. */
int tapir_dotnet__put_plain(struct tapir_str *out, enum tapir_dotnet_command command);
int tapir_dotnet__put_enable_perf_map(struct tapir_str *out, enum tapir_dotnet_perf_map type);
/* timeout: in ms by the specification, in seconds by Microsoft's client: be generous. data may be
 * NULL with len 0. */
int tapir_dotnet__put_attach_profiler(struct tapir_str *out, uint32_t timeout,
				      const uint8_t clsid[16], const char *path, const void *data,
				      uint32_t len);
/* Streaming, nettrace. command: COLLECT_TRACING to COLLECT_TRACING5. */
int tapir_dotnet__put_collect(struct tapir_str *out, enum tapir_dotnet_command command,
			      const struct tapir_dotnet_session *session);
int tapir_dotnet__put_stop(struct tapir_str *out, uint64_t session_id);

/* ---- replies ----------------------------------------------------------------------------- */

struct tapir_dotnet_reply {
	bool is_error;
	uint32_t hresult;	/* of an error */
	const uint8_t *payload; /* of a success; borrowed from the message */
	size_t len;
};

/*
 * Returns the size of the message that begins with these TAPIR_DOTNET_HEADER_BYTES; -EPROTO: not a
 * message.
 */
int tapir_dotnet__reply_bytes(const void *header);

/* Parses exactly one complete message. -EPROTO: malformed, or an error without its code. */
int tapir_dotnet__parse_reply(const void *bytes, size_t len, struct tapir_dotnet_reply *out);

/*
 * Parses what a runtime sends first on a connection that it makes itself: "ADVR_V1\0", its 16 byte
 * cookie, u64 its pid as it sees it, u16 0 for the future. -EPROTO: it is cut, longer, or something
 * else.
 */
int tapir_dotnet__parse_advert(const void *bytes, size_t len);

/*
 * Parse payloads of successes. -EPROTO: cut, longer, or not what it should be; *out is untouched.
 */
int tapir_dotnet__parse_hresult(const struct tapir_dotnet_reply *reply, uint32_t *out);
int tapir_dotnet__parse_session(const struct tapir_dotnet_reply *reply, uint64_t *out);

struct tapir_dotnet_process {
	uint64_t pid; /* as it sees it */
	uint8_t cookie[16];
	char *cmdline, *os, *arch;	/* UTF-8, never NULL */
	char *entry_assembly, *version; /* from PROCESS_INFO2 on; "" before */
	char *rid;			/* from PROCESS_INFO3 on; "" before */
};

/*
 * Parses the answer to one of the three commands, which is said by command. On success out needs
 * __fini.
 */
int tapir_dotnet__parse_process(const struct tapir_dotnet_reply *reply,
				enum tapir_dotnet_command command,
				struct tapir_dotnet_process *out);
void tapir_dotnet_process__fini(struct tapir_dotnet_process *process);

#endif
