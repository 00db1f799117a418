"""The command line of the simulated clouds: ``python -m gpu_fabric.rehearsal``."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import click

from . import partner
from . import sessions as link_sessions
from .clouds import CLOUDS, PLUGINS, load
from .core import existing
from .core.errors import ProviderError, Refusal
from .core.faults import Faults
from .core.provider import DATABASE
from .core.resource import Call
from .core.sdk_schema import extract
from .core.store import Store, Transaction

SHOWN = 8
"""Objects of one kind that `show` lists: a fleet of p5 nodes has 33 interfaces a node."""

HOME = Path(__file__).absolute().parents[len((__package__ or "").split("."))]
"""The folder that holds the package, so that a script finds it from anywhere."""


@click.group()
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar=DATABASE,
    help=f"The simulated clouds' database; {DATABASE} if not given.",
)
@click.pass_context
def main(context: click.Context, database: Path | None) -> None:
    """Simulated clouds for the real Pulumi engine: no account is touched."""
    context.obj = database


def _store(database: Path | None) -> Store:
    if database is None:
        raise click.UsageError(f"which database? Give --database or set {DATABASE}")
    if not database.exists():
        raise click.UsageError(f"{database}: no such database: nothing has been simulated yet")
    return Store(database)


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--python", default=sys.executable, help="The interpreter that the scripts start.", show_default=True
)
@click.option(
    "--without-language-host", is_flag=True, help="No pulumi-language-python: Pulumi's own is there."
)
def plugins(folder: Path, python: str, without_language_host: bool) -> None:
    """Write the executables that the engine looks for on PATH into FOLDER.

    One pulumi-resource-CLOUD for each simulated cloud, pulumi-resource-terraform-provider for the bridged one, and
    pulumi-language-python.
    """
    folder.mkdir(parents=True, exist_ok=True)
    modules = {
        f"pulumi-resource-{plugin}": f"{__package__}.{CLOUDS[cloud]}" for plugin, cloud in PLUGINS.items()
    }
    if not without_language_host:
        modules["pulumi-language-python"] = f"{__package__}.language_python"
    for name, module in modules.items():
        script = folder / name
        script.write_text(
            "#!/bin/sh\n"
            f"PYTHONPATH={shlex.quote(str(HOME))}${{PYTHONPATH:+:$PYTHONPATH}}\n"
            "export PYTHONPATH\n"
            f'exec {shlex.quote(python)} -m {module} "$@"\n'
        )
        script.chmod(0o755)
        click.echo(script)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON.")
@click.option("--cloud", type=click.Choice(sorted(CLOUDS)), help="One cloud only.")
@click.pass_obj
def show(database: Path | None, as_json: bool, cloud: str | None) -> None:
    """List what the simulated clouds hold. Secret values are not shown."""
    objects = _store(database).dump(cloud)
    if as_json:
        click.echo(json.dumps(objects, indent=2))
        return
    if not objects:
        click.echo("The simulated clouds are empty.")
    kinds: dict[str, list[dict[str, Any]]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], []).append(each)
    for kind, same in kinds.items():
        for each in same[:SHOWN]:
            click.echo(f"{kind:<48} {each['id']:<24} {_label(each['properties'])}".rstrip())
        if len(same) > SHOWN:
            click.echo(f"{kind:<48} … and {len(same) - SHOWN} more (--json has all)")


def _label(properties: dict[str, Any]) -> str:
    """What a person calls an object: its Name tag, or its name. An Auto Scaling group's tags are a list."""
    tags = properties.get("tags") or {}
    if isinstance(tags, list):
        tags = {tag["key"]: tag["value"] for tag in tags}
    return tags.get("Name") or properties.get("name") or ""


@main.command()
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def journal(database: Path | None, as_json: bool) -> None:
    """List what was asked of the simulated clouds, in order."""
    lines = _store(database).journal()
    if as_json:
        click.echo(json.dumps(lines, indent=2))
        return
    for each in lines:
        click.echo(
            f"{each['operation']:<7} {each['kind']:<48} {each['name']:<32} {each['outcome']:<24} {each['id']}"
        )


