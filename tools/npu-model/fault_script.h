/* SPDX-License-Identifier: MIT */
/*
 * Injected faults: what a script makes the device do wrong, and when. Manual:
 * Documentation/hardware/injected-faults.rst, which has the grammar.
 */
#ifndef NPU_MODEL_FAULT_SCRIPT_H
#define NPU_MODEL_FAULT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npu_model;

#define NPU_FAULT_SCRIPT_MAX	16

enum npu_fault_kind {
	NPU_INJECT_HANG,		/* a task's first operation never ends */
	NPU_INJECT_STUCK,		/* ... and its clusters do not stop when told to */
	NPU_INJECT_DROP_IRQ,		/* an interrupt's message is lost */
	NPU_INJECT_ECC_CORRECTED,
	NPU_INJECT_ECC_UNCORRECTED,
	NPU_INJECT_FW_CRASH,		/* the control core jumps to nowhere */
	NPU_INJECT_FW_SILENCE,		/* it stops, and says nothing */
	NPU_INJECT_SLOW_DMA,
	NPU_INJECT_TLB_HANG,		/* an invalidation never completes */
	NPU_INJECT_OVER_TEMPERATURE,
	NPU_INJECT_DEAD,		/* the device does not answer any more */
	NPU_INJECT_KINDS
};

/* One fault: strikes at the opportunity @first, or the first one at cycle @time or later. */
struct npu_scripted_fault {
	enum npu_fault_kind kind;
	bool timed;
	uint64_t time;
	uint64_t first;			/* opportunity, counted from 1 */
	uint64_t every;			/* ... and each so many after it; 0: once */
	uint64_t argument;
};

struct npu_fault_script {
	struct npu_scripted_fault fault[NPU_FAULT_SCRIPT_MAX];
	unsigned int count;
};

/* What became of a script; time goes on over a reset, and so do opportunities. */
struct npu_injection {
	struct npu_fault_script script;
	uint32_t kinds;			/* bit for each enum npu_fault_kind in the script */
	uint64_t seen[NPU_INJECT_KINDS];	/* opportunities so far */
	uint64_t next[NPU_FAULT_SCRIPT_MAX];	/* opportunity at which it strikes; 0: by its time */
	bool over[NPU_FAULT_SCRIPT_MAX];
	uint64_t argument;		/* of the one that struck last */
	/* Until reset */
	bool tlb_hung, core_silent, tripped;
	/* Until power on */
	bool dead;
};

/**
 * npu_fault_script_parse() - read a script
 * @text:	"hang#5,drop-irq@1000000"; empty: no fault
 * @script:	filled in; undefined after an error
 * @error:	receives a sentence on failure, always NUL terminated
 *
 * Returns 0, or -EINVAL.
 */
int npu_fault_script_parse(const char *text, struct npu_fault_script *script, char *error,
			   size_t error_bytes);

/**
 * npu_fault_script_take() - take the key "fault" out of a configuration
 * @config:	"npu-v3?clusters=2&fault=hang#5"
 * @rest:	receives the configuration without it
 * @script:	the script, empty when there is none
 *
 * Returns 0, or -EINVAL with a sentence in @error.
 */
int npu_fault_script_take(const char *config, char *rest, size_t rest_bytes,
			  struct npu_fault_script *script, char *error, size_t error_bytes);

/** npu_fault_kind_name() - a kind by its word, and a line about it; NULL past the last */
const char *npu_fault_kind_name(unsigned int kind, const char **help);

/** npu_injection_start() - power on: the script begins */
void npu_injection_start(struct npu_injection *injection);

/** npu_injection_reset() - what a reset of the device makes good */
void npu_injection_reset(struct npu_injection *injection);

/** npu_inject() - an opportunity for a kind of fault: whether it strikes now */
bool npu_inject(struct npu_model *model, enum npu_fault_kind kind);

#endif /* NPU_MODEL_FAULT_SCRIPT_H */
