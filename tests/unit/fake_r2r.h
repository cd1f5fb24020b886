/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_r2r.h - an assembly with code compiled into it (ReadyToRun), as small as one can be: the
 * methods My.Space.Outer::Go, 16 bytes at 0x600, and My.Space.Outer+Inner::Loop, 48 bytes at 0x620
 * and a handler of 8 bytes at 0x660; an instance of My.Space.Box`1::Put, 16 bytes at 0x680.
 */
#ifndef TAPIR_TESTS_FAKE_R2R_H
#define TAPIR_TESTS_FAKE_R2R_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAKE_R2R_BYTES	   0x800u
#define FAKE_R2R_FUNCTIONS 0x500u
#define FAKE_R2R_METHODS   0x540u		    /* the array of methods */
#define FAKE_R2R_INSTANCES 0x560u		    /* the table of instances */
#define FAKE_R2R_SIG	   (FAKE_R2R_INSTANCES + 5) /* of the one there is; then 0x0c, its entry */
#define FAKE_R2R_MACHINE   0x44u

/* What lies in the file at off is in memory at that + 0xe00. */
#define FAKE_R2R_VA(off)   ((off) + 0xe00u)

struct fake_r2r {
	uint8_t data[FAKE_R2R_BYTES];
	size_t at;
};

static inline void fake_r2r__put(struct fake_r2r *f, uint64_t value, size_t bytes)
{
	memcpy(f->data + f->at, &value, bytes);
	f->at += bytes;
}

static inline void fake_r2r__put_at(struct fake_r2r *f, size_t at, uint64_t value, size_t bytes)
{
	f->at = at;
	fake_r2r__put(f, value, bytes);
}

static inline void fake_r2r__put_headers(struct fake_r2r *f)
{
	fake_r2r__put_at(f, 0x3c, 0x40, 4);
	fake_r2r__put_at(f, 0x40, 0x4550, 4);
	fake_r2r__put(f, 0xfd1d, 2); /* x86-64, Linux */
	fake_r2r__put(f, 1, 2);
	fake_r2r__put_at(f, 0x54, 240, 2);
	fake_r2r__put_at(f, 0x58, 0x20b, 2);
	fake_r2r__put_at(f, 0x58 + 112 + 8 * 14, FAKE_R2R_VA(0x200), 4);
	fake_r2r__put_at(f, 0x58 + 240 + 8, 0x600, 4); /* the one section */
	fake_r2r__put(f, FAKE_R2R_VA(0x200), 4);
	fake_r2r__put(f, 0x600, 4);
	fake_r2r__put(f, 0x200, 4);
	fake_r2r__put_at(f, 0x200 + 8, FAKE_R2R_VA(0x300), 4); /* CLI header: metadata */
	fake_r2r__put(f, 0x200, 4);
	fake_r2r__put_at(f, 0x200 + 64, FAKE_R2R_VA(0x280), 4); /* and native header */
	fake_r2r__put(f, 40, 4);
	fake_r2r__put_at(f, 0x280, 0x00525452, 4);
	fake_r2r__put(f, 9, 4);
	fake_r2r__put(f, 0, 4);
	fake_r2r__put(f, 3, 4);
	fake_r2r__put(f, 102, 4);
	fake_r2r__put(f, FAKE_R2R_VA(FAKE_R2R_FUNCTIONS), 4);
	fake_r2r__put(f, 48, 4);
	fake_r2r__put(f, 103, 4);
	fake_r2r__put(f, FAKE_R2R_VA(FAKE_R2R_METHODS), 4);
	fake_r2r__put(f, 16, 4);
	fake_r2r__put(f, 109, 4);
	fake_r2r__put(f, FAKE_R2R_VA(FAKE_R2R_INSTANCES), 4);
	fake_r2r__put(f, 32, 4);
}

static inline void fake_r2r__put_type(struct fake_r2r *f, unsigned name, unsigned space,
				      unsigned methods)
{
	fake_r2r__put(f, 0, 4);
	fake_r2r__put(f, name, 2);
	fake_r2r__put(f, space, 2);
	fake_r2r__put(f, 0, 4);
	fake_r2r__put(f, methods, 2);
}

static inline void fake_r2r__put_method(struct fake_r2r *f, unsigned name, unsigned sig)
{
	fake_r2r__put(f, 0, 8);
	fake_r2r__put(f, name, 2);
	fake_r2r__put(f, sig, 2);
	fake_r2r__put(f, 0, 2);
}

static inline void fake_r2r__put_metadata(struct fake_r2r *f)
{
	static const char strings[] = "\0App.dll\0My.Space\0Outer\0Inner\0Go\0Loop\0Box`1\0Put";
	/* instance bool (int32); none; !0 (class Outer/Inner, uint8&) */
	static const uint8_t sigs[] = {0, 4,	0x20, 1,    0x02, 0x08, 8,   0x00,
				       2, 0x13, 0,    0x12, 0x0c, 0x10, 0x05};

	fake_r2r__put_at(f, 0x300, 0x424a5342, 4);
	fake_r2r__put(f, 0, 8);
	fake_r2r__put(f, 4, 4);
	fake_r2r__put(f, 0x3476, 4); /* "v4" */
	fake_r2r__put(f, 0, 2);
	fake_r2r__put(f, 3, 2);
	fake_r2r__put(f, 72, 4);
	fake_r2r__put(f, 0xa0, 4);
	memcpy(f->data + f->at, "#~\0", 4);
	f->at += 4;
	fake_r2r__put(f, 0x100, 4);
	fake_r2r__put(f, sizeof(strings), 4);
	memcpy(f->data + f->at, "#Strings", 9);
	f->at += 12;
	fake_r2r__put(f, 0x140, 4);
	fake_r2r__put(f, sizeof(sigs), 4);
	memcpy(f->data + f->at, "#Blob", 6);
	f->at = 0x300 + 72;
	fake_r2r__put(f, 0, 8);
	fake_r2r__put(f, 1ull << 0x00 | 1ull << 0x02 | 1ull << 0x06 | 1ull << 0x29, 8);
	fake_r2r__put(f, 0, 8);
	fake_r2r__put(f, 1, 4);
	fake_r2r__put(f, 4, 4);
	fake_r2r__put(f, 3, 4);
	fake_r2r__put(f, 1, 4);
	fake_r2r__put(f, 0, 2); /* Module */
	fake_r2r__put(f, 1, 2);
	fake_r2r__put(f, 0, 6);
	fake_r2r__put_type(f, 0, 0, 1); /* <Module> */
	fake_r2r__put_type(f, 18, 9, 1);
	fake_r2r__put_type(f, 24, 0, 2);
	fake_r2r__put_type(f, 38, 9, 3);
	fake_r2r__put_method(f, 30, 1);
	fake_r2r__put_method(f, 33, 0);
	fake_r2r__put_method(f, 44, 6);
	fake_r2r__put(f, 3, 2); /* Inner is nested in Outer */
	fake_r2r__put(f, 2, 2);
	memcpy(f->data + 0x400, strings, sizeof(strings));
	memcpy(f->data + 0x440, sigs, sizeof(sigs));
}

