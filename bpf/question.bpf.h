/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * question.bpf.h - hits that a question answers cost no record: those that its condition rejects by
 * the numbers of a probe are counted, the others are added to rows, if that is what it asks.
 *
 * Whatever cannot be decided or added here is recorded, and user space does it, by the same code:
 * an operand that cannot be read, a lock of the map that is taken. So each hit is in one place.
 */
#ifndef TAPIR_BPF_QUESTION_BPF_H
#define TAPIR_BPF_QUESTION_BPF_H

#include "bpf/common.bpf.h"

/* A pointer is all that there is of a text at this point. */
#define TAPIR_QUESTION_TEXT(ctx, term, slot) TAPIR_QUESTION_UNDEFINED
#include "bpf/question_logic.bpf.h"

/* uapi/asm-generic/errno-base.h: the map is full; another thread was first */
#define E2BIG  7
#define EEXIST 17

/* Set before load: 0 leaves all of this out, and adding up. */
const volatile __u32 has_questions __weak SEC(".rodata") = 0;
const volatile __u32 has_sums __weak SEC(".rodata") = 0;
const volatile __u32 sums_column_cnt __weak SEC(".rodata") = 0;
const volatile __u32 sums_key_cnt __weak SEC(".rodata") = 0;
const volatile __u32 sums_hits_by_steps __weak SEC(".rodata") = 0; /* no row counts its hits */
const volatile __u32 has_pairs __weak SEC(".rodata") = 0;	   /* it is about intervals */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_hit_question);
} questions __weak SEC(".maps");

/* Hits that were rejected, by probe id, and begins that were kept; only ever grows. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} rejected __weak SEC(".maps");

/*
 * The rows of what is added up, with the sizes that this question needs: without keys, a row and
 * its steps by number; else a hash of rows, and one of the steps that have values.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct tapir_sums_row));
} sums_row __weak SEC(".maps");

/* An element for each column: TAPIR_STEP_CNT counts. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} sums_steps __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct tapir_sums_key));
	__uint(value_size, sizeof(struct tapir_sums_row));
} sums_rows __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct tapir_sums_key));
	__uint(value_size, 8);
} sums_row_steps __weak SEC(".maps");

/* Texts in keys, each with a number that stands for it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct tapir_sums_text);
	__type(value, __u64);
} sums_texts __weak SEC(".maps");

/* Stacks in keys, whose frames are recorded: by tapir_sums__stack_id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} sums_stacks __weak SEC(".maps");

/* A new row begins with these. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct tapir_sums_row));
} sums_zeros __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_sums_state);
} sums_state __weak SEC(".maps");

/* The event that began an interval, until it ends: all that is asked of it. */
struct pair_begin {
	__u64 time_ns;
	__u64 faults;
	struct tapir_sums_key key;
	__u64 numbers[TAPIR_HIT_TOOK + 1];
	__u32 has_no_room; /* the key */
	__u32 pad0;
};

struct pair_key {
	__u64 tgid, number;
};

/* The map has begins that an end finds by a number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct pair_key);
	__type(value, struct pair_begin);
} pair_begins __weak SEC(".maps");

#define PAIR_DEPTH  4 /* a power of two */

/* Texts of keys that a thread met last, by some of their bytes: saves a search in the map. */
#define KNOWN_TEXTS 8
#define TEXT_WORDS  (sizeof(struct tapir_sums_text) / 8)

struct known_text {
	__u64 words[TEXT_WORDS]; /* of a struct tapir_sums_text */
	__u64 id;		 /* 0: none */
};

/* The operands of one hit, outside the stack. */
struct question_scratch {
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS];
	struct tapir_question_registers registers; /* zeros: arithmetic is left to user space */
	struct tapir_sums_key key;
	struct tapir_sums_text text;
	__u64 text_id;
	struct tapir_sums_stack stack; /* of the hit, if the question needs it */
	__u32 fate;		       /* enum hit_fate */
	__u32 is_decided;	       /* fate: before the record was begun */
	__u32 new_stacks;	       /* a bit for each part of the key that is one */
	__u32 bad_key;		       /* enum key_result, of all parts */
	__u32 column;
	__u32 no_room; /* a bit for each column whose histogram has none for this value */
	__u32 failed;  /* the column that did */
	/* The thread's intervals that have begun, and how many after them user space has. */
	struct pair_begin begins[PAIR_DEPTH];
	__u32 begin_cnt, elsewhere_cnt;
	struct pair_begin now;
	struct pair_key pair_key;
	struct known_text known_texts[KNOWN_TEXTS];
};

