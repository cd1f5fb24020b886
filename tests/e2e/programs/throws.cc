// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * throws CALLS: shop::pass() calls shop::leave(), which throws every third time; pass() destroys an
 * object then, and does not return. What it counted, as JSON.
 */
#include <cstdio>
#include <cstdlib>
#include <string>

static unsigned long destroyed;

struct guard {
	~guard()
	{
		destroyed++;
	}
};

namespace shop
{
__attribute__((noipa)) long leave(long number)
{
	if (number % 3 == 0)
		throw std::string("left");
	return number;
}

__attribute__((noipa)) long pass(long number)
{
	guard g;

	return leave(number) * 2;
}
} // namespace shop

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 100, returned = 0, thrown = 0, sum = 0;

	for (long i = 0; i < calls; i++)
		try {
			sum += shop::pass(i);
			returned++;
		} catch (const std::string &) {
			thrown++;
		}
	printf("{\"returned\": %ld, \"thrown\": %ld, \"sum\": %ld, \"destroyed\": %lu}\n", returned,
	       thrown, sum, destroyed);
	return 0;
}
