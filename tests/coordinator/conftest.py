"""The database that a test of the coordinator runs on: each test runs on both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from ipmicra.coordinator.store.sql.database import Database
from tests.coordinator.harness import TREE, CoordinatorHarness
from tests.postgresql import postgresql_server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with postgresql_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'coordinator.sqlite'}"
    address: str = request.getfixturevalue("postgresql")
    emptied(address)
    return address


@pytest.fixture
def database(database_address: str) -> Iterator[Database]:
    database = Database(database_address)
    yield database
    database.close()


@pytest.fixture
def stage(database: Database, tmp_path: Path) -> CoordinatorHarness:
    """The delegator's stage, in a world of three subnets."""
    return CoordinatorHarness(database, tmp_path, TREE)


def emptied(address: str) -> None:
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:", 1))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
