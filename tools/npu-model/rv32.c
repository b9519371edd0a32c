// SPDX-License-Identifier: MIT
/*
 * The control core: execution and traps.
 */
#include "rv32_internal.h"

static uint32_t tcm_offset(uint32_t address)
{
	return address - NPU_FW_TCM_BASE;
}

static uint32_t trap_target(const struct rv32 *core, uint32_t cause)
{
	uint32_t base = core->mtvec & ~3u;

	if ((core->mtvec & 1) && (cause & RV32_CAUSE_INTERRUPT))
		return base + 4 * (cause & 31);
	return base;
}

static void enter_trap(struct rv32 *core, uint32_t cause, uint32_t value)
{
	uint32_t mpie = core->mstatus & RV32_MSTATUS_MIE ? RV32_MSTATUS_MPIE : 0;

	core->mepc = core->pc;
	core->mcause = cause;
	core->mtval = value;
	core->mstatus = RV32_MSTATUS_MPP | mpie;
	core->in_trap = true;
	core->pc = trap_target(core, cause);
	rv32_update_attention(core);
}

/* The instruction at pc did not complete. */
static void raise_exception(struct rv32 *core, enum rv32_cause cause, uint32_t value)
{
	if (!core->in_trap) {
		enter_trap(core, cause, value);
		return;
	}
	core->fatal = (struct rv32_trap){ .cause = cause, .pc = core->pc, .value = value };
	core->status = RV32_HALTED;
	rv32_update_attention(core);
}

static uint32_t highest_interrupt(uint32_t pending)
{
	static const uint32_t standard[] = {
		RV32_IRQ_EXTERNAL, RV32_IRQ_SOFTWARE, RV32_IRQ_TIMER,
	};
	uint32_t local = pending & 0xffff0000u;

	if (local)
		return (uint32_t)__builtin_ctz(local);
	for (unsigned int i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
		if (pending & standard[i])
			return (uint32_t)__builtin_ctz(standard[i]);
	}
	return 0;
}

/* Look at what is not an instruction. Returns false when the core cannot go on now. */
static bool attend(struct rv32 *core)
{
	if (core->stop_requested || core->status != RV32_RUNNING)
		return false;

	core->cycle++;
	enter_trap(core, RV32_CAUSE_INTERRUPT | highest_interrupt(core->lines & core->mie), 0);
	return true;
}

static void invalidate(struct rv32 *core, uint32_t offset, uint32_t size)
{
	/* An instruction that begins two bytes before reaches into the range. */
	uint32_t first = offset < 2 ? 0 : (offset - 2) / 2;
	uint32_t last = (offset + size - 1) / 2;

	for (uint32_t i = first; i <= last; i++)
		core->decoded[i].operation = RV32_OP_NONE;
}

static bool line_holds_code(const struct rv32 *core, uint32_t offset)
{
	return core->code_line[offset >> RV32_CODE_LINE_SHIFT];
}

/* Decode the instruction at @offset of TCM into the cache, or raise a fetch fault. */
static bool fetch(struct rv32 *core, uint32_t offset)
{
	uint32_t instruction = rv32_read_le16(core->tcm + offset);
	unsigned int length = rv32_instruction_length(instruction);

	if (length == 4) {
		if (offset + 4 > NPU_FW_TCM_SIZE) {
			raise_exception(core, RV32_CAUSE_FETCH_ACCESS, core->pc + 2);
			return false;
		}
		instruction |= (uint32_t)rv32_read_le16(core->tcm + offset + 2) << 16;
	}
	core->decoded[offset / 2] = rv32_decode(instruction);
	core->code_line[offset >> RV32_CODE_LINE_SHIFT] = true;
	core->code_line[(offset + length - 1) >> RV32_CODE_LINE_SHIFT] = true;
	return true;
}

