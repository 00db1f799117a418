"""Cloud resources as Pulumi components; import from `gpu_fabric.components`."""
