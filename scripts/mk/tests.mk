# SPDX-License-Identifier: GPL-2.0-or-later
#
# What tests and benchmarks consist of, and the goals that measure or take long.
#
#   tests/unit/test_*.c     -> build/tests/unit/test_*      (cmocka, linked with the archive)
#   tests/bpf_host/test_*.c -> build/tests/bpf_host/test_*  (BPF logic compiled for the host)
#   tests/e2e/targets/*.c   -> build/tests/targets/*        (programs that are traced)
#   tests/e2e/tools/*.c     -> build/tests/tools/*          (drivers, linked with the archive)
#   tests/e2e/fuse/deadfs.c -> build/tests/tools/deadfs     (a file system that stops answering; where fuse3 is found)
#   tests/bench/*.c         -> build/tests/bench/*
#   tests/costs/*.c         -> build/tests/costs/*          (what is counted, and steady.so)
#   tests/faults/*.c        -> build/faults/*               (tests/faults/faults.mk)

UNIT_BIN   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
HOST_BIN   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bpf_host/test_*.c))
TARGET_BIN := $(patsubst tests/e2e/targets/%.c,$(BUILD)/tests/targets/%,$(wildcard tests/e2e/targets/*.c))
BENCH_BIN  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
TOOL_BIN   := $(patsubst tests/e2e/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/e2e/tools/*.c))
COST_BIN   := $(addprefix $(BUILD)/tests/costs/,work verified steady.so)
FUSE_BIN   := $(if $(shell $(PKG_CONFIG) --exists fuse3 2>/dev/null && echo yes),$(BUILD)/tests/tools/deadfs)

.PHONY: unit-bins bench-bins cost-bins targets
unit-bins: $(UNIT_BIN) $(HOST_BIN) cost-bins

bench-bins: $(BENCH_BIN)

cost-bins: $(TAPIR) $(COST_BIN) $(BUILD)/tests/bench/make_trace $(BUILD)/tests/targets/manysites

targets: $(if $(SAN),,$(TAPIR)-static) $(TARGET_BIN) $(if $(SAN),,$(BUILD)/tests/toyvm/toyvm) $(TOOL_BIN) $(FUSE_BIN) $(BUILD)/tests/bench/make_trace $(BUILD)/tests/bench/make_dotnet_trace

# ---- goals that measure, or take long --------------------------------------------------------

.PHONY: bench bench-dotnet bench-hold bench-large bench-stacks soak

bench: ## tapir beside its peers; a few minutes
	$(Q)scripts/bootstrap build bench
	$(Q)$(MAKE) --no-print-directory all targets bench-bins
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/run.py

.PHONY: bench-live
bench-live: ## what live questions cost, beside bpftrace and programs written by hand; three minutes on a quiet machine
	$(Q)scripts/bootstrap build bench
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/bench/live_load
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/live.py --write

.PHONY: bench-machine
bench-machine: ## what system calls, transfers and switches cost while they are recorded, beside perf, bpftrace and strace; five quiet minutes
	$(Q)scripts/bootstrap build bench test
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/bench/machine_load $(BUILD)/tests/targets/shorts
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/machine.py --write
	$(Q)$(PYTHON) tests/bench/switches.py --build $(BUILD)

.PHONY: bench-lib
bench-lib: $(patsubst %,$(BUILD)/tests/bench/%,bench_lib bench_dynamic bench_gc_sink bench_clock workload) ## what libtapir costs a program, beside LTTng-UST and .NET; four minutes
	$(Q)scripts/bootstrap build lib
	$(Q)$(PYTHON) tests/bench/lib.py --build $(BUILD)

bench-stacks: ## shares of whole user stacks, by program, and what they cost (tests/stacks)
	$(Q)scripts/bootstrap build test stacks
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) tests/stacks/run.py --build $(BUILD)
	$(Q)$(PYTHON) tests/stacks/cost.py --build $(BUILD)
	$(Q)$(PYTHON) tests/stacks/walk.py --build $(BUILD)

bench-large: ## memory and speed of reading 10 GB and 10 M stacks; half an hour, 12 GB of disk
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/bench/make_trace
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/large.py

bench-hold: ## what it costs a program to be held; a few minutes
	$(Q)$(MAKE) --no-print-directory all targets
	$(Q)$(PYTHON) tests/bench/hold.py --build $(BUILD)

.PHONY: check-touch
check-touch: ## what a stranger adds (tests/touch) built in a copy, with its tests, and without each runtime; a few minutes
	$(Q)$(MAKE) --no-print-directory all
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/touch/touch.py --build --without all

.PHONY: costs
costs: ## count again what make check holds to tests/costs/*.tsv, and write it there
	$(Q)scripts/bootstrap build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) cost-bins
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/costs/instructions.py --write
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/costs/kernel.py --write

bench-dotnet: ## tapir on .NET beside dotnet-trace; a few minutes, wants the .NET SDK and NuGet
	$(Q)scripts/bootstrap build bench
	$(Q)$(MAKE) --no-print-directory all
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/dotnet.py
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/dotnet_web.py
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/dotnet_web.py --parts
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/dotnet_attach.py
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/dotnet_publish.py
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/dotnet_awaits.py

soak: ## a long life at once; SOAK_SECONDS (1800), SOAK_COMM ('soak*'; '*' traces everybody)
	$(Q)scripts/bootstrap build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets $(BUILD)/tests/unit/test_session_storm
	$(Q)$(PYTHON) tests/soak/soak.py --build $(BUILD) --seconds $(or $(SOAK_SECONDS),1800) --comm '$(or $(SOAK_COMM),soak*)'
	$(Q)TAPIR_SOAK_ROUNDS=50 $(PYTHON) tests/e2e/run.py --build $(BUILD) --jobs 1 --only 'hold.*killed' --summary $(BUILD)/soak-hold
	$(Q)TAPIR_SOAK_ROUNDS=50 $(PYTHON) tests/e2e/run.py --build $(BUILD) --jobs 1 --only 'hold.daemons*' --summary $(BUILD)/soak-daemons
	$(Q)! head -qn 1 $(BUILD)/soak-hold $(BUILD)/soak-daemons | grep -v '^[1-9][0-9]* 0 '
	$(Q)TAPIR_STORM_SECONDS=$(or $(STORM_SECONDS),600) $(BUILD)/tests/unit/test_session_storm

# ---- goals under sanitizers ----------------------------------------------------------------

# The process side of the ring lane by itself, so that a build with sanitizers is a small one.
RING_TESTS := $(patsubst %,$(BUILD)/tests/ring/test_ring_%,writer threads process fork reuse walk unload ids)

.PHONY: check-ring-san check-lib-san check-tsan san-tests
check-ring-san: ## tests of the ring lane and of libtapir under address and thread sanitizers
check-lib-san: ## the same
check-ring-san check-lib-san:
	$(Q)$(MAKE) --no-print-directory SAN=address,undefined san-tests
	$(Q)$(MAKE) --no-print-directory SAN=thread san-tests

check-tsan: ## the same under the thread sanitizer alone
	$(Q)$(MAKE) --no-print-directory SAN=thread san-tests

# The same for providers, listeners, counters and activities.
LIB_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/ring/%,$(wildcard $(patsubst %,tests/unit/test_%.c,provider enablement listener logger user_events described payload_parts counter counter_listener activity gc_sink session_storm)))

san-tests: $(RING_TESTS) $(LIB_TESTS)
	$(Q)BUILD=$(BUILD) tests/run ring

# ---- unit tests -----------------------------------------------------------------------------

# Compiled apart from linking, so that a change below user/ links the tests again and compiles none.
$(BUILD)/tests/unit/%.o: tests/unit/%.c Makefile scripts/mk/tests.mk | $(GEN)
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

$(UNIT_BIN): %: %.o $(LIB) $(USDT_LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $(filter %.o,$^) $(USDT_LIB) $(LIB) $(AGENT_LIBS) -lcmocka -o $@

# Tests of the profiler's parts that need no process around them.
PUBLISH_OBJ := $(patsubst %,$(BUILD)/tests/coreclr/coreclr_%.o,blob text layout payload json)
$(BUILD)/tests/unit/test_publish: $(PUBLISH_OBJ)
$(BUILD)/tests/unit/test_publish_probes: $(PUBLISH_OBJ) $(BUILD)/tests/coreclr/coreclr_publish.o

$(BUILD)/tests/coreclr/%.o: usdt/coreclr/%.c Makefile scripts/mk/tests.mk
	$(call say,CC,$< (test))
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

$(BUILD)/tests/unit/test_lib_faults: $(BUILD)/tests/targets/libplug

$(BUILD)/tests/unit/test_ring_unload $(BUILD)/tests/ring/test_ring_unload: \
	$(BUILD)/tests/targets/ringplug

$(BUILD)/tests/ring/%: tests/unit/%.c $(USDT_LIB) Makefile scripts/mk/tests.mk
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< $(USDT_LIB) -lcmocka -o $@

$(BUILD)/tests/bpf_host/%: tests/bpf_host/%.c Makefile scripts/mk/tests.mk
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< -lcmocka -o $@

include tests/faults/faults.mk

# ---- programs that are traced, tools, benchmarks --------------------------------------------

# Targets are built as a distribution builds programs, but with frame pointers; a file may
# name its own flags in a line "// build: FLAGS".
$(BUILD)/tests/targets/%: tests/e2e/targets/%.c $(USDT_LIB) Makefile scripts/mk/tests.mk
	$(call say,TARGET,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer \
	    -mno-omit-leaf-frame-pointer -Iinclude -MD -MP -MF $@.d -pthread $< $(USDT_LIB) -o $@ \
	    $$(sed -n 's|^// build: ||p' $<)

# A virtual machine in small, with what tapir-manifest makes of its events, and those for LTTng.
TOYVM := $(BUILD)/tests/toyvm
$(TOYVM)/ToyVM.c: tests/toyvm/ToyVM.man $(MANIFEST)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(MANIFEST) $< --lttng -o $(@D)

$(TOYVM)/toyvm: tests/toyvm/toyvm.c $(TOYVM)/ToyVM.c $(USDT_LIB) $(BUILD)/tests/targets/gccollector
	$(call say,TARGET,$<)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer -Iinclude -I. -I$(TOYVM) -pthread \
	    $< $(TOYVM)/ToyVM.c $(USDT_LIB) -ldl -o $@

$(TOYVM)/libtapir-lttng-Tapir-Toy-VM.so: $(TOYVM)/ToyVM.c include/tapir/payload_parts.h
	$(call say,TARGET,$@)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -O2 -shared -fPIC -Iinclude -I$(TOYVM) $(TOYVM)/ToyVM_lttng.c -llttng-ust -o $@

$(BUILD)/tests/tools/deadfs: tests/e2e/fuse/deadfs.c Makefile scripts/mk/tests.mk
	$(call say,TOOL,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(shell $(PKG_CONFIG) --cflags fuse3) $< \
	    $(shell $(PKG_CONFIG) --libs fuse3) -o $@

$(BUILD)/tests/tools/%: tests/e2e/tools/%.c $(LIB) Makefile scripts/mk/tests.mk
	$(call say,TOOL,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< $(LIB) $(AGENT_LIBS) -o $@

$(BUILD)/tests/costs/%.so: tests/costs/%.c Makefile scripts/mk/tests.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) -MF $@.d -O2 -fPIC -shared $< -o $@

$(BENCH_BIN) $(filter-out %.so,$(COST_BIN)): $(BUILD)/%: %.c $(LIB) $(USDT_LIB) Makefile scripts/mk/tests.mk
	$(call say,BENCH,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< $(LIB) $(USDT_LIB) $(LIBS) $$(sed -n 's|^// build: ||p' $<) -o $@

-include $(RING_TESTS:=.d) $(LIB_TESTS:=.d) $(wildcard $(BUILD)/tests/coreclr/*.d)
-include $(UNIT_BIN:=.d) $(TOOL_BIN:=.d) $(HOST_BIN:=.d) $(TARGET_BIN:=.d) $(BENCH_BIN:=.d) $(COST_BIN:=.d)
