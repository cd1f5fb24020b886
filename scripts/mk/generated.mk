# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sources that are generated, each by a program or a script.
#
#   user/cli/topics/*.txt, user/agent/assets/*, user/output/render/flamegraph.*,
#   user/output/page/*.css, *.js -> build/gen/*.gen.h
#   user/output/render/*.proto -> build/gen/*.pb-c.[ch]
#   user/cli/manifest/*.c   -> build/tapir-manifest (a tool of the build)
#   usdt/manifests/*.man    -> build/gen/dotnet_layouts.c, by that tool (but Shop.man, an example)

# What a flame graph carries, and its hashes as a Content-Security-Policy has them.
FLAMEGRAPH := user/output/render/flamegraph.js user/output/render/flamegraph.css
$(BUILD)/gen/flamegraph.gen.h: $(FLAMEGRAPH) scripts/c-strings scripts/csp-hash
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/c-strings --hashed '' $(FLAMEGRAPH) >$@

# What a page of tapir html carries, in the order of its scripts.
PAGE := $(patsubst %,user/output/page/page%,.css _data.js _tree.js _flame.js _timeline.js _heat.js _tables.js _main.js)
$(BUILD)/gen/page.gen.h: $(PAGE) scripts/c-strings scripts/csp-hash
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/c-strings --hashed '' $(PAGE) >$@

# Style sheets and scripts of the agent's pages: tapir.css is asset_tapir_css.
ASSETS := $(sort $(wildcard user/agent/assets/*.css user/agent/assets/*.js user/agent/assets/*.svg))
$(BUILD)/gen/assets.gen.h: $(ASSETS) scripts/c-strings
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/c-strings asset_ $(ASSETS) >$@

# The texts of `tapir help`: topics/NAME.txt is topic_NAME.
TOPICS := $(sort $(wildcard user/cli/topics/*.txt))
$(BUILD)/gen/topics.gen.h: $(TOPICS) scripts/c-strings
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/c-strings topic_ $(TOPICS) >$@

# Messages that are written, by protobuf-c.
PROTO      := $(patsubst user/output/render/%.proto,$(BUILD)/gen/%,$(wildcard user/output/render/*.proto))
PROTO_HEADERS := $(PROTO:=.pb-c.h)

$(PROTO_HEADERS): $(BUILD)/gen/%.pb-c.h: user/output/render/%.proto Makefile scripts/mk/generated.mk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=user/output/render --c_out=$(BUILD)/gen $*.proto

$(PROTO:=.pb-c.o): %.pb-c.o: %.pb-c.h
	$(call say,CC,$(@:.o=.c))
	$(Q)$(CC) -std=gnu11 -I$(BUILD)/gen $(CFLAGS) $(SAN_FLAGS) -c $(@:.o=.c) -o $@

GEN        := $(SKEL) $(BUILD)/gen/flamegraph.gen.h $(BUILD)/gen/page.gen.h $(PROTO_HEADERS) $(BUILD)/gen/topics.gen.h \
              $(BUILD)/gen/assets.gen.h

# The manifest compiler: itself, the reader it shares with tapir, and what that needs.
MANIFEST   := $(BUILD)/tapir-manifest
MANIFEST_SRC := $(wildcard user/cli/manifest/*.c)
MANIFEST_OBJ := $(MANIFEST_SRC:%.c=$(BUILD)/%.o) $(patsubst %.c,$(BUILD)/%.o,$(wildcard user/decode/manifest*.c) \
                user/decode/layout.c $(wildcard user/base/*.c))
TABLES     := $(BUILD)/gen/dotnet_layouts

$(MANIFEST): $(MANIFEST_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $^ -lm -pthread $(WRAPS) -o $@

# The compiler shares modules with tapir: the tables stay as old as they are where it writes the same.
$(TABLES).stamp: $(MANIFEST) $(filter-out %/Shop.man,$(sort $(wildcard usdt/manifests/*.man)))
	$(call say,GEN,$(TABLES).c)
	@mkdir -p $(@D)
	$(Q)$(MANIFEST) --tables $(filter %.man,$^) -o $(TABLES).new
	$(Q)cmp -s $(TABLES).new $(TABLES).c || cp $(TABLES).new $(TABLES).c
	$(Q)rm $(TABLES).new
	$(Q)touch $@

$(TABLES).c: $(TABLES).stamp
	@test -e $@ || { rm -f $< && $(MAKE) --no-print-directory $<; }

$(TABLES).o: $(TABLES).c user/decode/layout.h user/decode/dotnet_tables_impl.h Makefile scripts/mk/generated.mk
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -Iuser $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

-include $(MANIFEST_OBJ:.o=.d)
