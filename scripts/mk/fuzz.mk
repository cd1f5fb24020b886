# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each parser under libFuzzer, which is clang's.
#
#   tests/fuzz/fuzz_*.c     -> build/fuzz/fuzz_*

FUZZ_BIN   := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz fuzz-bins
fuzz: ## each parser under libFuzzer, FUZZ_SECONDS (20) each
	$(Q)scripts/bootstrap build test fuzz
	$(Q)$(MAKE) --no-print-directory fuzz-bins
	$(Q)BUILD=$(BUILD) tests/fuzz/run $(or $(FUZZ_SECONDS),20)

fuzz-bins: $(FUZZ_BIN)

# Fuzz targets are linked with what they call of user/, compiled with coverage; sources of usdt/ they
# name: "// fuzz: usdt/coreclr/coreclr_json.c". The library for .NET, which is data here, comes from LIB.
FUZZ_FLAGS := -std=gnu11 -D_GNU_SOURCE -DTAPIR_VERSION='"$(VERSION)"' -g -O1 -fsanitize=address,undefined \
              -fno-sanitize-recover=undefined $(INC) -MD -MP -pthread
FUZZ_OBJ   := $(patsubst %.c,$(BUILD)/fuzz/%.o,$(filter-out %/dotnet_profiler.c,$(USER_SRC)))
FUZZ_LIB   := $(BUILD)/fuzz/libtapir-user.a

$(BUILD)/fuzz/user/%.o: user/%.c Makefile scripts/mk/fuzz.mk | $(GEN)
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(FUZZ_LIB): $(FUZZ_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_LIB) $(LIB) Makefile scripts/mk/fuzz.mk
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -MF $@.d -fsanitize=fuzzer $< $$(sed -n 's|^// fuzz: ||p' $<) $(FUZZ_LIB) $(LIB) $(AGENT_LIBS) -o $@

-include $(FUZZ_OBJ:.o=.d) $(FUZZ_BIN:=.d)
