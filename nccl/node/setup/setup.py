#!/usr/bin/env python3
"""Set this node up in numbered steps, and end ready or failed with the step named.

    setup.py run | status | wait | stopped | undo STEP | tag

Started by gpu-fabric-ready.service at every boot: each step looks first and changes only what differs, so a run
that was killed is simply run again. State: /run/gpu-fabric/ready.json (gone after a reboot), a status file a step
in /var/lib/gpu-fabric/steps, a log a step in /var/log/gpu-fabric. Python 3.8, standard library only.
"""

import fcntl
import glob
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

PLAN = "/etc/gpu-fabric/setup.json"
STEPS, LOGS, RUN = "/var/lib/gpu-fabric/steps", "/var/log/gpu-fabric", "/run/gpu-fabric"
# The user's own, which may hold secrets.
COMMANDS = "/var/lib/gpu-fabric/commands"
READY, SAID = RUN + "/ready.json", RUN + "/said"


# Raised by a step with the reason: the node does not need it, or it cannot be done.
Skip = type("Skip", (Exception,), {})
Fail = type("Fail", (Exception,), {})


class Host:
    """What the steps do to the node."""

    Skip, Fail = Skip, Fail

    def run(self, *argv, check=True, stdin=None):
        """Standard output of a command, which is logged; `Fail` where it does not exist or, with `check`, fails."""
        print("+", *argv, flush=True)
        try:
            done = subprocess.run(argv, input=stdin, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise Fail(f"{argv[0]}: {error.strerror}") from None
        print(done.stdout + done.stderr, flush=True)
        if check and done.returncode:
            raise Fail(f"`{' '.join(argv)}` gave {done.returncode}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def has(self, program):
        return shutil.which(program) is not None

    def read(self, path, default=""):
        try:
            # Line ends as they are: a file is compared with what was rendered.
            with open(path, errors="replace", newline="") as file:
                return file.read()
        except OSError:
            return default

    def put(self, path, text):
        """Write a file whole or not at all; whether that changed anything."""
        if self.read(path, None) == text:
            return False
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", newline="") as file:
            file.write(text)
        os.rename(path + ".new", path)
        return True

    def tell(self, path, text, *argv):
        """Write a file and run what makes it count; a run that was killed between the two does the second again."""
        mark = f"{RUN}/{os.path.basename(path)}"
        if self.read(path, None) != text:
            self.put(mark, "")
            self.put(path, text)
        if os.path.exists(mark):
            self.run(*argv)
            os.unlink(mark)

    def until(self, look, seconds):
        """Call `look` until it returns None (all is well); `Fail` with its last words after that time."""
        end = time.monotonic() + seconds
        while True:
            missing = look()
            if missing is None:
                return
            if time.monotonic() > end:
                raise Fail(f"{missing} after {seconds} s")
            time.sleep(0.5)


# ---- steps ----------------------------------------------------------------------------------------------------------


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def command(host, run):
    """The user's own bash, once an instance: again only if it was killed or its step has changed.

    An image made of this node has its stamps, and is another instance.
    """
    stamp = f"{COMMANDS}/{digest(run + sys.argv[2] + host.read('/var/lib/cloud/data/instance-id'))}"
    if os.path.exists(stamp + ".done"):
        raise Skip("has run on this node already")
    host.put(stamp, run)
    code = subprocess.call(["bash", "-euo", "pipefail", stamp])
    if code:
        raise Fail(f"{ended(code)}: see " + os.readlink("/proc/self/fd/1"))
    os.rename(stamp, stamp + ".done")


def ended(code):
    return f"exit {code}" if code > 0 else f"killed by signal {-code}"


def skip(host, reason):
    raise Skip(reason)


SHOWN = "LoadState,ActiveState,UnitFileState,InactiveExitTimestampMonotonic"


def services(host, units, seconds=900):
    """Wait for the image's own services. `unit?` may be absent from the image."""
    waiting = list(units)

    def look():
        for name in list(waiting):
            unit = name.rstrip("?")
            shown = host.run("systemctl", "show", "-p", SHOWN, unit)
            absent = "LoadState=not-found" in shown
            if absent and unit == name:
                raise Fail(f"{unit} does not exist: is this the GPU image of the cloud?")
            if "ActiveState=failed" in shown:
                raise Fail(f"{unit} has failed: see journalctl -u {unit}")
            # At rest: it has run and ended well, or this image has it and does not start it.
            rests = "=inactive" in shown and (
                "Monotonic=0" not in shown or (unit != name and "=disabled" in shown)
            )
            if absent or rests or "ActiveState=active" in shown:
                waiting.remove(name)
        return f"still waiting for {', '.join(waiting).replace('?', '')}" if waiting else None

    host.until(look, seconds)


def gpus(host, count, seconds=900):
    def look():
        found = host.run("nvidia-smi", "-L", check=False).count("GPU ")
        return None if found == count else f"nvidia-smi lists {found} of {count} GPUs"

    host.until(look, seconds)


def hold(host, patterns, seconds=300):
    """Keep drivers and kernel as the image has them: an upgrade of one alone breaks the GPUs.

    An upgrade that runs meanwhile has dpkg's lock, for which apt-mark does not wait.
    """
    if not host.has("apt-mark"):
        raise Skip("this image has no apt")
    shown = host.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *patterns, check=False)
    names = set(re.findall("^(.+) installed$", shown, re.M)) - set(host.run("apt-mark", "showhold").split())

    def look():
        try:
            host.run("apt-mark", "hold", *sorted(names))
        except Fail as error:
            return error

    if names:
        host.until(look, seconds)
    return f"{len(names)} packages newly held"


def limits(host, memlock, stack, nofile):
    """For logins, and for what systemd starts: a Slurm daemon does not read limits.d."""
    rows = [
        f"{who} - memlock {memlock}\n{who} - stack {stack}\n{who} - nofile {nofile}\n"
        for who in ("*", "root")
    ]
    host.put("/etc/security/limits.d/90-gpu-fabric.conf", "".join(rows))
    text = (
        f"[Manager]\nDefaultLimitMEMLOCK=infinity\nDefaultLimitSTACK={stack}K\nDefaultLimitNOFILE={nofile}\n"
    )
    host.tell("/etc/systemd/system.conf.d/90-gpu-fabric.conf", text, "systemctl", "daemon-reload")


def files(host, sums):
    """Our files are what was rendered."""
    wrong = [path for path, expected in sums.items() if digest(host.read(path)) != expected]
    if wrong:
        raise Fail(f"not as rendered: {', '.join(wrong)}; launch the node anew or put them back")


def topology(host, path, active):
    """NCCL says at INFO level only that a topology file is absent, and fails hard on another version."""
    if not re.search(r'<system\s[^>]*version="1"', host.read(path)):
        raise Fail(f"{path} is no topology file of version 1")
    if not os.stat(path).st_mode & 4:
        raise Fail(f"{path} cannot be read by everybody")
    if active and f"\nNCCL_TOPO_FILE={path}\n" not in host.read("/etc/gpu-fabric/nccl.conf"):
        raise Fail(f"nccl.conf does not name {path}")
    return "active" if active else "installed, not active"


# ---- the run --------------------------------------------------------------------------------------------------------


def now():
    return time.strftime("%FT%TZ", time.gmtime())


def record(host, document, row=None):
    """The readiness file first: it lies in memory, and a full disk does not keep it from saying so."""
    host.put(READY, json.dumps(document, indent=1) + "\n")
    if row:
        host.put(f"{STEPS}/{row['step']}.json", json.dumps(row, indent=1) + "\n")


def say(text):
    """On the serial console, which an operator can read although nothing else works."""
    print(text, flush=True)
    try:
        with open("/dev/console", "w") as console:
            console.write(f"\r{text}\r\n")
    except OSError:
        pass


def attempt(host, number, given, path):
    """Run one step as a process of its own, its output in its log; returns (state, reason).

    What came of it stands in a file: a program that the step leaves behind may go on writing to the log.
    """
    host.put(SAID, "")
    full = os.path.exists(path) and os.path.getsize(path) > 2**24
    with open(path, "w" if full else "a") as log:
        print("----", now(), file=log, flush=True)
        argv = [sys.executable, "-B", __file__, "step", str(number)]
        try:
            code = subprocess.call(argv, stdout=log, stderr=log, timeout=given.get("within", 960))
        except subprocess.TimeoutExpired as error:
            return "failed", f"took longer than {error.timeout} s"
    said, _, reason = host.read(SAID).partition(" ")
    return (said, reason or None) if said else ("failed", ended(code))


def step(host, number):
    """The process of one step."""

    def came(*words):
        text = " ".join(" ".join(map(str, words)).split())
        print(text)
        host.put(SAID, text)

    given = json.loads(host.read(PLAN))["steps"][int(number)]
    name = given.pop("name")
    name = given.pop("do", name)
    given.pop("within", None)
    function = globals().get(name) or importlib.import_module(name).run
    try:
        came("ok", function(host, **given) or "")
    except Skip as reason:
        came("skipped", reason)
    except Fail as reason:
        came("failed", reason)
    except Exception as error:
        came("failed", type(error).__name__ + ":", error)
        raise


def run(host):
    os.makedirs(RUN, exist_ok=True)
    lock = open(RUN + "/lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    begin = time.monotonic()
    common = {"reason": None, "boot_id": host.read("/proc/sys/kernel/random/boot_id").strip()}
    document = {"state": "running", "step": "plan", **common, "started": now(), "steps": []}
    record(host, document)
    publish(host)
    try:
        steps(host, document, common)
    except OSError as error:
        # A full disk, before all.
        fail(document, str(error))
    except (ValueError, LookupError, TypeError) as error:
        fail(document, f"{PLAN}: {error}")
    if document["state"] == "running":
        document.update(state="ready", step=None)
    document.update(finished=now(), seconds=round(time.monotonic() - begin, 2))
    record(host, document)
    say(f"gpu-fabric: {document['state']} in {document['seconds']} s{where(document)}")
    publish(host)
    return int(document["state"] != "ready")


def steps(host, document, common):
    plan = json.loads(host.read(PLAN))["steps"]
    os.makedirs(STEPS, exist_ok=True)
    for folder in (LOGS, COMMANDS):
        os.makedirs(folder, 0o700, exist_ok=True)
    for old in glob.glob(STEPS + "/*.json"):
        os.unlink(old)
    for number, given in enumerate(plan, 1):
        row = {"step": f"{number * 10:03d}-{given['name']}", "state": "pending", **common}
        document["steps"].append(row)
        record(host, document, row)
    for number, (row, given) in enumerate(zip(document["steps"], plan)):
        if document["state"] == "failed":
            break
        began = time.monotonic()
        row.update(state="running", started=now())
        document["step"] = row["step"]
        record(host, document, row)
        row["state"], row["reason"] = attempt(host, number, given, f"{LOGS}/{row['step']}.log")
        row["seconds"] = round(time.monotonic() - began, 2)
        print(row["step"], row["state"], row["reason"] or "", flush=True)
        if row["state"] == "failed":
            fail(document, row["reason"])
        record(host, document, row)


def fail(document, reason):
    document.update(state="failed", reason=reason)
    for row in document["steps"]:
        if row["step"] == document["step"]:
            row.update(state="failed", reason=reason)


def where(document):
    if not document["step"]:
        return ""
    return f" at {document['step']}" + (f": {document['reason']}" if document["reason"] else "")


def shipped(name):
    return os.path.exists(os.path.dirname(__file__) + f"/{name}.py")


def publish(host):
    """The tag, where the node has the module: no unit waits for the cloud, and a role may come later than the node."""
    if shipped("tag"):
        tag = ("systemd-run", "--collect", "--unit=gpu-fabric-tag", sys.executable, "-B", __file__, "tag")
        host.run(*tag, check=False)


def readiness(host):
    try:
        return dict(json.loads(host.read(READY, "{}")))
    except (ValueError, TypeError):
        return {}


def status(host):
    """0 ready, 1 failed, 2 neither yet."""
    document = readiness(host)
    print(json.dumps(document, indent=1))
    return {"ready": 0, "failed": 1}.get(document.get("state"), 2)


def wait(host):
    """Until ready or failed for good; a run that was killed is given a minute to start again."""
    last = time.monotonic()
    while not readiness(host).get("finished"):
        unit = subprocess.run(["systemctl", "is-active", "gpu-fabric-ready"], capture_output=True, text=True)
        if "activating" in unit.stdout:
            last = time.monotonic()
        if time.monotonic() - last > 60:
            say("gpu-fabric: failed: nothing runs: see journalctl -u gpu-fabric-ready")
            return 1
        time.sleep(0.5)
    return status(host)


def stopped(host):
    """After the service has stopped, however it did: no run is left looking as if it went on."""
    document = readiness(host)
    if document.get("state") == "running":
        fail(document, "ended from outside: " + os.environ["SERVICE_RESULT"].replace("success", "stopped"))
        say(f"gpu-fabric: failed{where(document)}")
        record(host, document)
        publish(host)
        for row in document["steps"]:
            record(host, document, row)


def undo(host, name):
    if name != "routes" or not shipped(name):
        sys.exit(name + ": nothing to undo on this node")
    print(importlib.import_module(name).undo(host))


def tag(host):
    def state():
        document = readiness(host)
        return document["state"] + (where(document) if document["reason"] else "")

    print(importlib.import_module("tag").put(host, json.loads(host.read(PLAN))["tag"], state))


if __name__ == "__main__":
    commands = {each.__name__: each for each in (run, status, wait, stopped, undo, step, tag)}
    chosen = commands.get("".join(sys.argv[1:2]))
    if not chosen or chosen.__code__.co_argcount != len(sys.argv) - 1:
        sys.exit("usage: setup.py run | status | wait | stopped | undo STEP | tag")
    sys.exit(chosen(Host(), *sys.argv[2:]))
