"""Local NVMe disks as one RAID 0 with XFS. What is on them does not outlive the node, so a broken set is made anew."""

import glob
import json
import os

LABEL = "gpu-fabric"


def local_disks(host, models):
    """Path and bytes of each unused local disk; network disks have other models."""
    disks = {}
    for disk in json.loads(host.run("lsblk", "-Jbo", "PATH,MODEL,SIZE,TYPE,MOUNTPOINT"))["blockdevices"]:
        below = disk.get("children") or []
        used = any(part["mountpoint"] or not part["type"].startswith("raid") for part in below)
        if (disk["model"] or "").startswith(tuple(models)) and not used and not disk["mountpoint"]:
            disks[disk["path"]] = int(disk["size"])
    return disks


def stop_arrays(host, disks):
    """A set with a missing member is there but does not run, and keeps its other members busy."""
    for array in glob.glob("/sys/block/md*"):
        members = os.listdir(array + "/slaves")
        if members and all("/dev/" + member in disks for member in members):
            host.run("mdadm", "--stop", "/dev/" + os.path.basename(array))


def mounted(host, mount):
    """By its label, whatever name the kernel gave the array."""
    host.run("mount", "-o", "noatime,discard", "-L", LABEL, mount, check=False)
    return os.path.ismount(mount)


def make(host, disks):
    stop_arrays(host, disks)
    host.run("wipefs", "-af", *disks)
    device = next(iter(disks))
    if len(disks) > 1:
        device = "/dev/md/" + LABEL
        options = ["--run", "--level=0", "--homehost=any", f"--raid-devices={len(disks)}"]
        host.run("mdadm", "--create", device, *options, *disks)
    host.run("mkfs.xfs", "-fL", LABEL, device)


def size(mount, bytes):
    """What is there; a file system keeps less than a twentieth for itself, and a disk is an eighth at least."""
    found = os.statvfs(mount)
    have = found.f_blocks * found.f_frsize
    return f", {have / 1e12:.1f} TB" + (
        f", DEGRADED: {bytes / 1e12:.1f} TB expected" if have < 0.95 * bytes else ""
    )


def run(host, mount, models, bytes, image_mount=None):
    os.makedirs(mount, exist_ok=True)
    if os.path.ismount(mount):
        return "mounted already" + size(mount, bytes)
    if image_mount and os.path.ismount(image_mount):
        host.run("mount", "--bind", image_mount, mount)
        return f"the image's own, from {image_mount}" + size(mount, bytes)
    disks = local_disks(host, models)
    if not disks:
        raise host.Fail("no unused local NVMe disk is there: see lsblk")
    if not mounted(host, mount):
        make(host, disks)
        if not mounted(host, mount):
            raise host.Fail(f"{mount} cannot be mounted")
    os.chmod(mount, 0o1777)
    return f"{len(disks)} disks" + size(mount, bytes)
