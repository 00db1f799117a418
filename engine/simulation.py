"""A folder that holds everything of a simulated run, and the environment that keeps the engine inside it.

<folder>/bin        the providers and the language host that answer (scripts)
<folder>/home       PULUMI_HOME: the engine's workspaces, plugins, logs
<folder>/state      the backend: stacks and their state
<folder>/stacks     copies of the stack files
<folder>/passphrase of this folder's secrets, made at random
<folder>/clouds.sqlite  what the simulated clouds hold
"""

from __future__ import annotations

import fcntl
import os
import secrets
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpu_fabric.engine.binary import Engine

#: A user's own settings for Pulumi and for the clouds: none of them reaches a simulated run.
_FOREIGN_PREFIXES = ("PULUMI_", "AWS_", "ARM_", "AZURE_", "EQUINIX_", "MEGAPORT_")

_PRIVATE = 0o700


@dataclass(frozen=True)
class Simulation:
    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "clouds.sqlite"

    @property
    def faults(self) -> Path:
        """Switches of the simulated clouds (docs/simulated-clouds.md); absent: nothing fails."""
        return self.folder / "faults.json"

    @property
    def stacks(self) -> Path:
        return self.folder / "stacks"

    def prepare(self, engine: Engine) -> dict[str, str]:
        """Make what is missing of the folder; the environment for `pulumi`."""
        self.folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        for name in ("bin", "home", "state", "stacks"):
            # A stack file may hold what only its user may read; so may the state.
            (self.folder / name).mkdir(mode=_PRIVATE, exist_ok=True)
            (self.folder / name).chmod(_PRIVATE)
        passphrase = self.folder / "passphrase"
        if not passphrase.exists():
            passphrase.touch(mode=0o600)
            passphrase.write_text(secrets.token_urlsafe(24), encoding="utf-8")
        self._write_plugins(engine)
        return self.environment(engine, os.environ)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Make the folder and hold its lock: what two runs would both make is made once."""
        self.folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def link(self, name: str, program: Path) -> None:
        """Put a program where the engine looks first, under `name`."""
        place = self.folder / "bin" / name
        if not place.exists() or place.resolve() != program.resolve():
            place.unlink(missing_ok=True)
            place.symlink_to(program)

    def environment(self, engine: Engine, base: Mapping[str, str]) -> dict[str, str]:
        """`base` without anybody's Pulumi or cloud settings, and with this folder's."""
        kept = {name: value for name, value in base.items() if not name.startswith(_FOREIGN_PREFIXES)}
        path = [str(self.folder / "bin"), str(engine.path.parent), kept.get("PATH", os.defpath)]
        return {
            **kept,
            "PATH": os.pathsep.join(path),
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": (self.folder / "state").as_uri(),
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.folder / "passphrase"),
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
            "GPU_FABRIC_REHEARSAL_DB": str(self.database),
            "GPU_FABRIC_REHEARSAL_FAULTS": str(self.faults),
            "GPU_FABRIC_CLOUD": "simulated",
        }

    def _write_plugins(self, engine: Engine) -> None:
        """Put the simulated providers where the engine looks first, and a language host where it has none."""
        folder = self.folder / "bin"
        command = [sys.executable, "-m", "gpu_fabric.rehearsal", "plugins", str(folder)]
        command += ["--python", sys.executable]
        if engine.python_host is not None:
            command += ["--without-language-host"]
        home_of_package = str(Path(__file__).parents[2])
        stamp = folder / ".written-by"
        # Which clouds there are stands in a file of the other side; a change of it is a change of the scripts.
        clouds = Path(__file__).parents[1] / "rehearsal" / "clouds.py"
        wanted = "\n".join([*command, home_of_package, clouds.read_text(encoding="utf-8")])
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return
        environment = {**os.environ, "PYTHONPATH": home_of_package}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise RuntimeError(f"the simulated clouds could not be set up:\n{done.stderr.strip()}")
        stamp.write_text(wanted, encoding="utf-8")
