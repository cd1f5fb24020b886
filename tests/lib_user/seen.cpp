// SPDX-License-Identifier: GPL-2.0-or-later
/* usdt/bindings/cpp/tapir.hpp: what an event's fields are, as a listener of the process has them. */
#include <cstdio>
#include <string>

#include <tapir/listener.h>
#include <tapir/payload_parts.h>

#include "tapir.hpp"

static std::string text_of(const tapir_payload_part &part)
{
	return std::string(reinterpret_cast<const char *>(part.at), part.bytes);
}

static void see(const tapir_event_record *record, void *ctx)
{
	tapir_payload_part parts[5];
	unsigned cnt = tapir_payload__locate(record->kind->about, record->payload,
					     record->payload_bytes, parts, 5);

	++*static_cast<int *>(ctx);
	std::printf("%s %u fields", record->kind->about->name, cnt);
	if (cnt == 5)
		std::printf(" %d '%s' %zu bytes %d %g", static_cast<int>(tapir_part__number(&parts[0])),
			    text_of(parts[1]).c_str(), static_cast<std::size_t>(parts[2].bytes),
			    static_cast<int>(tapir_part__number(&parts[3])),
			    *reinterpret_cast<const double *>(parts[4].at));
	std::puts("");
}

int main()
{
	const tapir_selection all = {"Cxx-*", nullptr, nullptr, 0, 0, {0}};
	tapir_listener_opts polled = {};
	tapir::provider shop("Cxx-Shop");
	tapir::event<std::int32_t, std::string_view, tapir::array<std::uint16_t>, bool, double> placed(
		shop, "OrderPlaced", TAPIR_INFORMATIONAL, 0x1,
		{"Order", "Customer", "Items", "Paid", "Total"});
	tapir::event<> closed(shop, "Closed", TAPIR_ERROR, 0x2, {});
	const std::uint16_t items[] = {1, 2, 3};
	tapir_listener *listener;
	int cnt = 0;

	placed(1, "nobody", {items, 3}, false, 0);
	polled.size = sizeof(polled);
	polled.flags = TAPIR_LISTENER_POLLED;
	if (placed.is_on() || tapir_listener__open(&all, 1, see, &cnt, &polled, &listener) ||
	    !placed.is_on() || !shop.is_on(TAPIR_ERROR, 0x2) || shop.is_on(TAPIR_VERBOSE, 0))
		return 1;
	placed(-17, std::string_view("Anna", 3), {items, 3}, true, 0.5);
	closed();
	tapir_listener__poll(listener);
	try {
		tapir::event<int> again(shop, "a:b", TAPIR_ERROR, 0, {"x"});
		return 1;
	} catch (const std::system_error &error) {
		if (error.code().value() != EINVAL)
			return 1;
	}
	return tapir_listener__close(listener) || cnt != 2;
}
