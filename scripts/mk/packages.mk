# SPDX-License-Identifier: GPL-2.0-or-later
#
# What leaves the tree: pages of the manual, make install, libtapir alone, packages.

PUBLIC_HEADERS := $(wildcard include/tapir/*.h) usdt/ring/ring_writer.h

# A man page of section 3 for each header that programs call.
MAN3_HEADERS := $(wildcard include/tapir/usdt.h include/tapir/provider.h include/tapir/listener.h include/tapir/logger.h include/tapir/counter.h \
                include/tapir/activity.h include/tapir/dynamic.h include/tapir/file_session.h include/tapir/gc_event_sink.h) usdt/ring/ring_writer.h
MAN3       := $(MAN3_HEADERS:%.h=$(BUILD)/man3/%.3)

.PHONY: docs
docs: $(BUILD)/man/tapir.1 $(BUILD)/tapir.bash $(MAN3)

$(BUILD)/man3/%.3: %.h scripts/man3
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/man3 $< tapir_$(basename $(notdir $<)) >$@

$(BUILD)/man/tapir.1: $(TAPIR)
	$(call say,GEN,$(@D))
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && $(TAPIR) help --man-pages $(@D)
	$(Q)echo '.so man1/tapir-serve.1' >$(@D)/tapir-agent.1

$(BUILD)/tapir.bash: $(TAPIR)
	$(call say,GEN,$@)
	$(Q)$(TAPIR) help --completion >$@

.PHONY: install uninstall
install: all ## install below $(DESTDIR)$(PREFIX)
	install -D -m 0755 $(TAPIR) $(DESTDIR)$(PREFIX)/bin/tapir
	install -D -m 0755 $(AGENT) $(DESTDIR)$(PREFIX)/bin/tapir-agent
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
CONFIGURE = scripts/configure '$(PREFIX)' '$(LIBDIR)' '$(VERSION)'

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
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,tapir tapir-agent tapir-manifest) $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tapir
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/tapir.1 $(DESTDIR)$(PREFIX)/share/man/man1/tapir-manifest.1 $(DESTDIR)$(PREFIX)/share/man/man[17]/tapir-*.[17]
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man3/tapir_,$(notdir $(MAN3)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/$(LIBDIR)/,libtapir.so libtapir.so.0 libtapir.so.$(VERSION) pkgconfig/tapir.pc)
	rm -f $(CMAKE_DIR)/tapir-config.cmake $(CMAKE_DIR)/tapir-config-version.cmake
	-rmdir $(CMAKE_DIR)
	rm -f $(DESTDIR)$(PREFIX)/$(LIBDIR)/libtapir.a $(addprefix $(DESTDIR)$(PREFIX)/include/tapir/,$(notdir $(PUBLIC_HEADERS)))
	-rmdir $(DESTDIR)$(PREFIX)/include/tapir

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
