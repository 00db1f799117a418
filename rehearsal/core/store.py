"""What the simulated clouds hold, in one SQLite file.

The engine starts a new provider process for every command, and calls one process from many threads; the file is
what they share. Every operation is one transaction: an error rolls it back, so a refused call leaves no trace.

An object has a cloud (``aws``), a kind (the resource type's token, or a name of the cloud's own for what exists
without a resource, as a default security group), an id and its properties. Properties in ``INDEXED`` are searched
by index: a thousand nodes have tens of thousands of network interfaces.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

INDEXED = ("vpcId", "subnetId", "instanceId", "name", "parentId", "placementGroup", "securityGroupId")
"""Properties with an index. ``parentId`` is the clouds' own: what an object without a resource belongs to."""

INDEXED_TOGETHER = ("subnetId", "privateIp")
"""Two properties with an index of their own: most interfaces of a fabric's subnet take no address of it."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    cloud TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    properties TEXT NOT NULL,
    secrets TEXT NOT NULL DEFAULT '[]',
    UNIQUE (cloud, kind, id)
);
CREATE TABLE IF NOT EXISTS journal (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    cloud TEXT NOT NULL,
    operation TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    outcome TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
""" + "".join(
    f"CREATE INDEX IF NOT EXISTS by_{name} ON objects (cloud, kind, json_extract(properties, '$.{name}'));\n"
    for name in INDEXED
)
_SCHEMA += "CREATE INDEX IF NOT EXISTS by_{}_{} ON objects (cloud, kind, {}, {});\n".format(
    *INDEXED_TOGETHER, *(f"json_extract(properties, '$.{name}')" for name in INDEXED_TOGETHER)
)