/* NULL: none is asked of the probe, or user space is still writing it. */
static __always_inline const struct tapir_hit_question *question_of(const __u32 *probe_id)
{
	const struct tapir_hit_question *q = bpf_map_lookup_elem(&questions, probe_id);

	if (!q || !q->is_there)
		return NULL;
	barrier(); /* what follows is read after that */
	return q;
}

/* A uprobe may be preempted here, and another thread of the CPU add to the same word. */
static __always_inline void count_rejected(const __u32 *probe_id)
{
	__u64 *cnt = bpf_map_lookup_elem(&rejected, probe_id);

	if (cnt)
		__sync_fetch_and_add(cnt, 1);
}

/* ---- the condition ---------------------------------------------------------------------- */

/* A bit of faults is set for each number that could not be read. */
static __always_inline int decide(const struct tapir_hit_question *q, struct question_scratch *s,
				  const __u64 *numbers, __u64 faults, __u32 cnt)
{
	for (__u32 i = 0; i < cnt; i++) {
		s->slots[i].number = numbers[i];
		s->slots[i].state = faults & (1u << i) ? TAPIR_STATE_ABSENT : TAPIR_STATE_OK;
	}
	return tapir_question__decide(q->terms, s->slots, &s->registers, NULL);
}

/* ---- rows ------------------------------------------------------------------------------- */

static const __u64 no_hits;

enum key_result { KEY_IS_THERE, KEY_NO_ROOM, KEY_ELSEWHERE };

/* Finds the slot that keeps the text in the scratch, or the one that may keep it. */
static __always_inline struct known_text *slot_of_text(struct question_scratch *s, int *is_known)
{
	const __u64 *words = (const __u64 *)&s->text;
	__u64 hash = (words[0] + words[1] + words[2]) * 0x9e3779b97f4a7c15ull;
	struct known_text *known = &s->known_texts[hash >> 61 & (KNOWN_TEXTS - 1)];
	__u64 differs = !known->id;

#pragma unroll
	for (unsigned i = 0; i < TEXT_WORDS; i++)
		differs |= words[i] ^ known->words[i];
	*is_known = !differs;
	return known;
}

/* Gives the text in the scratch a number, once for all threads. */
static __noinline int make_number(struct question_scratch *s)
{
	struct tapir_sums_state *state = bpf_map_lookup_elem(&sums_state, &zero_key);
	const __u64 *id = bpf_map_lookup_elem(&sums_texts, &s->text);
	__u64 was;
	long err;

	if (id || !state) {
		s->text_id = id ? *id : 0;
		return id ? KEY_IS_THERE : KEY_ELSEWHERE;
	}
	was = state->text_cnt;
	if (__sync_val_compare_and_swap(&state->text_cnt, was, was + 1) != was)
		return KEY_ELSEWHERE;
	s->text_id = was + 1;
	err = bpf_map_update_elem(&sums_texts, &s->text, &s->text_id, BPF_NOEXIST);
	if (!err)
		return KEY_IS_THERE;
	return err == -E2BIG ? KEY_NO_ROOM : KEY_ELSEWHERE;
}

static __noinline int take_number(struct question_scratch *s)
{
	int is_known, result;
	struct known_text *known = slot_of_text(s, &is_known);

	if (is_known) {
		s->text_id = known->id;
		return KEY_IS_THERE;
	}
	result = make_number(s);
	if (result == KEY_IS_THERE) {
		__builtin_memcpy(known->words, &s->text, sizeof(known->words));
		known->id = s->text_id;
	}
	return result;
}

/*
 * Reads a text of the process, as far as it is in memory: where it is not, user space gets the
 * event, for which its pages are brought in. One byte more than fits shows that it is longer.
 */
static __always_inline int read_text(struct question_scratch *s, __u64 from, __u32 max)
{
	long len;

	if (!from) {
		s->text.state = TAPIR_STATE_NULL;
		return KEY_IS_THERE;
	}
	if (max > TAPIR_SUMS_TEXT)
		max = TAPIR_SUMS_TEXT;
	len = bpf_probe_read_user_str(s->text.text, max + 2, (const void *)from);
	if (len <= 0)
		return KEY_ELSEWHERE;
	s->text.len = len - 1;
	if (s->text.len > max) {
		s->text.state = TAPIR_STATE_TRUNCATED;
		s->text.len = max;
		s->text.text[max & 127 & (sizeof(s->text.text) - 1)] = 0;
	}
	return KEY_IS_THERE;
}

