// SPDX-License-Identifier: MIT
/* What driver or device do not make possible yet: what would, and what helps until then. */
#include <stdio.h>
#include <string.h>

#include "ctl.h"

static const struct {
	const char *command, *sentence;
} missing[] = {
	{ "reset",
	  "the driver has no reset that processes survive (it needs reset_prepare and "
	  "reset_done in its pci_error_handlers). Until then, as root, every process loses "
	  "the device: echo BUS > /sys/bus/pci/drivers/npu/unbind, then the same to bind; "
	  "BUS is in 'npu-ctl list'. A sim: device ends with its process" },
	{ "errors", "the driver counts no errors yet (it needs devlink health reporters for hang, "
		    "fault, firmware and ECC). Until then: failed runs by model in npu-top, the "
		    "kernel's log in dmesg, the firmware's in 'npu-ctl log'" },
	{ "coredump", "the driver writes no core dump yet (it needs dev_coredumpv()). Until then: "
		      "the sentence of the failed run names task, model, layer and address, and "
		      "NPURT_LOG=error:FILE keeps it" },
};

int ctl_missing(const char *command)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		if (strcmp(command, missing[i].command))
			continue;
		fprintf(stderr, "npu-ctl: %s: not offered yet: %s\n", command, missing[i].sentence);
		return 1;
	}
	return -1;
}
