// SPDX-License-Identifier: GPL-2.0-or-later
/* Which function of a made-up native program a finding names, and how it spells names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"
#include "diagnose/function_name.h"

/* Frames of one file each, 0x1000 times the number. */
enum {
	MAIN = 1,
	COMMIT,
	SORT,
	FDATASYNC,
	MEMCPY,
	MUTEX,
	PLUGIN,
	JVM,
	SERVER,
	RUST_MUTEX,
	RUST_RWLOCK,
	KERNEL_SYNC
};

static const struct {
	const char *path, *name;
} functions[] = {
	[MAIN] = {"/srv/shop/shop", "main"},
	[COMMIT] = {"/srv/shop/shop", "Journal::commit"},
	[SORT] = {"/srv/shop/shop", "std::__introsort<int*, std::less<int> >"},
	[FDATASYNC] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "fdatasync"},
	[MEMCPY] = {"/lib/libc.so.6", "memcpy"},
	[MUTEX] = {"/lib/libc.so.6", "pthread_mutex_lock"},
	[PLUGIN] = {"/srv/shop/plugins/libtax.so", "tax_of"},
	[SERVER] = {"/usr/lib/postgresql/15/bin/postgres", "XLogWrite"},
	/* As rustc names them, in its newer and its older form. */
	[RUST_MUTEX] = {"/srv/shop/shop", "<std::sys::sync::mutex::futex::Mutex>::lock_contended"},
	[RUST_RWLOCK] = {"/srv/shop/shop", "std::sys::sync::rwlock::futex::RwLock::read_contended"},
	[JVM] = {"/opt/jdk/lib/server/libjvm.so", "Monitor::lock"},
};

static void add_functions(void)
{
	for (uint64_t i = MAIN; i < KERNEL_SYNC; i++) {
		struct tapir_rec_symbol symbol = {.file_id = 0x1000 * i, .size = 0x1000};

		feeder_mapping(&f, 0x1000 * i, functions[i].path);
		feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv(functions[i].name)));
	}
}

static int setup(void **state)
{
	(void)state;
	if (finding_begin())
		return -1;
	add_functions();
	feeder_kernel_function(&f, KERNEL_SYNC, "ext4_sync_file");
	return finding_listen();
}

/* The stack's id is that of its innermost function. */
static void stack_of(unsigned inner, unsigned middle, unsigned outer)
{
	const uint64_t frames_va[] = {0x1000ull * inner + 8, 0x1000ull * middle + 8,
				      0x1000ull * outer + 8};

	feeder_stack(&f, inner, frames_va, 3);
}

/* For a second it is on a CPU in that stack. */
static void run_in(uint64_t stack, uint64_t kstack)
{
	struct tapir_rec_sample sample = {
		.tgid = TGID, .tid = 2, .period = 10 * MS, .stack_id = stack, .kstack_id = kstack};

	feeder_come(&f, 2, MS, 0, 0);
	for (uint64_t ms = 5; ms < 1000; ms += 10) {
		tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), ms * MS);
		feeder_add(&f, &sample.h);
	}
	end_at(1001 * MS);
}

static void cpu_is_in_the_program_not_in_a_library(void **state)
{
	(void)state;
	stack_of(MEMCPY, COMMIT, MAIN);
	run_in(MEMCPY, 0);
	expect(TAPIR_FINDING_CPU,
	       "1.00 CPUs used, 100% of the CPU in Journal::commit (100% within memcpy)");
}

static void templates_of_the_language_are_a_library(void **state)
{
	(void)state;
	stack_of(SORT, COMMIT, MAIN);
	run_in(SORT, 0);
	expect(TAPIR_FINDING_CPU, "1.00 CPUs used, 100% of the CPU in Journal::commit (100% within "
				  "std::__introsort<...>)");
}

static void library_beside_the_program_is_its_own(void **state)
{
	(void)state;
	stack_of(PLUGIN, COMMIT, MAIN);
	run_in(PLUGIN, 0);
	expect(TAPIR_FINDING_CPU, "1.00 CPUs used, 100% of the CPU in tax_of");
}

static void system_calls_are_told_with_who_makes_them(void **state)
{
	(void)state;
	stack_of(FDATASYNC, COMMIT, MAIN);
	run_in(FDATASYNC, KERNEL_SYNC);
	expect(TAPIR_FINDING_CPU, "1.00 CPUs used, 100% of the CPU in Journal::commit (100% in the "
				  "kernel, most in fdatasync)");
}