/* Fills the i-th part of the key by a text. */
static __noinline int take_text(struct question_scratch *s, const struct tapir_hit_key *k, __u32 i,
				__u64 from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int result = KEY_IS_THERE;

	__builtin_memset(&s->text, 0, sizeof(s->text));
	if (k->source == TAPIR_HIT_TEXT) {
		result = read_text(s, from, k->max_bytes);
	} else {
		if (k->source == TAPIR_HIT_COMM)
			task = BPF_CORE_READ(task, group_leader);
		s->text.len = bpf_core_read_str(s->text.text, TAPIR_COMM_BYTES, &task->comm) - 1;
	}
	if (result == KEY_IS_THERE)
		result = take_number(s);
	if (result > s->bad_key)
		s->bad_key = result;
	s->key.kinds[i & (TAPIR_SUMS_KEYS - 1)] = TAPIR_SUMS_TEXT_ID;
	s->key.parts[i & (TAPIR_SUMS_KEYS - 1)] = s->text_id;
	return 0;
}

/*
 * Fills the i-th part of the key by the stack. The first hit with it is recorded: user space has
 * its frames by that, and their names as they are at the time.
 */
static __noinline int take_stack_key(struct question_scratch *s, __u32 part, __u32 i)
{
	__u64 *id = &s->key.parts[i & (TAPIR_SUMS_KEYS - 1)];
	int result = KEY_IS_THERE;
	long err;

	*id = tapir_sums__stack_id(&s->stack, part);
	s->key.kinds[i & (TAPIR_SUMS_KEYS - 1)] = *id ? TAPIR_SUMS_STACK_ID : TAPIR_SUMS_ABSENT;
	if (s->stack.is_lost) {
		result = KEY_ELSEWHERE;
	} else if (*id && !bpf_map_lookup_elem(&sums_stacks, id)) {
		err = bpf_map_update_elem(&sums_stacks, id, id, BPF_NOEXIST);
		result = err == -EEXIST	 ? KEY_IS_THERE
			 : err == -E2BIG ? KEY_NO_ROOM
					 : KEY_ELSEWHERE;
		s->new_stacks |= (__u32)!err << i;
	}
	if (result > s->bad_key)
		s->bad_key = result;
	return 0;
}

/* The hit that was to bring new stacks is lost: the next one shall. */
static __noinline int forget_new_stacks(struct question_scratch *s)
{
	for (__u32 i = 0; i < TAPIR_SUMS_KEYS; i++)
		if (s->new_stacks >> i & 1)
			bpf_map_delete_elem(&sums_stacks, &s->key.parts[i]);
	s->new_stacks = 0;
	return 0;
}

/* Fills the i-th part of the key. */
static __always_inline void take_key(struct question_scratch *s, const struct tapir_hit_key *k,
				     __u32 i, const __u64 *numbers, __u64 faults, __u32 cnt)
{
	__u32 slot = k->slot & (TAPIR_QUESTION_SLOTS - 1);
	__u64 value = 0;
	__u8 kind = TAPIR_SUMS_UINT;

	if (k->source == TAPIR_HIT_CONSTANT) {
		value = k->constant;
	} else if (k->source == TAPIR_HIT_PID) {
		value = bpf_get_current_pid_tgid() >> 32;
	} else if (k->source == TAPIR_HIT_TID) {
		value = (__u32)bpf_get_current_pid_tgid();
	} else if (k->source == TAPIR_HIT_CPU) {
		value = bpf_get_smp_processor_id();
	} else if (k->source <= TAPIR_HIT_THREAD && k->source >= TAPIR_HIT_COMM) {
		take_text(s, k, i, 0);
		return;
	} else if (k->source == TAPIR_HIT_STACK) {
		take_stack_key(s, k->slot, i);
		return;
	} else if (slot >= cnt || faults >> slot & 1) {
		/*
		 * A 0 would be a value of the program: the row states that there was none to read.
		 */
		kind = TAPIR_SUMS_ABSENT;
	} else if (k->source == TAPIR_HIT_TEXT) {
		take_text(s, k, i, numbers[slot]);
		return;
	} else {
		value = numbers[slot];
		/* The kind is a part of the key: -1 and 2^64 - 1 are different rows. */
		if (k->is_signed && (__s64)value < 0)
			kind = TAPIR_SUMS_INT;
	}
	s->key.kinds[i] = kind;
	s->key.parts[i] = value;
}

