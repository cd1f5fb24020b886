# SPDX-License-Identifier: GPL-2.0-or-later
#
# tapir-reader: the commands that read recordings, without libbpf, root and the headers of Linux.
#
#   user/cli/reader_main.c  -> build/tapir-reader, with reader_parts.c and the objects below;
#                              build/tapir-reader-static, one file without libraries

# The reading half, and modules of other rooms that it needs; not what needs Linux.
READER_DIRS := base elf trace spec spec/runtime_db decode symbol analyze analyze/spans analyze/diff diagnose \
               output/import output/export output/render output/query output/sink output/page cli
READER_ALSO := $(patsubst %,user/%.c,attach/container_path attach/unwind/eh_source attach/unwind/functions) \
               $(wildcard user/record/async_stacks/await_*.c)
READER_LACKS := $(shell sed -n 's/.*ASKS(\([a-z]*\)).*/\1/p' user/cli/commands.h)
READER_NOT  := $(MAINS) $(patsubst %,user/%.c,base/clock_watch base/file_linux base/private_file \
               $(READER_LACKS:%=cli/cmd_%) cli/archive_file cli/command_line_linux cli/list_machine cli/recorder \
               cli/start_time cli/target_options cli/top_rows cli/top_screen cli/top_table \
               elf/kernel_types output/render/counter_table output/render/list_counters output/render/list_dotnet \
               output/render/list_rings output/render/list_view output/render/live_lines symbol/doctor_symbols \
               symbol/doctor_tables symbol/line_helper elf/dwarf_lines)
READER_SRC  := $(filter-out $(READER_NOT),$(wildcard $(READER_DIRS:%=user/%/*.c)) $(READER_ALSO))
READER_OBJ  := $(READER_SRC:%.c=$(BUILD)/%.o) $(BUILD)/user/cli/reader_main.o $(BUILD)/user/cli/reader_parts.o
READER      := $(BUILD)/tapir-reader
READER_LIBS := -lelf -lzstd -ldeflate -llzma -lz -liberty -ljansson -lsqlite3 -lprotobuf-c -lm -pthread $(WRAPS)

# Elsewhere, what Linux and its C library have is made up; only that it compiles is tested
# (tests/unit/reader.sh).
ifneq ($(shell uname -s),Linux)
TAPIR_CFLAGS += -include user/base/elsewhere.h
READER_LIBS  := $(filter-out $(WRAPS),$(READER_LIBS))
endif

.PHONY: reader reader-static
reader: $(READER) ## build build/tapir-reader: report and the like, without libbpf, for another machine
reader-static: $(READER)-static ## the same as one file without libraries

# Only what is called is linked.
$(BUILD)/libtapir-reader.a: $(READER_OBJ) $(TABLES).o $(PROTO:=.pb-c.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(READER): $(BUILD)/user/cli/reader_main.o $(BUILD)/libtapir-reader.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $^ $(READER_LIBS) -o $@

$(READER)-static: $(BUILD)/user/cli/reader_main.o $(BUILD)/libtapir-reader.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) -static -s -Wl,--no-warnings $^ $(READER_LIBS) -lbz2 -o $@

.PHONY: reader-sources
reader-sources:
	@echo $(READER_SRC) user/cli/reader_main.c user/cli/reader_parts.c

-include $(BUILD)/user/cli/reader_main.d $(BUILD)/user/cli/reader_parts.d
