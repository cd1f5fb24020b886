// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A container is known by the 64 digits in its cgroup's path; everything else is a name for it,
 * from files that the runtimes keep as root. An agent in a container reads the node's files below
 * the root of process 1, where it sees the node's processes.
 */
#include "agent/containers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>

#include "attach/cgroup.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "base/foreign/foreign_file.h"

#define MAX_STATE_BYTES (1u << 20)
#define MAX_PROCESSES	262144u
#define MIN_DIGITS	12

static void fini(struct tapir_container *c)
{
	tapir_vec__fini(&c->tgids);
	free(c->cgroup);
	free(c->pod_cgroup);
}

void tapir_containers__fini(struct tapir_containers *c)
{
	struct tapir_container *container;

	tapir_vec_for_each (container, &c->all)
		fini(container);
	tapir_vec__fini(&c->all);
}

/* ---- state of runtimes ---------------------------------------------------------------------- */

static void copy_member(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text && !*out)
		snprintf(out, size, "%s", *text == '/' ? text + 1 : text);
}

/* Annotations of an OCI runtime, or Docker's labels. */
static void take_labels(const json_t *labels, struct tapir_container *c)
{
	static const char *const names[] = {"io.kubernetes.cri.container-name",
					    "io.kubernetes.container.name", "nerdctl/name"};
	static const char *const pods[] = {"io.kubernetes.cri.sandbox-name",
					   "io.kubernetes.pod.name"};
	static const char *const spaces[] = {"io.kubernetes.cri.sandbox-namespace",
					     "io.kubernetes.pod.namespace"};
	static const char *const uids[] = {"io.kubernetes.cri.sandbox-uid",
					   "io.kubernetes.pod.uid"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		copy_member(labels, names[i], c->name, sizeof(c->name));
	for (size_t i = 0; i < 2; i++) {
		copy_member(labels, pods[i], c->pod, sizeof(c->pod));
		copy_member(labels, spaces[i], c->space, sizeof(c->space));
		copy_member(labels, uids[i], c->pod_uid, sizeof(c->pod_uid));
	}
}

void tapir_container__take_state(const char *text, size_t len, struct tapir_container *c)
{
	json_t *root = json_loadb(text, len, 0, NULL);

	take_labels(json_object_get(root, "annotations"), c);
	take_labels(json_object_get(json_object_get(root, "Config"), "Labels"), c);
	copy_member(root, "Name", c->name, sizeof(c->name));
	json_decref(root);
}

void tapir_container__take_list(const char *text, size_t len, struct tapir_container *c)
{
	json_t *root = json_loadb(text, len, 0, NULL);

	for (size_t i = 0; i < json_array_size(root); i++) {
		const json_t *one = json_array_get(root, i);
		const char *id = json_string_value(json_object_get(one, "id"));
		const char *name =
			json_string_value(json_array_get(json_object_get(one, "names"), 0));

		if (id && name && !strcmp(id, c->id) && !*c->name)
			snprintf(c->name, sizeof(c->name), "%s", name);
	}
	json_decref(root);
}

/*
 * The root directory of process 1, where it is another one than ours: an agent in a container that
 * sees the node's processes (hostPID) finds the node's files there. O_PATH; -ENOENT: there is none.
 */
static int open_node_root(void)
{
	tapir_autofd int own_fd = tapir_foreign__root(0);
	int node_fd = tapir_foreign__root(1);
	struct stat own, node;

	if (own_fd >= 0 && node_fd >= 0 && !tapir_foreign__stat(own_fd, &own) &&
	    !tapir_foreign__stat(node_fd, &node) &&
	    (own.st_dev != node.st_dev || own.st_ino != node.st_ino))
		return node_fd;
	tapir_guard__fd(&node_fd);
	return -ENOENT;
}

typedef void (*take_fn)(const char *text, size_t len, struct tapir_container *c);

/* Root's files alone: where processes are shared without hostPID, 1 is a container's program. */
static void read_file_of_node(int root_fd, const char *path, take_fn take,
			      struct tapir_container *c)
{
	tapir_autofd int fd = tapir_foreign__open(root_fd, path, 1);
	tapir_autofree char *text = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0 || tapir_foreign__stat(fd, &st) || st.st_uid || st.st_size <= 0 ||
	    st.st_size > MAX_STATE_BYTES)
		return;
	text = malloc((size_t)st.st_size);
	while (text && len < (size_t)st.st_size &&
	       (n = tapir_foreign__pread(fd, text + len, (size_t)st.st_size - len, len)) > 0)
		len += (size_t)n;
	if (text && n >= 0)
		take(text, len, c);
}

static void read_file(int node_fd, const char *path, take_fn take, struct tapir_container *c)
{
	tapir_autofree char *text = NULL;
	size_t len = 0;

	if (!tapir_file__read(path, MAX_STATE_BYTES, &text, &len))
		take(text, len, c);
	else if (node_fd >= 0)
		read_file_of_node(node_fd, path, take, c);
}

