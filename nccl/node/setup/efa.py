"""What an EFA node waits for: all its devices as libfabric opens them, and the pages that they take."""

import glob
import os
import re
import shutil


# [libfabric]
def opened(host):
    """Not what sysfs lists: Blackwell nodes have RDMA cards there that are not EFA."""
    shown = host.run(shutil.which("fi_info") or "/opt/amazon/efa/bin/fi_info", "-p", "efa", check=False)
    return len(set(re.findall(r"^\s*domain: (\S+?)(?:-(?:rdm|dgrm))?$", shown, re.M)))


# [/libfabric]
# [kernel]
DRIVERS = "/sys/class/infiniband/*/device/driver"


def bound():
    """Devices of the kernel's driver `efa`, where libfabric comes in the images of pods and not in the node's."""
    return sum(os.path.basename(os.path.realpath(each)) == "efa" for each in glob.glob(DRIVERS))


# [/kernel]
def run(host, count, pages, libfabric=True, seconds=900):
    def look():
        # [libfabric]
        found, who = opened(host) if libfabric else 0, "fi_info"
        # [/libfabric]
        # [kernel]
        if not libfabric:
            found, who = bound(), "the kernel"
        # [/kernel]
        return None if found == count else f"{who} lists {found} of {count} EFA devices"

    host.until(look, seconds)
    path = "/proc/sys/vm/nr_hugepages"
    if int(host.read(path, "0")) < pages:
        host.put("/etc/sysctl.d/90-gpu-fabric.conf", f"vm.nr_hugepages = {pages}\n")
        host.run("sysctl", "-w", f"vm.nr_hugepages={pages}")
    have = int(host.read(path, "0"))
    if have < pages:
        raise host.Fail(f"the kernel gave {have} of {pages} hugepages: reboot")
    return f"{count} devices, {have} hugepages of 2 MiB"
