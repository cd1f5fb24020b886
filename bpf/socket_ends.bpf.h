/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * socket_ends.bpf.h - the addresses of both ends of an IP socket, as EXCHANGE has them.
 */
#ifndef TAPIR_BPF_SOCKET_ENDS_BPF_H
#define TAPIR_BPF_SOCKET_ENDS_BPF_H

#include "bpf/common.bpf.h"

#include <bpf/bpf_endian.h>

#define AF_UNIX	 1
#define AF_INET	 2
#define AF_INET6 10

/* An IPv4 address is written as IPv6 has it, ::ffff:a.b.c.d. */
static __always_inline void fill_v4(__u8 *out, __be32 address)
{
	out[10] = out[11] = 0xff;
	__builtin_memcpy(out + 12, &address, 4);
}

/* ends is all zeros. */
static __always_inline void fill_socket_ends(struct tapir_socket_ends *ends, const struct sock *sk)
{
	/* Not skc_num: a connection that is reset has given that back. */
	ends->local_port = bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	ends->peer_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	ends->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET) {
		fill_v4(ends->local, BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
		fill_v4(ends->peer, BPF_CORE_READ(sk, __sk_common.skc_daddr));
		return;
	}
	BPF_CORE_READ_INTO(&ends->local, sk, __sk_common.skc_v6_rcv_saddr);
	BPF_CORE_READ_INTO(&ends->peer, sk, __sk_common.skc_v6_daddr);
}

#endif