static void read_state(struct tapir_container *c)
{
	static const char *const path_parts[][2] = {
		{"/run/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json"},
		{"/run/containers/storage/overlay-containers/", "/userdata/config.json"},
		{"/var/lib/docker/containers/", "/config.v2.json"},
		{"/run/containerd/io.containerd.runtime.v2.task/default/", "/config.json"},
	};
	/* The config.json of a container that Podman started has no name. */
	static const char *const lists[] = {
		"/var/lib/containers/storage/overlay-containers/containers.json",
		"/run/containers/storage/overlay-containers/volatile-containers.json",
		"/var/lib/containers/storage/overlay-containers/volatile-containers.json"};
	tapir_autofd int node_fd = open_node_root();

	for (size_t i = 0; i < sizeof(path_parts) / sizeof(path_parts[0]) && !*c->name && !*c->pod;
	     i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s%s%s", path_parts[i][0], c->id, path_parts[i][1]);
		read_file(node_fd, path, tapir_container__take_state, c);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !*c->name; i++)
		read_file(node_fd, lists[i], tapir_container__take_list, c);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* An agent in a container of its own has another view of the hierarchy than the kernel's paths. */
static char *visible_path(const char *root, const char *path, size_t len)
{
	char *visible;

	if (asprintf(&visible, "%s%.*s", root, (int)len, path) < 0)
		return NULL;
	if (!strstr(visible, "/../") && !access(visible, F_OK))
		return visible;
	free(visible);
	return NULL;
}

/* The first hierarchy in which the process is in a container. */
static int take_cgroup(const char *root, const char *path, bool is_v2, void *ctx)
{
	struct tapir_container *c = ctx;
	struct tapir_container_path of;

	(void)is_v2;
	tapir_container_path__of(path, &of);
	*c = (struct tapir_container){};
	memcpy(c->id, of.id, sizeof(c->id));
	memcpy(c->pod_uid, of.pod_uid, sizeof(of.pod_uid));
	if (!of.end)
		return 0;
	c->cgroup = visible_path(root, path, of.end);
	if (of.pod_end && c->cgroup)
		c->pod_cgroup = visible_path(root, path, of.pod_end);
	return 1;
}

static struct tapir_container *find_known(struct tapir_containers *c, const char *id)
{
	struct tapir_container *known;

	tapir_vec_for_each (known, &c->all)
		if (!strcmp(known->id, id))
			return known;
	return NULL;
}

const struct tapir_container *tapir_containers__of_process(struct tapir_containers *c,
							   uint32_t tgid)
{
	struct tapir_container found = {}, *known;

	if (tapir_cgroup__each_of_process(tgid, "cpu", take_cgroup, &found) != 1) {
		fini(&found);
		return NULL;
	}
	known = find_known(c, found.id);
	if (known || c->all.cnt == TAPIR_CONTAINERS_MAX) {
		fini(&found);
		return known && tapir_vec__push(&known->tgids, tgid) ? known : NULL;
	}
	read_state(&found);
	if (tapir_vec__push(&found.tgids, tgid) && tapir_vec__push(&c->all, found))
		return &c->all.data[c->all.cnt - 1];
	fini(&found);
	return NULL;
}

/* ---- names ---------------------------------------------------------------------------------- */

bool tapir_container__is_called(const struct tapir_container *c, const char *text)
{
	size_t len = strlen(text);

	if (*c->name && !strcmp(c->name, text))
		return true;
	return len >= MIN_DIGITS && strspn(text, "0123456789abcdef") == len &&
	       !strncmp(c->id, text, len);
}

bool tapir_container__is_of_pod(const struct tapir_container *c, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0;

	if (*c->pod_uid && !strcmp(c->pod_uid, text))
		return true;
	if (!*c->pod || strcmp(c->pod, slash ? slash + 1 : text) != 0)
		return false;
	return !slash || (strlen(c->space) == len && !strncmp(c->space, text, len));
}

static int read_containers(struct tapir_containers *c)
{
	DIR *dir = opendir("/proc");
	unsigned cnt = 0;
	struct dirent *e;
	uint64_t pid;

	if (!dir)
		return tapir_diag__fail(-errno, "cannot list processes: %s",
					tapir_errno__text(errno));
	while ((e = readdir(dir)) && cnt < MAX_PROCESSES) {
		if (!tapir_str__to_u64(e->d_name, 1, INT32_MAX, &pid))
			continue;
		cnt++;
		(void)tapir_containers__of_process(c, (uint32_t)pid);
	}
	closedir(dir);
	return 0;
}

static bool add_once(struct tapir_words *words, const char *word)
{
	const char *const *known;

	tapir_vec_for_each (known, words)
		if (!strcmp(*known, word))
			return true;
	return tapir_vec__push(words, word);
}

static bool add_processes(const struct tapir_container *c, struct tapir_pids *pids)
{
	for (size_t i = 0; i < c->tgids.cnt; i++)
		if (!tapir_vec__push(pids, c->tgids.data[i]))
			return false;
	return true;
}

/* Adds a container by its cgroup, which later processes join; else by the processes in it. */
static bool add_target(const struct tapir_container *c, const char *cgroup,
		       struct tapir_words *cgroups, struct tapir_pids *pids)
{
	return cgroup && cgroups ? add_once(cgroups, cgroup) : add_processes(c, pids);
}

int tapir_containers__find(struct tapir_containers *c, const char *container, const char *pod,
			   struct tapir_words *cgroups, struct tapir_pids *pids)
{
	const struct tapir_container *it;
	int err = read_containers(c);
	size_t cnt = 0;

	tapir_vec_for_each (it, &c->all) {
		if (!(container ? tapir_container__is_called(it, container)
				: tapir_container__is_of_pod(it, pod)))
			continue;
		cnt++;
		if (!err && !add_target(it, pod && it->pod_cgroup ? it->pod_cgroup : it->cgroup,
					cgroups, pids))
			err = -ENOMEM;
	}
	if (!err && container && cnt > 1)
		return tapir_diag__fail(-EEXIST, "container: %zu containers are called '%.100s'",
					cnt, container);
	if (!err && !cnt)
		err = tapir_diag__fail(-ENOENT, "%s: no process is in '%.100s'",
				       container ? "container" : "pod",
				       container ? container : pod);
	return err;
}
