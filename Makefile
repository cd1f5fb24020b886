# SPDX-License-Identifier: GPL-2.0-or-later
#
# One Makefile, not recursive. Here: settings, and the goals that a person types every day. Each part of
# scripts/mk says in its head which sources it finds where, and what they become:
#
#   bpf.mk        BPF programs -> one skeleton
#   generated.mk  sources that are generated; tapir-manifest
#   user.mk       tapir, tapir-agent, tapir-static
#   usdt.mk       libtapir and the profiler for .NET: what runs inside a traced process
#   tests.mk      tests, their targets and tools, benchmarks, goals that take long
#   fuzz.mk       libFuzzer
#   packages.mk   man pages, install, lib, deb, nuget
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

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
           -Wformat=2 -Wundef
INC     := -DTAPIR_BUILD='"$(BUILD)"' -Iinclude -Iuser -I. -isystem $(BUILD)/gen -isystem /usr/include/libxml2
TAPIR_CFLAGS := -std=gnu11 -D_GNU_SOURCE -DTAPIR_VERSION='"$(VERSION)"' $(WARN) $(INC) -MD -MP -pthread
LIBS    := -lbpf -lelf -ldw -lzstd -ldeflate -llzma -lz -liberty -lcap -ljansson -lsqlite3 -lprotobuf-c -lm -pthread
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)

include $(patsubst %,scripts/mk/%.mk,bpf generated user reader usdt tests fuzz packages)

# ---- goals ----------------------------------------------------------------------------

.PHONY: all static help bootstrap demo check test test-packages unit unit-one e2e-one format clean check-kernels check-faults check-lib \
        check-arm64 check-musl check-dotnet check-long check-matrix check-serve check-stacks corpus

all: $(TAPIR) $(AGENT) $(USDT_LIB) $(USDT_SO) docs ## build build/tapir, build/tapir-agent, man pages and shell completion

static: $(TAPIR)-static ## build build/tapir-static, one file without libraries

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile scripts/mk/*.mk | expand -t 24

bootstrap: ## install what the build and the tests need (Debian 12, root)
	$(Q)scripts/bootstrap

demo: ## install, build, record a real runtime (RUNTIME=ruby), show the result
	$(Q)scripts/bootstrap build demo
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets
	$(Q)TAPIR="$(TAPIR)" BUILD="$(BUILD)" scripts/demo

# Unless the caller says how many at a time.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# Status 3: packages are missing and this user may not install them. What they are needed for is
# skipped, or says so.
check: ## install, build, run the tests (what CI runs)
	$(Q)scripts/bootstrap build || [ $$? = 3 ]
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-packages
	$(Q)$(MAKE) --no-print-directory $(JOBS) test

test-packages: # their installation takes as long as the build: both at a time
	$(Q)scripts/bootstrap test || [ $$? = 3 ]

test: all unit-bins targets fault-bins ## run the tests of what is built
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run

unit: unit-bins ## unit tests only
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run unit

# One program, or some cases, in seconds after an edit: nothing else is linked.
unit-one: ## build and run one unit test program (T=test_maps)
	$(Q)test -n '$(T)' || { echo 'usage: make unit-one T=test_maps'; exit 2; }
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(BUILD)/$(patsubst %.c,%,$(firstword $(wildcard tests/unit/$(T).c tests/bpf_host/$(T).c) $(T)))
	$(Q)$(BUILD)/$(patsubst %.c,%,$(firstword $(wildcard tests/unit/$(T).c tests/bpf_host/$(T).c)))

e2e-one: $(TAPIR) $(AGENT) $(TARGET_BIN) ## run end-to-end cases whose names match (T='fork.*')
	$(Q)test -n '$(T)' || { echo "usage: make e2e-one T='fork.*'"; exit 2; }
	$(Q)$(PYTHON) tests/e2e/run.py --build $(BUILD) --only '$(T)' -v

format: ## clang-format the C files
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h' | grep -v '^vmlinux/')

clean: ## remove the build directories
	rm -rf build build-*

corpus: all ## replay the recordings of tests/corpus: what a report says of each, beside what its program counted
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/corpus/replay.py

# Slow suites. Those that measure are in scripts/mk/tests.mk.

check-kernels: ## boot Debian's 6.1 and 6.12 and test there (CPUS=8 ONLY=unit)
	$(Q)scripts/bootstrap build kernels
	$(Q)$(MAKE) --no-print-directory all targets $(if $(ONLY),unit-bins)
	$(Q)BUILD=$(BUILD) scripts/vmtest $(if $(CPUS),--cpus $(CPUS)) $(patsubst %,--only '%',$(ONLY))

check-faults: ## each call site of tapir fails once; up to half an hour (FAULTS="--seed N --only NAME")
	$(Q)scripts/bootstrap build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets fault-bins
	$(Q)$(PYTHON) tests/faults/run.py --build $(BUILD) $(FAULTS)

check-lib: ## libtapir with LTTng-UST, and what takes long of it
	$(Q)scripts/bootstrap build test lib
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets $(TOYVM)/libtapir-lttng-Tapir-Toy-VM.so
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run lib

check-arm64: ## libtapir's tests for arm64, under qemu-user
check-musl: ## libtapir's tests with musl
check-arm64 check-musl:
	$(Q)scripts/bootstrap build test elsewhere
	$(Q)BUILD=$(BUILD) tests/elsewhere/run $(@:check-%=%)

check-dotnet: ## slow cases of .NET 8 and 9, single-file and native programs
check-long: ## other slow cases
check-matrix: ## each event once: whoever is traced, however it comes to fire, by each lane
check-serve: ## slow cases of tapir serve
check-stacks: ## whether stacks are whole, for all programs of the table
check-dotnet check-long check-matrix check-serve check-stacks:
	$(Q)scripts/bootstrap build test $(if $(filter check-long,$@),containers)
	$(Q)$(MAKE) --no-print-directory $(JOBS) all targets
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run $(@:check-%=%)
