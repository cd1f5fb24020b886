# SPDX-License-Identifier: GPL-2.0-or-later
#
# Fault injection (make check-faults), included by scripts/mk/tests.mk: tapir and its library, in which one call of one call site fails.

FAULT_DIR   := $(BUILD)/faults
FAULT_WRAPS := $(shell sed -n 's/^WRAP[A-Z_]*.[^,]*, \([a-z_0-9]*\),.*/\1/p' tests/faults/faults.c) open openat ioctl asprintf ptrace pthread_create
FAULT_RING  := -I. -Itests/faults -include tests/faults/ring_faults.h
FAULT_DEPS  := tests/faults/ring_faults.h tests/faults/fault_table.h Makefile scripts/mk/usdt.mk tests/faults/faults.mk
FAULT_LIB   := $(USDT_SRC:usdt/%.c=$(FAULT_DIR)/usdt/%.o)
FAULT_CORECLR := $(CORECLR_SRC:usdt/%.c=$(FAULT_DIR)/coreclr/%.o)
FAULT_BIN   := $(FAULT_DIR)/tapir $(FAULT_DIR)/tapir-coreclr $(FAULT_DIR)/ring_host $(FAULT_DIR)/ring_host_faults

.PHONY: fault-bins
fault-bins: $(FAULT_BIN)

$(FAULT_DIR)/faults.o: tests/faults/faults.c tests/faults/fault_table.h Makefile tests/faults/faults.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -I. -O2 -g -pthread -c $< -o $@

$(FAULT_DIR)/tapir: $(TAPIR_OBJ) $(FAULT_DIR)/faults.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $(FAULT_WRAPS:%=-Wl,--wrap=%) -Wl,--export-dynamic-symbol=syscall \
	    $(TAPIR_OBJ) $(FAULT_DIR)/faults.o $(LIB) $(LIBS) -o $@

$(FAULT_DIR)/usdt/%.o: usdt/%.c $(FAULT_DEPS)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Iinclude $(FAULT_RING) -MD -MP -pthread $(CFLAGS) $(USDT_CFLAGS) -c $< -o $@

$(FAULT_DIR)/coreclr/%.o: usdt/%.c $(FAULT_DEPS)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Iinclude $(FAULT_RING) -MD -MP -pthread $(CORECLR_CFLAGS) -c $< -o $@

$(FAULT_DIR)/libtapir-coreclr.so: $(FAULT_CORECLR)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,libtapir-coreclr.so -Wl,-z,now -Wl,-z,noexecstack \
	    -Wl,--hash-style=both -Wl,-Bsymbolic -Wl,--build-id -s $(FAULT_CORECLR) -o $@

$(FAULT_DIR)/dotnet_profiler.o: user/runtime/dotnet/dotnet_profiler.c $(FAULT_DIR)/libtapir-coreclr.so
	$(Q)$(CC) -std=gnu11 -Iuser -DTAPIR_BUILD='"$(FAULT_DIR)"' -c $< -o $@

$(FAULT_DIR)/tapir-coreclr: $(TAPIR_OBJ) $(FAULT_DIR)/dotnet_profiler.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(FAULT_DIR)/ring_host: tests/faults/ring_host.c $(USDT_LIB) Makefile
	$(call say,TARGET,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer -Iinclude -I. -pthread $< $(USDT_LIB) -o $@

$(FAULT_DIR)/ring_host_faults: tests/faults/ring_host.c $(FAULT_LIB)
	$(call say,TARGET,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -Iinclude -I. -pthread $^ -o $@

-include $(FAULT_LIB:.o=.d) $(FAULT_CORECLR:.o=.d)
