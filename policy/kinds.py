"""Where each type of resource keeps what the rules ask of a machine: a row for each type.

Paths are dotted, `*` stands for each entry of a list (`values.at`). A new type is a new row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gpu_fabric.nccl.hardware import Cloud


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a type of resource that describes machines says, and where."""

    cloud: Cloud
    sizes: tuple[str, ...]
    """Instance types or VM sizes."""
    templates: tuple[str, ...] = ()
    """Ids or names of the launch templates that say the rest."""
    complete: bool = True
    """Whether what neither it nor a template says is not set; False: its service fills it in."""
    requirements: str = ""
    """EC2's attributes in place of a size."""
    user_data: tuple[str, ...] = ()
    image: tuple[str, ...] = ()
    interfaces: str = ""
    primary: str = ""
    """A network interface of its own as the first one."""
    groups: tuple[str, ...] = ()
    """Security groups."""
    default_group: str = ""
    """The group that its service gives to machines where nobody names one."""
    public: tuple[str, ...] = ()
    """Flags that ask for a public address."""
    root_disk: str = ""
    """The disk that the machine starts from, where it has a property of its own."""
    disks: tuple[str, ...] = ()
    """Disks, each with its `deviceName`."""
    at_host: tuple[str, ...] = ()
    """Azure's encryption at host."""
    metadata: tuple[str, ...] = ()
    placement: tuple[str, ...] = ()
    """Ids or names of placement groups."""
    market: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    many: bool = False
    """Whether it starts machines by number; False for one machine, or for a template."""
    made_by: str = ""
    """The service that sets the machines up in a way that no program says."""
    unread: str = ""
    """Who describes machines by properties of their own that this pack does not read, only their sizes."""


TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
CONFIGURATION: Final = "aws:ec2/launchConfiguration:LaunchConfiguration"
INSTANCE: Final = "aws:ec2/instance:Instance"
SPOT: Final = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
SCALE_SET: Final = "azure-native:compute:VirtualMachineScaleSet"
MACHINE: Final = "azure-native:compute:VirtualMachine"
#: What other resources start machines from.
TEMPLATES: Final = (TEMPLATE, CONFIGURATION)
#: What describes one machine.
SINGLE: Final = (INSTANCE, SPOT, MACHINE)

_INSTANCE = Kind(
    cloud=Cloud.AWS,
    sizes=("instanceType",),
    templates=("launchTemplate.id", "launchTemplate.name"),
    user_data=("userDataBase64", "userData"),
    image=("ami",),
    interfaces="networkInterfaces.*",
    primary="primaryNetworkInterface",
    groups=("vpcSecurityGroupIds.*", "securityGroups.*"),
    public=("associatePublicIpAddress",),
    root_disk="rootBlockDevice",
    disks=("ebsBlockDevices.*",),
    metadata=("metadataOptions",),
    placement=("placementGroup", "placementGroupId"),
    market=("instanceMarketOptions.marketType",),
    subnets=("subnetId",),
    zones=("availabilityZone",),
)
_FLEET = Kind(
    cloud=Cloud.AWS,
    many=True,
    complete=False,
    sizes=(
        "launchTemplateConfigs.*.overrides.*.instanceType",
        "launchSpecifications.*.instanceType",
    ),
    templates=(
        "launchTemplateConfigs.*.launchTemplateSpecification.launchTemplateId",
        "launchTemplateConfigs.*.launchTemplateSpecification.launchTemplateName",
        "launchTemplateConfigs.*.launchTemplateSpecification.id",
        "launchTemplateConfigs.*.launchTemplateSpecification.name",
    ),
    requirements="launchTemplateConfigs.*.overrides.*.instanceRequirements",
    placement=("launchSpecifications.*.placementGroup",),
    subnets=("launchTemplateConfigs.*.overrides.*.subnetId", "launchSpecifications.*.subnetId"),
    zones=(
        "launchTemplateConfigs.*.overrides.*.availabilityZone",
        "launchSpecifications.*.availabilityZone",
    ),
)
_GROUP = "mixedInstancesPolicy.launchTemplate"

