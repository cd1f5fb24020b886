/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack walk of the ring lane's process side: that an id names the frames of the moment
 * whatever was walked before, that frames which lie are mended once, and that a frame pointer
 * with nonsense in it, on whatever stack, costs a stack and nothing else.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <cmocka.h>

/* Each call in the source is a call, and each function has a frame. */
#pragma GCC optimize("O0", "no-omit-frame-pointer", "no-optimize-sibling-calls")

#include "tapir/stack_walk.h"
#include "ring_taker.h"
#include "usdt/ring/ring_writer.h"

#define MAX_EVENTS 256

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "shop", .event = "sold"};
static struct taker t;

static struct {
	uint64_t ids[MAX_EVENTS];
	uint16_t flags[MAX_EVENTS];
	unsigned event_cnt, stack_cnt, wrong_cnt;
	struct {
		uint64_t id, frames[TAPIR_FRAMES];
		uint16_t cnt, flags, end;
	} stacks[MAX_EVENTS];
} seen;

static void on_event(const struct tapir_rec_event *rec, const uint8_t *payload)
{
	(void)payload;
	if (seen.event_cnt == MAX_EVENTS)
		return;
	seen.flags[seen.event_cnt] = rec->flags;
	seen.ids[seen.event_cnt++] = rec->stack_id;
}

static void on_stack(const struct tapir_rec_stack *rec, const uint64_t *frames)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < rec->frame_cnt; i++)
		hash = tapir_walk__hash(hash, frames[i]);
	seen.wrong_cnt += (hash ? hash : 1) != rec->stack_id || rec->frame_cnt > TAPIR_FRAMES;
	if (seen.stack_cnt == MAX_EVENTS || rec->frame_cnt > TAPIR_FRAMES)
		return;
	for (unsigned i = 0; i < seen.stack_cnt; i++)
		if (seen.stacks[i].id == rec->stack_id) /* again: as ring.h allows */
			return;
	seen.stacks[seen.stack_cnt].id = rec->stack_id;
	seen.stacks[seen.stack_cnt].cnt = rec->frame_cnt;
	seen.stacks[seen.stack_cnt].flags = rec->flags;
	seen.stacks[seen.stack_cnt].end = rec->end;
	memcpy(seen.stacks[seen.stack_cnt++].frames, frames, rec->frame_cnt * 8ul);
}

static int setup_group(void **state)
{
	(void)state;
	return tapir_ring__init_private(TAKER_KEY) || tapir_ring__register(&event, &about);
}

static int setup(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	if (taker_init(&t, getpid(), 0) || taker_open(&t, 0, 1, 1))
		return -1;
	t.on_event = on_event;
	t.on_stack = on_stack;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_ring__set_repair(NULL);
	taker_fini(&t);
	return 0;
}

static void end(void)
{
	taker_close(&t);
	assert_int_equal(t.bad, 0);
	assert_int_equal(t.unnamed, 0);
	assert_int_equal(seen.wrong_cnt, 0);
}

/* The stack that event number e names, an index into seen.stacks. */
static unsigned stack_of(unsigned e)
{
	unsigned i = 0;

	assert_true(e < seen.event_cnt);
	while (i < seen.stack_cnt && seen.stacks[i].id != seen.ids[e])
		i++;
	assert_true(i < seen.stack_cnt);
	return i;
}

static __attribute__((noinline)) void fire(void)
{
	struct tapir_ring_write write;

	if (tapir_ring__begin(&write, &event, 8)) {
		memset(write.payload, 1, 8);
		tapir_ring__commit(&write);
	}
}

/* ---- the id is that of the frames ------------------------------------------------------------ */

/* Calls itself from another place at level `odd`: same frame addresses, one return address not. */
static __attribute__((noinline)) void descend(unsigned level, unsigned odd)
{
	if (!level) {
		fire();
	} else if (level == odd) {
		descend(level - 1, odd);
		__asm__ volatile("nop" ::: "memory");
	} else {
		descend(level - 1, odd);
		__asm__ volatile("nop; nop" ::: "memory");
	}
	__asm__ volatile("" ::: "memory");
}

