// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connections of the HTTP process, and how long each may keep it waiting. A client that sends a
 * byte at a time is never idle, so a request has a deadline as a whole; when all connections are in
 * use, the one that has kept the agent waiting longest ends.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "agent/front_impl.h"

static struct tapir_conn *conn_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		tapir_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

bool tapir_front_conn__is_known(struct MHD_Connection *connection)
{
	return conn_of(connection);
}

void tapir_front__limit(struct tapir_front *front, struct MHD_Connection *connection, uint64_t ns)
{
	struct tapir_conn *conn = conn_of(connection);

	if (!conn)
		return;
	pthread_mutex_lock(&front->lock);
	conn->since_ns = tapir_clock__now_ns();
	conn->deadline_ns = ns ? conn->since_ns + ns : 0;
	pthread_mutex_unlock(&front->lock);
}

/*
 * All connections that are permitted are in use: the client that has kept the agent waiting for
 * longest makes room, so that a client which opens many and does nothing keeps no other out. With
 * the lock.
 */
static void end_laziest(struct tapir_front *front, const struct tapir_conn *fresh)
{
	struct tapir_conn *laziest = NULL;

	for (struct tapir_conn *conn = front->conns; conn; conn = conn->next)
		if (conn != fresh && conn->deadline_ns && conn->since_ns &&
		    (!laziest || conn->since_ns < laziest->since_ns))
			laziest = conn;
	if (!laziest)
		return;
	shutdown(laziest->fd, SHUT_RDWR);
	laziest->since_ns = 0; /* once */
}

static void add_conn(struct tapir_front *front, struct MHD_Connection *connection, void **slot)
{
	struct tapir_conn *conn = calloc(1, sizeof(*conn));

	*slot = conn;
	if (!conn)
		return;
	conn->fd = tapir_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			   ->connect_fd;
	conn->since_ns = tapir_clock__now_ns();
	conn->deadline_ns = conn->since_ns + TAPIR_FRONT_REQUEST_NS;
	pthread_mutex_lock(&front->lock);
	conn->next = front->conns;
	if (conn->next)
		conn->next->prev = conn;
	front->conns = conn;
	if (++front->conn_cnt > front->opts->connections)
		end_laziest(front, conn);
	pthread_mutex_unlock(&front->lock);
}

static void remove_conn(struct tapir_front *front, void **slot)
{
	struct tapir_conn *conn = *slot;

	if (!conn)
		return;
	pthread_mutex_lock(&front->lock);
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		front->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	front->conn_cnt--;
	pthread_mutex_unlock(&front->lock);
	free(conn);
	*slot = NULL;
}

void tapir_front_conn__on_change(void *ctx, struct MHD_Connection *connection, void **slot,
				 enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		add_conn(ctx, connection, slot);
	else
		remove_conn(ctx, slot);
}

/* A request that comes a byte at a time is never idle: it has a deadline as a whole, too. */
void tapir_front_conns__end_late(struct tapir_front *front)
{
	uint64_t now_ns = tapir_clock__now_ns();

	pthread_mutex_lock(&front->lock);
	for (struct tapir_conn *conn = front->conns; conn; conn = conn->next)
		if (conn->deadline_ns && conn->deadline_ns < now_ns)
			shutdown(conn->fd, SHUT_RDWR);
	pthread_mutex_unlock(&front->lock);
}
