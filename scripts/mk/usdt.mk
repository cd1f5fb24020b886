# SPDX-License-Identifier: GPL-2.0-or-later
#
# What runs inside a traced process.
#
#   usdt/*/*.c              -> build/libtapir.a, build/libtapir.so.0
#   usdt/coreclr/*.c        -> build/libtapir-coreclr.so, with usdt/ring; data of build/tapir
#
# It may be loaded late (a TLS model that never runs out of room), walks frames and runs in signal
# handlers; general registers only, so that a lazily bound TLS descriptor finds nothing to spoil.

USDT_SRC   := $(filter-out usdt/coreclr/%,$(wildcard usdt/*/*.c))
USDT_OBJ   := $(USDT_SRC:%.c=$(BUILD)/%.o)
USDT_LIB   := $(BUILD)/libtapir.a
USDT_SO    := $(BUILD)/libtapir.so.0
CORECLR_SRC := $(wildcard usdt/ring/*.c usdt/image/*.c usdt/text/*.c usdt/coreclr/*.c)
CORECLR_OBJ := $(CORECLR_SRC:usdt/%.c=$(BUILD)/coreclr/%.o)
CORECLR_SO := $(BUILD)/libtapir-coreclr.so

USDT_CFLAGS := -fPIC -fvisibility=hidden -fno-omit-frame-pointer -fno-stack-protector \
               $(if $(SAN),,-mgeneral-regs-only) \
               $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-mtls-dialect=gnu2)

# Counters are floating-point numbers.
$(BUILD)/usdt/counter/%.o $(BUILD)/faults/usdt/counter/%.o: USDT_CFLAGS := $(filter-out -mgeneral-regs-only,$(USDT_CFLAGS)) -fno-math-errno

$(BUILD)/usdt/%.o: usdt/%.c Makefile scripts/mk/usdt.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -Iinclude -MD -MP -pthread $(CFLAGS) $(SAN_FLAGS) \
	    $(USDT_CFLAGS) -c $< -o $@

$(USDT_LIB): $(USDT_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(USDT_OBJ)

# The same objects. It stays mapped once it is loaded: it has a thread, and keys of threads.
$(USDT_SO): $(USDT_OBJ) usdt/libtapir.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,libtapir.so.0 -Wl,--version-script=usdt/libtapir.map \
	    -Wl,-z,nodelete -Wl,-z,now -Wl,--build-id $(USDT_OBJ) -o $@

# The profiler that .NET loads. No DT_NEEDED and no versions, so that one file fits every glibc and
# musl: libc's functions are the process's own. Never with sanitizers.
# No TLS segment either: ring_thread.c says why.
CORECLR_CFLAGS := -DTAPIR_RING_NO_TLS -O2 -g -U_FORTIFY_SOURCE -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
                  -fno-stack-protector -fno-plt -mgeneral-regs-only \
                  $(if $(filter x86_64,$(ARCH)),-mtls-dialect=gnu2)

$(BUILD)/coreclr/%.o: usdt/%.c Makefile scripts/mk/usdt.mk
	$(call say,CC,$< (coreclr))
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -Iinclude -MD -MP -pthread $(CORECLR_CFLAGS) -c $< -o $@

$(CORECLR_SO): $(CORECLR_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,libtapir-coreclr.so -Wl,-z,now -Wl,-z,noexecstack \
	    -Wl,--hash-style=both -Wl,-Bsymbolic -Wl,--build-id -Wl,--strip-debug $(CORECLR_OBJ) -o $@

$(BUILD)/user/runtime/dotnet/dotnet_profiler.o: $(CORECLR_SO)

-include $(USDT_OBJ:.o=.d) $(CORECLR_OBJ:.o=.d)
