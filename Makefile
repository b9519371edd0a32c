# SPDX-License-Identifier: MIT
# The two commands to know: `make demo` and `make check`. Everything is made below build/.

JOBS ?= $(shell nproc)
MAIN := build/main

.PHONY: all configure deps demo demo-qemu check check-arm64 check-debug-kernel check-platform \
	fuzz soak bench clean distclean

all: configure
	@ninja -j $(JOBS) -C $(MAIN) >$(MAIN)/build.log || { cat $(MAIN)/build.log; exit 1; }
	@ln -sfn main/bin build/bin

configure:
	@tools/scripts/configure $(MAIN) $${CC:-gcc}

deps:
	@tools/scripts/install-deps check

demo:
	@tools/scripts/install-deps demo
	@tools/scripts/fetch-models demo
	@$(MAKE) --no-print-directory all
	@tools/scripts/demo

# The same text through the kernel driver, in a QEMU guest: make demo-qemu KERNELS="6.12 7.3"
KERNELS ?= 7.3
demo-qemu:
	@tools/scripts/install-deps qemu
	@tools/scripts/fetch-models demo
	@$(MAKE) --no-print-directory all
	@tools/scripts/demo-qemu $(KERNELS)

check:
	@tools/scripts/install-deps check
	@tools/scripts/fetch-models check
	@tests/run-all

# PARTS="kselftest life": some of them
check-debug-kernel:
	@tools/scripts/install-deps qemu
	@$(MAKE) --no-print-directory all
	@tests/qemu/check-debug-kernel $(MAIN) $(PARTS)

# The driver as that of a device on a chip: all of the kernel's tests
check-platform:
	@tools/scripts/install-deps qemu
	@$(MAKE) --no-print-directory all
	@tests/kernel/build-module 6.12 7.3
	@for kernel in 6.12 7.3; do tests/qemu/check-platform $(MAIN) $$kernel all || exit 1; done

# The same and more, on arm64
check-arm64:
	@tools/scripts/install-deps qemu
	@tools/scripts/fetch-models demo
	@$(MAKE) --no-print-directory all
	@tests/qemu/check-arm64 $(abspath $(MAIN))

# FUZZ_SECONDS=600 (each of three) FUZZ_SEED=1
fuzz:
	@tools/scripts/install-deps check
	@tests/fuzz/run

# SOAK_STEPS=1000000 SOAK_SEED=1 of the firmware; SOAK_TASKS, SOAK_LOADS, SOAK_OPENS of libnpurt
SOAK_STEPS ?= 1000000
SOAK_TASKS ?= 100000000
SOAK_LOADS ?= 1000000
SOAK_OPENS ?= 10000
soak:
	@tools/scripts/install-deps check
	@$(MAKE) --no-print-directory all
	@cd $(MAIN) && tests/unit/firmware/test-firmware-random firmware/npu-fw.img $(SOAK_STEPS) \
		$${SOAK_SEED:-$$(date +%s)}
	@$(MAIN)/tests/soak/soak queue $(SOAK_TASKS) load $(SOAK_LOADS) open $(SOAK_OPENS)

# Who the library is compared with may be missing; the bench says so.
bench:
	@tools/scripts/install-deps check
	@tools/scripts/install-deps bench || true
	@tools/scripts/fetch-models check
	@$(MAKE) --no-print-directory all
	@tests/bench/run

clean:
	@rm -rf $(filter-out build/corpus build/.%,$(wildcard build/*))

distclean:
	@rm -rf build
