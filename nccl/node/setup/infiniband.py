"""What an InfiniBand node waits for: all its ports active at full rate, and the way from them into GPU memory."""

import glob
import os


def run(host, count, gbps, module, seconds=900):
    def look():
        up = 0
        for port in glob.glob("/sys/class/infiniband/*/ports/*"):
            layer, state, rate = (host.read(f"{port}/{name}") for name in ("link_layer", "state", "rate"))
            up += "InfiniBand" in layer and "ACTIVE" in state and float((rate.split() or "0")[0]) >= gbps
        if up != count:
            return f"{up} of {count} InfiniBand ports are active at {gbps} Gb/s"
        return None if os.path.isdir("/sys/module/" + module) else f"the module {module} is not loaded"

    host.until(look, seconds)
    return f"{count} ports at {gbps} Gb/s"