static __always_inline struct tapir_sums_row *row_of_key(struct question_scratch *s, long *err)
{
	struct tapir_sums_row *row = bpf_map_lookup_elem(&sums_rows, &s->key);
	const void *zeros;

	if (row)
		return row;
	zeros = bpf_map_lookup_elem(&sums_zeros, &zero_key);
	if (!zeros)
		return NULL;
	*err = bpf_map_update_elem(&sums_rows, &s->key, zeros, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sums_rows, &s->key);
}

static __always_inline __u64 *count_of_step(struct question_scratch *s, __u32 column, __u32 step,
					    long *err)
{
	__u64 *step_count;

	if (!sums_key_cnt) {
		s->column = column;
		step_count = bpf_map_lookup_elem(&sums_steps, &s->column);
		if (!step_count)
			return NULL;
		barrier_var(step_count); /* or it is moved before the check */
		return step_count + step;
	}
	s->key.step = 1 + column * TAPIR_STEP_CNT + step;
	step_count = bpf_map_lookup_elem(&sums_row_steps, &s->key);
	if (!step_count) {
		*err = bpf_map_update_elem(&sums_row_steps, &s->key, &no_hits, BPF_NOEXIST);
		step_count = bpf_map_lookup_elem(&sums_row_steps, &s->key);
	}
	s->key.step = 0;
	return step_count;
}

enum step_result { STEP_ADDED, STEP_NO_ROOM, STEP_ELSEWHERE };

static __noinline int add_step(struct question_scratch *s, __u32 column, __u64 value, __u64 cnt)
{
	long err = 0;
	__u64 *step_count =
		count_of_step(s, column, tapir_octave_step(value) & (TAPIR_STEP_CNT - 1), &err);

	if (!step_count)
		return err == -E2BIG ? STEP_NO_ROOM : STEP_ELSEWHERE;
	__sync_fetch_and_add(step_count, cnt);
	return STEP_ADDED;
}

static __always_inline __u64 number_of_value(const struct tapir_hit_value *v, const __u64 *numbers,
					     __u32 cnt)
{
	__u32 slot = v->slot & (TAPIR_QUESTION_SLOTS - 1);

	return slot < cnt ? numbers[slot] : 0;
}

static __always_inline int is_below(const struct tapir_hit_value *v, __u64 value)
{
	return v->is_signed && (__s64)value < 0;
}

/* Takes back what was added to the histograms of columns before the one that failed. */
static __noinline int take_back(const struct tapir_hit_question *q, struct question_scratch *s,
				const __u64 *numbers, __u32 cnt)
{
	for (__u32 i = 0; i < TAPIR_SUMS_COLUMNS && i < sums_column_cnt; i++) {
		const struct tapir_hit_value *v = &q->values[i];
		__u64 value = number_of_value(v, numbers, cnt);

		if (i < s->failed && v->has_steps && !is_below(v, value) && !(s->no_room >> i & 1))
			add_step(s, i, value, -1ull);
	}
	return 0;
}

/*
 * Adds to the histograms first, since that may fail: then nothing of the hit is here. What the
 * outcome is, is stored: in a register it would be a path for each.
 */
static __always_inline int add_steps(const struct tapir_hit_question *q, struct question_scratch *s,
				     const __u64 *numbers, __u32 cnt)
{
	s->no_room = 0;
	for (__u32 i = 0; i < TAPIR_SUMS_COLUMNS && i < sums_column_cnt; i++) {
		const struct tapir_hit_value *v = &q->values[i];
		__u64 value = number_of_value(v, numbers, cnt);
		int result;

		if (!v->has_steps || is_below(v, value))
			continue;
		result = add_step(s, i, value, 1);
		if (result == STEP_ELSEWHERE) {
			s->failed = i;
			return take_back(q, s, numbers, cnt);
		}
		s->no_room |= (__u32)(result == STEP_NO_ROOM) << i;
	}
	return 1;
}

/* A function of its own for its stack (common.bpf.h). */
static __noinline int add_column_value(struct tapir_sums_column *c, __u64 value, int is_signed,
				       __u64 interval)
{
	tapir_sums__add(c, value, is_signed, interval);
	return 0;
}

