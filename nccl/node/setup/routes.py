"""Routes to the other cloud: a locked MTU, the MSS clamped, buffers for bandwidth times delay, BBR where it is there.

ExpressRoute carries 1500 bytes and fragments above 1400, so bulk transfers of jumbo frames hang. Everything stays
within these routes: the MTU inside the cloud is untouched. `undo` puts back what was there before.
"""

import json
import os

STATE = "/var/lib/gpu-fabric/routes.json"
NETWORKD = "/etc/systemd/networkd.conf.d/90-gpu-fabric.conf"
TABLE = "gpu_fabric"
CLEAR = f"table ip {TABLE} {{}}\ndelete table ip {TABLE}\n"
SYSCTL = "/proc/sys/net/"


def default_route(host):
    """Gateway and device of the default route."""
    for row in json.loads(host.run("ip", "-json", "-4", "route", "show", "default") or "[]"):
        return row.get("gateway"), row["dev"]
    raise host.Fail("there is no default route, and no `gateway` and `device` are given")


def set_sysctl(host, before, name, value):
    """Remembers what was there; what a kernel does not have, or refuses, is left alone."""
    old = host.read(SYSCTL + name).strip()
    if not old or old.split() == value.split():
        return
    try:
        with open(SYSCTL + name, "w") as file:
            file.write(value)
    except OSError as error:
        print(error)
        return
    before.setdefault(name, old)
    host.put(STATE, json.dumps(before) + "\n")


def buffers(host, before, bytes):
    """TCP may grow a socket to twice bandwidth times delay; a larger limit stays."""
    for name in ("core/rmem_max", "core/wmem_max", "ipv4/tcp_rmem", "ipv4/tcp_wmem"):
        *smaller, largest = (host.read(SYSCTL + name) or str(bytes)).split()
        if int(largest) < bytes:
            set_sysctl(host, before, name, "\t".join([*smaller, str(bytes)]))


def run(host, prefixes, mtu, mss, bandwidth_mbps, rtt_ms, gateway=None, device=None):
    before = json.loads(host.read(STATE) or "{}")
    if gateway is None or device is None:
        found = default_route(host)
        gateway, device = gateway or found[0], device or found[1]
    if host.has("modprobe"):
        host.run("modprobe", "tcp_bbr", check=False)
    bbr = "bbr" in host.read(SYSCTL + "ipv4/tcp_available_congestion_control")
    for prefix in set(before.get("prefixes", ())) - set(prefixes):
        host.run("ip", "route", "del", prefix, "proto", "static", check=False)
    before["prefixes"] = list(prefixes)
    host.put(STATE, json.dumps(before) + "\n")
    for prefix in prefixes:
        way = ["via", gateway] if gateway else []
        host.run("ip", "route", "replace", prefix, *way, "dev", device, "proto", "static", "mtu", "lock", str(mtu),
                 "advmss", str(mss), *(["congctl", "bbr"] if bbr else []))  # fmt: skip
    # networkd takes routes that it does not know away when it starts anew.
    if os.path.isdir("/run/systemd/netif"):
        host.put(NETWORKD, "[Network]\nManageForeignRoutes=no\n")
    set_sysctl(host, before, "ipv4/tcp_mtu_probing", "1")
    buffers(host, before, min(2 * int(bandwidth_mbps * rtt_ms * 125), 2**30))
    notes = ["BBR" if bbr else "no BBR"]
    if bbr:
        set_sysctl(host, before, "core/default_qdisc", "fq")
    # The routes' own segment size does not reach packets that are forwarded for containers.
    if host.has("nft"):
        clamp = f"tcp flags syn tcp option maxseg size set {mss}"
        rules = [f"ip {end} {{ {', '.join(prefixes)} }} {clamp}" for end in ("saddr", "daddr")]
        hooks = "".join(
            f"chain {hook} {{ type filter hook {hook} priority mangle; {'; '.join(rules)}; }}\n"
            for hook in ("forward", "postrouting")
        )
        host.run("nft", "-f", "-", stdin=f"{CLEAR}table ip {TABLE} {{\n{hooks}}}\n")
    else:
        notes.append("no nft, so forwarded packets are not clamped")
    return f"{', '.join(prefixes)}: {mtu} bytes on {device}, " + ", ".join(notes)


def undo(host):
    before = json.loads(host.read(STATE) or "{}")
    for prefix in before.pop("prefixes", ()):
        host.run("ip", "route", "del", prefix, "proto", "static", check=False)
    if host.has("nft"):
        host.run("nft", "-f", "-", stdin=CLEAR, check=False)
    for name, value in before.items():
        with open(SYSCTL + name, "w") as file:
            file.write(value)
    for path in (STATE, NETWORKD):
        if os.path.exists(path):
            os.unlink(path)
    return "the routes are gone, and the kernel's settings are as before"
