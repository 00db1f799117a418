"""The gate as an MPIJob for Kubernetes, to apply and to judge by its log."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from gpu_fabric.nccl.preflight.launchers import Job


def mpijob(
    job: Job,
    *,
    nodes: int,
    image: str,
    name: str = "gpu-fabric-preflight",
    efa_devices: int = 0,
    rdma_resource: str | None = None,
    node_selector: Mapping[str, str] | None = None,
) -> str:
    """An MPIJob (kubeflow/mpi-operator, API v2beta1) as YAML, which JSON is a part of.

    EFA comes as the resource `vpc.amazonaws.com/efa` with 5120 MiB of hugepages (EKS User Guide, node-efa.html),
    InfiniBand as whatever the cluster's device plugin calls it (`rdma_resource`).
    """
    resources: dict[str, str | int] = {"nvidia.com/gpu": job.gpus_per_node}
    if efa_devices:
        resources.update({"vpc.amazonaws.com/efa": efa_devices, "hugepages-2Mi": "5120Mi", "memory": "32Gi"})
    if rdma_resource:
        resources[rdma_resource] = 1
    shell = shlex.join(
        [
            "mpirun",
            "--allow-run-as-root",
            *(
                "-np",
                str(nodes * job.gpus_per_node),
                "--map-by",
                f"ppr:{job.gpus_per_node}:node",
                "--bind-to",
                "none",
            ),
            *("--mca", "pml", "^cm", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_exclude", "lo,docker0"),
            *(word for key, value in sorted(job.environment.items()) for word in ("-x", f"{key}={value}")),
            *job.extra,
            *job.command,
        ]
    )
    worker = {
        "name": "worker",
        "image": image,
        "resources": {"limits": resources, "requests": resources},
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    shared = {"name": "shm", "emptyDir": {"medium": "Memory"}}
    pod = {
        "containers": [worker],
        "volumes": [shared],
        **({"nodeSelector": dict(node_selector)} if node_selector else {}),
    }
    launcher = {"name": "launcher", "image": image, "command": ["bash", "-c", f"exec {shell}"]}
    document = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": job.gpus_per_node,
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
            "mpiReplicaSpecs": {
                "Launcher": {
                    "replicas": 1,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [launcher]}},
                },
                "Worker": {"replicas": nodes, "template": {"spec": pod}},
            },
        },
    }
    return json.dumps(document, indent=2) + "\n"
