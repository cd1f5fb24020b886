/* SPDX-License-Identifier: MIT */
/*
 * losses.h - every way to lose something, with its kind and its words; a part of abi.h.
 */
#ifndef TAPIR_LOSSES_H
#define TAPIR_LOSSES_H

/*
 * Every way to lose something has a name and is counted where it happens.
 * EVENT: the whole event is missing. PART: the event is there, a part of it is not.
 * SAMPLE: a CPU sample is missing. SWITCH: a context switch is missing. IO: a block request.
 * INFO: nothing is missing that was requested. The kinds decide what adds up:
 * captured + the sum of EVENT causes = fired.
 */
#define TAPIR_LOSS_CAUSES(X)                                                                       \
	X(RING_FULL, EVENT, "no space in the ring buffer")                                         \
	X(NO_TASK_STORAGE, EVENT, "no memory for the thread's scratch record")                     \
	X(UNKNOWN_SITE, EVENT, "a site fired that the loader has not described")                   \
	X(RECURSION, EVENT, "the kernel skipped the program: another one was running")             \
	X(RING_LANE_DROP, EVENT, "no space in the process's own ring")                             \
	X(RING_LANE_NESTED, EVENT, "an event fired inside the writing of two others")              \
	X(DISK, EVENT, "the file could not be written")                                            \
	X(MALFORMED, EVENT, "the record was not well-formed")                                      \
	X(ARG_FAULT, PART, "the memory of an argument could not be read")                          \
	X(ARG_CUT, PART, "a string or blob was longer than the limit")                             \
	X(STACK_RING_FULL, PART, "no space in the ring buffer for a stack")                        \
	X(STACK_FAULT, PART, "a stack frame could not be read")                                    \
	X(STACK_DEPTH, PART, "a stack was deeper than the frame limit")                            \
	X(THREAD_RING_FULL, PART, "no space in the ring buffer for a thread's name")               \
	X(SEEN_MAP_FULL, PART, "no space to remember a stack: it was sent more than once")         \
	X(PROCESS_RING_FULL, PART, "no space in the ring buffer for a process record")             \
	X(PERF_LOST, PART, "perf side-band records overwritten")                                   \
	X(NAME_QUEUE_FULL, PART, "too many new addresses at once: some are unnamed")               \
	X(FILTERED, INFO, "hits of processes that were not requested")                             \
	X(SAMPLE_RING_FULL, SAMPLE, "no space in the ring buffer for a CPU sample")                \
	X(SAMPLE_STACK_LOST, PART, "no space in the ring buffer for a CPU sample's stack")         \
	X(SAMPLE_RING_BUSY, SAMPLE, "the ring buffer was locked when a CPU sample interrupted")    \
	X(SAMPLE_SKIPPED, SAMPLE, "the kernel skipped the sampler: another program was running")   \
	X(SWITCH_RING_FULL, SWITCH, "no space in the ring buffer for a context switch")            \
	X(SWITCH_SKIPPED, SWITCH, "the kernel skipped the switch program: it was running")         \
	X(SWITCH_STACK_LOST, PART, "no space in the ring buffer for a context switch's stack")     \
	X(WAKE_LOST, PART, "no space to remember who woke a thread")                               \
	X(SAMPLE_DISK, SAMPLE, "the file could not be written: a CPU sample")                      \
	X(SWITCH_DISK, SWITCH, "the file could not be written: a context switch")                  \
	X(RING_LANE_LIMITED, INFO, "events above --rate, dropped as requested")                    \
	X(LANE_TWICE, INFO, "duplicate hits of probes: their events were received by a ring")      \
	X(STREAM_DROP, EVENT, "no space in the runtime's buffer for its event stream")             \
	X(PROCESS_MAP_FULL, PART, "no space to remember a process: its events are missing")        \
	X(NO_MEMORY, EVENT, "no memory for an event on its way to the file")                       \
	X(NOTE_NO_MEMORY, PART, "no memory for what describes a process, a file or a probe")       \
	X(FILES_FULL, PART, "no descriptor for a mapped file: its functions have no names")        \
	X(RING_LANE_TOO_LARGE, EVENT, "the event was larger than 64 KB")                           \
	X(RING_LANE_NO_SLOT, EVENT,                                                                \
	  "no ring for the thread: 4,096 threads have one, or no memory")                          \
	X(RING_LANE_NO_ENTRY, EVENT, "the process has more than 16,384 kinds of events at a time") \
	X(RING_LANE_NO_PROVIDER, EVENT, "the process has more than 4,096 providers at a time")     \
	X(RING_LANE_UNDESCRIBED, EVENT, "no room in tapir to describe the event")                  \
	X(RING_LANE_CHILD, EVENT, "a forked child ended before its ring was read, or had none")    \
	X(KERNEL_STACK_STALE, PART, "a cached kernel stack was stale")                             \
	X(UNWIND_FILES_FULL, PART,                                                                 \
	  "no room for the unwind table of a file: stacks through it lack frames")                 \
	X(PROVIDERS_LEFT, PART,                                                                    \
	  "the process has no room for a provider that a SPEC matches: its events are missing")    \
	X(TRACE_IDS_UNREADABLE, PART, "a thread's trace context could not be read")                \
	X(TRACE_IDS_CHANGED, PART, "a thread's trace context changed while it was read")           \
	X(TRACE_PLACES_FULL, PART, "no space to remember where a process publishes trace ids")     \
	X(UNWIND_FILE_CHANGED, PART,                                                               \
	  "a file was rewritten while it was mapped: stacks through it may be wrong, then end")    \
	X(RESOURCE_UNREADABLE, PART, "what a process publishes of itself could not be read")       \
	X(USER_STACK_STALE, PART, "a cached user stack was stale")                                 \
	X(IO_RING_FULL, IO, "no space in the ring buffer for a block request")                     \
	X(IO_NO_ROOM, IO, "more block requests in flight than there is room for")                  \
	X(IO_LIMITED, IO, "more block requests a second than a CPU may record")                    \
	X(IO_SKIPPED, IO, "the kernel skipped the block request programs: one was running")        \
	X(IO_DISK, IO, "the file could not be written: a block request")                           \
	X(IO_STACK_LOST, PART, "no space in the ring buffer for a block request's stack")          \
	X(EXCHANGE_RING_FULL, EXCHANGE, "no space in the ring buffer for an exchange")             \
	X(EXCHANGE_NO_ROOM, EXCHANGE, "no memory for the state of a connection")                   \
	X(EXCHANGE_LIMITED, EXCHANGE, "more exchanges a second than a CPU may record")             \
	X(EXCHANGE_SKIPPED, EXCHANGE, "the kernel skipped the socket programs: one was running")   \
	X(EXCHANGE_DISK, EXCHANGE, "the file could not be written: an exchange")                   \
	X(CALLS_FULL, CALLS, "no room to count a system call of one more thread")                  \
	X(CALLS_NO_STORAGE, CALLS, "no memory to remember when a system call began")               \
	X(CALLS_STACK_LOST, PART, "no space in the ring buffer for a system call's stack")         \
	X(CALLS_SKIPPED, CALLS, "the kernel skipped a program that counts system calls")           \
	X(CALLS_DISK, CALLS, "the file could not be written: a system call")                       \
	X(SIGNAL_RING_FULL, SIGNAL, "no space in the ring buffer for a signal")                    \
	X(SIGNAL_LIMITED, SIGNAL, "more signals a second than a CPU may record")                   \
	X(SIGNAL_SKIPPED, SIGNAL, "the kernel skipped the program of signals: it was running")     \
	X(SIGNAL_DISK, SIGNAL, "the file could not be written: a signal")                          \
	X(IO_UNFINISHED, IO, "the kernel did not report the end of a block request")               \
	X(WAITS_FULL, SWITCH, "no room to sum the waits of one more thread")                       \
	X(NATIVE_RING_FULL, NATIVE, "no space in the ring buffer for an allocation or a free")     \
	X(NATIVE_FULL, NATIVE, "no room to remember one more sampled block until it is freed")     \
	X(NATIVE_NO_STORAGE, NATIVE, "no memory for the thread's state of its allocations")        \
	X(NATIVE_NO_RETURN, NATIVE, "an allocation was left by a jump or an exception")            \
	X(NATIVE_SKIPPED, NATIVE, "the kernel skipped a program of native memory")                 \
	X(NATIVE_DISK, NATIVE, "the file could not be written: native memory")                     \
	X(NATIVE_STACK_LOST, PART, "no space in the ring buffer for an allocation's stack")        \
	X(KERNEL_FULL, KERNEL, "no room to count faults, interrupts or locks of one more place")   \
	X(KERNEL_NO_STORAGE, KERNEL, "no memory for the thread's state of its page faults")        \
	X(KERNEL_NO_PLACE, KERNEL, "no place to remember that a thread waits for a kernel lock")   \
	X(KERNEL_SKIPPED, KERNEL, "the kernel skipped a program of faults, interrupts or locks")   \
	X(KERNEL_DISK, KERNEL, "the file could not be written: faults, interrupts or locks")       \
	X(KERNEL_STACK_LOST, PART, "no space in the ring buffer for a page fault's stack")         \
	X(NOT_WHERE, INFO, "events for which --where is not true")                                 \
	X(CALLS_FILES_FULL, PART, "no room to count system calls of one more file")                \
	X(CALLS_PATH_UNREAD, PART, "the path that a system call was given could not be read")      \
	/* A cause is a row above this line. */

/*
 * The families of records that are captured, each with a kind of loss: a whole one is missing.
 * PART: a record is there, a part of it is not. INFO: nothing that was requested is missing.
 */
#define TAPIR_FAMILIES(X)                                                                          \
	X(EVENT, "event")                                                                          \
	X(SAMPLE, "sample")                                                                        \
	X(SWITCH, "switch")                                                                        \
	X(IO, "io")                                                                                \
	X(EXCHANGE, "exchange")                                                                    \
	X(CALLS, "calls")                                                                          \
	X(SIGNAL, "signal")                                                                        \
	X(NATIVE, "native")                                                                        \
	X(KERNEL, "kernel")                                                                        \
	/* A family is a row above this line. */

enum tapir_loss_kind {
#define TAPIR_X(name, word) TAPIR_LOSS_KIND_##name,
	TAPIR_FAMILIES(TAPIR_X)
#undef TAPIR_X
		TAPIR_LOSS_KIND_PART,
	TAPIR_LOSS_KIND_INFO
};

#endif