static __always_inline void add_values(const struct tapir_hit_question *q,
				       struct question_scratch *s, struct tapir_sums_row *row,
				       const __u64 *numbers, __u32 cnt, __u64 interval)
{
	for (__u32 i = 0; i < TAPIR_SUMS_COLUMNS && i < sums_column_cnt; i++) {
		const struct tapir_hit_value *v = &q->values[i];
		struct tapir_sums_column *c = &row->columns[i];
		__u64 value = number_of_value(v, numbers, cnt);

		add_column_value(c, value, v->is_signed, interval);
		if (v->has_steps && is_below(v, value))
			__sync_fetch_and_add(&c->below, 1);
		if (s->no_room >> i & 1)
			__sync_fetch_and_add(&c->unbinned, 1);
	}
	if (!sums_hits_by_steps)
		__sync_fetch_and_add(&row->cnt, 1);
}

/* The key found no room, if err says so: that is counted, and the hit with it. */
static __always_inline int count_unkeyed(long err)
{
	struct tapir_sums_state *state = bpf_map_lookup_elem(&sums_state, &zero_key);

	if (err != -E2BIG || !state)
		return 0;
	__sync_fetch_and_add(&state->unkeyed, 1);
	return 1;
}

/*
 * The key, if there is one, is in the scratch. is_begun: it cannot be recorded instead, and rather
 * has a wrong least and most of its interval than none. False: nothing was added.
 */
static __always_inline int add_to_row(const struct tapir_hit_question *q,
				      struct question_scratch *s, const __u64 *numbers, __u32 cnt,
				      __u64 interval, int is_begun)
{
	struct tapir_sums_row *row;
	long err = 0;

	row = sums_key_cnt ? row_of_key(s, &err) : bpf_map_lookup_elem(&sums_row, &zero_key);
	if (!row)
		return count_unkeyed(err);
	if (sums_column_cnt &&
	    ((!tapir_sums__claim_interval(row, sums_column_cnt, interval) && !is_begun) ||
	     !add_steps(q, s, numbers, cnt)))
		return 0;
	add_values(q, s, row, numbers, cnt, interval);
	return 1;
}

static __always_inline void take_keys(const struct tapir_hit_question *q,
				      struct question_scratch *s, const __u64 *numbers,
				      __u64 faults, __u32 cnt)
{
	s->key.probe_id = q->namer;
	s->bad_key = KEY_IS_THERE;
	for (__u32 i = 0; i < TAPIR_SUMS_KEYS && i < sums_key_cnt; i++)
		take_key(s, &q->keys[i], i, numbers, faults, cnt);
}

/* False: it has to be recorded. */
static __always_inline int add_hit(const struct tapir_hit_question *q, struct question_scratch *s,
				   const __u64 *numbers, __u64 faults, __u32 cnt)
{
	struct tapir_live *now = tapir_live();

	if (!now || faults & q->value_slots)
		return 0;
	if (sums_key_cnt) {
		take_keys(q, s, numbers, faults, cnt);
		if (s->bad_key)
			return s->bad_key == KEY_NO_ROOM && count_unkeyed(-E2BIG);
	}
	return add_to_row(q, s, numbers, cnt, now->interval, 0);
}

/* Decided once the numbers of a hit are read. */
enum hit_fate {
	HIT_RECORDED,
	HIT_REJECTED, /* and counted */
	HIT_ADDED,    /* if the map has room: is_added_now */
	HIT_WANTS_STACK,
};

static __always_inline int fate_by(const struct tapir_hit_question *q, const __u32 *probe_id,
				   struct question_scratch *s, const __u64 *numbers, __u64 faults,
				   __u32 cnt)
{
	int verdict = TAPIR_QUESTION_ACCEPT;

	if (q->term_cnt)
		verdict = decide(q, s, numbers, faults, cnt);
	if (verdict == TAPIR_QUESTION_REJECT) {
		count_rejected(probe_id);
		return HIT_REJECTED;
	}
	if (!has_sums || !q->adds_up || verdict != TAPIR_QUESTION_ACCEPT)
		return HIT_RECORDED;
	return q->needs_stack ? HIT_WANTS_STACK : HIT_ADDED;
}

static __always_inline int fate_of(const __u32 *probe_id, struct question_scratch *s,
				   const __u64 *numbers, __u64 faults, __u32 cnt)
{
	const struct tapir_hit_question *q = question_of(probe_id);

	s->new_stacks = 0;
	return q ? fate_by(q, probe_id, s, numbers, faults, cnt) : HIT_RECORDED;
}

