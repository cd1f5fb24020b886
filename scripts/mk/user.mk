# SPDX-License-Identifier: GPL-2.0-or-later
#
# User space.
#
#   user/**/*.c             -> build/libtapir-user.a, but for the files below
#   user/cli/main.c         -> build/tapir, with serve_exec.c; build/tapir-static, with serve_here.c
#   user/cli/agent_main.c   -> build/tapir-agent, with serve_here.c
#   user/cli/reader_main.c  -> build/tapir-reader (reader.mk)

MAINS      := $(patsubst %,user/cli/%.c,main agent_main serve_exec serve_here reader_main reader_parts)
USER_SRC   := $(filter-out $(MAINS) user/cli/manifest/%,$(sort $(shell find user -name '*.c')))
USER_OBJ   := $(USER_SRC:%.c=$(BUILD)/%.o)
LIB        := $(BUILD)/libtapir-user.a
TAPIR      := $(BUILD)/tapir
AGENT      := $(BUILD)/tapir-agent
TAPIR_OBJ  := $(BUILD)/user/cli/main.o $(BUILD)/user/cli/serve_exec.o
AGENT_OBJ  := $(BUILD)/user/cli/agent_main.o $(BUILD)/user/cli/serve_here.o

$(BUILD)/user/%.o: user/%.c Makefile scripts/mk/user.mk | $(GEN)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

# Calls of these functions of libc come to base/exhaustion_wrap.c, which counts those that fail.
COUNTED := $(shell sed -n 's/^COUNTED.[^,]*, \([a-z0-9_]*\),.*/\1/p' user/base/exhaustion_wrap.c) open openat asprintf
WRAPS   := $(COUNTED:%=-Wl,--wrap=%)
LIBS    += $(WRAPS)
AGENT_LIBS := $(LIBS) -lseccomp

$(LIB): $(USER_OBJ) $(TABLES).o $(PROTO:=.pb-c.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# The two execute each other, and neither one that a group may write to, whatever the umask is.
$(TAPIR): $(TAPIR_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@ && chmod go-w $@

$(AGENT): $(AGENT_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $^ $(AGENT_LIBS) -o $@ && chmod go-w $@

# One file without an interpreter and without libraries: for containers, and systems with another C
# library. The linker's warnings are of dlopen and getpwuid, which it does not call (base/library.h).
STATIC_LIBS := -lbpf -ldw -lelf -lzstd -ldeflate -llzma -lbz2 -lz -liberty -lcap -ljansson -lsqlite3 -lseccomp -lprotobuf-c -lm -pthread $(WRAPS)

$(TAPIR)-static: $(BUILD)/static/main.o $(BUILD)/user/cli/serve_here.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) -static -Wl,--no-warnings $^ $(STATIC_LIBS) -o $@

$(BUILD)/static/main.o: user/cli/main.c Makefile scripts/mk/user.mk
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(TAPIR_CFLAGS) -DTAPIR_STATIC -c $< -o $@

-include $(USER_OBJ:.o=.d) $(MAINS:%.c=$(BUILD)/%.d)
