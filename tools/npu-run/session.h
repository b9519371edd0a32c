/* SPDX-License-Identifier: MIT */
/* A model on a device with a buffer for each input and output. */
#ifndef NPU_RUN_SESSION_H
#define NPU_RUN_SESSION_H

#include "npurt.h"
#include "options.h"
#include "tensor.h"

struct session {
	struct npurt_device *device;
	struct npurt_context *context;
	struct npurt_model *model;
	struct npurt_device_info device_info;
	struct npurt_model_info info;
	struct npurt_tensor_info *tensors;	/* inputs, then outputs */
	struct npurt_binding *bindings;		/* the same order */
	uint32_t count;
};

/*
 * session_open - open the device, load the model, fill the inputs (zeros where none is given).
 * Returns 0, or the exit status after a message on stderr. session_close() undoes what was done, in any state.
 */
int session_open(struct session *session, const struct options *options);
void session_close(struct session *session);

/*
 * session_output - output @index as the host sees it; the caller frees it with tensor_free(). Returns 0,
 * or -1 with a sentence.
 */
int session_output(const struct session *session, uint32_t index, struct tensor *tensor,
		   char error[TENSOR_ERROR_BYTES]);

/*
 * session_find - index of the input (or output) called @name; "" is the only one. Returns -1 after a
 * message on stderr when there is none.
 */
int session_find(const struct session *session, bool output, const char *name);

/* session_peak_macs - multiply-accumulates a cycle of the whole device at the model's precision. */
uint64_t session_peak_macs(const struct session *session);

#endif
