# SPDX-License-Identifier: MIT
"""What guests are: which kernel, in which Debian folder, on which of QEMU's machines.

6.12, 7.3 and debug are PCs; arm64-7.3 and arm64-7.3-16k have arm64's processors and kernels with pages of 4 and of
16 KiB.
"""
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IN_ROOT = os.path.join(TOP, "tests", "qemu", "in-root")
DEBUG_KERNEL = os.path.join(TOP, "build", "debug-kernel")


class MachineError(Exception):
    pass


def machine_of(release):
    return Arm64(release) if release.startswith("arm64-") else Pc(release)


class Machine:
    def __init__(self, release):
        self.release = release
        self.kernels = self.root

    def make_root(self):
        """Makes the Debian folder, if it is not there; returns whether it is."""
        return not subprocess.run([os.path.join(TOP, "tests/qemu/make-root"), self.root, self.architecture],
                                  stdout=2).returncode

    def kernel(self):
        """(folder of modules, kernel image) of the newest kernel of the release."""
        folder = os.path.join(self.kernels, "usr/lib/modules")
        versions = sorted(name for name in (os.listdir(folder) if os.path.isdir(folder) else [])
                          if self.is_version(name))
        if not versions:
            raise MachineError("there is no kernel %s in %s" % (self.release, self.kernels))
        folder = os.path.join(folder, versions[-1])
        for image in (os.path.join(folder, "vmlinuz"), os.path.join(self.kernels, "boot/vmlinuz-" + versions[-1])):
            if os.path.exists(image):
                return folder, image
        raise MachineError("kernel %s has no image in %s" % (versions[-1], self.kernels))


class Pc(Machine):
    architecture = "amd64"
    root = os.environ.get("NPU_QEMU_ROOT", os.path.join(TOP, "build", "qemu-root"))
    console, output = "ttyS0", "ttyS1"
    # On a busy machine a guest's processor stands still for long: that is no dead timer.
    arguments = "no_timer_check"

    def __init__(self, release):
        super().__init__(release)
        if release == "debug":
            self.kernels = DEBUG_KERNEL

    def is_version(self, name):
        return self.release == "debug" or name.startswith(self.release + ".") and name.endswith("-amd64")

    def make_tree(self, work):
        raise MachineError("a PC has no device tree")

    def qemu(self, iommu):
        return ["qemu-system-x86_64", "-M", "q35,kernel-irqchip=split" if iommu else "q35"]

    def libraries_of(self, program):
        """[(path, path in the guest)] of the shared libraries a program loads, the loader included."""
        result = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            return []
        if "not found" in result.stdout:
            raise MachineError("libraries of %s are missing:\n%s" % (program, result.stdout))
        # The loader has the path that is in the programs; the rest is found by LD_LIBRARY_PATH.
        return [(path, path if "ld-linux" in path else "/lib/" + os.path.basename(path))
                for path in re.findall(r"(/\S+) \(0x", result.stdout)]


class Arm64(Machine):
    architecture = "arm64"
    root = os.environ.get("NPU_ARM64_ROOT", os.path.join(TOP, "build", "arm64-root"))
    console, output = "ttyAMA0", "ttyAMA1"
    arguments = ""

    def is_version(self, name):
        release, _, pages = self.release[len("arm64-"):].partition("-")
        return name.startswith(release + ".") and name.endswith("-arm64" + (pages and "-" + pages))

    def qemu(self, iommu):
        if iommu:
            raise MachineError("an IOMMU before the card is for PCs only")
        return ["qemu-system-aarch64", "-M", "virt", "-cpu", "max"]

    def make_tree(self, work):
        """The machine's device tree with a node for an NPU, as work/chip.dtb. It is disabled, so that the kernel makes
        no device of it: npu-shim.ko does, and knows where the registers are."""
        machine = " ".join(self.qemu(False)).replace("virt", "virt,dumpdtb=/mnt/virt.dtb")
        # As many processors and serial ports as run-guest has.
        command = machine + """ -smp 2 -display none -serial null -serial null
            (dtc -q -I dtb -O dts /mnt/virt.dtb
             echo '/ { npu { compatible = "npu-project,npu3"; dma-coherent; status = "disabled"; }; };') |
            dtc -q -I dts -O dtb -o /mnt/chip.dtb"""
        made = subprocess.run([IN_ROOT, self.root, work + "=/mnt", "--", "sh", "-ec", command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            raise MachineError("no device tree can be made:\n" + made.stdout)

    def libraries_of(self, program):
        found, left = {}, [program]
        while left:
            path = left.pop()
            text = subprocess.run(["readelf", "-ld", "-W", path], stdout=subprocess.PIPE, check=True, text=True).stdout
            folders = [os.path.join(self.root, "usr/lib/aarch64-linux-gnu")]
            for places in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text):
                folders += places.replace("$ORIGIN", os.path.dirname(path)).split(":")
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
                if name in found:
                    continue
                paths = [os.path.join(folder, name) for folder in folders
                         if os.path.exists(os.path.join(folder, name))]
                if not paths:
                    raise MachineError("%s, which %s needs, is nowhere" % (name, path))
                found[name] = paths[0]
                left.append(paths[0])
        return [(path, "/lib/" + name) for name, path in found.items()]
