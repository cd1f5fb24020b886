// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/kernel_work.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/diag.h"

static const struct {
	const char *name;
	uint32_t kinds;
} choices[] = {{"faults", TAPIR_KERNEL_HAS_FAULTS},
	       {"irqs", TAPIR_KERNEL_HAS_IRQS},
	       {"locks", TAPIR_KERNEL_HAS_LOCKS},
	       {"pressure", TAPIR_KERNEL_HAS_PRESSURE}};

#define CHOICES (sizeof(choices) / sizeof(choices[0]))

static int choose_one(const char *one, size_t len, uint32_t *kinds)
{
	for (size_t i = 0; i < CHOICES; i++)
		if (strlen(choices[i].name) == len && !memcmp(choices[i].name, one, len)) {
			*kinds |= choices[i].kinds;
			return 0;
		}
	return tapir_diag__fail(-EINVAL,
				"the kernel's work has no '%.*s': LIST is of faults, irqs, "
				"locks and pressure ('tapir help kernel')",
				(int)(len < 64 ? len : 64), one);
}

int tapir_kernel_work__choose(const char *list, uint32_t *kinds)
{
	for (;; list++) {
		size_t len = strcspn(list, ",");
		int err = choose_one(list, len, kinds);

		list += len;
		if (err || !*list)
			return err;
	}
}

void tapir_kernel_work__add_list(struct tapir_str *out, uint32_t kinds)
{
	const char *between = "";

	for (size_t i = 0; i < CHOICES; i++)
		if (kinds & choices[i].kinds) {
			tapir_str__addf(out, "%s%s", between, choices[i].name);
			between = ",";
		}
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *const kinds[TAPIR_KERNEL_KIND_CNT] = {[TAPIR_KERNEL_FAULT] = "fault",
							 [TAPIR_KERNEL_IRQ] = "irq",
							 [TAPIR_KERNEL_SOFTIRQ] = "softirq",
							 [TAPIR_KERNEL_VECTOR] = "vector",
							 [TAPIR_KERNEL_LOCK] = "lock"};
static const char *const softirqs[] = {"HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
				       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU"};
static const char *const vectors[] = {[TAPIR_VECTOR_LOCAL_TIMER] = "local timer",
				      [TAPIR_VECTOR_RESCHEDULE] = "rescheduling",
				      [TAPIR_VECTOR_CALL] = "function call",
				      [TAPIR_VECTOR_CALL_SINGLE] = "function call of one CPU",
				      [TAPIR_VECTOR_IRQ_WORK] = "work for an interrupt"};

#define FLAG_SPIN   (1u << 0)
#define FLAG_READ   (1u << 1)
#define FLAG_WRITE  (1u << 2)
#define FLAG_RT	    (1u << 3)
#define FLAG_PERCPU (1u << 4)
#define FLAG_MUTEX  (1u << 5)

/* The first row counts whose flags are all there. */
static const struct {
	unsigned flags;
	const char *name;
} locks[] = {{FLAG_MUTEX, "mutex"},
	     {FLAG_PERCPU | FLAG_READ, "per-CPU rwsem, read"},
	     {FLAG_PERCPU | FLAG_WRITE, "per-CPU rwsem, write"},
	     {FLAG_RT | FLAG_READ, "rt rwlock, read"},
	     {FLAG_RT | FLAG_WRITE, "rt rwlock, write"},
	     {FLAG_RT, "rt mutex"},
	     {FLAG_SPIN | FLAG_READ, "rwlock, read"},
	     {FLAG_SPIN | FLAG_WRITE, "rwlock, write"},
	     {FLAG_SPIN, "spin lock"},
	     {FLAG_READ, "rwsem, read"},
	     {FLAG_WRITE, "rwsem, write"},
	     {0, "semaphore"}};

const char *tapir_kernel_kind__name(unsigned kind)
{
	return kind < TAPIR_KERNEL_KIND_CNT ? kinds[kind] : NULL;
}

static const char *name_at(const char *const *names, size_t cnt, unsigned idx)
{
	return idx < cnt ? names[idx] : NULL;
}

const char *tapir_kernel_work__label(unsigned kind, unsigned number)
{
	size_t i = 0;

	switch (kind) {
	case TAPIR_KERNEL_SOFTIRQ:
		return name_at(softirqs, sizeof(softirqs) / sizeof(softirqs[0]), number);
	case TAPIR_KERNEL_VECTOR:
		return name_at(vectors, sizeof(vectors) / sizeof(vectors[0]), number);
	case TAPIR_KERNEL_LOCK:
		while ((number & locks[i].flags) != locks[i].flags)
			i++;
		return locks[i].name;
	default:
		return NULL;
	}
}