/* Returns true if the hit, which waits for no stack, needs no record; else s->fate says so. */
static __always_inline int is_answered_now(const struct tapir_hit_question *q,
					   const __u32 *probe_id, struct question_scratch *s,
					   const __u64 *numbers, __u64 faults, __u32 cnt)
{
	int fate = fate_by(q, probe_id, s, numbers, faults, cnt);

	s->new_stacks = 0;
	s->fate = HIT_RECORDED;
	return fate == HIT_REJECTED ||
	       (has_sums && fate == HIT_ADDED && add_hit(q, s, numbers, faults, cnt));
}

/* The condition has accepted it. Returns true if it has been added: it is not recorded. */
static __always_inline int is_added_now(const __u32 *probe_id, struct question_scratch *s,
					const __u64 *numbers, __u64 faults, __u32 cnt)
{
	const struct tapir_hit_question *q = question_of(probe_id);

	return q && add_hit(q, s, numbers, faults, cnt);
}

/* ---- intervals -------------------------------------------------------------------------- */

/*
 * The begin of an interval is kept in the thread's storage, or by its number in a hash, with the
 * key of its row: what a text points to may be another one when the interval ends. A begin that
 * cannot be kept is recorded, and so is then the end that finds none: user space has both. Of a
 * thread, those after it are recorded as well until it has ended, so that the innermost one ends
 * first on either side.
 */

static __noinline int fill_pair_key(struct question_scratch *s, __u32 slot, const __u64 *numbers,
				    __u64 faults)
{
	if (slot >= TAPIR_MAX_ARGS || faults >> slot & 1)
		return 0;
	s->pair_key.tgid = bpf_get_current_pid_tgid() >> 32;
	s->pair_key.number = numbers[slot];
	return 1;
}

/* Nothing is copied that the question does not need: another begin may have left its own there. */
static __always_inline void fill_begin(struct pair_begin *b, const struct tapir_hit_question *q,
				       const struct question_scratch *s, const __u64 *numbers,
				       __u64 faults)
{
	b->faults = q->needs_slots ? faults : 0;
	b->has_no_room = s->bad_key == KEY_NO_ROOM;
	if (sums_key_cnt)
		__builtin_memcpy(&b->key, &s->key, sizeof(b->key));
	if (q->needs_slots)
		for (__u32 i = 0; i < TAPIR_MAX_ARGS; i++)
			b->numbers[i] = numbers[i];
	b->time_ns = bpf_ktime_get_ns();
}

/* The row of the interval has to be there when it ends. */
static __noinline int make_row(struct question_scratch *s)
{
	long err = 0;

	if (s->bad_key == KEY_IS_THERE && !row_of_key(s, &err))
		s->bad_key = err == -E2BIG ? KEY_NO_ROOM : KEY_ELSEWHERE;
	return 0;
}

/* A begin that is there already has not ended, and is given up. */
static __noinline int keep_by_key(const struct tapir_hit_question *q, struct question_scratch *s,
				  const __u64 *numbers, __u64 faults)
{
	if (!fill_pair_key(s, q->key_slot, numbers, faults))
		return 0;
	if (s->bad_key != KEY_ELSEWHERE) {
		fill_begin(&s->now, q, s, numbers, faults);
		if (!bpf_map_update_elem(&pair_begins, &s->pair_key, &s->now, BPF_ANY))
			return 1;
	}
	bpf_map_delete_elem(&pair_begins, &s->pair_key);
	return 0;
}

static __noinline int keep_of_thread(const struct tapir_hit_question *q, struct question_scratch *s,
				     const __u64 *numbers, __u64 faults)
{
	__u32 at = s->begin_cnt;

	if (s->bad_key == KEY_ELSEWHERE || s->elsewhere_cnt || at >= PAIR_DEPTH) {
		s->elsewhere_cnt++;
		return 0;
	}
	s->begin_cnt = at + 1;
	fill_begin(&s->begins[at & (PAIR_DEPTH - 1)], q, s, numbers, faults);
	return 1;
}

