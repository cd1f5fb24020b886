// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line is "36 35 98:0 /in/fs /at rw,noatime tag:1 - ext4 /dev/sda1 rw" (proc(5),
 * /proc/PID/mountinfo). Fields before the " - " vary in number; blanks in paths are escaped, so
 * splitting at blanks is safe.
 */
#include "base/foreign/mount_list.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_MOUNTINFO_BYTES (4u << 20)

/* Not in every linux/magic.h. */
#define MAGIC_XFS	    0x58465342u
#define MAGIC_BCACHEFS	    0xca451a4eu
#define MAGIC_EROFS	    0xE0F5E1E2u
#define MAGIC_VFAT	    0x4d44u
#define MAGIC_EXFAT	    0x2011BAB0u
#define MAGIC_ZFS	    0x2fc12fc1u

static const struct {
	const char *type;
	uint64_t magic;
	enum tapir_fs_trait trait;
} types[] = {
	{"ext4", EXT4_SUPER_MAGIC, TAPIR_FS_LOCAL},
	{"ext3", EXT4_SUPER_MAGIC, TAPIR_FS_LOCAL},
	{"ext2", EXT4_SUPER_MAGIC, TAPIR_FS_LOCAL},
	{"xfs", MAGIC_XFS, TAPIR_FS_LOCAL},
	{"btrfs", BTRFS_SUPER_MAGIC, TAPIR_FS_LOCAL},
	{"tmpfs", TMPFS_MAGIC, TAPIR_FS_LOCAL},
	{"devtmpfs", TMPFS_MAGIC, TAPIR_FS_LOCAL},
	{"ramfs", RAMFS_MAGIC, TAPIR_FS_LOCAL},
	{"rootfs", RAMFS_MAGIC, TAPIR_FS_LOCAL},
	{"hugetlbfs", HUGETLBFS_MAGIC, TAPIR_FS_LOCAL},
	{"squashfs", SQUASHFS_MAGIC, TAPIR_FS_LOCAL},
	{"erofs", MAGIC_EROFS, TAPIR_FS_LOCAL},
	{"f2fs", F2FS_SUPER_MAGIC, TAPIR_FS_LOCAL},
	{"bcachefs", MAGIC_BCACHEFS, TAPIR_FS_LOCAL},
	{"zfs", MAGIC_ZFS, TAPIR_FS_LOCAL},
	{"iso9660", ISOFS_SUPER_MAGIC, TAPIR_FS_LOCAL},
	{"vfat", MAGIC_VFAT, TAPIR_FS_LOCAL},
	{"exfat", MAGIC_EXFAT, TAPIR_FS_LOCAL},
	{"proc", PROC_SUPER_MAGIC, TAPIR_FS_REFUSED},
	{"sysfs", SYSFS_MAGIC, TAPIR_FS_REFUSED},
	{"debugfs", DEBUGFS_MAGIC, TAPIR_FS_REFUSED},
	{"tracefs", TRACEFS_MAGIC, TAPIR_FS_REFUSED},
	{"securityfs", SECURITYFS_MAGIC, TAPIR_FS_REFUSED},
	{"selinuxfs", SELINUX_MAGIC, TAPIR_FS_REFUSED},
	{"configfs", 0x62656570u, TAPIR_FS_REFUSED},
	{"cgroup", CGROUP_SUPER_MAGIC, TAPIR_FS_REFUSED},
	{"cgroup2", CGROUP2_SUPER_MAGIC, TAPIR_FS_REFUSED},
	{"bpf", BPF_FS_MAGIC, TAPIR_FS_REFUSED},
	{"pstore", PSTOREFS_MAGIC, TAPIR_FS_REFUSED},
	{"efivarfs", EFIVARFS_MAGIC, TAPIR_FS_REFUSED},
	{"fusectl", 0x65735543u, TAPIR_FS_REFUSED},
	{"binfmt_misc", BINFMTFS_MAGIC, TAPIR_FS_REFUSED},
	{"devpts", DEVPTS_SUPER_MAGIC, TAPIR_FS_REFUSED},
	{"mqueue", 0x19800202u, TAPIR_FS_REFUSED},
	{"resctrl", RDTGROUP_SUPER_MAGIC, TAPIR_FS_REFUSED},
};

enum tapir_fs_trait tapir_mount__trait(const struct tapir_mount *mount)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].type, mount->type))
			return types[i].trait;
	return TAPIR_FS_FOREIGN;
}

enum tapir_fs_trait tapir_mount__trait_of_magic(uint64_t magic)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].magic == magic)
			return types[i].trait;
	return TAPIR_FS_FOREIGN;
}

/* "\040" -> ' ' and so on, as the kernel escapes blanks and backslashes. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

const char *tapir_mount__next(const char *line)
{
	const char *newline = strchr(line, '\n');

	return newline && newline[1] ? newline + 1 : NULL;
}

bool tapir_mount__parse(const char *line, struct tapir_mount *out)
{
	const char *end = line + strcspn(line, "\n"), *type = strstr(line, " - ");
	struct tapir_mount mount = {};

	if (!type || type >= end || sscanf(type + 3, "%31[^ \n]", mount.type) != 1 ||
	    sscanf(line, "%*u %*u %23[^ \n] %255[^ \n]", mount.dev, mount.root) != 2 ||
	    sscanf(line, "%*u %*u %*s %*s %255[^ \n]", mount.point) != 1)
		return false;
	unescape(mount.root);
	unescape(mount.point);
	*out = mount;
	return true;
}

/* " - TYPE SOURCE OPTIONS" */
const char *tapir_mount__options(const char *line)
{
	const char *at = strstr(line, " - ") + 3;

	for (int i = 0; i < 2; i++) {
		at += strcspn(at, " \n");
		at += *at == ' ';
	}
	return at;
}

bool tapir_mount__find_in(const char *text, uint64_t id, struct tapir_mount *out)
{
	for (const char *line = *text ? text : NULL; line; line = tapir_mount__next(line))
		if (strtoull(line, NULL, 10) == id)
			return tapir_mount__parse(line, out);
	return false;
}

static bool find_in_list(const char *path, uint64_t id, struct tapir_mount *out)
{
	tapir_autofree char *text = NULL;

	return !tapir_file__read(path, MAX_MOUNTINFO_BYTES, &text, NULL) &&
	       tapir_mount__find_in(text, id, out);
}

bool tapir_mount__find(uint32_t tgid, uint64_t id, struct tapir_mount *out)
{
	char path[48];

	if (find_in_list("/proc/self/mountinfo", id, out))
		return true;
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", tgid);
	return tgid && find_in_list(path, id, out);
}

static bool is_below(const char *path, const char *point, size_t len)
{
	return len == 1 || (!strncmp(path, point, len) && (path[len] == '/' || !path[len]));
}

/* If two mounts have the same mount point, the later one is on top. */
bool tapir_mount__of_path(uint32_t tgid, const char *path, struct tapir_mount *out)
{
	tapir_autofree char *text = NULL;
	struct tapir_mount mount;
	char list[48] = "/proc/self/mountinfo";
	size_t best_len = 0, len;

	if (tgid)
		snprintf(list, sizeof(list), "/proc/%u/mountinfo", tgid);
	if (tapir_file__read(list, MAX_MOUNTINFO_BYTES, &text, NULL))
		return false;
	for (const char *line = *text ? text : NULL; line; line = tapir_mount__next(line)) {
		if (!tapir_mount__parse(line, &mount))
			continue;
		len = strlen(mount.point);
		if (len < best_len || !is_below(path, mount.point, len))
			continue;
		best_len = len;
		*out = mount;
	}
	return best_len > 0;
}
