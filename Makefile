# SPDX-License-Identifier: GPL-2.0-or-later
#
# One Makefile, not recursive (what builds the programs of make check-faults is in tests/faults/faults.mk).
# Sources are found by place:
#
#   bpf/*.bpf.c            -> one linked, stripped object -> build/gen/tapir.skel.h
#   user/**/*.c            -> build/libtapir-user.a (user/cli/ with it, but for main.c)
#   user/cli/main.c        -> build/tapir, build/tapir-static
#   usdt/*/*.c             -> build/libtapir.a, .so (what runs inside a traced process)
#   user/cli/manifest/*.c      -> build/tapir-manifest (a tool of the build)
#   usdt/manifests/*.man   -> build/gen/dotnet_layouts.c, by that tool (but Shop.man, an example)
#   usdt/coreclr/*.c       -> build/libtapir-coreclr.so, with usdt/ring; data of build/tapir
#   tests/unit/test_*.c    -> build/tests/unit/test_*      (cmocka, linked with the archive)
#   tests/bpf_host/test_*.c-> build/tests/bpf_host/test_*  (BPF logic compiled for the host)
#   tests/e2e/targets/*.c  -> build/tests/targets/*        (programs that are traced)
#   tests/e2e/tools/*.c    -> build/tests/tools/*          (drivers, linked with the archive)
#   tests/e2e/fuse/deadfs.c-> build/tests/tools/deadfs     (a file system that stops answering; where fuse3 is found)
#   tests/fuzz/fuzz_*.c    -> build/fuzz/fuzz_*            (libFuzzer, clang)
#   tests/bench/*.c        -> build/tests/bench/*
#
# `make help` lists the goals. V=1 shows the commands, SAN=address,undefined builds with
# sanitizers in a directory of its own.

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' $(1) '$(2)')

SAN     ?=
BUILD   ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
comma   := ,
PREFIX  ?= /usr/local
LIBDIR  ?= lib
DESTDIR ?=

CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
PYTHON  ?= $(firstword $(wildcard /usr/bin/python3) python3)

VERSION := 0.1.0
ARCH    := $(shell uname -m)
BPF_ARCH := $(if $(filter x86_64,$(ARCH)),x86,$(if $(filter aarch64,$(ARCH)),arm64,$(ARCH)))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
           -Wformat=2 -Wundef
INC     := -DTAPIR_BUILD='"$(BUILD)"' -Iinclude -Iuser -I. -isystem $(BUILD)/gen -isystem /usr/include/libxml2
TAPIR_CFLAGS := -std=gnu11 -D_GNU_SOURCE -DTAPIR_VERSION='"$(VERSION)"' $(WARN) $(INC) -MD -MP -pthread
LIBS    := -lbpf -lelf -ldw -lzstd -ldeflate -llzma -lz -liberty -lcap -ljansson -lseccomp -lprotobuf-c -lm -pthread
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)

BPF_CFLAGS := -std=gnu11 -g '-ffile-prefix-map=$(CURDIR)=.' -O2 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
              -Wno-unused-parameter -Wno-sign-compare -Wno-missing-declarations -Iinclude -I. \
              -isystem vmlinux/$(ARCH) -I/usr/include/$(MULTIARCH) -MD -MP

# ---- sources --------------------------------------------------------------------------