static void one_frame_of_many_makes_another_id(void **state)
{
	enum { LEVELS = 21 };

	(void)state;
	for (unsigned i = 0; i < (LEVELS + 1) * 3 + 12; i++) { /* one place that calls */
		unsigned in_turn = (i - (LEVELS + 1) * 3) % 4 * 7;

		descend(LEVELS, i < (LEVELS + 1) * 3 ? i / 3 : in_turn);
		__asm__ volatile("" ::: "memory");
	}
	end();
	assert_int_equal(seen.event_cnt, (LEVELS + 1) * 3 + 12);
	assert_int_equal(seen.stack_cnt, LEVELS + 1);
	for (unsigned e = 0; e < (LEVELS + 1) * 3; e++)
		assert_int_equal(stack_of(e), e / 3);
	for (unsigned e = 0; e < 12; e++)
		assert_int_equal(stack_of((LEVELS + 1) * 3 + e), e % 4 * 7);
}

static __attribute__((noinline)) void cut_the_stack_in_between(void)
{
	uint64_t *frame = __builtin_frame_address(0), kept = *frame;

	for (unsigned i = 0; i < 3; i++) {
		__atomic_store_n(frame, i == 1 ? 0 : kept, __ATOMIC_SEQ_CST);
		descend(3, 0);
	}
	__atomic_store_n(frame, kept, __ATOMIC_SEQ_CST);
}

/* The saved frame pointers are part of what is compared. */
static void a_stack_that_ends_elsewhere_makes_another_id(void **state)
{
	(void)state;
	cut_the_stack_in_between();
	end();
	assert_int_equal(seen.ids[0], seen.ids[2]);
	assert_true(seen.stacks[stack_of(1)].cnt < seen.stacks[stack_of(0)].cnt);
}

static void depths_up_to_the_most_and_beyond(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 34; i++)
		descend(90 + i / 2 * 3, 0);
	end();
	for (unsigned e = 0; e < seen.event_cnt; e += 2) {
		unsigned i = stack_of(e), more = !!(seen.stacks[i].flags & TAPIR_STACK_MORE);

		assert_int_equal(seen.ids[e], seen.ids[e + 1]);
		assert_true(seen.stacks[i].cnt > 90 + e / 2 * 3 || more);
		assert_true(!more || seen.stacks[i].cnt == TAPIR_FRAMES);
		assert_int_equal(seen.stacks[i].end,
				 more ? TAPIR_STACK_END_MORE : TAPIR_STACK_END_FP_END);
	}
	assert_true(seen.stacks[stack_of(seen.event_cnt - 1)].flags & TAPIR_STACK_MORE);
}

static void *fire_in_thread(void *levels)
{
	descend((unsigned)(uintptr_t)levels, 0);
	return NULL;
}

/* Its stack and its ring were those of the previous thread. */
static void the_next_thread_has_its_own_stack(void **state)
{
	(void)state;
	for (uintptr_t levels = 3; levels < 6; levels++) {
		pthread_t thread;

		pthread_create(&thread, NULL, fire_in_thread, (void *)levels);
		pthread_join(thread, NULL);
	}
	end();
	assert_int_equal(seen.event_cnt, 3);
	assert_int_equal(seen.stacks[stack_of(1)].cnt, seen.stacks[stack_of(0)].cnt + 1);
	assert_int_equal(seen.stacks[stack_of(2)].cnt, seen.stacks[stack_of(0)].cnt + 2);
}

/* ---- other stacks ------------------------------------------------------------------------------ */

static void on_signal(int sig)
{
	(void)sig;
	descend(2, 0);
}

static uint8_t *stack_with_hole(size_t bytes)
{
	uint8_t *at =
		mmap(NULL, 4 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + bytes, 3 * bytes, PROT_NONE), 0);
	return at;
}

#define ALT_BYTES ((size_t)64 * 1024)

/* Raises SIGUSR1 while the frame pointer is `fp`. */
static __attribute__((noinline)) void raise_with_frame(uint64_t fp)
{
#if defined(__x86_64__)
	__asm__ volatile("push %%rbp\n\t"
			 "mov %0, %%rbp\n\t"
			 "syscall\n\t"
			 "pop %%rbp"
			 :
			 : "r"(fp), "a"(SYS_tgkill), "D"(getpid()), "S"(gettid()), "d"(SIGUSR1)
			 : "rcx", "r11", "memory");
#else
	(void)fp;
	raise(SIGUSR1);
#endif
}

static void with_alternate_stack(uint8_t *memory, void (*body)(uint8_t *memory))
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, old;
	stack_t alternate = {.ss_sp = memory, .ss_size = ALT_BYTES}, before;

	assert_int_equal(sigaltstack(&alternate, &before), 0);
	sigaction(SIGUSR1, &action, &old);
	body(memory);
	sigaction(SIGUSR1, &old, NULL);
	sigaltstack(&before, NULL);
}