@main.command()
@click.argument("kind")
@click.argument("id")
@click.argument("property")
@click.argument("value")
@click.pass_obj
def drift(database: Path | None, kind: str, id: str, property: str, value: str) -> None:
    """Change PROPERTY of an object behind Pulumi's back, as somebody at the console would.

    KIND is the resource type (aws:ec2/vpc:Vpc), PROPERTY a path (tags.Name, ingress.0.fromPort), VALUE is JSON, or
    text.
    """
    store = _store(database)
    cloud = kind.partition(":")[0]
    if cloud not in CLOUDS:
        raise click.UsageError(
            f"{kind}: no simulated cloud has such a type; there are {', '.join(sorted(CLOUDS))}"
        )
    with store.transaction(cloud) as tx:
        properties = tx.get(kind, id)
        if properties is None:
            held = ", ".join(held for held, _ in tx.find(kind)) or "none"
            raise click.UsageError(f"{kind} {id}: not there; of that type the simulated cloud holds {held}")
        before = _replace(properties, property, _value(value))
        tx.put(kind, id, properties, tx.secrets(kind, id))
        tx.record("drift", kind, id, property, "done")
    click.echo(f"{kind} {id}: {property} was {json.dumps(before)}, is {json.dumps(_value(value))}")


def _replace(properties: dict[str, Any], path: str, value: Any) -> Any:
    """Put `value` at `path` (``tags.Name``, ``ingress.0.fromPort``) and return what was there. A map that is not there
    is made. Raises UsageError where the path leads through something else."""
    *parents, last = path.split(".")
    target: Any = properties
    walked: list[str] = []
    for name in parents:
        if isinstance(target, dict) and target.get(name) is None:
            target[name] = {}
        target = _inside(target, name, walked)
        walked.append(name)
    if isinstance(target, dict):
        before, target[last] = target.get(last), value
    else:
        before = _inside(target, last, walked)
        target[int(last)] = value
    return before


def _inside(target: Any, name: str, walked: list[str]) -> Any:
    where = ".".join(walked)
    if isinstance(target, dict):
        return target[name]
    if not isinstance(target, list):
        raise click.UsageError(f"{where} is {json.dumps(target)}: there is no {name} inside it")
    if not name.isdecimal() or int(name) >= len(target):
        raise click.UsageError(
            f"{where} is a list of {len(target)}: {name} is not a place in it, counted from 0"
        )
    return target[int(name)]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@main.command()
@click.argument("kind")
@click.argument("properties")
@click.option("--id", default="", help="The id it has; made up if not given.")
@click.option("--region", default="us-east-1", show_default=True)
@click.option(
    "--raw", is_flag=True, help="Store the properties as they are: nothing is checked or filled in."
)
@click.pass_obj
def hold(database: Path | None, kind: str, properties: str, id: str, region: str, raw: bool) -> None:
    """Put something into a simulated cloud that was there before the program: a VPC to adopt, a capacity block.

    KIND is the resource type, PROPERTIES its inputs as JSON. Prints the id.
    """
    if database is None:
        raise click.UsageError(f"which database? Give --database or set {DATABASE}")
    name = kind.partition(":")[0]
    if name not in CLOUDS:
        raise click.UsageError(
            f"{kind}: no simulated cloud has such a type; there are {', '.join(sorted(CLOUDS))}"
        )
    try:
        given = json.loads(properties)
    except ValueError as problem:
        raise click.UsageError(f"PROPERTIES is no JSON: {problem}") from problem
    if not isinstance(given, dict):
        raise click.UsageError(
            f"PROPERTIES is {properties}; give a JSON object, such as '{{\"tags\": {{}}}}'"
        )
    store = Store(database)
    if raw:
        if not id:
            raise click.UsageError("--raw needs --id")
        with store.transaction(name) as tx:
            tx.put(kind, id, {"region": region, **given, "id": id})
        click.echo(id)
        return
    cloud = load(name)
    try:
        click.echo(existing.hold(cloud, store, kind, given, {"region": region}, id))
    except KeyError as problem:
        raise click.UsageError(cloud.unknown_type(kind)) from problem
    except (existing.CannotExist, ProviderError, Refusal) as problem:
        raise click.ClickException(str(problem)) from problem


@main.command()
@click.argument("kind")
@click.argument("id")
@click.pass_obj
def lose(database: Path | None, kind: str, id: str) -> None:
    """Remove an object behind Pulumi's back, with what the cloud itself made along with it.

    Something that the cloud would not delete, because others need it, goes alone.
    """
    name = kind.partition(":")[0]
    store = _store(database)
    type = load(name).by_token.get(kind) if name in CLOUDS else None
    with store.transaction(name) as tx:
        held = tx.get(kind, id)
        if held is None:
            raise click.UsageError(f"{kind} {id}: not there")
        if type is not None:
            with contextlib.suppress(Refusal, ProviderError):
                type.delete(Call(tx=tx, type=type, config={}, inputs={}, id=id, old=dict(held)))
        tx.remove(kind, id)
        tx.record("lose", kind, id, "", "done")
    click.echo(f"{kind} {id}: gone")