class Transaction:
    """The objects of one cloud, for the length of one operation."""

    def __init__(self, connection: sqlite3.Connection, cloud: str) -> None:
        self._connection = connection
        self.cloud = cloud

    def beside(self, cloud: str) -> Transaction:
        """The objects of another cloud, within the same operation: what a partner does in its customer's account."""
        return Transaction(self._connection, cloud)

    def put(self, kind: str, id: str, properties: Mapping[str, Any], secrets: Sequence[str] = ()) -> None:
        """Make the object, or change it if it exists."""
        self.put_many(kind, [(id, properties)], secrets)

    def put_many(
        self, kind: str, objects: Sequence[tuple[str, Mapping[str, Any]]], secrets: Sequence[str] = ()
    ) -> None:
        """Make or change many objects of one kind at once."""
        self._connection.executemany(
            "INSERT INTO objects (cloud, kind, id, properties, secrets) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (cloud, kind, id) DO UPDATE SET properties = excluded.properties,"
            " secrets = excluded.secrets",
            [
                (
                    self.cloud,
                    kind,
                    id,
                    json.dumps(properties, separators=(",", ":")),
                    json.dumps(list(secrets)),
                )
                for id, properties in objects
            ],
        )

    def patch(self, kind: str, id: str, **changes: Any) -> None:
        """Change single properties of an object that exists."""
        self._connection.execute(
            "UPDATE objects SET properties = ? WHERE cloud = ? AND kind = ? AND id = ?",
            (json.dumps({**self.need(kind, id), **changes}), self.cloud, kind, id),
        )

    def get(self, kind: str, id: str) -> dict[str, Any] | None:
        """The object's properties, or None if there is no such object."""
        row = self._connection.execute(
            "SELECT properties FROM objects WHERE cloud = ? AND kind = ? AND id = ?", (self.cloud, kind, id)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def need(self, kind: str, id: str) -> dict[str, Any]:
        """The object's properties. Raises KeyError if there is no such object."""
        found = self.get(kind, id)
        if found is None:
            raise KeyError(f"{kind} {id}")
        return found

    def secrets(self, kind: str, id: str) -> list[str]:
        """The names of the object's secret properties."""
        row = self._connection.execute(
            "SELECT secrets FROM objects WHERE cloud = ? AND kind = ? AND id = ?", (self.cloud, kind, id)
        ).fetchone()
        return json.loads(row[0]) if row else []

    def find(self, kind: str, **equal: Any) -> list[tuple[str, dict[str, Any]]]:
        """Every object of the kind whose properties equal the given ones, oldest first."""
        where, values = self._where(kind, equal)
        rows = self._connection.execute(
            f"SELECT id, properties FROM objects WHERE {where} ORDER BY sequence", values
        )
        return [(id, json.loads(properties)) for id, properties in rows]

    def select(self, kind: str, property: str, nonempty: str = "", **equal: Any) -> list[Any]:
        """One property of every object that :meth:`find` would return, where it is there.

        ``nonempty`` names a text property: objects in which it is empty are passed over, by index.
        """
        where, values = self._where(kind, equal)
        if nonempty:
            where += f" AND json_extract(properties, '$.{nonempty}') > ''"
        rows = self._connection.execute(
            f"SELECT json_extract(properties, '$.{property}'), json_type(properties, '$.{property}')"
            f" FROM objects WHERE {where} ORDER BY sequence",
            values,
        )
        return [json.loads(value) if kind in ("array", "object") else value for value, kind in rows if kind]

    def count(self, kind: str, **equal: Any) -> int:
        """How many objects :meth:`find` would return."""
        where, values = self._where(kind, equal)
        return self._connection.execute(f"SELECT COUNT(*) FROM objects WHERE {where}", values).fetchone()[0]

    def _where(self, kind: str, equal: Mapping[str, Any]) -> tuple[str, list[Any]]:
        clauses = ["cloud = ?", "kind = ?"]
        values: list[Any] = [self.cloud, kind]
        for name, value in equal.items():
            clauses.append(f"json_extract(properties, '$.{name}') = ?")
            values.append(value)
        return " AND ".join(clauses), values

    def remove(self, kind: str, id: str) -> bool:
        """Remove the object. Says whether there was one."""
        return (
            self._connection.execute(
                "DELETE FROM objects WHERE cloud = ? AND kind = ? AND id = ?", (self.cloud, kind, id)
            ).rowcount
            > 0
        )

    def rename(self, old: str, new: str) -> None:
        """Give an object another id, everywhere it is named: in ids, ARNs and the properties of other objects."""
        self._connection.execute(
            "UPDATE objects SET id = replace(id, ?, ?), properties = replace(properties, ?, ?) WHERE cloud = ?",
            (old, new, old, new, self.cloud),
        )

    def remove_all(self, kind: str, **equal: Any) -> int:
        """Remove every object that :meth:`find` would return. Says how many."""
        where, values = self._where(kind, equal)
        return self._connection.execute(f"DELETE FROM objects WHERE {where}", values).rowcount

    def next(self, counter: str, step: int = 1) -> int:
        """Count up a named counter and return its new value: 1 at first."""
        return self._connection.execute(
            "INSERT INTO counters (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value",
            (f"{self.cloud}/{counter}", step),
        ).fetchone()[0]

    def record(self, operation: str, kind: str, id: str, name: str, outcome: str) -> None:
        """Add a line to the journal."""
        self._connection.execute(
            "INSERT INTO journal (at, cloud, operation, kind, id, name, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (time.time(), self.cloud, operation, kind, id, name, outcome),
        )


class Store:
    """The database file. Several processes and threads may use it at once; writers wait for each other."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        # The file holds a rehearsal: losing its last second to a power cut costs nothing.
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    @contextlib.contextmanager
    def transaction(self, cloud: str) -> Generator[Transaction]:
        """One operation on the objects of one cloud: all of it happens or, on an exception, nothing."""
        with contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(connection, cloud)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def dump(self, cloud: str | None = None) -> list[dict[str, Any]]:
        """Every object as ``{"cloud", "kind", "id", "properties"}``, oldest first; secrets read ``[secret]``."""
        with contextlib.closing(self._connect()) as connection:
            rows = connection.execute(
                "SELECT cloud, kind, id, properties, secrets FROM objects WHERE ? IS NULL OR cloud = ?"
                " ORDER BY sequence",
                (cloud, cloud),
            ).fetchall()
        return [
            {
                "cloud": owner,
                "kind": kind,
                "id": id,
                "properties": json.loads(properties) | dict.fromkeys(json.loads(secrets), "[secret]"),
            }
            for owner, kind, id, properties, secrets in rows
        ]

    def count(self, cloud: str, kind: str) -> int:
        """How many objects of a kind a cloud holds."""
        with self.transaction(cloud) as tx:
            return tx.count(kind)

    def journal(self) -> list[dict[str, Any]]:
        """What was asked of the clouds, oldest first: ``{"cloud", "operation", "kind", "id", "name", "outcome"}``."""
        with contextlib.closing(self._connect()) as connection:
            rows = connection.execute(
                "SELECT cloud, operation, kind, id, name, outcome FROM journal ORDER BY sequence"
            ).fetchall()
        return [
            dict(zip(("cloud", "operation", "kind", "id", "name", "outcome"), row, strict=True))
            for row in rows
        ]

    def forget(self) -> None:
        """Empty the database: objects, journal and counters."""
        with contextlib.closing(self._connect()) as connection:
            connection.executescript("DELETE FROM objects; DELETE FROM journal; DELETE FROM counters;")
