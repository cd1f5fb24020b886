# SPDX-License-Identifier: GPL-2.0-or-later
#
# BPF programs: compiled, linked into one object, stripped, made a skeleton.
#
#   bpf/*.bpf.c             -> build/gen/tapir.skel.h

# libbpf loads programs in this order: those that threads verify (user/attach/deferred_program.h) come
# first, and the one that the loader itself takes longest for comes last, so that all are verified at
# the same time.
BPF_FIRST  := bpf/usdt.bpf.c bpf/sample.bpf.c
BPF_LAST   := bpf/sched.bpf.c
BPF_SRC    := $(BPF_FIRST) $(filter-out $(BPF_FIRST) $(BPF_LAST),$(wildcard bpf/*.bpf.c)) $(BPF_LAST)
BPF_OBJ    := $(BPF_SRC:%.bpf.c=$(BUILD)/%.bpf.o)
# What reads recordings alone is built without it, and so without clang and bpftool.
SKEL       := $(if $(BPF_SRC),$(if $(filter reader%,$(MAKECMDGOALS)),,$(BUILD)/gen/tapir.skel.h))

BPF_ARCH := $(if $(filter x86_64,$(ARCH)),x86,$(if $(filter aarch64,$(ARCH)),arm64,$(ARCH)))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_CFLAGS := -std=gnu11 -g '-ffile-prefix-map=$(CURDIR)=.' -O2 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
              -Wno-unused-parameter -Wno-sign-compare -Wno-missing-declarations -Iinclude -I. \
              -isystem vmlinux/$(ARCH) -I/usr/include/$(MULTIARCH) -MD -MP

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c Makefile scripts/mk/bpf.mk
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

-include $(BPF_OBJ:.o=.d)