/* The illegal instruction was fetched, so it lies in TCM. */
static void raise_illegal(struct rv32 *core)
{
	uint32_t offset = tcm_offset(core->pc);
	uint32_t instruction = rv32_read_le16(core->tcm + offset);

	if (rv32_instruction_length(instruction) == 4)
		instruction |= (uint32_t)rv32_read_le16(core->tcm + offset + 2) << 16;
	raise_exception(core, RV32_CAUSE_ILLEGAL, instruction);
}

/* Says whether the whole of an aligned access lies in TCM. */
static bool is_tcm(uint32_t address, unsigned int width)
{
	return tcm_offset(address) <= NPU_FW_TCM_SIZE - width && !(address & (width - 1));
}

static bool load_bus(struct rv32 *core, uint32_t address, unsigned int width, uint32_t *value,
		     unsigned int *cycles)
{
	if (address & (width - 1)) {
		raise_exception(core, RV32_CAUSE_LOAD_MISALIGNED, address);
		return false;
	}
	*cycles = RV32_BUS_CYCLES;
	if (!core->bus->load(core->bus->opaque, address, width, value)) {
		raise_exception(core, RV32_CAUSE_LOAD_ACCESS, address);
		return false;
	}
	return true;
}

static bool store_bus(struct rv32 *core, uint32_t address, unsigned int width, uint32_t value,
		      unsigned int *cycles)
{
	if (address & (width - 1)) {
		raise_exception(core, RV32_CAUSE_STORE_MISALIGNED, address);
		return false;
	}
	*cycles = RV32_BUS_CYCLES;
	if (!core->bus->store(core->bus->opaque, address, width, value)) {
		raise_exception(core, RV32_CAUSE_STORE_ACCESS, address);
		return false;
	}
	return true;
}

/* Returns false when the load trapped. */
static inline bool load(struct rv32 *core, uint32_t address, unsigned int width, uint32_t *value,
			unsigned int *cycles)
{
	const uint8_t *bytes;

	if (!is_tcm(address, width))
		return load_bus(core, address, width, value, cycles);

	bytes = core->tcm + tcm_offset(address);
	switch (width) {
	case 1:
		*value = *bytes;
		break;
	case 2:
		*value = rv32_read_le16(bytes);
		break;
	default:
		*value = rv32_read_le32(bytes);
		break;
	}
	return true;
}

static inline bool store(struct rv32 *core, uint32_t address, unsigned int width, uint32_t value,
			 unsigned int *cycles)
{
	uint32_t little_endian = htole32(value);
	uint32_t offset = tcm_offset(address);

	if (!is_tcm(address, width)) {
		uint32_t mask = width == 4 ? UINT32_MAX : (1u << 8 * width) - 1;

		return store_bus(core, address, width, value & mask, cycles);
	}
	memcpy(core->tcm + offset, &little_endian, width);
	if (line_holds_code(core, offset))
		invalidate(core, offset, width);
	return true;
}

