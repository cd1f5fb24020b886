/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * header_types - what only C++ has, passed to usdt.h, for case_usdt_header.py. Built from two
 * translation units, the second with HEADER_SECOND, so that templates and inline functions
 * with probes meet in the linker.
 */
extern "C" {
#include "tapir/usdt.h"
}

namespace app
{
TAPIR_PROBE_DEFINE_SEMAPHORE(cxx, guarded);

enum class mode : unsigned char { fast = 200 };
enum class offset : short { back = -3 };
struct flags {
	unsigned three : 3;
	int two : 2;
};

template <typename T> T fire(T value)
{
	TAPIR_PROBE(cxx, generic, value, sizeof(T));
	return value;
}

inline void fire_guarded(int i)
{
	TAPIR_PROBE_SEM(cxx, guarded, i, [&] { return i + 1; }());
}

struct object {
	void fire(flags f) const
	{
		TAPIR_PROBE(cxx, member, this, mode::fast, offset::back, nullptr, f.three, f.two,
			    u'x', U'y', L'z', 1.0f);
	}
};
} // namespace app

int second();

#ifdef HEADER_SECOND
int second()
{
	app::fire_guarded(2);
	return app::fire(7) - static_cast<int>(app::fire(7.0));
}
#else
int main(int argc, char **)
{
	app::fire_guarded(argc);
	app::object().fire(app::flags{5, -1});
	return app::fire(argc) - static_cast<int>(app::fire(1.0)) + second();
}
#endif