@main.command()
@click.argument("what")
@click.option("--undo", is_flag=True, help="Take it back: deprovision the circuit, pull the cable.")
@click.pass_obj
def provision(database: Path | None, what: str, undo: bool) -> None:
    """Do what a human does about a private link that was ordered by hand.

    WHAT is an ExpressRoute circuit's service key, name or id: its provider provisions it. Or it is the id of a Direct
    Connect connection: the cable is plugged in.
    """
    with _by_hand(database) as tx:
        click.echo(partner.provision(tx, what, undo))


@main.command()
@click.argument("vlan", type=click.IntRange(1, 4094))
@click.option("--bandwidth", default="10Gbps", show_default=True, help="As Direct Connect writes it.")
@click.option("--location", default="EqDC2", show_default=True, help="Direct Connect's code of the site.")
@click.option("--region", default="us-east-1", show_default=True)
@click.option("--id", default="", help="The id it has, dxcon-…; made up if not given.")
@click.pass_obj
def offer(database: Path | None, vlan: int, bandwidth: str, location: str, region: str, id: str) -> None:
    """Offer a hosted connection to the AWS account, as a partner does after a human ordered it. Prints the id.

    It waits to be accepted. VLAN is the one that the partner gave it.
    """
    with _by_hand(database) as tx:
        click.echo(
            partner.order_hosted_connection(
                tx,
                name="by-hand",
                region=region,
                location=location,
                bandwidth=bandwidth,
                vlan=vlan,
                partner="by hand",
                accepted=False,
                faults=Faults(),
                id=id,
            )
        )


@main.command()
@click.argument("what")
@click.pass_obj
def expire(database: Path | None, what: str) -> None:
    """Let a hosted connection or virtual interface that nobody accepted run out. WHAT is its id.

    Both sides forget it, as after the clouds' own deadline: AWS the order, the partner its line.
    """
    with _by_hand(database) as tx:
        click.echo(partner.expire(tx, what))


@contextlib.contextmanager
def _by_hand(database: Path | None) -> Generator[Transaction]:
    try:
        with _store(database).transaction(partner.AWS) as tx:
            yield tx
    except partner.Impossible as problem:
        raise click.ClickException(str(problem)) from problem


@main.command()
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def sessions(database: Path | None, as_json: bool) -> None:
    """List the BGP sessions of private links: up, or down and why."""
    with _store(database).transaction(partner.AWS) as tx:
        found = link_sessions.sessions(tx)
    if as_json:
        click.echo(json.dumps([each.as_dict() for each in found], indent=2))
        return
    if not found:
        click.echo("No partner has a line to a cloud.")
    for each in found:
        state = "up" if each.up else "down: " + "; ".join(each.reasons)
        click.echo(f"{each.partner} {each.connection} {each.cloud} {each.port or '-'} {state}")


@main.command()
@click.pass_obj
def forget(database: Path | None) -> None:
    """Empty the simulated clouds. Pulumi's own state is not touched."""
    _store(database).forget()
    click.echo(f"{os.fspath(database or '')}: empty")


@main.command()
@click.argument("cloud", type=click.Choice(sorted(CLOUDS)))
def types(cloud: str) -> None:
    """List the resource types and look-ups that a simulated cloud knows."""
    known = load(cloud)
    for token in sorted([*known.by_token, *known.functions_by_token]):
        click.echo(token)


@main.command()
@click.argument("cloud", type=click.Choice(sorted(CLOUDS)))
def schema(cloud: str) -> None:
    """Write a simulated cloud's schema.json anew from the vendor's installed SDK."""
    known = load(cloud)
    if known.parameterized:
        raise click.ClickException(f"{cloud} has no SDK: its schema.json is written by hand")
    found = extract(known.name, known.by_token, known.functions_by_token)
    path = known.folder / "schema.json"
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    click.echo(
        f"{path}: {len(found['types'])} types, {len(found['functions'])} functions, {found['version']}"
    )


if __name__ == "__main__":
    main(prog_name=f"python -m {__package__}")
