"""What a machine's description must be: the same rules for a scale set's model and for a virtual machine."""

from __future__ import annotations

import base64

import pytest

from .world import (
    A100,
    H100,
    IMAGE,
    MACHINE,
    SCALE_SET,
    World,
    merged,
    os_profile,
    public_key,
)

SIMULATED = "the wording is the simulation's]"
PATH = "/home/azureuser/.ssh/authorized_keys"


def model(**change) -> dict:
    return {"virtualMachineProfile": change}


def refused(world: World, **change) -> str:
    """The refusal of a scale set whose model is changed so; of a single machine the same holds."""
    of_set = world.refused(SCALE_SET, "bad", world.scale_set(**model(**change)))
    if "osProfile" in change and "computerNamePrefix" in change["osProfile"]:
        change["osProfile"]["computerName"] = change["osProfile"].pop("computerNamePrefix")
    nic = world.engine.resources.get("nic") or world.interface("nic")
    assert world.refused(MACHINE, "bad", world.machine(nic, **change)) == of_set
    return of_set


def accepted(world: World, **change) -> None:
    world.up(SCALE_SET, "good", world.scale_set(**model(**change)))
    world.engine.destroy("good")
    nic = world.engine.resources.get("nic") or world.interface("nic")
    world.up(MACHINE, "good", world.machine(nic, **change))


def with_keys(*keys: dict) -> dict:
    return {"linuxConfiguration": {"ssh": {"publicKeys": list(keys)}}}


# Size


def test_a_size_that_is_none_is_refused(world):
    text = world.refused(SCALE_SET, "bad", world.scale_set(sku={"name": "Standard_ND96isr_H1OO_v5"}))
    assert text.startswith(
        'Status=400 Code="InvalidParameter" Message="The value Standard_ND96isr_H1OO_v5 provided for the '
        "VM size is "
        "not valid. The valid sizes in the current region are: Standard_ND96asr_v4, "
    )


def test_a_size_may_be_written_in_any_casing(world):
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(sku={"name": H100.lower()}))
    assert nodes["sku"]["name"] == H100


# Users and keys


@pytest.mark.parametrize("user", ["root", "Admin", "azure"])
def test_a_user_name_that_azure_keeps_is_refused(world, user):
    path = f"/home/{user}/.ssh/authorized_keys"
    profile = {"adminUsername": user, **with_keys({"path": path, "keyData": public_key()})}
    if user == "azure":
        accepted(world, osProfile=profile)
    else:
        assert refused(world, osProfile=profile) == (
            'Status=400 Code="InvalidParameter" Message="The Admin Username specified is not allowed."'
        )


@pytest.mark.parametrize("disabled", [True, False])
def test_a_machine_that_nobody_could_enter_is_refused(world, disabled):
    linux = {"linuxConfiguration": {"disablePasswordAuthentication": disabled, "ssh": None}}
    assert refused(world, osProfile=linux) == (
        'Status=400 Code="InvalidParameter" Message="Authentication using either SSH or by user name and '
        "password "
        'must be enabled in Linux profile."'
    )


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ssh-rsa",
        "ssh-rsa AAAA",
        "ssh-rsa not base64!",
        public_key(1024),
        public_key().replace("ssh-rsa ", "ssh-ed25519 "),
        "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA==",
        "-----BEGIN PUBLIC KEY-----",
    ],
)
def test_a_bad_public_key_is_refused(world, key):
    assert refused(world, osProfile=with_keys({"path": PATH, "keyData": key})) == (
        'Status=400 Code="InvalidParameter" Message="The value of parameter '
        "linuxConfiguration.ssh.publicKeys.keyData "
        'is invalid."'
    )


def test_rsa_of_2048_bits_and_ed25519_are_accepted(world):
    blob = b"".join(len(field).to_bytes(4) + field for field in (b"ssh-ed25519", bytes(32)))
    edwards = f"ssh-ed25519 {base64.b64encode(blob).decode()}\n"
    accepted(
        world,
        osProfile=with_keys({"path": PATH, "keyData": public_key(2048)}, {"path": PATH, "keyData": edwards}),
    )


def test_keys_go_to_the_users_own_file(world):
    assert refused(
        world, osProfile=with_keys({"path": "/root/.ssh/authorized_keys", "keyData": public_key()})
    ) == (
        'Status=400 Code="InvalidParameter" Message="Destination path for Ssh public keys is currently '
        "limited to its "
        f'default value {PATH}  due to a known issue in Linux provisioning agent."'
    )


def test_a_model_without_a_name_for_its_machines_is_refused(world):
    inputs = world.scale_set(**model(osProfile={"computerNamePrefix": None}))
    assert world.refused(SCALE_SET, "bad", inputs) == (
        'Status=400 Code="InvalidParameter" Message="Required parameter \'osProfile.computerNamePrefix\' '
        "is missing "
        '(null)."'
    )