static __always_inline int begin_pair(const __u32 *probe_id, const struct tapir_hit_question *q,
				      struct question_scratch *s, const __u64 *numbers,
				      __u64 faults)
{
	int is_kept;

	s->bad_key = KEY_IS_THERE;
	if (sums_key_cnt) {
		take_keys(q, s, numbers, faults, TAPIR_MAX_ARGS);
		make_row(s);
	}
	if (q->scope == TAPIR_HIT_OF_LAST)
		s->begin_cnt = s->elsewhere_cnt = 0;
	is_kept = q->scope == TAPIR_HIT_OF_KEY ? keep_by_key(q, s, numbers, faults)
					       : keep_of_thread(q, s, numbers, faults);
	if (is_kept)
		count_rejected(probe_id);
	return is_kept;
}

/* Puts the begin into the scratch. False: there is none. */
static __noinline int find_by_key(const struct tapir_hit_question *q, struct question_scratch *s,
				  const __u64 *numbers, __u64 faults)
{
	const struct pair_begin *b;

	if (!fill_pair_key(s, q->key_slot, numbers, faults))
		return 0;
	b = bpf_map_lookup_elem(&pair_begins, &s->pair_key);
	if (!b)
		return 0;
	__builtin_memcpy(&s->now, b, sizeof(s->now));
	return !bpf_map_delete_elem(&pair_begins, &s->pair_key); /* another thread was first */
}

static __noinline int find_of_thread(const struct tapir_hit_question *q, struct question_scratch *s)
{
	__u32 at = s->begin_cnt - 1;
	const struct pair_begin *b = &s->begins[at & (PAIR_DEPTH - 1)];

	if (s->elsewhere_cnt) {
		s->elsewhere_cnt--;
		return 0;
	}
	if (at >= PAIR_DEPTH)
		return 0;
	s->begin_cnt = at;
	s->now.time_ns = b->time_ns;
	s->now.faults = b->faults;
	s->now.has_no_room = b->has_no_room;
	if (sums_key_cnt)
		__builtin_memcpy(&s->now.key, &b->key, sizeof(b->key));
	if (q->term_cnt || q->value_slots & ((1u << TAPIR_HIT_TOOK) - 1))
		__builtin_memcpy(s->now.numbers, b->numbers, sizeof(b->numbers));
	return 1;
}

/* The begin is in the scratch: its interval is counted in one place, whatever happens. */
static __always_inline int end_pair(const __u32 *probe_id, const struct tapir_hit_question *q,
				    struct question_scratch *s)
{
	struct tapir_sums_state *state = bpf_map_lookup_elem(&sums_state, &zero_key);
	struct tapir_live *live = tapir_live();
	int verdict = TAPIR_QUESTION_ACCEPT;

	if (!state || !live)
		return 1;
	/* The condition and the values may name `took`, which exists only now. */
	s->now.numbers[TAPIR_HIT_TOOK] = bpf_ktime_get_ns() - s->now.time_ns;
	if (q->term_cnt)
		verdict = decide(q, s, s->now.numbers, s->now.faults, TAPIR_HIT_TOOK + 1);
	if (verdict == TAPIR_QUESTION_REJECT) {
		count_rejected(probe_id);
		return 1;
	}
	if (verdict != TAPIR_QUESTION_ACCEPT || s->now.faults & q->value_slots) {
		__sync_fetch_and_add(&state->undefined, 1);
		return 1;
	}
	/*
	 * The key is that of the begin, which could not wait for the condition: only an interval
	 * that the condition accepts is missing in the table.
	 */
	if (s->now.has_no_room) {
		count_unkeyed(-E2BIG);
		return 1;
	}
	if (sums_key_cnt)
		__builtin_memcpy(&s->key, &s->now.key, sizeof(s->key));
	if (!add_to_row(q, s, s->now.numbers, TAPIR_HIT_TOOK + 1, live->interval, 1))
		__sync_fetch_and_add(&state->undefined, 1);
	return 1;
}

/* False: it has to be recorded. */
static __always_inline int is_paired_now(const __u32 *probe_id, struct question_scratch *s,
					 const __u64 *numbers, __u64 faults)
{
	const struct tapir_hit_question *q = question_of(probe_id);

	if (!q)
		return 0;
	if (q->role == TAPIR_HIT_BEGIN)
		return begin_pair(probe_id, q, s, numbers, faults);
	return (q->scope == TAPIR_HIT_OF_KEY ? find_by_key(q, s, numbers, faults)
					     : find_of_thread(q, s)) &&
	       end_pair(probe_id, q, s);
}

#endif /* TAPIR_BPF_QUESTION_BPF_H */
