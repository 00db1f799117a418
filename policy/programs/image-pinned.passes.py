"""One exact image."""

from pulumi_azure_native import compute

compute.VirtualMachineScaleSet(
    "image-pinned-fleet",
    resource_group_name="training",
    sku={"name": "Standard_ND96isr_H100_v5", "capacity": 4},
    orchestration_mode="Uniform",
    single_placement_group=True,
    virtual_machine_profile={
        "storage_profile": {
            "image_reference": {
                "publisher": "microsoft-dsvm",
                "offer": "ubuntu-hpc",
                "sku": "2204",
                "version": "22.04.2025081901",
            }
        }
    },
)
