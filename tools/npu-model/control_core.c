// SPDX-License-Identifier: MIT
/* The control core in the device. See control_core.h. */
#include "control_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "boot_rom.h"
#include "machine.h"

/* No memory is there: where a jump through a broken pointer ends. */
#define NOWHERE		0xdeadbee0u

/* A header and a full TCM; what is longer is refused for its size after as many bytes. */
#define IMAGE_MAX	(NPU_FW_HEADER_SIZE + NPU_FW_TCM_SIZE)

static uint64_t core_clock(const struct npu_control_core *core)
{
	return core->core->cycle + core->offset;
}

/* Let the time pass that the core slept or was held. */
static void catch_up(struct npu_model *model)
{
	struct npu_control_core *core = &model->core;
	uint64_t clock = core_clock(core);

	if (core->core->status != RV32_RUNNING && clock < model->now)
		rv32_idle(core->core, model->now - clock);
}

static bool mmio(uint32_t address)
{
	return address - NPU_FW_MMIO_BASE < NPU_FW_MMIO_SIZE;
}

static bool bus_load(void *opaque, uint32_t address, unsigned int width, uint32_t *value)
{
	struct npu_model *model = opaque;

	if (!mmio(address))
		return false;
	model->now = core_clock(&model->core);
	*value = width == 4 ? npu_model_core_read(model, address - NPU_FW_MMIO_BASE) : 0;
	return true;
}

static bool bus_store(void *opaque, uint32_t address, unsigned int width, uint32_t value)
{
	struct npu_model *model = opaque;
	const struct npu_alarm *next;

	if (!mmio(address))
		return false;
	model->now = core_clock(&model->core);
	if (width == 4)
		npu_model_core_write(model, address - NPU_FW_MMIO_BASE, value);
	/* What the store set off may come before the core's next instruction. */
	next = npu_event_first(&model->events);
	if (next && next->time < model->core.run_until)
		rv32_stop(model->core.core);
	return true;
}

static uint64_t timecmp(const struct npu_model *model)
{
	const uint32_t *half = model->registers.timecmp;

	return (uint64_t)half[1] << 32 | half[0];
}

void npu_core_update(struct npu_model *model)
{
	struct npu_control_core *core = &model->core;
	uint32_t lines = 0;
	uint64_t compare = timecmp(model);

	if (core->core->status == RV32_HALTED || model->injection.core_silent) {
		npu_event_cancel(&model->events, &core->timer);
		return;
	}
	if (model->registers.core_irq_pending & model->registers.core_irq_enable)
		lines |= RV32_IRQ_EXTERNAL;
	if (model->now >= compare)
		lines |= RV32_IRQ_TIMER;
	if (model->now < compare && compare != UINT64_MAX)
		npu_event_schedule(&model->events, &core->timer, compare);
	else
		npu_event_cancel(&model->events, &core->timer);
	catch_up(model);
	rv32_set_irq(core->core, lines);
}

static void handle_timer(struct npu_model *model, struct npu_alarm *event)
{
	(void)event;
	npu_core_update(model);
}

bool npu_core_running(const struct npu_model *model)
{
	return model->core.core->status == RV32_RUNNING && !model->injection.core_silent;
}

uint64_t npu_core_time(const struct npu_model *model)
{
	return npu_core_running(model) ? core_clock(&model->core) : UINT64_MAX;
}

uint64_t npu_core_timer(const struct npu_model *model)
{
	const struct npu_alarm *timer = &model->core.timer;

	return npu_event_pending(timer) ? timer->time - model->now : UINT64_MAX;
}

void npu_core_turn(struct npu_model *model)
{
	struct npu_control_core *core = &model->core;

	if (npu_inject(model, NPU_INJECT_FW_SILENCE)) {
		model->injection.core_silent = true;
		npu_core_update(model);
	}
	if (npu_inject(model, NPU_INJECT_FW_CRASH))
		core->lost = true;
	if (core->run_until && (core->lost || model->injection.core_silent))
		rv32_stop(core->core);
}

