"""A GPU node in an isolated root: stand-ins for its devices, its services and systemd, and the real cloud-init."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.hardware import Fabric, NodeSize
from tests.node_real.isolated import Root

FAULTS = "/faults"

# systemd as far as our unit needs it: the state of units, one start, restarts after a kill, ExecStopPost.
_SYSTEMCTL = r"""
import os, re, subprocess, sys, time

argv = [a for a in sys.argv[1:] if a != "--no-block"]
open("/systemctl.log", "a").write(" ".join(sys.argv[1:]) + "\n")
if argv[0] == "show":
    try:
        state = open("/units/" + argv[-1]).read().strip()
    except OSError:
        state = None
    print("LoadState=" + ("loaded" if state else "not-found"))
    print("ActiveState=" + (state or "inactive").split()[0])
    # `inactive`, with `disabled` or `ran` behind it.
    print("UnitFileState=" + ("disabled" if "disabled" in (state or "") else "enabled"))
    print("InactiveExitTimestampMonotonic=" + ("12" if "ran" in (state or "") else "0"))
if argv[0] == "is-active":
    try:
        os.kill(int(open("/unit.systemctl").read()), 0)
        print("activating")
    except (OSError, ValueError):
        print("inactive")
    sys.exit(3)
if argv[0] == "start":
    if "--no-block" in sys.argv:
        if os.fork():
            sys.exit()
        os.setsid()
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
    open("/unit.systemctl", "w").write(str(os.getpid()))
    text = open("/etc/systemd/system/" + argv[1]).read()
    of = lambda key: re.search("^" + key + "=(.*)$", text, re.M)[1]
    assert of("Type") == "oneshot" and of("Restart") == "on-abnormal"
    for start in range(int(of("StartLimitBurst"))):
        process = subprocess.Popen(of("ExecStart").split(), start_new_session=True)
        open("/unit.pid", "w").write(str(process.pid))
        code = process.wait()
        if os.path.exists("/faults/power-is-off"):
            os.unlink("/faults/power-is-off")
            sys.exit(99)
        result = "success" if code == 0 else "signal" if code < 0 else "exit-code"
        subprocess.call(of("ExecStopPost").split(), env={**os.environ, "SERVICE_RESULT": result})
        if code >= 0:
            sys.exit(code)
    sys.exit(1)
"""

# Kills the run, or lets the power fail, when a step begins or ends.
_CUSTOMIZE = r"""
import atexit, json, os, signal, sys

def fault(moment):
    plan = json.load(open("/etc/gpu-fabric/setup.json"))
    path = "/faults/" + plan["steps"][int(sys.orig_argv[-1])]["name"] + "-" + moment
    if os.path.exists(path):
        how = open(path).read().strip()
        if how != "always":
            os.unlink(path)
        if how == "power":
            open("/faults/power-is-off", "w").close()
        os.killpg(os.getppid(), signal.SIGKILL)

if "step" in sys.orig_argv:
    fault("begin")
    atexit.register(fault, "end")