# libbpf loads programs in this order: those that threads verify (user/attach/deferred_program.h) come
# first, and the one that the loader itself takes longest for comes last, so that all are verified at
# the same time.
BPF_FIRST  := bpf/usdt.bpf.c bpf/sample.bpf.c
BPF_LAST   := bpf/sched.bpf.c
BPF_SRC    := $(BPF_FIRST) $(filter-out $(BPF_FIRST) $(BPF_LAST),$(wildcard bpf/*.bpf.c)) $(BPF_LAST)
BPF_OBJ    := $(BPF_SRC:%.bpf.c=$(BUILD)/%.bpf.o)
SKEL       := $(if $(BPF_SRC),$(BUILD)/gen/tapir.skel.h)
USER_SRC   := $(filter-out user/cli/main.c user/cli/manifest/%,$(sort $(shell find user -name '*.c')))
USER_OBJ   := $(USER_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
HOST_BIN   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bpf_host/test_*.c))
TARGET_BIN := $(patsubst tests/e2e/targets/%.c,$(BUILD)/tests/targets/%,$(wildcard tests/e2e/targets/*.c))
BENCH_BIN  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
FUZZ_BIN   := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
LIB        := $(BUILD)/libtapir-user.a
TAPIR      := $(BUILD)/tapir
USDT_SRC   := $(filter-out usdt/coreclr/%,$(wildcard usdt/*/*.c))
CORECLR_SRC := $(wildcard usdt/ring/*.c usdt/image/*.c usdt/text/*.c usdt/coreclr/*.c)
CORECLR_OBJ := $(CORECLR_SRC:usdt/%.c=$(BUILD)/coreclr/%.o)
CORECLR_SO := $(BUILD)/libtapir-coreclr.so
TOOL_BIN   := $(patsubst tests/e2e/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/e2e/tools/*.c))
USDT_OBJ   := $(USDT_SRC:%.c=$(BUILD)/%.o)
FUSE_BIN   := $(if $(shell $(PKG_CONFIG) --exists fuse3 2>/dev/null && echo yes),$(BUILD)/tests/tools/deadfs)
USDT_LIB   := $(BUILD)/libtapir.a
USDT_SO    := $(BUILD)/libtapir.so.0
# A man page of section 3 for each header that programs call.
MAN3_HEADERS := $(wildcard include/tapir/usdt.h include/tapir/provider.h include/tapir/listener.h include/tapir/logger.h include/tapir/counter.h \
                include/tapir/activity.h include/tapir/dynamic.h include/tapir/file_session.h include/tapir/gc_event_sink.h) usdt/ring/ring_writer.h
MAN3       := $(MAN3_HEADERS:%.h=$(BUILD)/man3/%.3)
PUBLIC_HEADERS := $(wildcard include/tapir/*.h) usdt/ring/ring_writer.h
# The manifest compiler: itself, the reader it shares with tapir, and what that needs.
MANIFEST   := $(BUILD)/tapir-manifest
MANIFEST_SRC := $(wildcard user/cli/manifest/*.c)
MANIFEST_OBJ := $(MANIFEST_SRC:%.c=$(BUILD)/%.o) $(patsubst %.c,$(BUILD)/%.o,$(wildcard user/decode/manifest*.c) \
                user/decode/layout.c $(wildcard user/base/*.c))
TABLES     := $(BUILD)/gen/dotnet_layouts
# Messages that are written, by protobuf-c.
PROTO      := $(patsubst user/output/render/%.proto,$(BUILD)/gen/%,$(wildcard user/output/render/*.proto))
PROTO_HEADERS := $(PROTO:=.pb-c.h)
GEN        := $(SKEL) $(BUILD)/gen/flamegraph.gen.h $(PROTO_HEADERS) $(BUILD)/gen/topics.gen.h \
              $(BUILD)/gen/assets.gen.h

# ---- goals ----------------------------------------------------------------------------

.PHONY: all demo check soak test unit e2e targets bench bench-dotnet bench-hold bench-large bench-stacks fuzz check-kernels install \
        uninstall format clean help bootstrap docs

all: $(TAPIR) $(USDT_LIB) $(USDT_SO) docs ## build build/tapir, its man pages and shell completion

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

bootstrap: ## install what the build and the tests need (Debian 12, root)
	$(Q)scripts/bootstrap

demo: ## install, build, record a real runtime, show the result
	$(Q)scripts/bootstrap build demo
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets
	$(Q)TAPIR=$(abspath $(TAPIR)) BUILD=$(abspath $(BUILD)) scripts/demo

# Unless the caller says how many at a time.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# Status 3: packages are missing and this user may not install them. What they are needed for is
# skipped, or says so.
check: ## install, build, run the tests (what CI runs)
	$(Q)scripts/bootstrap build || [ $$? = 3 ]
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-packages
	$(Q)$(MAKE) --no-print-directory $(JOBS) test

.PHONY: test-packages
test-packages: # their installation takes as long as the build: both at a time
	$(Q)scripts/bootstrap test || [ $$? = 3 ]

test: all unit-bins targets fault-bins ## run the tests of what is built
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run

.PHONY: unit-bins
unit-bins: $(UNIT_BIN) $(HOST_BIN)

unit: unit-bins ## unit tests only
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run unit

# One program, or some cases, in seconds after an edit: nothing else is linked.
.PHONY: unit-one e2e-one
unit-one: ## build and run one unit test program (T=test_maps)
	$(Q)test -n '$(T)' || { echo 'usage: make unit-one T=test_maps'; exit 2; }
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(BUILD)/$(patsubst %.c,%,$(firstword $(wildcard tests/unit/$(T).c tests/bpf_host/$(T).c) $(T)))
	$(Q)$(BUILD)/$(patsubst %.c,%,$(firstword $(wildcard tests/unit/$(T).c tests/bpf_host/$(T).c)))

e2e-one: $(TAPIR) $(TARGET_BIN) ## run end-to-end cases whose names match (T='fork.*')
	$(Q)test -n '$(T)' || { echo "usage: make e2e-one T='fork.*'"; exit 2; }
	$(Q)$(PYTHON) tests/e2e/run.py --build $(BUILD) --only '$(T)' -v

targets: $(if $(SAN),,$(TAPIR)-static) $(TARGET_BIN) $(if $(SAN),,$(BUILD)/tests/toyvm/toyvm) $(TOOL_BIN) $(FUSE_BIN) $(BUILD)/tests/bench/make_trace $(BUILD)/tests/bench/make_dotnet_trace

bench: ## tapir beside its peers; a few minutes
	$(Q)scripts/bootstrap build bench
	$(Q)$(MAKE) --no-print-directory all targets bench-bins
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/run.py

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

fuzz: ## each parser under libFuzzer, FUZZ_SECONDS (20) each
	$(Q)scripts/bootstrap build test fuzz
	$(Q)$(MAKE) --no-print-directory fuzz-bins
	$(Q)BUILD=$(BUILD) tests/fuzz/run $(or $(FUZZ_SECONDS),20)

.PHONY: fuzz-bins
fuzz-bins: $(FUZZ_BIN)

.PHONY: bench-bins
bench-bins: $(BENCH_BIN)

check-kernels: ## boot Debian's 6.1 and 6.12 and test there
	$(Q)scripts/bootstrap build kernels
	$(Q)$(MAKE) --no-print-directory all targets
	$(Q)BUILD=$(BUILD) scripts/vmtest

.PHONY: check-faults
check-faults: ## each call site of tapir fails once; up to half an hour (FAULTS="--seed N --only NAME")
	$(Q)scripts/bootstrap build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets fault-bins
	$(Q)$(PYTHON) tests/faults/run.py --build $(BUILD) $(FAULTS)

.PHONY: check-lib
check-lib: ## libtapir with LTTng-UST, and what takes long of it
	$(Q)scripts/bootstrap build test lib
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets $(TOYVM)/libtapir-lttng-Tapir-Toy-VM.so
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run lib

.PHONY: check-arm64 check-musl
check-arm64: ## libtapir's tests for arm64, under qemu-user
check-musl: ## libtapir's tests with musl
check-arm64 check-musl:
	$(Q)scripts/bootstrap build test elsewhere
	$(Q)BUILD=$(BUILD) tests/elsewhere/run $(@:check-%=%)

.PHONY: check-dotnet check-long check-matrix check-serve check-stacks
check-dotnet: ## slow cases of .NET 8 and 9, single-file and native programs
check-long: ## other slow cases
check-matrix: ## each event once: whoever is traced, however it comes to fire, by each lane
check-serve: ## slow cases of tapir serve
check-stacks: ## whether stacks are whole, for all programs of the table
check-dotnet check-long check-matrix check-serve check-stacks:
	$(Q)scripts/bootstrap build test $(if $(filter check-long,$@),containers)
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run $(@:check-%=%)

format: ## clang-format the C files
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h' | grep -v '^vmlinux/')

.PHONY: nuget
nuget: $(TAPIR)-static ## packages for .NET, in build/nuget (wants the .NET SDK)
	$(Q)BUILD=$(BUILD) scripts/nuget

.PHONY: deb check-deb
deb: ## Debian packages, below build/deb
	$(Q)scripts/bootstrap build packages
	$(Q)BUILD=$(BUILD) scripts/deb

check-deb: ## build them twice, judge them, install and remove them in a clean Debian 12
	$(Q)scripts/bootstrap build packages
	$(Q)BUILD=$(BUILD) scripts/deb check

docs: $(BUILD)/man/tapir.1 $(BUILD)/tapir.bash $(MAN3)

$(BUILD)/man3/%.3: %.h scripts/man3
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/man3 $< tapir_$(basename $(notdir $<)) >$@

install: all ## install below $(DESTDIR)$(PREFIX)
	install -D -m 0755 $(TAPIR) $(DESTDIR)$(PREFIX)/bin/tapir
	install -D -m 0755 $(MANIFEST) $(DESTDIR)$(PREFIX)/bin/tapir-manifest
	for page in $(BUILD)/man/*.[17] user/cli/manifest/tapir-manifest.1; do \
	    install -D -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$(basename $$page); done
	install -D -m 0644 $(BUILD)/tapir.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tapir
	for page in $(MAN3); do install -D -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man3/tapir_$$(basename $$page); done
	$(Q)$(MAKE) --no-print-directory install-lib

# Wants a C compiler and binutils alone; for another machine: make lib CC=aarch64-linux-gnu-gcc BUILD=build-arm64.
.PHONY: lib install-lib
lib: $(USDT_LIB) $(USDT_SO) ## build libtapir alone, without the BPF toolchain

CMAKE_DIR = $(DESTDIR)$(PREFIX)/$(LIBDIR)/cmake/tapir
CONFIGURE = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' -e "s|@UP@|$$(echo $(LIBDIR) | sed 's|[^/][^/]*|..|g')|"

install-lib: lib ## install libtapir, its headers, tapir.pc and tapir-config.cmake alone
	install -D -m 0644 $(USDT_LIB) $(DESTDIR)$(PREFIX)/$(LIBDIR)/libtapir.a
	install -m 0755 $(USDT_SO) $(DESTDIR)$(PREFIX)/$(LIBDIR)/libtapir.so.$(VERSION)
	ln -sf libtapir.so.$(VERSION) $(DESTDIR)$(PREFIX)/$(LIBDIR)/libtapir.so.0
	ln -sf libtapir.so.0 $(DESTDIR)$(PREFIX)/$(LIBDIR)/libtapir.so
	install -d $(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig $(CMAKE_DIR)
	$(CONFIGURE) usdt/tapir.pc.in >$(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig/tapir.pc
	$(CONFIGURE) usdt/tapir-config.cmake.in >$(CMAKE_DIR)/tapir-config.cmake
	$(CONFIGURE) usdt/tapir-config-version.cmake.in >$(CMAKE_DIR)/tapir-config-version.cmake
	install -d $(DESTDIR)$(PREFIX)/include/tapir
	install -m 0644 $(PUBLIC_HEADERS) $(DESTDIR)$(PREFIX)/include/tapir/

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/tapir $(DESTDIR)$(PREFIX)/bin/tapir-manifest $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tapir
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/tapir.1 $(DESTDIR)$(PREFIX)/share/man/man1/tapir-manifest.1 $(DESTDIR)$(PREFIX)/share/man/man[17]/tapir-*.[17]
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man3/tapir_,$(notdir $(MAN3)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/$(LIBDIR)/,libtapir.so libtapir.so.0 libtapir.so.$(VERSION) pkgconfig/tapir.pc)
	rm -f $(CMAKE_DIR)/tapir-config.cmake $(CMAKE_DIR)/tapir-config-version.cmake
	-rmdir $(CMAKE_DIR)
	rm -f $(DESTDIR)$(PREFIX)/$(LIBDIR)/libtapir.a $(addprefix $(DESTDIR)$(PREFIX)/include/tapir/,$(notdir $(PUBLIC_HEADERS)))
	-rmdir $(DESTDIR)$(PREFIX)/include/tapir

clean: ## remove the build directories
	rm -rf build build-*

# ---- BPF: compile, link into one, strip, skeleton --------------------------------------

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c Makefile
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(BUILD)/bpf/tapir.linked.o: $(BPF_OBJ)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $(BPF_OBJ)

$(BUILD)/gen/tapir.skel.h: $(BUILD)/bpf/tapir.linked.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name tapir_bpf >$@

# What a flame graph carries, as C strings, and their hashes as a Content-Security-Policy has them:
# of the element's text, which begins with a line break; base64 of SHA-256.
$(BUILD)/gen/flamegraph.gen.h: user/output/render/flamegraph.js user/output/render/flamegraph.css scripts/csp-hash Makefile
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)for kind in js css; do printf 'static const char flamegraph_%s[] =\n' $$kind; \
	    sed -e '/^\/\/ /d' -e '/SPDX/d' -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' user/output/render/flamegraph.$$kind; \
	    echo ';'; printf '#define FLAMEGRAPH_%s_HASH "' $$(echo $$kind | tr jsc JSC); \
	    { echo; sed -e '/^\/\/ /d' -e '/SPDX/d' user/output/render/flamegraph.$$kind; } | scripts/csp-hash; \
	    echo '"'; done >$@

# Style sheets and scripts of the agent's pages, as C strings: tapir.css is asset_tapir_css.
ASSETS := $(sort $(wildcard user/agent/assets/*.css user/agent/assets/*.js user/agent/assets/*.svg))
$(BUILD)/gen/assets.gen.h: $(ASSETS) Makefile
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)for file in $(ASSETS); do printf 'static const char asset_%s[] =\n' "$$(basename $$file | tr . _)"; \
	    sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' $$file; echo ';'; done >$@

$(PROTO_HEADERS): $(BUILD)/gen/%.pb-c.h: user/output/render/%.proto Makefile
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=user/output/render --c_out=$(BUILD)/gen $*.proto

$(PROTO:=.pb-c.o): %.pb-c.o: %.pb-c.h
	$(call say,CC,$(@:.o=.c))
	$(Q)$(CC) -std=gnu11 -I$(BUILD)/gen $(CFLAGS) $(SAN_FLAGS) -c $(@:.o=.c) -o $@

# The texts of `tapir help`, as C strings: topics/NAME.txt is topic_NAME.
TOPICS := $(sort $(wildcard user/cli/topics/*.txt))
$(BUILD)/gen/topics.gen.h: $(TOPICS) Makefile
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)for file in $(TOPICS); do printf 'static const char topic_%s[] =\n' "$$(basename $$file .txt)"; \
	    sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' $$file; echo ';'; done >$@

# ---- manifests: the compiler, and the tables it makes -------------------------------------

$(MANIFEST): $(MANIFEST_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $^ -lm -pthread -o $@

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

$(TABLES).o: $(TABLES).c user/decode/layout.h user/decode/dotnet_tables_impl.h Makefile
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -Iuser $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

# ---- user space ------------------------------------------------------------------------

$(BUILD)/user/%.o: user/%.c Makefile | $(GEN)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) -include base/shortage.h $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

$(LIB): $(USER_OBJ) $(TABLES).o $(PROTO:=.pb-c.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(TAPIR): $(BUILD)/user/cli/main.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $< $(LIB) $(LIBS) -o $@

# One file without an interpreter and without libraries: for containers, and systems with another C
# library. The linker's warnings are of dlopen and getpwuid, which it does not call (base/library.h).
STATIC_LIBS := -lbpf -ldw -lelf -lzstd -ldeflate -llzma -lbz2 -lz -liberty -lcap -ljansson -lseccomp -lprotobuf-c -lm -pthread

$(TAPIR)-static: $(BUILD)/static/main.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) -static -Wl,--no-warnings $< $(LIB) $(STATIC_LIBS) -o $@

$(BUILD)/static/main.o: user/cli/main.c Makefile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(TAPIR_CFLAGS) -DTAPIR_STATIC -c $< -o $@

.PHONY: static
static: $(TAPIR)-static ## build build/tapir-static, one file without libraries

$(BUILD)/man/tapir.1: $(TAPIR)
	$(call say,GEN,$(@D))
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && $(TAPIR) help --man-pages $(@D)

$(BUILD)/tapir.bash: $(TAPIR)
	$(call say,GEN,$@)
	$(Q)$(TAPIR) help --completion >$@

# ---- inside the traced process -----------------------------------------------------------
#
# It may be loaded late (a TLS model that never runs out of room), walks frames and runs in signal
# handlers; general registers only, so that a lazily bound TLS descriptor finds nothing to spoil.

USDT_CFLAGS := -fPIC -fvisibility=hidden -fno-omit-frame-pointer -fno-stack-protector \
               $(if $(SAN),,-mgeneral-regs-only) \
               $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-mtls-dialect=gnu2)

# Counters are floating-point numbers.
$(BUILD)/usdt/counter/%.o $(BUILD)/faults/usdt/counter/%.o: USDT_CFLAGS := $(filter-out -mgeneral-regs-only,$(USDT_CFLAGS)) -fno-math-errno

$(BUILD)/usdt/%.o: usdt/%.c Makefile
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

$(BUILD)/coreclr/%.o: usdt/%.c Makefile
	$(call say,CC,$< (coreclr))
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -Iinclude -MD -MP -pthread $(CORECLR_CFLAGS) -c $< -o $@

$(CORECLR_SO): $(CORECLR_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,libtapir-coreclr.so -Wl,-z,now -Wl,-z,noexecstack \
	    -Wl,--hash-style=both -Wl,-Bsymbolic -Wl,--build-id -Wl,--strip-debug $(CORECLR_OBJ) -o $@

$(BUILD)/user/runtime/dotnet/dotnet_profiler.o: $(CORECLR_SO)

# ---- tests -----------------------------------------------------------------------------

# Compiled apart from linking, so that a change below user/ links the tests again and compiles none.
$(BUILD)/tests/unit/%.o: tests/unit/%.c Makefile | $(GEN)
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

$(UNIT_BIN): %: %.o $(LIB) $(USDT_LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS) $(filter %.o,$^) $(LIB) $(USDT_LIB) $(LIBS) -lcmocka -o $@

# Tests of the profiler's parts that need no process around them.
PUBLISH_OBJ := $(patsubst %,$(BUILD)/tests/coreclr/coreclr_%.o,blob text layout payload json)
$(BUILD)/tests/unit/test_publish: $(PUBLISH_OBJ)
$(BUILD)/tests/unit/test_publish_probes: $(PUBLISH_OBJ) $(BUILD)/tests/coreclr/coreclr_publish.o

$(BUILD)/tests/coreclr/%.o: usdt/coreclr/%.c Makefile
	$(call say,CC,$< (test))
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -c $< -o $@

$(BUILD)/tests/unit/test_lib_faults: $(BUILD)/tests/targets/libplug

$(BUILD)/tests/unit/test_ring_unload $(BUILD)/tests/ring/test_ring_unload: \
	$(BUILD)/tests/targets/ringplug

$(BUILD)/tests/ring/%: tests/unit/%.c $(USDT_LIB) Makefile
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< $(USDT_LIB) -lcmocka -o $@

$(BUILD)/tests/bpf_host/%: tests/bpf_host/%.c Makefile
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< -lcmocka -o $@

include tests/faults/faults.mk

# Targets are built as a distribution builds programs, but with frame pointers; a file may
# name its own flags in a line "// build: FLAGS".
$(BUILD)/tests/targets/%: tests/e2e/targets/%.c $(USDT_LIB) Makefile
	$(call say,TARGET,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer \
	    -mno-omit-leaf-frame-pointer -Iinclude -MD -MP -MF $@.d -pthread $< $(USDT_LIB) -o $@ \
	    $$(sed -n 's|^// build: ||p' $<)

# A virtual machine in small, with what tapir-manifest makes of its events, and those for LTTng.
TOYVM := $(BUILD)/tests/toyvm
$(TOYVM)/ToyVM.c: tests/toyvm/ToyVM.man $(MANIFEST)
	$(call say,GEN,$@)
	$(Q)$(MANIFEST) $< --lttng -o $(@D)

$(TOYVM)/toyvm: tests/toyvm/toyvm.c $(TOYVM)/ToyVM.c $(USDT_LIB) $(BUILD)/tests/targets/gccollector
	$(call say,TARGET,$<)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer -Iinclude -I. -I$(TOYVM) -pthread \
	    $< $(TOYVM)/ToyVM.c $(USDT_LIB) -ldl -o $@

$(TOYVM)/libtapir-lttng-Tapir-Toy-VM.so: $(TOYVM)/ToyVM.c include/tapir/payload_parts.h
	$(call say,TARGET,$@)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -O2 -shared -fPIC -Iinclude -I$(TOYVM) $(TOYVM)/ToyVM_lttng.c -llttng-ust -o $@

$(BUILD)/tests/tools/deadfs: tests/e2e/fuse/deadfs.c Makefile
	$(call say,TOOL,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(shell $(PKG_CONFIG) --cflags fuse3) $< \
	    $(shell $(PKG_CONFIG) --libs fuse3) -o $@

$(BUILD)/tests/tools/%: tests/e2e/tools/%.c $(LIB) Makefile
	$(call say,TOOL,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< $(LIB) $(LIBS) -o $@

$(BUILD)/tests/bench/%: tests/bench/%.c $(LIB) $(USDT_LIB) Makefile
	$(call say,BENCH,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TAPIR_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -MF $@.d $< $(LIB) $(USDT_LIB) $(LIBS) $$(sed -n 's|^// build: ||p' $<) -o $@

# Fuzz targets are linked with what they call of user/, compiled with coverage; sources of usdt/ they
# name: "// fuzz: usdt/coreclr/coreclr_json.c". The library for .NET, which is data here, comes from LIB.
FUZZ_FLAGS := -std=gnu11 -D_GNU_SOURCE -DTAPIR_VERSION='"$(VERSION)"' -g -O1 -fsanitize=address,undefined \
              -fno-sanitize-recover=undefined $(INC) -MD -MP -pthread
FUZZ_OBJ   := $(patsubst %.c,$(BUILD)/fuzz/%.o,$(filter-out %/dotnet_profiler.c,$(USER_SRC)))
FUZZ_LIB   := $(BUILD)/fuzz/libtapir-user.a

$(BUILD)/fuzz/user/%.o: user/%.c Makefile | $(GEN)
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -include base/shortage.h -c $< -o $@

$(FUZZ_LIB): $(FUZZ_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_LIB) $(LIB) Makefile
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -MF $@.d -fsanitize=fuzzer $< $$(sed -n 's|^// fuzz: ||p' $<) $(FUZZ_LIB) $(LIB) $(LIBS) -o $@

-include $(FUZZ_OBJ:.o=.d) $(FUZZ_BIN:=.d)
-include $(USER_OBJ:.o=.d) $(USDT_OBJ:.o=.d) $(MANIFEST_OBJ:.o=.d) $(BUILD)/user/cli/main.d $(BPF_OBJ:.o=.d)
-include $(CORECLR_OBJ:.o=.d) $(RING_TESTS:=.d) $(LIB_TESTS:=.d)
-include $(UNIT_BIN:=.d) $(wildcard $(BUILD)/tests/coreclr/*.d) $(TOOL_BIN:=.d) $(HOST_BIN:=.d) $(TARGET_BIN:=.d) $(BENCH_BIN:=.d)