/* The runtime's own work: none of the program's functions. */
static void native_frames_below_a_runtime_are_not_the_programs(void **state)
{
	(void)state;
	stack_of(FDATASYNC, JVM, MAIN);
	run_in(FDATASYNC, KERNEL_SYNC);
	expect(TAPIR_FINDING_CPU, "1.00 CPUs used, most of the CPU in system calls (100% in the "
				  "kernel, most in fdatasync)");
}

static void functions_of_a_server_are_not_the_programs(void **state)
{
	(void)state;
	stack_of(FDATASYNC, SERVER, SERVER);
	run_in(FDATASYNC, KERNEL_SYNC);
	expect(TAPIR_FINDING_CPU, "1.00 CPUs used, most of the CPU in system calls (100% in the "
				  "kernel, most in fdatasync)");
}

/* Two threads, most of the time. */
static void wait_in(uint64_t stack)
{
	stack_of((unsigned)stack, COMMIT, MAIN);
	for (uint32_t tid = 2; tid < 4; tid++) {
		feeder_thread(&f, tid, "clerk");
		feeder_come(&f, tid, 10 * MS, 0, 0);
		for (uint64_t at = 12; at < 1000; at += 10) {
			finding_sleep(tid, at, stack);
			feeder_come(&f, tid, (at + 8) * MS, (at + 8) * MS, 5 - tid);
		}
	}
	end_at(1010 * MS);
}

static void lock_is_waited_for_in_a_function(void **state)
{
	(void)state;
	wait_in(MUTEX);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.584 s for a mutex: 1.6 of 2 threads at any "
				    "time, clerk, in Journal::commit");
}

static void locks_of_rust_are_known(void **state)
{
	(void)state;
	wait_in(RUST_MUTEX);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.584 s for a mutex: 1.6 of 2 threads at any "
				    "time, clerk, in Journal::commit");
}

static void locks_of_rust_are_known_by_older_names(void **state)
{
	(void)state;
	wait_in(RUST_RWLOCK);
	expect(TAPIR_FINDING_LOCKS, "threads waited 1.584 s for a rwlock: 1.6 of 2 threads at any "
				    "time, clerk, in Journal::commit");
}

static void expect_name(const char *name, const char *shown)
{
	struct tapir_str out = {};

	tapir_function_name__add(name, &out);
	assert_string_equal(out.data, shown);
	tapir_str__fini(&out);
}

static void names_lose_what_explains_nothing(void **state)
{
	(void)state;
	expect_name("std::map<int, std::less<int> >::insert<long>", "std::map<...>::insert<...>");
	expect_name("shop::Cart::operator<<", "shop::Cart::operator<<");
	expect_name("shop::operator< <int>", "shop::operator< <...>");
	expect_name("shop::find<(shop::kind)3, &shop::Cart::operator->>", "shop::find<...>");
	expect_name("shop::open<int", "shop::open<...");
	expect_name("<shop::Cart<T> as core::ops::Drop>::drop",
		    "<shop::Cart<...> as core::ops::Drop>::drop");
	expect_name("std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#2}> "
		    ">>::_M_run",
		    "main::{lambda()#2}");
	expect_name("std::thread::_State_impl<std::thread::_Invoker<std::tuple<",
		    "std::thread::_State_impl<...");
	expect_name("void Shop.reserve(int)", "Shop.reserve(int)");
	expect_name("Shop.Find<Order>(int)", "Shop.Find<Order>(int)");
	expect_name("JS:*draw /srv/shop.js:1:2", "draw shop.js:1:2");
	expect_name("JS:draw /srv/shop.js:1:2", "draw shop.js:1:2");
	expect_name("JS::draw(int)", "JS::draw(int)");
	expect_name("py::Shop.draw:/srv/shop.py", "Shop.draw shop.py");
	expect_name("rb::block in Shop::Cart#draw:/srv/shop.rb:12",
		    "block in Shop::Cart#draw shop.rb:12");
	expect_name("rb::<main>:-e", "<main> -e");
	expect_name("rb::Array#each:[internal]", "Array#each [internal]");
	expect_name("rb::draw", "draw");
	expect_name("rb::", "");
	expect_name("rb::12", "12");
	expect_name("main", "main");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, finding_teardown)
		CASE(cpu_is_in_the_program_not_in_a_library),
		CASE(templates_of_the_language_are_a_library),
		CASE(library_beside_the_program_is_its_own),
		CASE(system_calls_are_told_with_who_makes_them),
		CASE(native_frames_below_a_runtime_are_not_the_programs),
		CASE(functions_of_a_server_are_not_the_programs),
		CASE(lock_is_waited_for_in_a_function),
		CASE(locks_of_rust_are_known),
		CASE(locks_of_rust_are_known_by_older_names),
		cmocka_unit_test(names_lose_what_explains_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