"""


@dataclass
class GpuNode:
    root: Root
    size: NodeSize

    def install(self) -> GpuNode:
        """Everything that a healthy node of this size has."""
        root, size = self.root, self.size
        root.run("mkdir", "-p", FAULTS, "/units", "/kernel")
        root.program("/usr/local/bin/nvidia-smi", _nvidia_smi(size.gpu.count))
        root.program("/usr/local/bin/fi_info", _fi_info(size.fabric_ports))
        root.program("/usr/local/bin/ibstat", "exit 0\n")
        root.program("/usr/local/bin/docker", "exit 0\n")
        # One transient unit, beside what starts it; a second of its name is refused.
        root.program(
            "/usr/local/bin/systemd-run",
            'while [ "${1#-}" != "$1" ]; do shift; done\n'
            '! kill -0 "$(cat /transient.pid 2>/dev/null)" 2>/dev/null || exit 1\n'
            'setsid "$@" >/dev/null 2>&1 </dev/null &\necho $! >/transient.pid\n',
        )
        root.write("/usr/local/bin/systemctl", f"#!/usr/bin/python3 -S\n{_SYSTEMCTL}", 0o755)
        root.write("/usr/lib/python3.11/sitecustomize.py", _CUSTOMIZE)
        for unit in ("nvidia-fabricmanager", "nvidia-persistenced", "sku-customizations", "openibd"):
            root.write(f"/units/{unit}.service", "active\n")
        if size.fabric is Fabric.INFINIBAND:
            for number in range(size.fabric_ports):
                self.port(
                    f"mlx5_ib{number}",
                    "InfiniBand",
                    "4: ACTIVE",
                    f"{size.fabric_port_gbps:.0f} Gb/sec (4X NDR)",
                )
            self.port("mlx5_an0", "Ethernet", "4: ACTIVE", "100 Gb/sec (4X EDR)")
            root.run("mkdir", "-p", "/sys/module/nvidia_peermem")
        self.disks(8)
        self._packages()
        # What a step would otherwise change in this machine's own kernel.
        for path, text in (
            ("/proc/sys/vm/nr_hugepages", "0\n"),
            ("/proc/sys/kernel/random/boot_id", "boot-1\n"),
            ("/dev/console", ""),
        ):
            root.write(f"/kernel{path}", text)
            root.run("/usr/bin/mount", "--bind", f"/kernel{path}", path)
        root.program("/usr/local/bin/sysctl", 'printf "%s\\n" "${2#*=}" >/proc/sys/vm/nr_hugepages\n')
        return self

    def port(self, device: str, layer: str, state: str, rate: str) -> None:
        folder = f"/sys/class/infiniband/{device}/ports/1"
        for name, text in (("link_layer", layer), ("state", state), ("rate", rate)):
            self.root.write(f"{folder}/{name}", f"{text}\n")

    def disks(self, count: int) -> None:
        """Local NVMe disks, and the network disk that must not be touched."""
        models = {"aws": "Amazon EC2 NVMe Instance Storage", "azure": "Microsoft NVMe Direct Disk v2"}
        total = int((self.size.local_nvme_gb or 0) * 1e9)
        local = {
            "model": models[self.size.cloud.value],
            "size": total // 8,
            "type": "disk",
            "mountpoint": None,
        }
        rows: list[dict[str, Any]] = [{"path": f"/dev/nvme{n + 1}n1", **local} for n in range(count)]
        boot = {"path": "/dev/nvme0n1p1", "model": None, "size": 10**11, "type": "part", "mountpoint": "/"}
        network = {**boot, "path": "/dev/nvme0n1", "model": "Amazon Elastic Block Store", "type": "disk"}
        network.update(mountpoint=None, children=[boot])
        document = json.dumps({"blockdevices": [network, *rows]})
        self.root.program("/usr/local/bin/lsblk", f"cat <<'END'\n{document}\nEND\n")
        log = 'echo "${0##*/} $*" >>/disks.log\n'
        self.root.program("/usr/local/bin/mdadm", log)
        self.root.program("/usr/local/bin/wipefs", log)
        self.root.program("/usr/local/bin/mkfs.xfs", f"{log}touch /labelled\n")
        # A label is found when a file system with it has been made; what is mounted is a tmpfs.
        self.root.program(
            "/usr/local/bin/mount",
            '[ "$3" = -L ] || exec /usr/bin/mount "$@"\n'
            '[ -e /labelled ] || { echo "mount: cannot find LABEL=$4" >&2; exit 1; }\n'
            f'exec /usr/bin/mount -t tmpfs -o size={count * (total // 8) // 1024}k tmpfs "$5"\n',
        )

    def _packages(self) -> None:
        self.root.program(
            "/usr/local/bin/dpkg-query",
            "printf '%s installed\\n' nvidia-driver-580-server libnvidia-compute-580\necho nvidia-old not-installed\n",
        )
        self.root.program(
            "/usr/local/bin/apt-mark",
            'case $1 in showhold) cat /held 2>/dev/null ;; hold) shift; printf "%s\\n" "$@" >>/held ;; esac\nexit 0\n',
        )

    # ---- what happens to it -------------------------------------------------------------------------------------

    def seed(self, user_data: bytes) -> None:
        """What the cloud hands to cloud-init, gzip and all."""
        folder = "/var/lib/cloud/seed/nocloud"
        self.root.write(f"{folder}/meta-data", "instance-id: i-1\nlocal-hostname: node\n")
        self.root.write(f"{folder}/user-data", user_data)
        self.root.write(
            "/etc/cloud/cloud.cfg.d/99-test.cfg",
            "datasource_list: [NoCloud]\nlocale: false\nmanage_etc_hosts: false\napt_preserve_sources_list: true\n"
            "ssh_deletekeys: false\nssh_genkeytypes: []\nnetwork: {config: disabled}\ngrowpart: {mode: 'off'}\n"
            "resize_rootfs: false\n",
        )

    def cloud_init(self) -> str:
        """The four stages of a boot, as its units run them; what `cloud-init status` says at the end."""
        for stage in (
            ["init", "--local"],
            ["init"],
            ["modules", "--mode=config"],
            ["modules", "--mode=final"],
        ):
            self.root.run("cloud-init", *stage, timeout=60, check=False)
        return self.root.run("cloud-init", "status", check=False).stdout.strip()

    def start_unit(self) -> int:
        """What systemd does at every boot after the first; the unit's exit status."""
        wanted = self.root.read(paths.READY_WANTED) or ""
        unit = paths.READY_UNIT.rpartition("/")[2]
        assert f"Wants={unit}" in wanted, "systemd starts the unit because multi-user.target wants it"
        return self.root.run("systemctl", "start", unit, timeout=60, check=False).returncode

    def work(self) -> float:
        """Seconds of processor time that one start of the unit takes, its steps and their programs included."""
        unit = paths.READY_UNIT.rpartition("/")[2]
        script = f"TIMEFORMAT='%U %S'; time systemctl start {unit} >/dev/null 2>&1"
        user, system = self.root.run("bash", "-c", script).stdout.splitlines()[-1].split()
        return float(user) + float(system)

    def reboot(self, boot: str) -> None:
        self.root.run("sh", "-c", "umount /scratch 2>/dev/null; true")
        self.root.reboot()
        self.root.run(
            "sh", "-c", f"echo {boot} >/proc/sys/kernel/random/boot_id; echo 0 >/proc/sys/vm/nr_hugepages"
        )

    def forget(self) -> None:
        """As if our unit had never run on this node."""
        self.reboot("boot-0")
        gone = "/var/lib/gpu-fabric /var/log/gpu-fabric /labelled /held /disks.log /systemctl.log /faults"
        written = "/etc/cdi /etc/docker /etc/security/limits.d/90-gpu-fabric.conf /etc/systemd/system.conf.d"
        self.root.run("sh", "-c", f"rm -rf {gone} {written} /order; mkdir /faults; : >/kernel/dev/console")

    def fault(self, step: str, moment: str, how: str = "once") -> None:
        """Kill the run when the step begins or ends: `once`, `always`, or with systemd itself (`power`)."""
        self.root.write(f"{FAULTS}/{step}-{moment}", f"{how}\n")

    # ---- what it says -------------------------------------------------------------------------------------------

    @property
    def faults(self) -> list[str]:
        """Those that have not struck yet."""
        return self.root.run("ls", FAULTS).stdout.split()

    @property
    def readiness(self) -> dict[str, Any]:
        return json.loads(self.root.read(paths.READY) or "{}")

    @property
    def steps(self) -> Mapping[str, str]:
        """Step without its number → state, from the status files."""
        script = f"cat {paths.STEPS}/*.json | python3 -S -c '{_READ_ALL}'"
        rows = json.loads(self.root.run("sh", "-c", script).stdout)
        return {
            row["step"].partition("-")[2]: row["state"] for row in sorted(rows, key=lambda row: row["step"])
        }

    def log(self, step: str) -> str:
        return self.root.run("sh", "-c", f"cat /var/log/gpu-fabric/*-{step}.log").stdout

    @property
    def console(self) -> str:
        return self.root.read("/dev/console") or ""


_READ_ALL = (
    "import json,sys; d=json.JSONDecoder(); t=sys.stdin.read().strip(); out=[]\n"
    "while t:\n  v,n=d.raw_decode(t); out.append(v); t=t[n:].strip()\nprint(json.dumps(out))"
)


def _nvidia_smi(count: int) -> str:
    rows = "".join(f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: GPU-{n})\n" for n in range(count))
    return f"[ \"$*\" = -L ] || exit 9\ncat <<'END'\n{rows}END\n"


def _fi_info(count: int) -> str:
    rows = "".join(
        f"provider: efa\n    fabric: efa\n    domain: rdmap{79 + n}s0-{kind}\n    type: {endpoint}\n"
        for n in range(count)
        for kind, endpoint in (("rdm", "FI_EP_RDM"), ("dgrm", "FI_EP_DGRAM"))
    )
    return f"[ \"$*\" = '-p efa' ] || exit 9\ncat <<'END'\n{rows}END\n"
