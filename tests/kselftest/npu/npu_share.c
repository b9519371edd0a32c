// SPDX-License-Identifier: MIT
/* Memory that goes from one to the other as a dma-buf: contexts, files, other drivers, a heap. */
#include <linux/dma-heap.h>

#include "npu_vgem.h"

#define BYTES (16 * PAGE)
#define VA 0x40000000ull
#define OWN_VA 0x50000000ull

/* Who has a buffer of its own, and gets one of others. */
struct side {
	struct npu_lane lane;
	unsigned char *own;
	uint64_t copies;
};

FIXTURE(share) {
	struct side a, b;
};

static int side_open(struct side *side)
{
	uint32_t handle;
	int ret;

	memset(side, 0, sizeof(*side));
	ret = npu_lane_open(&side->lane, npu_open());
	if (ret)
		return ret;
	handle = npu_buffer(side->lane.fd, BYTES);
	side->own = npu_map(side->lane.fd, handle, BYTES);
	return npu_bind(side->lane.fd, side->lane.ctx, handle, OWN_VA, BYTES);
}

static void side_close(struct side *side)
{
	npu_lane_unmap(&side->lane);
	munmap(side->own, BYTES);
	close(side->lane.fd);
}

FIXTURE_SETUP(share)
{
	ASSERT_EQ(0, side_open(&self->a));
	ASSERT_EQ(0, side_open(&self->b));
}

FIXTURE_TEARDOWN(share)
{
	side_close(&self->a);
	side_close(&self->b);
}

static int copy(struct side *side, uint64_t to, uint64_t from)
{
	struct npu_packet_copy packet = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = 1, .destination = to, .source = from, .bytes = BYTES, .signal_sem = 2,
	};

	npu_lane_put(&side->lane, &packet);
	return npu_wait(side->lane.fd, side->lane.ctx, 2, ++side->copies,
			now_ns() + 60000 * MILLISECOND);
}

static int take(struct side *side, int dma_buf)
{
	uint32_t handle = take_buffer(side->lane.fd, dma_buf);

	return handle ? npu_bind(side->lane.fd, side->lane.ctx, handle, VA, BYTES) : -ENOENT;
}

static void fill(unsigned char *bytes, unsigned int seed)
{
	for (unsigned int i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251 + seed);
}

/* What the one's device writes the other's reads, both ways. */
static bool goes_both_ways(struct side *a, struct side *b)
{
	unsigned char *sent = malloc(BYTES);
	bool same;

	fill(a->own, 1);
	memcpy(sent, a->own, BYTES);
	same = !copy(a, VA, OWN_VA) && !copy(b, OWN_VA, VA) && !memcmp(b->own, sent, BYTES);
	fill(b->own, 99);
	memcpy(sent, b->own, BYTES);
	same = same && !copy(b, VA, OWN_VA) && !copy(a, OWN_VA, VA) && !memcmp(a->own, sent, BYTES);
	free(sent);
	return same;
}

TEST_F(share, a_buffer_of_one_file)
{
	uint32_t handle = npu_buffer(self->a.lane.fd, BYTES);
	int dma_buf = share_buffer(self->a.lane.fd, handle);

	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, npu_bind(self->a.lane.fd, self->a.lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, take(&self->b, dma_buf));
	close(dma_buf);
	EXPECT_TRUE(goes_both_ways(&self->a, &self->b));
	/* The one who made it goes first; the other keeps it. */
	side_close(&self->a);
	EXPECT_EQ(0, copy(&self->b, OWN_VA, VA));
	ASSERT_EQ(0, side_open(&self->a));
}

TEST_F(share, a_buffer_of_one_file_in_two_contexts)
{
	uint32_t handle = npu_buffer(self->a.lane.fd, BYTES);
	struct npu_lane second;
	struct side other = { .own = self->a.own };

	ASSERT_EQ(0, npu_lane_open(&second, self->a.lane.fd));
	other.lane = second;
	ASSERT_EQ(0, npu_bind(self->a.lane.fd, self->a.lane.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, npu_bind(self->a.lane.fd, second.ctx, handle, OWN_VA, BYTES));
	fill(self->a.own, 5);
	ASSERT_EQ(0, copy(&self->a, VA, OWN_VA));
	handle = npu_buffer(self->a.lane.fd, BYTES);
	other.own = npu_map(self->a.lane.fd, handle, BYTES);
	ASSERT_EQ(0, npu_bind(self->a.lane.fd, second.ctx, handle, VA, BYTES));
	ASSERT_EQ(0, copy(&other, VA, OWN_VA));
	EXPECT_EQ(0, memcmp(other.own, self->a.own, BYTES));
	npu_lane_unmap(&second);
	munmap(other.own, BYTES);
}

TEST_F(share, memory_of_vgem)
{
	int vgem = vgem_open(), dma_buf;
	unsigned char *mapped;
	uint32_t handle;

	ASSERT_LE(0, vgem);
	handle = vgem_buffer(vgem, BYTES / PAGE);
	mapped = vgem_map(vgem, handle, BYTES);
	ASSERT_NE(MAP_FAILED, (void *)mapped);
	dma_buf = share_buffer(vgem, handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, take(&self->a, dma_buf));
	ASSERT_EQ(0, take(&self->b, dma_buf));
	EXPECT_TRUE(goes_both_ways(&self->a, &self->b));
	EXPECT_EQ(0, memcmp(mapped, self->b.own, BYTES));
	munmap(mapped, BYTES);
	close(dma_buf);
	close(vgem);
}

/* The other way round: vgem imports what is ours, and maps it. */
TEST_F(share, memory_for_vgem)
{
	uint32_t handle = npu_buffer(self->a.lane.fd, BYTES), theirs;
	int vgem = vgem_open(), dma_buf = share_buffer(self->a.lane.fd, handle), again;

	ASSERT_LE(0, dma_buf);
	theirs = take_buffer(vgem, dma_buf);
	ASSERT_NE(0, theirs);
	again = share_buffer(vgem, theirs);
	ASSERT_LE(0, again);
	ASSERT_EQ(0, npu_bind(self->a.lane.fd, self->a.lane.ctx, handle, VA, BYTES));
	/* What comes back by way of vgem is the same memory. */
	ASSERT_EQ(0, take(&self->b, again));
	EXPECT_TRUE(goes_both_ways(&self->a, &self->b));
	close(again);
	close(dma_buf);
	close(vgem);
}

TEST_F(share, memory_of_a_heap)
{
	struct dma_heap_allocation_data data = { .len = BYTES, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	unsigned char *mapped;

	ASSERT_LE(0, heap);
	ASSERT_EQ(0, npu_call(heap, DMA_HEAP_IOCTL_ALLOC, &data));
	mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)data.fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)mapped);
	ASSERT_EQ(0, take(&self->a, (int)data.fd));
	ASSERT_EQ(0, take(&self->b, (int)data.fd));
	EXPECT_TRUE(goes_both_ways(&self->a, &self->b));
	EXPECT_EQ(0, memcmp(mapped, self->a.own, BYTES));
	munmap(mapped, BYTES);
	close((int)data.fd);
	close(heap);
}

TEST_HARNESS_MAIN
