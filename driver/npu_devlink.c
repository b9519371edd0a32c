// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device is, and how well, by devlink: versions, and health reporters for those who look
 * after many cards. Failures are reported when they are over, by a worker without any lock, as
 * devlink calls back under its own. Documentation/driver/devlink.rst.
 */
#include <linux/module.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "npu_compat.h"
#include "npu_context.h"

/* Devices are reset as often as they fail: devlink has no part in when. */
#define NPU_HEALTH_GRACE_MS	0

enum npu_reporter {
	NPU_REPORTER_HANG,
	NPU_REPORTER_FAULT,
	NPU_REPORTER_FIRMWARE,
	NPU_REPORTER_ECC,
	NPU_REPORTERS
};

/**
 * struct npu_devlink - devlink's instance of a device
 * @ndev: the device
 * @reporters: how well it is
 * @pending: bits of those with something to be reported
 * @tests: bits of those that somebody tries out
 * @reports: how often each has had
 * @work: reports it
 */
struct npu_devlink {
	struct npu_device *ndev;
	struct devlink_health_reporter *reporters[NPU_REPORTERS];
	unsigned long pending;
	unsigned long tests;
	atomic_t reports[NPU_REPORTERS];
	struct work_struct work;
};

/* NPU_REPORTERS: nobody's, as nothing failed. */
static enum npu_reporter npu_failure_reporter(enum npu_failure failure)
{
	switch (failure) {
	case NPU_FAILURE_NONE:
	case NPU_FAILURE_REQUEST:
	case NPU_FAILURE_BUS_RESET:
		return NPU_REPORTERS;
	case NPU_FAILURE_INVALIDATION:
	case NPU_FAILURE_CONTEXT_END:
	case NPU_FAILURE_QUEUE_END:
		return NPU_REPORTER_HANG;
	case NPU_FAILURE_PANIC:
	case NPU_FAILURE_CORE:
	case NPU_FAILURE_SILENCE:
	case NPU_FAILURE_RESTART:
		return NPU_REPORTER_FIRMWARE;
	default:
		return NPU_REPORTER_FAULT;
	}
}

static void npu_devlink_report_soon(struct npu_device *ndev, enum npu_reporter reporter)
{
	struct npu_devlink *link = READ_ONCE(ndev->devlink);

	if (!link || reporter == NPU_REPORTERS)
		return;
	set_bit(reporter, &link->pending);
	schedule_work(&link->work);
}

/**
 * npu_devlink_failed() - the device was reset, or given up
 * @ndev: the device; any lock may be held
 * @failure: why
 */
void npu_devlink_failed(struct npu_device *ndev, enum npu_failure failure)
{
	npu_devlink_report_soon(ndev, npu_failure_reporter(failure));
}

/**
 * npu_devlink_ecc() - memory of the device has lost bits
 * @ndev: the device; any lock may be held
 */
void npu_devlink_ecc(struct npu_device *ndev)
{
	npu_devlink_report_soon(ndev, NPU_REPORTER_ECC);
}

static void npu_devlink_report(struct npu_devlink *link, enum npu_reporter reporter,
			       const char *why)
{
	atomic_inc(&link->reports[reporter]);
	devlink_health_report(link->reporters[reporter], why ?: "it failed", link);
}

static void npu_devlink_work(struct work_struct *work)
{
	struct npu_devlink *link = container_of(work, struct npu_devlink, work);
	u32 i;

	for (i = 0; i < NPU_REPORTERS; i++) {
		if (test_and_clear_bit(i, &link->pending))
			npu_devlink_report(link, i, i == NPU_REPORTER_ECC ?
					   "local SRAM has lost bits" :
					   npu_failure_text(READ_ONCE(link->ndev->failure)));
		if (test_and_clear_bit(i, &link->tests))
			npu_devlink_report(link, i, "somebody tries out reports");
	}
}

/* --------------------------------------------------------------------------- reporters */

static struct npu_devlink *npu_reporter_link(struct devlink_health_reporter *reporter)
{
	return devlink_health_reporter_priv(reporter);
}

static const char *npu_devlink_state(struct npu_device *ndev)
{
	if (npu_device_is_gone(ndev))
		return "dead";
	return npu_device_is_dead(ndev) ? "resetting" : "working";
}

static void npu_devlink_put_common(struct npu_devlink *link, struct devlink_fmsg *fmsg,
				   enum npu_reporter reporter)
{
	struct npu_device *ndev = link->ndev;

	devlink_fmsg_string_pair_put(fmsg, "state", npu_devlink_state(ndev));
	devlink_fmsg_string_pair_put(fmsg, "last failure",
				     npu_failure_text(READ_ONCE(ndev->failure)));
	devlink_fmsg_u32_pair_put(fmsg, "resets", atomic_read(&ndev->resets));
	devlink_fmsg_u32_pair_put(fmsg, "reports", atomic_read(&link->reports[reporter]));
}

