// SPDX-License-Identifier: GPL-2.0-only
/* Where tracepoints are. */
#define CREATE_TRACE_POINTS
#include "npu_trace.h"
