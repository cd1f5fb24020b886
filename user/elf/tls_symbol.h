/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls_symbol.h - how a file finds a thread-local variable that it exports or imports: by a distance
 * from the thread pointer that is known at link time, or by words of its GOT that the dynamic
 * linker fills (tapir/otel_context.h has the models). x86-64. One image, one thread.
 */
#ifndef TAPIR_USER_TLS_SYMBOL_H
#define TAPIR_USER_TLS_SYMBOL_H

#include <elf.h>
#include <stdint.h>

struct tapir_elf;

enum tapir_tls_model {
	TAPIR_TLS_NONE,	  /* no such variable, or no way to it that a reader could follow */
	TAPIR_TLS_LOCAL,  /* value: the distance */
	TAPIR_TLS_TPOFF,  /* value: address as linked of a word that holds the distance */
	TAPIR_TLS_DESC,	  /* value: of a TLS descriptor, two words */
	TAPIR_TLS_MODULE, /* value: of a pair of module and offset, two words */
};

struct tapir_tls_symbol {
	enum tapir_tls_model model;
	int64_t value;
};

/* Searches .dynsym and relocations; sections that cannot be read count as absent. */
struct tapir_tls_symbol tapir_tls_symbol__find(struct tapir_elf *elf, const char *name);

/*
 * The distance of the program's own variable from the thread pointer. Its TLS block ends there (ELF
 * TLS variant II), aligned so that its end in the file, rounded up, falls on it.
 */
int64_t tapir_tls__distance(const Elf64_Phdr *tls, uint64_t st_value);

#endif
