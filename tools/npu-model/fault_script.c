// SPDX-License-Identifier: MIT
/* Injected faults. See fault_script.h. */
#include "fault_script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

struct kind {
	const char *name;
	const char *help;
	uint64_t argument;		/* default; 0: it takes none */
};

static const struct kind kinds[NPU_INJECT_KINDS] = {
	[NPU_INJECT_HANG] = { "hang", "a task never ends; counts tasks", 0 },
	[NPU_INJECT_STUCK] = { "stuck", "nor can it be stopped; counts tasks", 0 },
	[NPU_INJECT_DROP_IRQ] = { "drop-irq", "an interrupt is lost; counts interrupts", 0 },
	[NPU_INJECT_ECC_CORRECTED] = { "ecc-corrected",
				       "a bit error, corrected; counts operations", 0 },
	[NPU_INJECT_ECC_UNCORRECTED] = { "ecc-uncorrected",
					 "two bit errors; counts operations", 0 },
	[NPU_INJECT_FW_CRASH] = { "fw-crash", "the firmware crashes; counts its turns", 0 },
	[NPU_INJECT_FW_SILENCE] = { "fw-silence",
				    "the control core stops silently; counts turns", 0 },
	[NPU_INJECT_SLOW_DMA] = { "slow-dma",
				  "a DMA operation takes :CYCLES more; counts DMA operations",
				  100000 },
	[NPU_INJECT_TLB_HANG] = { "tlb-hang",
				  "a TLB invalidation never completes; counts invalidations", 0 },
	[NPU_INJECT_OVER_TEMPERATURE] = { "over-temperature",
					  "the device trips; counts tasks", 0 },
	[NPU_INJECT_DEAD] = { "dead", "the device is gone; counts tasks", 0 },
};

static int refuse(char *error, size_t bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *error, size_t bytes, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, bytes, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* What a message quotes of a hostile string. */
static int shown(size_t length)
{
	return length > 40 ? 40 : (int)length;
}

/* Digits up to something else; at least one, at most 2^63. Returns false otherwise. */
static bool take_number(const char **text, const char *end, uint64_t *value)
{
	uint64_t sum = 0;
	const char *at = *text;

	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		if (sum > (UINT64_MAX / 2 - 9) / 10)
			return false;
		sum = sum * 10 + (uint64_t)(*at - '0');
	}
	if (at == *text)
		return false;
	*text = at;
	*value = sum;
	return true;
}

static bool take_kind(const char **text, const char *end, struct npu_scripted_fault *fault)
{
	size_t length = 0;

	while (*text + length < end && !strchr("#@/:", (*text)[length]))
		length++;
	for (unsigned int i = 0; i < NPU_INJECT_KINDS; i++) {
		if (strlen(kinds[i].name) != length || memcmp(kinds[i].name, *text, length))
			continue;
		fault->kind = (enum npu_fault_kind)i;
		fault->argument = kinds[i].argument;
		*text += length;
		return true;
	}
	return false;
}

/* Whether @mark is next; then it is taken. */
static bool take_mark(const char **text, const char *end, char mark)
{
	if (*text == end || **text != mark)
		return false;
	++*text;
	return true;
}

/* KIND [#NUMBER | @CYCLE] [/EVERY] [:ARGUMENT] */
static int parse_fault(const char *text, const char *end, struct npu_scripted_fault *fault,
		       char *error, size_t error_bytes)
{
	const char *whole = text;
	int length = shown((size_t)(end - text));

	*fault = (struct npu_scripted_fault){ .first = 1 };
	if (!take_kind(&text, end, fault))
		return refuse(error, error_bytes,
			      "fault: '%.*s' begins with no kind of fault; kinds are "
			      "hang, stuck, drop-irq, ecc-corrected, ecc-uncorrected, fw-crash, "
			      "fw-silence, slow-dma, tlb-hang, over-temperature and dead",
			      length, whole);
	if (take_mark(&text, end, '#')) {
		if (!take_number(&text, end, &fault->first) || !fault->first)
			return refuse(error, error_bytes,
				      "fault: in '%.*s' a number from 1 up is to follow '#'",
				      length, whole);
	} else if (take_mark(&text, end, '@')) {
		fault->timed = true;
		if (!take_number(&text, end, &fault->time))
			return refuse(error, error_bytes,
				      "fault: in '%.*s' a cycle is to follow '@'", length, whole);
	}
	if (take_mark(&text, end, '/') &&
	    (!take_number(&text, end, &fault->every) || !fault->every))
		return refuse(error, error_bytes,
			      "fault: in '%.*s' a number from 1 up is to follow '/'", length,
			      whole);
	if (take_mark(&text, end, ':') &&
	    (!kinds[fault->kind].argument || !take_number(&text, end, &fault->argument)))
		return refuse(error, error_bytes,
			      "fault: in '%.*s' only slow-dma takes ':' and a number of cycles",
			      length, whole);
	if (text != end)
		return refuse(error, error_bytes,
			      "fault: '%.*s' does not end where it should; it is "
			      "KIND[#NUMBER|@CYCLE][/EVERY][:CYCLES]",
			      length, whole);
	return 0;
}