static inline void fake_r2r__put_function(struct fake_r2r *f, unsigned off, unsigned bytes)
{
	fake_r2r__put(f, FAKE_R2R_VA(off), 4);
	fake_r2r__put(f, FAKE_R2R_VA(off + bytes), 4);
	fake_r2r__put(f, 0, 4);
}

static inline void fake_r2r__put_code(struct fake_r2r *f)
{
	/* 2 elements; their block; three nodes with a left half; one with both; their entries */
	static const uint8_t methods[] = {0x10, 0x01, 0x02, 0x02, 0x02, 0x16, 0x00, 0x0a};
	/* one bucket, from where to where; a hash, 2 bytes further: the signature; its entry */
	static const uint8_t instances[] = {0x00, 0x02, 0x04, 0x77, 0x02, 0x40, 0x15,
					    0x12, 0x10, 0x01, 0x08, 0x03, 0x0c};

	f->at = FAKE_R2R_FUNCTIONS;
	fake_r2r__put_function(f, 0x600, 16);
	fake_r2r__put_function(f, 0x620, 48);
	fake_r2r__put_function(f, 0x660, 8);
	fake_r2r__put_function(f, 0x680, 16);
	memcpy(f->data + FAKE_R2R_METHODS, methods, sizeof(methods));
	memcpy(f->data + FAKE_R2R_INSTANCES, instances, sizeof(instances));
}

static inline void fake_r2r__init(struct fake_r2r *f)
{
	memset(f, 0, sizeof(*f));
	fake_r2r__put_headers(f);
	fake_r2r__put_metadata(f);
	fake_r2r__put_code(f);
}

/* Each function has a description for unwinding, at info_off and 64 bytes after it: no prologue. */
static inline void fake_r2r__put_exceptions(struct fake_r2r *f, unsigned info_off)
{
	fake_r2r__put_at(f, 0x58 + 112 + 8 * 3, FAKE_R2R_VA(FAKE_R2R_FUNCTIONS), 4);
	fake_r2r__put(f, 48, 4);
	for (unsigned i = 0; i < 4; i++)
		fake_r2r__put_at(f, FAKE_R2R_FUNCTIONS + 12 * i + 8,
				 FAKE_R2R_VA(info_off + (i ? 64 : 0)), 4);
	fake_r2r__put_at(f, info_off, 0x19, 1);
	fake_r2r__put_at(f, info_off + 64, 0x19, 1);
}

/* A file with the first len bytes of it, yours to close; -1: there is no memory for one. */
static inline int fake_r2r__file(const struct fake_r2r *f, size_t len)
{
	int fd = memfd_create("assembly", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, f->data, len) != (ssize_t)len) {
		close(fd);
		fd = -1;
	}
	return fd;
}

#endif
