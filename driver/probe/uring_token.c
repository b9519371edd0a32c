// SPDX-License-Identifier: GPL-2.0-only
#include <linux/io_uring/cmd.h>

struct io_uring_cmd *npu_probe(struct io_tw_req req, io_tw_token_t token);
struct io_uring_cmd *npu_probe(struct io_tw_req req, io_tw_token_t token)
{
	return io_uring_cmd_from_tw(req);
}