# Custom data


def test_custom_data_has_at_most_65535_bytes(world):
    def encoded(length: int) -> str:
        return base64.b64encode(b"#" * length).decode()

    refusal = (
        'Status=400 Code="InvalidParameter" Message="Custom data in OSProfile must be in Base64 encoding '
        "and with a "
        'maximum length of 87380 characters."'
    )
    assert refused(world, osProfile={"customData": encoded(65536)}) == refusal
    assert refused(world, osProfile={"customData": "#cloud-config\n"}) == refusal
    assert refused(world, userData=encoded(65536)) == refusal.replace("Custom data", "User data")
    accepted(world, osProfile={"customData": encoded(65535)}, userData=encoded(65535))


# Images


def test_an_image_without_a_version_is_refused(world):
    assert refused(world, storageProfile={"imageReference": {"version": None}}) == (
        'Status=400 Code="InvalidParameter" Message="Required parameter \'imageReference.version\' is '
        'missing (null)."'
    )
    assert refused(world, storageProfile={"imageReference": None}) == (
        'Status=400 Code="InvalidParameter" Message="Required parameter \'imageReference\' is missing '
        '(null)."'
    )
    accepted(world, storageProfile={"imageReference": {"version": "latest"}})


def test_an_image_version_that_cannot_exist_is_refused(world):
    assert refused(world, storageProfile={"imageReference": {"version": "newest"}}) == (
        'Status=404 Code="PlatformImageNotFound" Message="The platform image '
        "'microsoft-dsvm:ubuntu-hpc:2204:newest' "
        "is not available. Verify that all fields in the storage profile are correct. For more details "
        "about storage "
        'profile information, please refer to https://aka.ms/storageprofile"'
    )


GENERATION_1 = {
    "publisher": "Canonical",
    "offer": "0001-com-ubuntu-server-jammy",
    "sku": "22_04-lts",
    "version": "22.04.202601010",
}


def test_an_image_of_generation_1_does_not_start_on_a_gpu_size(world):
    assert refused(world, storageProfile={"imageReference": GENERATION_1}) == (
        f'Status=400 Code="BadRequest" Message="The selected VM size \'{H100}\' cannot boot Hypervisor '
        f"Generation '1'. "
        "If this was a Create operation please check that the Hypervisor Generation of the Image matches "
        "the Hypervisor "
        "Generation of the selected VM Size. If this was an Update operation please select a Hypervisor "
        "Generation '1' "
        'VM Size."'
    )
    accepted(world, storageProfile={"imageReference": {**GENERATION_1, "sku": "22_04-lts-gen2"}})


def test_an_image_from_a_gallery_needs_no_version(world):
    gallery = {"id": "/subscriptions/x/resourceGroups/y/providers/Microsoft.Compute/galleries/g/images/i"}
    accepted(world, storageProfile={"imageReference": {**dict.fromkeys(IMAGE), **gallery}})


# Disks


@pytest.mark.parametrize(
    ("disk", "message"),
    [
        (
            {"createOption": "Copy"},
            "The value 'Copy' of parameter 'osDisk.createOption' is not allowed. Allowed values are: "
            "FromImage,Attach.",
        ),
        (
            {"caching": "Write"},
            "The value 'Write' of parameter 'osDisk.caching' is not allowed. Allowed values are: "
            "None,ReadOnly,ReadWrite.",
        ),
        (
            {"managedDisk": {"storageAccountType": "SSD"}},
            "The value 'SSD' of parameter 'osDisk.managedDisk.storageAccountType' is not allowed. "
            "Allowed values are: "
            ""
            "Standard_LRS,Premium_LRS,StandardSSD_LRS,UltraSSD_LRS,Premium_ZRS,StandardSSD_ZRS,PremiumV2_LRS.",
        ),
    ],
)
def test_a_word_about_the_os_disk_that_is_none_is_refused(world, disk, message):
    text = refused(world, storageProfile={"osDisk": disk})
    assert text == f'Status=400 Code="InvalidParameter" Message="{message}"'


def test_an_ephemeral_disk_fits_the_local_disk_and_is_cached_for_reading(world):
    local = {"diffDiskSettings": {"option": "Local", "placement": "ResourceDisk"}, "caching": "ReadOnly"}
    assert refused(world, storageProfile={"osDisk": {**local, "caching": "ReadWrite"}}) == (
        'Status=400 Code="BadRequest" Message="An ephemeral OS disk needs caching ReadOnly, not '
        "ReadWrite. [rule: "
        f'compute docs virtual-machines/ephemeral-os-disks.md; {SIMULATED}"'
    )
    assert refused(world, storageProfile={"osDisk": {**local, "diskSizeGB": 1025}}) == (
        'Status=400 Code="NotSupported" Message="OS disk of Ephemeral VM with size greater than '
        "1024 GB is not "
        f'allowed for VM size {H100} when the DiffDiskPlacement is ResourceDisk."'
    )
    accepted(world, storageProfile={"osDisk": {**local, "diskSizeGB": 1024}})