/* It died of an exception in its own trap handler, or by NPU_REG_CORE_PANIC. */
static void check_death(struct npu_model *model)
{
	struct npu_control_core *core = &model->core;

	if (core->core->status != RV32_HALTED || core->died ||
	    model->registers.boot_status != NPU_BOOT_STATUS_RUNNING)
		return;
	core->died = true;
	model->registers.fw_state = NPU_FW_STATE_PANIC;
	npu_event_cancel(&model->events, &core->timer);
	npu_registers_raise(model, NPU_IRQ_FATAL);
}

void npu_core_run(struct npu_model *model, uint64_t until)
{
	struct npu_control_core *core = &model->core;
	const struct npu_alarm *next;
	uint64_t reached;

	core->run_until = until;
	rv32_run(core->core, until - core->offset);
	core->run_until = 0;
	if (core->lost) {
		core->lost = false;
		core->core->pc = NOWHERE;
	}
	reached = core_clock(core);
	next = npu_event_first(&model->events);
	if (next && next->time < reached)
		reached = next->time;
	if (reached > model->now)
		model->now = reached;
	check_death(model);
}

void npu_core_halt(struct npu_model *model)
{
	if (model->core.core->status == RV32_HALTED)
		return;
	rv32_halt(model->core.core);
	/* A store of the core's own is seen to be the end when rv32_run() returns. */
	if (!model->core.run_until)
		check_death(model);
}

static enum npu_boot_status read_image(struct npu_model *model, uint8_t *image, uint32_t size)
{
	const uint32_t *half = model->registers.boot_address;
	uint64_t address = (uint64_t)half[1] << 32 | half[0];

	while (size) {
		uint32_t left = (uint32_t)(NPU_PAGE_BYTES - (address & NPU_PAGE_MASK));
		uint32_t piece = left < size ? left : size;
		const void *from = npu_host_pointer(model, address, false);

		if (!from)
			return NPU_BOOT_STATUS_UNREADABLE;
		memcpy(image, from, piece);
		image += piece;
		address += piece;
		size -= piece;
	}
	return NPU_BOOT_STATUS_RUNNING;
}

void npu_core_boot(struct npu_model *model)
{
	struct npu_registers *registers = &model->registers;
	uint32_t size = registers->boot_size;
	enum npu_boot_status status;
	uint32_t entry = 0;
	uint8_t *image;

	if (registers->boot_status == NPU_BOOT_STATUS_RUNNING)
		return;
	if (size > IMAGE_MAX)
		size = IMAGE_MAX + NPU_FW_ALIGN;
	image = malloc(size ? size : 1);
	if (!image) {
		registers->boot_status = NPU_BOOT_STATUS_UNREADABLE;
		return;
	}
	status = read_image(model, image, size);
	if (status == NPU_BOOT_STATUS_RUNNING)
		status = npu_boot_rom_load(image, size, model->core.tcm, &entry);
	free(image);
	registers->boot_status = status;
	if (status != NPU_BOOT_STATUS_RUNNING)
		return;
	catch_up(model);
	model->core.died = false;
	rv32_reset(model->core.core, entry);
	npu_core_update(model);
}

int npu_core_init(struct npu_model *model)
{
	struct npu_control_core *core = &model->core;

	core->tcm = calloc(1, NPU_FW_TCM_SIZE);
	core->core = malloc(sizeof(*core->core));
	if (!core->tcm || !core->core)
		return -ENOMEM;
	core->bus = (struct rv32_bus){ .opaque = model, .load = bus_load, .store = bus_store };
	core->timer.handle = handle_timer;
	core->timer.rank = NPU_RANK_CORE;
	rv32_init(core->core, core->tcm, &core->bus);
	return 0;
}

void npu_core_release(struct npu_model *model)
{
	free(model->core.tcm);
	free(model->core.core);
}

void npu_core_reset(struct npu_model *model)
{
	struct npu_control_core *core = &model->core;

	npu_event_cancel(&model->events, &core->timer);
	memset(core->tcm, 0, NPU_FW_TCM_SIZE);
	rv32_init(core->core, core->tcm, &core->bus);
	core->offset = model->now;
	core->died = false;
	core->lost = false;
}
