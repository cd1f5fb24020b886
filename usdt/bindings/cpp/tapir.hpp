// SPDX-License-Identifier: MIT
/*
 * tapir.hpp - events with typed fields for a C++17 program, over the functions of tapir/dynamic.h.
 *
 *	tapir::provider shop("Demo-Shop");
 *	tapir::event<std::uint64_t, std::string_view> placed(shop, "OrderPlaced", TAPIR_INFORMATIONAL,
 *							     0x1, {"Order", "Customer"});
 *
 *	placed(order.id, order.customer);
 *
 * Each event is a typed USDT probe and has tapir's sessions. A disabled one costs a load and
 * a branch and the evaluation of its arguments: `if (placed.is_on())` around what is expensive.
 * Firing takes no lock and allocates nothing; all else throws nothing but std::system_error.
 */
#ifndef TAPIR_HPP
#define TAPIR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <tapir/dynamic.h>

namespace tapir
{

/* Borrowed elements; at most 65,535 of them are in an event. */
template <typename T> struct array {
	const T *data;
	std::size_t size;
};

namespace detail
{

inline void check(int err, const char *what)
{
	if (err)
		throw std::system_error(-err, std::generic_category(), what);
}

template <typename T> constexpr std::uint8_t type_of()
{
	static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "numbers up to 8 bytes");
	constexpr std::uint8_t sized = sizeof(T) == 1   ? TAPIR_TYPE_U8
				       : sizeof(T) == 2 ? TAPIR_TYPE_U16
				       : sizeof(T) == 4 ? TAPIR_TYPE_U32
							: TAPIR_TYPE_U64;

	if constexpr (std::is_same_v<T, bool>)
		return TAPIR_TYPE_BOOL8;
	else if constexpr (std::is_floating_point_v<T>)
		return sizeof(T) == 4 ? TAPIR_TYPE_F32 : TAPIR_TYPE_F64;
	else
		return sized + (std::is_signed_v<T> ? 1 : 0);
}

/* How a value is described, and the pieces of a payload that it is. */
template <typename T> struct field {
	static constexpr std::uint8_t type = type_of<T>(), repeat = TAPIR_REPEAT_NONE;
	static constexpr unsigned pieces = 1;
	T value;

	explicit field(T from) noexcept : value(from) {}
	void put(tapir_payload_piece *at) const noexcept { at[0] = {&value, sizeof(value)}; }
};

/* A u16 before the elements. */
struct counted {
	static constexpr std::uint8_t repeat = TAPIR_REPEAT_COUNT_U16;
	static constexpr unsigned pieces = 2;
	std::uint16_t count;
	const void *data;
	std::size_t bytes;

	counted(const void *from, std::size_t cnt, std::size_t each) noexcept
		: count(static_cast<std::uint16_t>(cnt < 65535 ? cnt : 65535)), data(from),
		  bytes(count * each)
	{
	}
	void put(tapir_payload_piece *at) const noexcept
	{
		at[0] = {&count, sizeof(count)};
		at[1] = {data, bytes};
	}
};

template <> struct field<std::string_view> : counted {
	static constexpr std::uint8_t type = TAPIR_TYPE_UTF8N;

	explicit field(std::string_view from) noexcept : counted(from.data(), from.size(), 1) {}
};

template <typename T> struct field<array<T>> : counted {
	static constexpr std::uint8_t type = type_of<T>();

	explicit field(array<T> from) noexcept : counted(from.data, from.size, sizeof(T)) {}
};

} // namespace detail

class provider
{
      public:
	explicit provider(const char *name)
	{
		detail::check(tapir_dynamic__new(name, nullptr, nullptr, &raw_), name);
	}
	provider(const provider &) = delete;
	provider &operator=(const provider &) = delete;
	/* No thread may fire one of its events from here on. */
	~provider() { tapir_dynamic__free(raw_); }

	bool is_on(std::uint8_t level, std::uint64_t keywords) const noexcept
	{
		return tapir_dynamic__is_on(raw_, level, keywords) != 0;
	}
	tapir_dynamic *raw() const noexcept { return raw_; }

      private:
	tapir_dynamic *raw_ = nullptr;
};

template <typename... Fields> class event
{
      public:
	event(provider &owner, const char *name, std::uint8_t level, std::uint64_t keywords,
	      const std::array<const char *, sizeof...(Fields)> &names)
	{
		const tapir_event_field fields[] = {
			{nullptr, nullptr, 0, 0, detail::field<Fields>::type,
			 detail::field<Fields>::repeat, {0, 0}}...,
			{nullptr, nullptr, 0, 0, 0, 0, {0, 0}}};
		tapir_event_field named[sizeof...(Fields) + 1];
		tapir_event_about about = {};

		for (std::size_t i = 0; i < sizeof...(Fields); i++) {
			named[i] = fields[i];
			named[i].name = names[i];
		}
		about.name = name;
		about.fields = named;
		about.field_cnt = sizeof...(Fields);
		about.keywords = keywords;
		about.level = level;
		detail::check(tapir_event__define(owner.raw(), &about, &raw_), name);
	}

	bool is_on() const noexcept { return TAPIR_EVENT_ENABLED(*raw_); }

	void operator()(Fields... values) const noexcept
	{
		if (is_on())
			emit(detail::field<Fields>(values)...);
	}

      private:
	template <typename... F> void emit(const F &...fields) const noexcept
	{
		if constexpr (sizeof...(F) == 0) {
			tapir_event__emit_pieces(raw_, nullptr, 0);
		} else {
			tapir_payload_piece pieces[(0u + ... + F::pieces)];
			unsigned cnt = 0;

			((fields.put(pieces + cnt), cnt += F::pieces), ...);
			tapir_event__emit_pieces(raw_, pieces, cnt);
		}
	}

	tapir_event *raw_ = nullptr;
};

} // namespace tapir

#endif