static uint32_t divide(uint32_t a, uint32_t b)
{
	if (b == 0)
		return UINT32_MAX;
	if (a == 0x80000000u && b == UINT32_MAX)
		return a;
	return (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t remainder_signed(uint32_t a, uint32_t b)
{
	if (b == 0)
		return a;
	if (a == 0x80000000u && b == UINT32_MAX)
		return 0;
	return (uint32_t)((int32_t)a % (int32_t)b);
}

static uint32_t multiply_high(int64_t a, int64_t b)
{
	return (uint32_t)((uint64_t)(a * b) >> 32);
}

static uint32_t multiply_high_unsigned(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}

static bool execute_csr(struct rv32 *core, struct rv32_decoded d)
{
	bool has_immediate = d.operation >= RV32_OP_CSRRWI;
	uint32_t operand = has_immediate ? d.rs1 : core->x[d.rs1];
	uint32_t csr = (uint32_t)d.immediate;
	bool write = d.rs1 != 0;
	uint32_t old, value;

	if (!rv32_csr_read(core, csr, &old)) {
		raise_illegal(core);
		return false;
	}
	switch (d.operation) {
	case RV32_OP_CSRRS:
	case RV32_OP_CSRRSI:
		value = old | operand;
		break;
	case RV32_OP_CSRRC:
	case RV32_OP_CSRRCI:
		value = old & ~operand;
		break;
	default:
		value = operand;
		write = true;
		break;
	}
	if (write && !rv32_csr_write(core, csr, value)) {
		raise_illegal(core);
		return false;
	}
	core->x[d.rd] = old;
	core->pc += d.length;
	return true;
}

static void execute_mret(struct rv32 *core)
{
	uint32_t mie = core->mstatus & RV32_MSTATUS_MPIE ? RV32_MSTATUS_MIE : 0;

	core->mstatus = RV32_MSTATUS_MPP | RV32_MSTATUS_MPIE | mie;
	core->in_trap = false;
	core->pc = core->mepc;
	rv32_update_attention(core);
}

static void execute_wfi(struct rv32 *core, struct rv32_decoded d)
{
	core->pc += d.length;
	if (core->lines & core->mie)
		return;
	core->status = RV32_WFI;
	rv32_update_attention(core);
}

/* The rare instructions. Sets pc; returns false when the instruction trapped. */
static bool execute_system(struct rv32 *core, struct rv32_decoded d)
{
	switch (d.operation) {
	case RV32_OP_ECALL:
		raise_exception(core, RV32_CAUSE_ECALL, 0);
		return false;
	case RV32_OP_EBREAK:
		raise_exception(core, RV32_CAUSE_BREAKPOINT, core->pc);
		return false;
	case RV32_OP_MRET:
		execute_mret(core);
		return true;
	case RV32_OP_WFI:
		execute_wfi(core, d);
		return true;
	case RV32_OP_CSRRW:
	case RV32_OP_CSRRS:
	case RV32_OP_CSRRC:
	case RV32_OP_CSRRWI:
	case RV32_OP_CSRRSI:
	case RV32_OP_CSRRCI:
		return execute_csr(core, d);
	}
	raise_illegal(core);
	return false;
}

/* Loads and stores. Sets pc; returns false when the access trapped. */
static inline bool execute_memory(struct rv32 *core, struct rv32_decoded d, unsigned int *cycles)
{
	uint32_t address = core->x[d.rs1] + (uint32_t)d.immediate;
	uint32_t value = 0;
	bool completed;

	switch (d.operation) {
	case RV32_OP_LB:
		completed = load(core, address, 1, &value, cycles);
		value = (uint32_t)(int8_t)value;
		break;
	case RV32_OP_LBU:
		completed = load(core, address, 1, &value, cycles);
		value = (uint8_t)value;
		break;
	case RV32_OP_LH:
		completed = load(core, address, 2, &value, cycles);
		value = (uint32_t)(int16_t)value;
		break;
	case RV32_OP_LHU:
		completed = load(core, address, 2, &value, cycles);
		value = (uint16_t)value;
		break;
	case RV32_OP_LW:
		completed = load(core, address, 4, &value, cycles);
		break;
	case RV32_OP_SB:
		completed = store(core, address, 1, core->x[d.rs2], cycles);
		break;
	case RV32_OP_SH:
		completed = store(core, address, 2, core->x[d.rs2], cycles);
		break;
	default:
		completed = store(core, address, 4, core->x[d.rs2], cycles);
		break;
	}
	if (!completed)
		return false;

	/* A store has RV32_SINK here. */
	core->x[d.rd] = value;
	core->pc += d.length;
	return true;
}

/*
 * One case an instruction, so that the compiler makes one jump table of it. Sets pc; returns
 * false when the instruction trapped.
 */
static inline bool execute(struct rv32 *core, struct rv32_decoded d, unsigned int *cycles)
{
	uint32_t *x = core->x;
	uint32_t a = x[d.rs1];
	uint32_t b = x[d.rs2];
	uint32_t immediate = (uint32_t)d.immediate;
	uint32_t next = core->pc + d.length;

	switch (d.operation) {
	case RV32_OP_LUI:
		x[d.rd] = immediate;
		break;
	case RV32_OP_AUIPC:
		x[d.rd] = core->pc + immediate;
		break;
	case RV32_OP_JAL:
		x[d.rd] = next;
		next = core->pc + immediate;
		break;
	case RV32_OP_JALR:
		x[d.rd] = next;
		next = (a + immediate) & ~1u;
		break;
	case RV32_OP_BEQ:
		next = a == b ? core->pc + immediate : next;
		break;
	case RV32_OP_BNE:
		next = a != b ? core->pc + immediate : next;
		break;
	case RV32_OP_BLT:
		next = (int32_t)a < (int32_t)b ? core->pc + immediate : next;
		break;
	case RV32_OP_BGE:
		next = (int32_t)a >= (int32_t)b ? core->pc + immediate : next;
		break;
	case RV32_OP_BLTU:
		next = a < b ? core->pc + immediate : next;
		break;
	case RV32_OP_BGEU:
		next = a >= b ? core->pc + immediate : next;
		break;
	case RV32_OP_LB:
	case RV32_OP_LH:
	case RV32_OP_LW:
	case RV32_OP_LBU:
	case RV32_OP_LHU:
	case RV32_OP_SB:
	case RV32_OP_SH:
	case RV32_OP_SW:
		return execute_memory(core, d, cycles);
	case RV32_OP_ADDI:
		x[d.rd] = a + immediate;
		break;
	case RV32_OP_SLTI:
		x[d.rd] = (int32_t)a < d.immediate;
		break;
	case RV32_OP_SLTIU:
		x[d.rd] = a < immediate;
		break;
	case RV32_OP_XORI:
		x[d.rd] = a ^ immediate;
		break;
	case RV32_OP_ORI:
		x[d.rd] = a | immediate;
		break;
	case RV32_OP_ANDI:
		x[d.rd] = a & immediate;
		break;
	case RV32_OP_SLLI:
		x[d.rd] = a << immediate;
		break;
	case RV32_OP_SRLI:
		x[d.rd] = a >> immediate;
		break;
	case RV32_OP_SRAI:
		x[d.rd] = (uint32_t)((int32_t)a >> immediate);
		break;
	case RV32_OP_ADD:
		x[d.rd] = a + b;
		break;
	case RV32_OP_SUB:
		x[d.rd] = a - b;
		break;
	case RV32_OP_SLL:
		x[d.rd] = a << (b & 31);
		break;
	case RV32_OP_SLT:
		x[d.rd] = (int32_t)a < (int32_t)b;
		break;
	case RV32_OP_SLTU:
		x[d.rd] = a < b;
		break;
	case RV32_OP_XOR:
		x[d.rd] = a ^ b;
		break;
	case RV32_OP_SRL:
		x[d.rd] = a >> (b & 31);
		break;
	case RV32_OP_SRA:
		x[d.rd] = (uint32_t)((int32_t)a >> (b & 31));
		break;
	case RV32_OP_OR:
		x[d.rd] = a | b;
		break;
	case RV32_OP_AND:
		x[d.rd] = a & b;
		break;
	case RV32_OP_MUL:
		x[d.rd] = a * b;
		break;
	case RV32_OP_MULH:
		x[d.rd] = multiply_high((int32_t)a, (int32_t)b);
		break;
	case RV32_OP_MULHSU:
		x[d.rd] = multiply_high((int32_t)a, b);
		break;
	case RV32_OP_MULHU:
		x[d.rd] = multiply_high_unsigned(a, b);
		break;
	case RV32_OP_DIV:
		x[d.rd] = divide(a, b);
		break;
	case RV32_OP_DIVU:
		x[d.rd] = b ? a / b : UINT32_MAX;
		break;
	case RV32_OP_REM:
		x[d.rd] = remainder_signed(a, b);
		break;
	case RV32_OP_REMU:
		x[d.rd] = b ? a % b : a;
		break;
	case RV32_OP_FENCE:
	case RV32_OP_FENCE_I:
		break;
	default:
		return execute_system(core, d);
	}
	core->pc = next;
	return true;
}

static inline void execute_next(struct rv32 *core)
{
	uint32_t offset = tcm_offset(core->pc);
	unsigned int cycles = 1;

	if (offset >= NPU_FW_TCM_SIZE) {
		raise_exception(core, RV32_CAUSE_FETCH_ACCESS, core->pc);
		goto out;
	}
	if (core->decoded[offset / 2].operation == RV32_OP_NONE && !fetch(core, offset))
		goto out;
	if (execute(core, core->decoded[offset / 2], &cycles))
		core->retired++;
out:
	core->cycle += cycles;
}

void rv32_init(struct rv32 *core, uint8_t *tcm, const struct rv32_bus *bus)
{
	memset(core, 0, sizeof(*core));
	core->tcm = tcm;
	core->bus = bus;
	core->status = RV32_HALTED;
}

void rv32_reset(struct rv32 *core, uint32_t pc)
{
	memset(core->x, 0, sizeof(core->x));
	core->pc = pc & ~1u;
	core->status = RV32_RUNNING;
	core->fatal = (struct rv32_trap){ 0 };
	core->stop_requested = false;
	core->in_trap = false;
	core->mstatus = RV32_MSTATUS_MPP;
	core->mie = 0;
	core->mtvec = 0;
	core->mscratch = 0;
	core->mepc = 0;
	core->mcause = 0;
	core->mtval = 0;
	core->mcycle_offset = 0 - core->cycle;
	core->minstret_offset = 0 - core->retired;
	rv32_tcm_changed(core, 0, NPU_FW_TCM_SIZE);
}

unsigned int rv32_step(struct rv32 *core)
{
	uint64_t before = core->cycle;

	core->stop_requested = false;
	rv32_update_attention(core);
	if (core->attention)
		attend(core);
	else
		execute_next(core);
	return (unsigned int)(core->cycle - before);
}

enum rv32_status rv32_run(struct rv32 *core, uint64_t until)
{
	core->stop_requested = false;
	rv32_update_attention(core);
	while (core->cycle < until) {
		if (!core->attention)
			execute_next(core);
		else if (!attend(core))
			break;
	}
	return core->status;
}

void rv32_stop(struct rv32 *core)
{
	core->stop_requested = true;
	rv32_update_attention(core);
}

void rv32_halt(struct rv32 *core)
{
	core->status = RV32_HALTED;
	rv32_update_attention(core);
}

void rv32_idle(struct rv32 *core, uint64_t cycles)
{
	core->cycle += cycles;
}

void rv32_set_irq(struct rv32 *core, uint32_t lines)
{
	core->lines = lines & RV32_IRQ_ALL;
	if (core->status == RV32_WFI && (core->lines & core->mie))
		core->status = RV32_RUNNING;
	rv32_update_attention(core);
}

void rv32_tcm_changed(struct rv32 *core, uint32_t offset, uint32_t size)
{
	if (offset >= NPU_FW_TCM_SIZE || size == 0)
		return;
	if (size > NPU_FW_TCM_SIZE - offset)
		size = NPU_FW_TCM_SIZE - offset;

	for (uint32_t at = offset; at < offset + size; ) {
		uint32_t line_end = (at | ((1u << RV32_CODE_LINE_SHIFT) - 1)) + 1;
		uint32_t end = line_end < offset + size ? line_end : offset + size;

		if (line_holds_code(core, at))
			invalidate(core, at, end - at);
		at = end;
	}
}