_REQUIREMENTS = ("spec.template.spec.requirements.*.values.*",)
#: Who describes machines in other ways, and where each type says their sizes: enough to say that nobody looked.
_ONLY_SIZES: Final[tuple[tuple[str, Cloud, dict[str, tuple[str, ...]]], ...]] = (
    (
        "the provider aws-native",
        Cloud.AWS,
        {
            "aws-native:ec2:LaunchTemplate": ("launchTemplateData.instanceType",),
            "aws-native:ec2:Instance": ("instanceType",),
            "aws-native:ec2:Ec2Fleet": ("launchTemplateConfigs.*.overrides.*.instanceType",),
            "aws-native:ec2:SpotFleet": (
                "spotFleetRequestConfigData.launchSpecifications.*.instanceType",
                "spotFleetRequestConfigData.launchTemplateConfigs.*.overrides.*.instanceType",
            ),
            "aws-native:autoscaling:AutoScalingGroup": (
                "mixedInstancesPolicy.launchTemplate.overrides.*.instanceType",
            ),
            "aws-native:eks:Nodegroup": ("instanceTypes.*",),
            "aws-native:batch:ComputeEnvironment": ("computeResources.instanceTypes.*",),
            "aws-native:sagemaker:Cluster": ("instanceGroups.*.instanceType",),
        },
    ),
    (
        "the classic provider azure",
        Cloud.AZURE,
        {
            "azure:compute/linuxVirtualMachineScaleSet:LinuxVirtualMachineScaleSet": ("sku",),
            "azure:compute/orchestratedVirtualMachineScaleSet:OrchestratedVirtualMachineScaleSet": (
                "skuName",
            ),
            "azure:compute/linuxVirtualMachine:LinuxVirtualMachine": ("size",),
            "azure:containerservice/kubernetesCluster:KubernetesCluster": ("defaultNodePool.vmSize",),
            "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": ("vmSize",),
            "azure:batch/pool:Pool": ("vmSize",),
        },
    ),
    (
        "Karpenter",
        Cloud.AWS,
        {
            "kubernetes:karpenter.sh/v1:NodePool": _REQUIREMENTS,
            "kubernetes:karpenter.sh/v1beta1:NodePool": _REQUIREMENTS,
        },
    ),
)