/* A register's name and value, when the device is awake. */
struct npu_devlink_register {
	const char *name;
	u32 reg;
};

static const struct npu_devlink_register npu_fault_registers[] = {
	{ "error status", NPU_REG_ERROR_STATUS },
	{ "faults lost", NPU_REG_FAULT_LOST },
	{ }
};

static const struct npu_devlink_register npu_firmware_registers[] = {
	{ "boot status", NPU_REG_BOOT_STATUS },
	{ "firmware state", NPU_REG_FW_STATE },
	{ "firmware alive", NPU_REG_FW_ALIVE },
	{ }
};

static const struct npu_devlink_register npu_ecc_registers[] = {
	{ "error status", NPU_REG_ERROR_STATUS },
	{ "last cluster", NPU_REG_ERROR_CLUSTER },
	{ "last address", NPU_REG_ERROR_ADDRESS },
	{ "corrected", NPU_REG_COUNTER_ECC_CORRECTED_LO },
	{ "uncorrected", NPU_REG_COUNTER_ECC_UNCORRECTED_LO },
	{ }
};

static const struct npu_devlink_register npu_hang_registers[] = {
	{ "invalidations done", NPU_REG_TLB_DONE },
	{ }
};

static const struct npu_devlink_register * const npu_reporter_registers[NPU_REPORTERS] = {
	[NPU_REPORTER_HANG] = npu_hang_registers,
	[NPU_REPORTER_FAULT] = npu_fault_registers,
	[NPU_REPORTER_FIRMWARE] = npu_firmware_registers,
	[NPU_REPORTER_ECC] = npu_ecc_registers,
};

static void npu_devlink_put_registers(struct npu_devlink *link, struct devlink_fmsg *fmsg,
				      enum npu_reporter reporter)
{
	const struct npu_devlink_register *reg;
	struct npu_device *ndev = link->ndev;
	u32 value;
	int idx;

	/* One that sleeps is well, and is not woken up to say so. */
	if (npu_device_enter_awake(ndev, &idx))
		return;
	for (reg = npu_reporter_registers[reporter]; reg->name; reg++) {
		scoped_guard(mutex, &ndev->counter_lock)
			value = npu_read(ndev, reg->reg);
		devlink_fmsg_u32_pair_put(fmsg, reg->name, value);
	}
	npu_device_exit(ndev, idx);
}

static enum npu_reporter npu_reporter_number(struct devlink_health_reporter *reporter)
{
	struct npu_devlink *link = npu_reporter_link(reporter);
	u32 i;

	for (i = 0; i < NPU_REPORTERS - 1 && link->reporters[i] != reporter; i++)
		;
	return i;
}

static int npu_devlink_diagnose(struct devlink_health_reporter *reporter,
				struct devlink_fmsg *fmsg, struct netlink_ext_ack *extack)
{
	struct npu_devlink *link = npu_reporter_link(reporter);
	enum npu_reporter number = npu_reporter_number(reporter);

	npu_devlink_put_common(link, fmsg, number);
	npu_devlink_put_registers(link, fmsg, number);
	return 0;
}

/* devlink holds its lock, under which nothing can be reported. */
static int npu_devlink_test(struct devlink_health_reporter *reporter,
			    struct netlink_ext_ack *extack)
{
	struct npu_devlink *link = npu_reporter_link(reporter);

	set_bit(npu_reporter_number(reporter), &link->tests);
	schedule_work(&link->work);
	return 0;
}

static void npu_devlink_put_noted(void *to, u32 offset, u32 value)
{
	struct devlink_fmsg *fmsg = to;

	devlink_fmsg_obj_nest_start(fmsg);
	devlink_fmsg_u32_pair_put(fmsg, "offset", offset);
	devlink_fmsg_u32_pair_put(fmsg, "value", value);
	devlink_fmsg_obj_nest_end(fmsg);
}

/* Of what the core dump has, which npu-ctl explains: what the device showed itself. */
static int npu_devlink_dump(struct devlink_health_reporter *reporter, struct devlink_fmsg *fmsg,
			    void *priv, struct netlink_ext_ack *extack)
{
	struct npu_device *ndev = npu_reporter_link(reporter)->ndev;

	devlink_fmsg_string_pair_put(fmsg, "last failure",
				     npu_failure_text(READ_ONCE(ndev->failure)));
	devlink_fmsg_arr_pair_nest_start(fmsg, "registers of the last core dump");
	npu_coredump_tell(ndev, npu_devlink_put_noted, fmsg);
	devlink_fmsg_arr_pair_nest_end(fmsg);
	return 0;
}

