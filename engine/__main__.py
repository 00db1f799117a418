"""`python -m gpu_fabric.engine preview|up|destroy|cancel|… --stack dev --cloud simulated|real [-- arguments]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gpu_fabric.engine.binary import NoEngineError, UnavailableError, find_engine
from gpu_fabric.engine.run import Request, run_real, run_simulated
from gpu_fabric.engine.simulation import Simulation
from gpu_fabric.engine.stack_file import StackFileError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpu_fabric.engine", description=__doc__)
    parser.add_argument("command", help="a pulumi command on a stack, or `find` to only find the engine")
    parser.add_argument("--stack", default="dev", help="the stack; its file is Pulumi.<stack>.yaml (dev)")
    parser.add_argument("--cloud", default="simulated", choices=("simulated", "real"))
    parser.add_argument("--project", type=Path, default=Path(), help="the folder of Pulumi.yaml (here)")
    parser.add_argument("--folder", type=Path, help="what a simulated run keeps (<project>/.rehearsal)")
    return parser


def main(arguments: list[str]) -> int:
    # What stands after `--` is pulumi's.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given, for_pulumi = _parser().parse_args(arguments[:end]), tuple(arguments[end + 1 :])
    project = given.project.resolve()
    try:
        if given.command == "find":
            engine = find_engine()
            print(f"{engine.path} {engine.version} ({engine.origin})")
            return 0
        request = Request(given.command, given.stack, project, for_pulumi, given.project)
        if given.cloud == "real":
            return run_real(request, os.environ)
        return run_simulated(request, Simulation((given.folder or project / ".rehearsal").resolve()))
    except (StackFileError, NoEngineError, UnavailableError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.filename or given.project}: {error.strerror or error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
