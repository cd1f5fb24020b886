// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MethodLoadVerbose and MethodUnloadVerbose as names of code. The layout is that of usdt/coreclr's
 * coreclr-events.tsv; names are UTF-16, ended by a NUL, in an order and form that differ from what
 * people write.
 */
#include "decode/dotnet_methods.h"

#include <errno.h>
#include <string.h>

#include "decode/dotnet_tables.h"
#include "decode/value_packed.h"

#define LOAD_ID	       143
#define UNLOAD_ID      144

/* Before the names: three u64 (method, module, start), three u32 (size, token, flags). */
#define START_OFF      16
#define SIZE_OFF       24
#define FLAGS_OFF      32
#define NAMES_OFF      36

#define TIER_SHIFT     7
#define TIER_MASK      7
#define FLAG_JITTED    0x8u

#define TEXT_MAX_BYTES 4096u /* of one name, in UTF-16; longer is cut */

enum tapir_dotnet_probe tapir_dotnet_probe__of(const struct tapir_probe_view *probe)
{
	if (probe->rec->encoding != TAPIR_ENCODING_PACKED ||
	    tapir_sv__compare(probe->provider, tapir_sv__of(TAPIR_DOTNET_RUNTIME)))
		return TAPIR_DOTNET_PROBE_OTHER;
	if (probe->rec->event_id == LOAD_ID)
		return TAPIR_DOTNET_PROBE_LOAD;
	return probe->rec->event_id == UNLOAD_ID ? TAPIR_DOTNET_PROBE_UNLOAD
						 : TAPIR_DOTNET_PROBE_OTHER;
}

/*
 * The names of tiers in the jitdump. Code that the JIT has not made has none there: of ReadyToRun
 * code, a rundown says Optimized.
 */
static const char *tier_name(uint32_t flags)
{
	static const char *const names[] = {"Unknown",		"MinOptJitted",
					    "Optimized",	"QuickJitted",
					    "OptimizedTier1",	"OptimizedTier1OSR",
					    "InstrumentedTier", "InstrumentedTierOptimized"};
	unsigned tier = flags >> TIER_SHIFT & TIER_MASK;

	return flags & FLAG_JITTED ? names[tier] : "PreJIT";
}

struct text {
	char bytes[3 * TEXT_MAX_BYTES / 2 + 4];
	size_t len;
};

/* The name at *at, which moves past its NUL. False: it does not end. */
static bool read_utf16_text(const struct tapir_event_view *event, size_t *at, struct text *out)
{
	size_t from = *at, len;

	while (event->payload_bytes - *at >= 2 && (event->payload[*at] || event->payload[*at + 1]))
		*at += 2;
	if (event->payload_bytes - *at < 2)
		return false;
	len = *at - from < TEXT_MAX_BYTES ? *at - from : TEXT_MAX_BYTES;
	out->len = tapir_utf16__to_utf8(event->payload + from, len, out->bytes);
	*at += 2;
	return true;
}

/* "instance void  (int32)": what it returns, two blanks, what it takes. */
static void add_dotnet_method_name(struct tapir_str *out, const struct text *type,
				   const struct text *method, const struct text *signature,
				   uint32_t flags)
{
	const char *params = memmem(signature->bytes, signature->len, "  (", 3);
	size_t ret_len = params ? (size_t)(params - signature->bytes) : 0;

	if (ret_len) {
		tapir_str__add(out, signature->bytes, ret_len);
		tapir_str__addc(out, ' ');
	}
	tapir_str__add(out, type->bytes, type->len);
	tapir_str__adds(out, "::");
	tapir_str__add(out, method->bytes, method->len);
	if (params)
		tapir_str__add(out, params + 2, signature->len - ret_len - 2);
	else
		tapir_str__adds(out, "()");
	tapir_str__addc(out, '[');
	tapir_str__adds(out, tier_name(flags));
	tapir_str__addc(out, ']');
}

int tapir_dotnet_method__of(const struct tapir_event_view *event, struct tapir_dotnet_method *out,
			    struct tapir_str *name)
{
	struct tapir_dotnet_method method;
	struct text type, own, signature;
	size_t at = NAMES_OFF, len_before = name->len;
	uint32_t size, flags;

	if (event->payload_bytes < NAMES_OFF)
		return -EINVAL;
	memcpy(&method.start_va, event->payload + START_OFF, sizeof(method.start_va));
	memcpy(&size, event->payload + SIZE_OFF, sizeof(size));
	memcpy(&flags, event->payload + FLAGS_OFF, sizeof(flags));
	method.size = size;
	if (!size || method.start_va + size < method.start_va ||
	    !read_utf16_text(event, &at, &type) || !read_utf16_text(event, &at, &own) ||
	    !read_utf16_text(event, &at, &signature))
		return -EINVAL;
	add_dotnet_method_name(name, &type, &own, &signature, flags);
	if (name->failed) {
		name->len = len_before;
		return -ENOMEM;
	}
	*out = method;
	return 0;
}
