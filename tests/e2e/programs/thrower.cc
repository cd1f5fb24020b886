// SPDX-License-Identifier: GPL-2.0-or-later
// Throws and catches exceptions of several types, and says how many of each. Not built by make: case_cxx.py.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

namespace shop {
struct sold_out : std::runtime_error {
	using std::runtime_error::runtime_error;
};
template <typename T> struct odd {
	T value;
};
} // namespace shop

namespace {
struct hidden {
};
} // namespace

template <typename T> static void raise(int cnt, const T &what)
{
	for (int i = 0; i < cnt; i++) {
		try {
			throw what;
		} catch (const T &) {
		}
	}
}

int main()
{
	getchar();
	raise(5, shop::sold_out("tea"));
	raise(4, shop::odd<std::map<int, long>>{});
	raise(3, std::out_of_range("7"));
	raise(2, hidden{});
	raise(1, 42);
	return 0;
}