static int npu_devlink_recover(struct devlink_health_reporter *reporter, void *priv,
			       struct netlink_ext_ack *extack)
{
	struct npu_device *ndev = npu_reporter_link(reporter)->ndev;

	/* Reported by ourselves: it is over. */
	if (priv)
		return npu_device_is_gone(ndev) ? -ENODEV : 0;
	return npu_reset_by_request(ndev);
}

#define NPU_REPORTER(text)				\
	{						\
		.name = text,				\
		.recover = npu_devlink_recover,		\
		.dump = npu_devlink_dump,		\
		.diagnose = npu_devlink_diagnose,	\
		.test = npu_devlink_test,		\
	}

static const struct devlink_health_reporter_ops npu_reporter_ops[NPU_REPORTERS] = {
	[NPU_REPORTER_HANG] = NPU_REPORTER("hang"),
	[NPU_REPORTER_FAULT] = NPU_REPORTER("fault"),
	[NPU_REPORTER_FIRMWARE] = NPU_REPORTER("firmware"),
	[NPU_REPORTER_ECC] = NPU_REPORTER("ecc"),
};

/* -------------------------------------------------------------------------------- info */

static int npu_devlink_info(struct devlink *devlink, struct devlink_info_req *req,
			    struct netlink_ext_ack *extack)
{
	struct npu_devlink *link = devlink_priv(devlink);
	struct npu_device *ndev = link->ndev;
	char text[NPU_FW_VERSION_SIZE + 1] = "";
	int ret;

	memcpy(text, ndev->caps.config_name, sizeof(ndev->caps.config_name));
	ret = devlink_info_version_fixed_put(req, "asic.id", text);
	if (ret)
		return ret;
	snprintf(text, sizeof(text), "%u.%u", ndev->caps.hw_version >> 16,
		 ndev->caps.hw_version & 0xffff);
	ret = devlink_info_version_fixed_put(req, "asic.rev", text);
	if (ret)
		return ret;
	memcpy(text, ndev->firmware_version, NPU_FW_VERSION_SIZE);
	text[NPU_FW_VERSION_SIZE] = 0;
	ret = devlink_info_version_running_put(req, "fw", text);
	if (ret)
		return ret;
	snprintf(text, sizeof(text), "%u.%u", ndev->firmware_abi >> 16,
		 ndev->firmware_abi & 0xffff);
	return devlink_info_version_running_put(req, "fw.mgmt.api", text);
}

static const struct devlink_ops npu_devlink_ops = {
	.info_get = npu_devlink_info,
};

/* Those that there are. */
static void npu_devlink_destroy_reporters(struct npu_devlink *link)
{
	u32 i;

	for (i = 0; i < NPU_REPORTERS; i++) {
		if (link->reporters[i])
			devlink_health_reporter_destroy(link->reporters[i]);
	}
}

static int npu_devlink_create_reporters(struct npu_devlink *link)
{
	struct devlink_health_reporter *reporter;
	u32 i;

	for (i = 0; i < NPU_REPORTERS; i++) {
		reporter = npu_health_reporter_create(priv_to_devlink(link), &npu_reporter_ops[i],
						      NPU_HEALTH_GRACE_MS, link);
		if (IS_ERR(reporter))
			return PTR_ERR(reporter);
		link->reporters[i] = reporter;
	}
	return 0;
}

/**
 * npu_devlink_init() - have an instance of devlink
 * @ndev: registered
 *
 * The device works without it.
 */
void npu_devlink_init(struct npu_device *ndev)
{
	struct devlink *devlink;
	struct npu_devlink *link;
	int ret;

	devlink = devlink_alloc(&npu_devlink_ops, sizeof(*link), ndev->drm.dev);
	if (!devlink) {
		drm_warn(&ndev->drm, "no memory for devlink\n");
		return;
	}
	link = devlink_priv(devlink);
	link->ndev = ndev;
	INIT_WORK(&link->work, npu_devlink_work);
	ret = npu_devlink_create_reporters(link);
	if (ret) {
		drm_warn(&ndev->drm, "no health reporters of devlink (%d)\n", ret);
		npu_devlink_destroy_reporters(link);
		devlink_free(devlink);
		return;
	}
	devlink_register(devlink);
	WRITE_ONCE(ndev->devlink, link);
}

/**
 * npu_devlink_end() - the instance goes
 * @ndev: unplugged; nothing fails any more
 */
void npu_devlink_end(struct npu_device *ndev)
{
	struct npu_devlink *link = ndev->devlink;
	struct devlink *devlink;

	if (!link)
		return;
	disable_work_sync(&link->work);
	devlink = priv_to_devlink(link);
	devlink_unregister(devlink);
	npu_devlink_destroy_reporters(link);
	WRITE_ONCE(ndev->devlink, NULL);
	devlink_free(devlink);
}