int npu_fault_script_parse(const char *text, struct npu_fault_script *script, char *error,
			   size_t error_bytes)
{
	script->count = 0;
	error[0] = '\0';
	while (*text) {
		const char *end = text + strcspn(text, ",");
		int result;

		if (script->count == NPU_FAULT_SCRIPT_MAX)
			return refuse(error, error_bytes, "fault: more than %u faults",
				      NPU_FAULT_SCRIPT_MAX);
		result = parse_fault(text, end, &script->fault[script->count], error, error_bytes);
		if (result)
			return result;
		script->count++;
		text = end;
		if (*text && !*++text)
			return refuse(error, error_bytes, "fault: nothing follows the last ','");
	}
	return 0;
}

/* Appends to @rest what is not the key "fault". */
static int keep(char *rest, size_t rest_bytes, const char *text, size_t length, char *error,
		size_t error_bytes)
{
	size_t used = strlen(rest);

	if (used + length + 1 > rest_bytes)
		return refuse(error, error_bytes,
			      "configuration: longer than the %zu characters it may have",
			      rest_bytes - 1);
	memcpy(rest + used, text, length);
	rest[used + length] = '\0';
	return 0;
}

static int take_script(const char *value, size_t length, struct npu_fault_script *script,
		       char *error, size_t error_bytes)
{
	char copy[512];

	if (!length)
		return refuse(error, error_bytes, "fault: nothing follows 'fault='");
	if (length >= sizeof(copy))
		return refuse(error, error_bytes, "fault: longer than %zu characters",
			      sizeof(copy) - 1);
	memcpy(copy, value, length);
	copy[length] = '\0';
	return npu_fault_script_parse(copy, script, error, error_bytes);
}

int npu_fault_script_take(const char *config, char *rest, size_t rest_bytes,
			  struct npu_fault_script *script, char *error, size_t error_bytes)
{
	size_t length = strcspn(config, "?");
	bool first = true, found = false;
	int result;

	script->count = 0;
	rest[0] = '\0';
	error[0] = '\0';
	result = keep(rest, rest_bytes, config, length, error, error_bytes);
	config += length;
	while (!result && *config) {
		length = strcspn(++config, "&");
		if (length < 6 || memcmp(config, "fault=", 6)) {
			result = keep(rest, rest_bytes, first ? "?" : "&", 1, error, error_bytes);
			if (!result)
				result = keep(rest, rest_bytes, config, length, error,
					      error_bytes);
			first = false;
		} else if (found) {
			result = refuse(error, error_bytes,
					"configuration: key 'fault' is given twice; "
					"separate faults by ','");
		} else {
			found = true;
			result = take_script(config + 6, length - 6, script, error, error_bytes);
		}
		config += length;
	}
	return result;
}

const char *npu_fault_kind_name(unsigned int kind, const char **help)
{
	if (kind >= NPU_INJECT_KINDS)
		return NULL;
	if (help)
		*help = kinds[kind].help;
	return kinds[kind].name;
}

void npu_injection_start(struct npu_injection *injection)
{
	*injection = (struct npu_injection){ .script = injection->script };
	for (unsigned int i = 0; i < injection->script.count; i++) {
		const struct npu_scripted_fault *fault = &injection->script.fault[i];

		injection->kinds |= 1u << fault->kind;
		injection->next[i] = fault->timed ? 0 : fault->first;
	}
}

void npu_injection_reset(struct npu_injection *injection)
{
	injection->tlb_hung = false;
	injection->core_silent = false;
	injection->tripped = false;
}

static bool strikes(struct npu_injection *injection, unsigned int number, uint64_t now)
{
	const struct npu_scripted_fault *fault = &injection->script.fault[number];
	uint64_t seen = injection->seen[fault->kind];
	uint64_t next = injection->next[number];

	if (injection->over[number] || (next ? seen != next : now < fault->time))
		return false;
	injection->next[number] = seen + fault->every;
	injection->over[number] = !fault->every;
	injection->argument = fault->argument;
	return true;
}

bool npu_inject(struct npu_model *model, enum npu_fault_kind kind)
{
	struct npu_injection *injection = &model->injection;
	bool any = false;

	if (!(injection->kinds & 1u << kind))
		return false;
	injection->seen[kind]++;
	for (unsigned int i = 0; i < injection->script.count; i++) {
		if (injection->script.fault[i].kind == kind)
			any |= strikes(injection, i, model->now);
	}
	return any;
}
