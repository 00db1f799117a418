"""What a container must have to reach the fabric: no limit on locked memory, and our files inside it."""

import json
import os

OURS = ("/etc/gpu-fabric", "/usr/local/bin/gpu-fabric-entrypoint")
VARIABLE = "NCCL_CONF_FILE=/etc/gpu-fabric/nccl.conf"
READ_ONLY = ["ro", "nosuid", "nodev", "bind"]
MOUNTS = [{"hostPath": path, "containerPath": path, "options": READ_ONLY} for path in OURS]
# Container Device Interface: Docker, containerd, CRI-O and podman all take `--device gpu-fabric.io/node=files`.
CDI = {
    "cdiVersion": "0.5.0",
    "kind": "gpu-fabric.io/node",
    "devices": [{"name": "files", "containerEdits": {"env": [VARIABLE], "mounts": MOUNTS}}],
}
DOCKER = "/etc/docker/daemon.json"


def docker(host):
    try:
        settings = json.loads(host.read(DOCKER) or "{}")
        ulimits = settings.setdefault("default-ulimits", {})
        ulimits["memlock"] = {"Name": "memlock", "Soft": -1, "Hard": -1}
        settings.setdefault("features", {}).setdefault("cdi", True)
    except (ValueError, AttributeError, TypeError) as error:
        raise host.Fail(f"{DOCKER} is not JSON as Docker reads it: {error}") from None
    text = json.dumps(settings, indent=1) + "\n"
    if host.read(DOCKER) != text and host.run("docker", "ps", "--quiet", check=False).strip():
        host.put(DOCKER, text)
        return "docker, after its next restart"
    host.tell(DOCKER, text, "systemctl", "try-restart", "docker.service")
    return "docker"


def run(host):
    done = []
    if not any(map(host.has, ("docker", "nerdctl", "crio", "podman", "enroot"))):
        raise host.Skip("no container runtime here")
    host.put("/etc/cdi/gpu-fabric.json", json.dumps(CDI, indent=1) + "\n")
    if host.has("docker"):
        done.append(docker(host))
    if os.path.isdir("/etc/enroot/mounts.d"):
        rows = [f"{path} {path} none x-create=auto,bind,ro,nosuid,nodev\n" for path in OURS]
        host.put("/etc/enroot/mounts.d/50-gpu-fabric.fstab", "".join(rows))
        host.put("/etc/enroot/environ.d/50-gpu-fabric.env", VARIABLE + "\n")
        done.append("enroot")
    return ", ".join([*done, "CDI device gpu-fabric.io/node=files"])