static void raise_with_lies(uint8_t *memory)
{
	for (unsigned i = 0; i < 8; i++)
		raise_with_frame((uint64_t)(uintptr_t)memory + ALT_BYTES * i / 2 + 64);
	raise_with_frame((uint64_t)(uintptr_t)memory + ALT_BYTES - 8);
	raise_with_frame(UINT64_MAX - 7);
	raise_with_frame((uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static void handlers_on_an_alternate_stack_stay_on_it(void **state)
{
	uint8_t *memory = stack_with_hole(ALT_BYTES);

	(void)state;
#if defined(__SANITIZE_THREAD__)
	skip(); /* the sanitizer delays signals until the program calls one of its functions */
#endif
	fire();
	with_alternate_stack(memory, raise_with_lies);
	end();
	assert_int_equal(seen.event_cnt, 12);
	for (unsigned e = 1; e < 12; e++)
		assert_true(seen.stacks[stack_of(e)].cnt >= 4); /* the handler's own */
	/* What was interrupted on the thread's own stack continues after it. */
	assert_true(seen.stacks[stack_of(11)].cnt > seen.stacks[stack_of(1)].cnt);
	munmap(memory, 4 * ALT_BYTES);
}

static void raise_plainly(uint8_t *memory)
{
	(void)memory;
	raise(SIGUSR1);
}

static void *first_on_alternate(void *memory)
{
	with_alternate_stack(memory, raise_plainly);
	descend(5, 0);
	return NULL;
}

static void a_thread_whose_first_event_is_a_handler_s_has_stacks_later(void **state)
{
	uint8_t *memory = stack_with_hole(ALT_BYTES);
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, first_on_alternate, memory);
	pthread_join(thread, NULL);
	end();
	assert_int_equal(seen.event_cnt, 2);
	assert_true(seen.stacks[stack_of(1)].cnt >= 7);
	munmap(memory, 4 * ALT_BYTES);
}

static ucontext_t main_context, coroutine;

static void in_coroutine(void)
{
	descend(3, 0);
}

static void a_coroutine_s_stack_is_not_walked(void **state)
{
	uint8_t *memory = stack_with_hole(ALT_BYTES);

	(void)state;
	fire();
	getcontext(&coroutine);
	coroutine.uc_stack = (stack_t){.ss_sp = memory, .ss_size = ALT_BYTES};
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, in_coroutine, 0);
	assert_int_equal(swapcontext(&main_context, &coroutine), 0);
	fire();
	end();
	assert_int_equal(seen.event_cnt, 3);
	assert_int_equal(seen.ids[1], 0);
	assert_true(seen.flags[1] & TAPIR_EVENT_STACK_LOST);
	assert_true(seen.ids[2] != 0);
	munmap(memory, 4 * ALT_BYTES);
}

/* ---- frames that lie --------------------------------------------------------------------------- */

#if defined(__x86_64__)
/*
 * lying_helper(f) pushes the frame pointer and does not set it: its caller is missing from a
 * walk. honest_helper(f) sets it. Both keep 32 bytes between.
 */
__asm__(".text\n"
	"lying_helper:\n\tpush %rbp\n\tsub $32, %rsp\n\tcall *%rdi\n\tadd $32, %rsp\n\tpop %rbp\n\t"
	"ret\nlying_end:\n"
	"honest_helper:\n\tpush %rbp\n\tmov %rsp, %rbp\n\tsub $32, %rsp\n\tcall *%rdi\n\tleave\n\t"
	"ret\nhonest_end:\n");
extern char lying_helper[], lying_end[], honest_helper[], honest_end[];

static enum { TRUE_SLOT, NOTHING, UNALIGNED, BELOW, BEHIND, NO_CODE } answer;
static unsigned asked_cnt;

static uint64_t find(uint64_t ip, uint64_t fp, uint64_t from_va, uint64_t until_va)
{
	(void)ip;
	(void)fp;
	asked_cnt++;
	switch (answer) {
	case NOTHING:
		return 0;
	case UNALIGNED:
		return from_va + 32 + 8 + 4;
	case BELOW:
		return from_va - 8;
	case BEHIND:
		return until_va - 4;
	case NO_CODE:
		return from_va + 32; /* a saved frame pointer of 1, see below */
	default:
		return from_va + 32 + 8;
	}
}

static __attribute__((noinline)) void call_helper(char *helper)
{
	((void (*)(void (*)(void)))(uintptr_t)helper)(fire);
	__asm__ volatile("" ::: "memory");
}

static int is_in(uint64_t ip, const void *from, uint64_t bytes)
{
	return ip - (uint64_t)(uintptr_t)from < bytes;
}

/* Frames 1 and 2: in the helper, then the place in call_helper. How often the latter comes. */
static unsigned callers_behind(unsigned e, const char *helper)
{
	unsigned i = stack_of(e), cnt = 0;

	assert_true(is_in(seen.stacks[i].frames[1], helper, 32));
	while (is_in(seen.stacks[i].frames[2 + cnt], (const void *)(uintptr_t)call_helper, 64))
		cnt++;
	return cnt;
}

static void repair_with(char *helper, int answered, const struct tapir_ring_repair *repair)
{
	answer = answered;
	tapir_ring__set_repair(repair);
	call_helper(helper);
}

static void hidden_callers_are_put_back_and_not_twice(void **state)
{
	static const struct {
		int answer;
		unsigned of_liar;
	} rows[] = {{TRUE_SLOT, 1}, {NOTHING, 0}, {UNALIGNED, 0},
		    {BELOW, 0},	    {BEHIND, 0},  {TRUE_SLOT, 1}};
	const unsigned cnt = sizeof(rows) / sizeof(rows[0]);
	const struct tapir_ring_repair repair = {.low_va = (uint64_t)(uintptr_t)lying_helper,
						 .high_va = (uint64_t)(uintptr_t)honest_end,
						 .find = find};

	(void)state;
	repair_with(lying_helper, TRUE_SLOT, NULL);
	assert_int_equal(asked_cnt, 0);
	for (unsigned i = 0; i < cnt; i++) {
		repair_with(lying_helper, rows[i].answer, &repair);
		repair_with(honest_helper, rows[i].answer, &repair);
	}
	repair_with(lying_helper, TRUE_SLOT, NULL);
	end();
	assert_int_equal(asked_cnt, 2 * cnt);
	assert_int_equal(callers_behind(0, lying_helper), 0);
	for (unsigned i = 0; i < cnt; i++) {
		assert_int_equal(callers_behind(1 + 2 * i, lying_helper), rows[i].of_liar);
		assert_int_equal(callers_behind(2 + 2 * i, honest_helper), 1);
	}
	assert_int_equal(callers_behind(1 + 2 * cnt, lying_helper), 0);
}

static __attribute__((noinline)) void call_with_frame_pointer_of_one(void)
{
	__asm__ volatile("push %%rbp\n\tsub $8, %%rsp\n\tmov $1, %%ebp\n\tcall *%1\n\t"
			 "add $8, %%rsp\n\tpop %%rbp"
			 :
			 : "D"(fire), "a"(lying_helper)
			 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

/* If the slot that was found holds no address of code, the frame is left out. */
static void a_hidden_caller_that_is_no_code_is_left_out(void **state)
{
	const struct tapir_ring_repair repair = {.low_va = (uint64_t)(uintptr_t)lying_helper,
						 .high_va = (uint64_t)(uintptr_t)honest_end,
						 .find = find};

	(void)state;
	answer = NO_CODE;
	tapir_ring__set_repair(&repair);
	call_with_frame_pointer_of_one();
	end();
	assert_int_equal(seen.stacks[stack_of(0)].cnt, 2);
}

/* A table that goes away or comes is seen by a stack that was walked before. */
static void a_new_table_is_asked_for_stacks_that_are_known(void **state)
{
	struct tapir_ring_repair repair = {.low_va = (uint64_t)(uintptr_t)lying_helper,
					   .high_va = (uint64_t)(uintptr_t)lying_end,
					   .find = find};

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		repair_with(lying_helper, TRUE_SLOT, i % 3 ? &repair : NULL);
	end();
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(callers_behind(i, lying_helper), i % 3 ? 1 : 0);
}
#endif

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(one_frame_of_many_makes_another_id),
		CASE(a_stack_that_ends_elsewhere_makes_another_id),
		CASE(depths_up_to_the_most_and_beyond),
		CASE(the_next_thread_has_its_own_stack),
		CASE(handlers_on_an_alternate_stack_stay_on_it),
		CASE(a_thread_whose_first_event_is_a_handler_s_has_stacks_later),
		CASE(a_coroutine_s_stack_is_not_walked),
#if defined(__x86_64__)
		CASE(hidden_callers_are_put_back_and_not_twice),
		CASE(a_hidden_caller_that_is_no_code_is_left_out),
		CASE(a_new_table_is_asked_for_stacks_that_are_known),
#endif
	};

	return cmocka_run_group_tests(tests, setup_group, NULL);
}