#: Pulumi type, without an API version → where it keeps things.
KINDS: Final[dict[str, Kind]] = {
    TEMPLATE: Kind(
        cloud=Cloud.AWS,
        sizes=("instanceType",),
        requirements="instanceRequirements",
        user_data=("userData",),
        image=("imageId",),
        interfaces="networkInterfaces.*",
        groups=("vpcSecurityGroupIds.*", "securityGroupNames.*", "networkInterfaces.*.securityGroups.*"),
        public=("networkInterfaces.*.associatePublicIpAddress",),
        disks=("blockDeviceMappings.*",),
        metadata=("metadataOptions",),
        placement=("placement.groupName", "placement.groupId"),
        market=("instanceMarketOptions.marketType",),
        subnets=("networkInterfaces.*.subnetId",),
        zones=("placement.availabilityZone",),
    ),
    CONFIGURATION: Kind(
        cloud=Cloud.AWS,
        sizes=("instanceType",),
        user_data=("userDataBase64", "userData"),
        image=("imageId",),
        groups=("securityGroups.*",),
        public=("associatePublicIpAddress",),
        root_disk="rootBlockDevice",
        disks=("ebsBlockDevices.*",),
        metadata=("metadataOptions",),
    ),
    INSTANCE: _INSTANCE,
    SPOT: replace(_INSTANCE, market=()),
    "aws:autoscaling/group:Group": Kind(
        cloud=Cloud.AWS,
        many=True,
        complete=False,
        sizes=(f"{_GROUP}.overrides.*.instanceType",),
        templates=(
            "launchTemplate.id",
            "launchTemplate.name",
            "launchConfiguration",
            f"{_GROUP}.launchTemplateSpecification.launchTemplateId",
            f"{_GROUP}.launchTemplateSpecification.launchTemplateName",
            f"{_GROUP}.overrides.*.launchTemplateSpecification.launchTemplateId",
            f"{_GROUP}.overrides.*.launchTemplateSpecification.launchTemplateName",
        ),
        requirements=f"{_GROUP}.overrides.*.instanceRequirements",
        placement=("placementGroup",),
        subnets=("vpcZoneIdentifiers.*",),
        zones=("availabilityZones.*",),
    ),
    "aws:eks/nodeGroup:NodeGroup": Kind(
        cloud=Cloud.AWS,
        many=True,
        complete=False,
        sizes=("instanceTypes.*",),
        templates=("launchTemplate.id", "launchTemplate.name"),
        default_group="the cluster's security group",
        subnets=("subnetIds.*",),
    ),
    "aws:batch/computeEnvironment:ComputeEnvironment": Kind(
        cloud=Cloud.AWS,
        many=True,
        complete=False,
        sizes=("computeResources.instanceTypes.*",),
        templates=(
            "computeResources.launchTemplate.launchTemplateId",
            "computeResources.launchTemplate.launchTemplateName",
        ),
        image=("computeResources.imageId",),
        groups=("computeResources.securityGroupIds.*",),
        placement=("computeResources.placementGroup",),
        subnets=("computeResources.subnets.*",),
    ),
    "aws:ec2/fleet:Fleet": _FLEET,
    "aws:ec2/spotFleetRequest:SpotFleetRequest": _FLEET,
    SCALE_SET: Kind(
        cloud=Cloud.AZURE,
        many=True,
        sizes=("sku.name", "skuProfile.vmSizes.*.name"),
        user_data=("virtualMachineProfile.osProfile.customData", "virtualMachineProfile.userData"),
        image=("virtualMachineProfile.storageProfile.imageReference",),
        at_host=("virtualMachineProfile.securityProfile.encryptionAtHost",),
        zones=("zones.*",),
        interfaces="virtualMachineProfile.networkProfile.networkInterfaceConfigurations.*",
    ),
    MACHINE: Kind(
        cloud=Cloud.AZURE,
        sizes=("hardwareProfile.vmSize",),
        user_data=("osProfile.customData", "userData"),
        image=("storageProfile.imageReference",),
        at_host=("securityProfile.encryptionAtHost",),
        zones=("zones.*",),
        interfaces="networkProfile.networkInterfaceConfigurations.*",
    ),
    "azure-native:containerservice:AgentPool": Kind(
        cloud=Cloud.AZURE,
        sizes=("vmSize", "virtualMachinesProfile.scale.manual.*.size"),
        made_by="Azure Kubernetes Service",
    ),
    "azure-native:containerservice:ManagedCluster": Kind(
        cloud=Cloud.AZURE,
        sizes=(
            "agentPoolProfiles.*.vmSize",
            "agentPoolProfiles.*.virtualMachinesProfile.scale.manual.*.size",
        ),
        made_by="Azure Kubernetes Service",
    ),
    "azure-native:batch:Pool": Kind(cloud=Cloud.AZURE, sizes=("vmSize",), made_by="Azure Batch"),
    "azure-native:machinelearningservices:Compute": Kind(
        cloud=Cloud.AZURE, sizes=("properties.properties.vmSize",), made_by="Azure Machine Learning"
    ),
    "aws:sagemaker/trainingJob:TrainingJob": Kind(
        cloud=Cloud.AWS,
        sizes=("resourceConfig.instanceType", "resourceConfig.instanceGroups.*.instanceType"),
        made_by="SageMaker",
    ),
    **{
        type_: Kind(cloud=cloud, sizes=sizes, unread=who)
        for who, cloud, by_type in _ONLY_SIZES
        for type_, sizes in by_type.items()
    },
}
