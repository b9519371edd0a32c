// SPDX-License-Identifier: MIT
/*
 * Ending a process. Its number may be another's by now: the descriptor holds one process, which is
 * then compared with the one on the screen.
 */
#include "end_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void top_end_process(const struct top_process *process, int signal, char *text, size_t bytes)
{
	int fd;

	if (!process->ours) {
		snprintf(text, bytes,
			 "process %d is not this user's: only its user, or root with kill(1), may "
			 "end it",
			 (int)process->pid);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (fd < 0) {
		snprintf(text, bytes, "process %d: %s", (int)process->pid, strerror(errno));
		return;
	}
	if (npurt_stats_start_time(process->pid) != process->start_time)
		snprintf(text, bytes, "process %d has ended by itself", (int)process->pid);
	else if (syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0))
		snprintf(text, bytes, "process %d: %s", (int)process->pid, strerror(errno));
	else
		snprintf(text, bytes, "process %d has been sent %s", (int)process->pid,
			 signal == SIGKILL ? "SIGKILL" : "SIGTERM");
	close(fd);
}