# Security


def test_trusted_launch_wants_an_image_of_generation_2(world):
    trusted = {
        "securityType": "TrustedLaunch",
        "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True},
    }
    helper = world.scale_set(
        sku={"name": "Standard_D2s_v5"},
        **model(securityProfile=trusted, storageProfile={"imageReference": GENERATION_1}),
    )
    assert world.refused(SCALE_SET, "bad", helper) == (
        'Status=400 Code="BadRequest" Message="Use of TrustedLaunch setting is not supported for the '
        "provided image. "
        "Please select Trusted Launch Supported Gen2 OS Image. For more information, see "
        'https://aka.ms/TrustedLaunch-FAQ."'
    )
    accepted(world, securityProfile=trusted)


def test_trusted_launch_is_not_for_the_a100_sizes(world):
    trusted = model(securityProfile={"securityType": "TrustedLaunch"})
    assert world.refused(SCALE_SET, "bad", world.scale_set(sku={"name": A100}, **trusted)) == (
        f'Status=400 Code="BadRequest" Message="Size {A100} does not support securityType TrustedLaunch. '
        f"[rule: compute "
        f'docs virtual-machines/trusted-launch.md; {SIMULATED}"'
    )
    world.up(SCALE_SET, "plain", world.scale_set(sku={"name": A100}))


def test_secure_boot_without_trusted_launch_is_refused(world):
    for security in ({}, {"securityType": "Standard"}):
        assert refused(world, securityProfile={**security, "uefiSettings": {"secureBootEnabled": False}}) == (
            'Status=400 Code="BadRequest" Message="securityProfile.uefiSettings needs securityType '
            "TrustedLaunch or "
            f'ConfidentialVM. [rule: Microsoft.Compute 2024-11-01, SecurityProfile.securityType; {SIMULATED}"'
        )
    accepted(world, securityProfile={"encryptionAtHost": True})


def test_a_security_type_that_is_none_is_refused(world):
    assert refused(world, securityProfile={"securityType": "Trusted"}) == (
        'Status=400 Code="InvalidParameter" Message="The value \'Trusted\' of parameter '
        "'securityProfile.securityType' is not allowed. Allowed values are: "
        'Standard,TrustedLaunch,ConfidentialVM."'
    )


# Spot and reservations


def test_an_eviction_policy_or_a_price_is_for_spot(world):
    for change in ({"evictionPolicy": "Delete"}, {"billingProfile": {"maxPrice": 20}}):
        assert refused(world, **change) == (
            'Status=400 Code="BadRequest" Message="evictionPolicy and billingProfile.maxPrice are for '
            "priority Spot "
            f'only. [rule: compute docs virtual-machines/spot-vms.md; {SIMULATED}"'
        )
    accepted(world, priority="Spot", evictionPolicy="Delete", billingProfile={"maxPrice": -1})


def test_a_gpu_size_cannot_use_a_capacity_reservation(world):
    group = {"capacityReservationGroup": {"id": "/subscriptions/x/y"}}
    assert refused(world, capacityReservation=group) == (
        f'Status=400 Code="BadRequest" Message="Size {H100} cannot be deployed into a capacity '
        f"reservation group. [rule: "
        f'compute docs virtual-machines/capacity-reservation-overview.md; {SIMULATED}"'
    )


def test_a_reservation_excludes_spot_and_a_single_placement_group(world):
    group = {"capacityReservationGroup": {"id": "/subscriptions/x/y"}}
    helper = {"sku": {"name": "Standard_D2s_v5"}}
    docs = f"[rule: compute docs virtual-machines/capacity-reservation-overview.md; {SIMULATED}"
    assert (
        world.refused(
            SCALE_SET, "bad", world.scale_set(**helper, **model(capacityReservation=group, priority="Spot"))
        )
        == f'Status=400 Code="BadRequest" Message="A Spot machine cannot use a capacity reservation group. {docs}"'
    )
    assert world.refused(SCALE_SET, "bad", world.scale_set(**helper, **model(capacityReservation=group))) == (
        'Status=400 Code="BadRequest" Message="A capacity reservation group excludes '
        "singlePlacementGroup and a "
        f'proximity placement group. {docs}"'
    )
    world.up(
        SCALE_SET,
        "good",
        world.scale_set(**helper, **model(capacityReservation=group), singlePlacementGroup=False),
    )


def test_the_two_profiles_of_the_tests_differ_only_in_the_name():
    assert merged(os_profile("a"), {"a": None}) == merged(os_profile("b"), {"b": None})
