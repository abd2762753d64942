"""Programs submit pages to a real coordinator with a token, and are refused without a valid one."""

from __future__ import annotations

import http.server
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from sqlalchemy import update

from ipmicra.cli.commands.coordinator import submit
from ipmicra.cli.commands.coordinator.token import create, revoke
from ipmicra.cli.commands.coordinator.token import list as list_tokens
from ipmicra.cli.main import program
from ipmicra.coordinator.api.operator_api import REFUSALS
from ipmicra.coordinator.client import (
    CoordinatorAway,
    CoordinatorClient,
    InvalidRequest,
    TokenRefused,
)
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import api_token_table
from ipmicra.errors import OperatorFault, SiteFault
from ipmicra.protocol.coordinator_api import SUBMISSION_BYTES_MAX, Submitted
from tests.coordinator.coordinator_process import RunningCoordinator, free_port, running_coordinator

PAGE, OTHER = "https://a.example/", "https://b.example/docs/"


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCoordinator]:
    folder: Path = tmp_path_factory.mktemp("tokens")
    settings = {"coordinator.poll_seconds_max": "0.05", "fetching.dns_servers": '["127.0.0.1:9"]'}
    with running_coordinator(folder, f"sqlite:///{folder}/rows.sqlite", settings) as running:
        yield running


def created(coordinator: RunningCoordinator, name: str, *options: str) -> str:
    token: str = msgspec.json.decode(coordinator.rows("token", "create", name, *options, "--json"))[
        "token"
    ]
    return token


def client(coordinator: RunningCoordinator, token: str = "") -> CoordinatorClient:
    return CoordinatorClient(coordinator.address, token=token)


def test_pages_are_submitted_once_however_often_they_are_sent(coordinator: RunningCoordinator) -> None:
    importer = client(coordinator, created(coordinator, "importer"))
    assert importer.submit(PAGE, OTHER) == Submitted(submitted=2, new=2)
    assert importer.submit(PAGE, OTHER) == Submitted(submitted=2, new=0)
    status = importer.status()
    assert sum(status.sites.values()) == 2
    events = [(event.kind, event.subject) for event in status.events]
    assert events.count(("pages-submitted", "importer")) == 1
    assert events.count(("token-created", "importer")) == 1
    assert importer.explain(PAGE).nearest.site == "https://a.example"


def test_without_a_valid_token_nothing_is_submitted(coordinator: RunningCoordinator) -> None:
    for token in ("", "ipmicra_guess"):
        with pytest.raises(TokenRefused, match="401"):
            client(coordinator, token).submit("https://refused.example/")
    assert client(coordinator).explain("https://refused.example/").nearest.state == "unknown"


def test_a_revoked_token_is_refused_at_once(coordinator: RunningCoordinator) -> None:
    revoked = client(coordinator, created(coordinator, "revoked"))
    revoked.submit(PAGE)
    coordinator.rows("token", "revoke", "revoked")
    coordinator.rows("token", "revoke", "revoked")
    with pytest.raises(TokenRefused, match="'revoked' is revoked"):
        revoked.submit(PAGE)


def test_an_expired_token_is_refused(coordinator: RunningCoordinator) -> None:
    expired = client(coordinator, created(coordinator, "expired", "--days", "1"))
    database = Database(coordinator.database)
    with database.begin() as connection:
        mine = api_token_table.c.name == "expired"
        connection.execute(update(api_token_table).where(mine).values(until_s=1.0))
    database.close()
    with pytest.raises(TokenRefused, match="is expired"):
        expired.submit(PAGE)


def test_a_token_allows_its_scopes_only(coordinator: RunningCoordinator) -> None:
    coordinator.registered("lima")
    reader = client(coordinator, created(coordinator, "reader", "--scope", "read"))
    writer = client(coordinator, created(coordinator, "writer", "--scope", "submit"))
    with pytest.raises(TokenRefused, match=r"403: .*scope 'submit'"):
        reader.submit(PAGE)
    with pytest.raises(TokenRefused, match=r"403: .*scope 'read'"):
        writer.status()
    addresses = [
        [host.address for host in each.status().hosts] for each in (reader, client(coordinator))
    ]
    assert addresses == [["127.0.0.1"], [""]]


@pytest.mark.parametrize("url", ["no url", "ftp://a.example/", "https://*.example/", "x" * 3_000])
def test_one_bad_url_refuses_the_whole_submission(coordinator: RunningCoordinator, url: str) -> None:
    careless = client(coordinator, created(coordinator, f"careless-{len(url)}-{url[0]}"))
    with pytest.raises(InvalidRequest, match="400"):
        careless.submit("https://fresh.example/", url)
    assert careless.explain("https://fresh.example/").nearest.state == "unknown"


def test_too_many_urls_are_refused(coordinator: RunningCoordinator) -> None:
    flood = [f"https://flood.example/{number}" for number in range(1_001)]
    with pytest.raises(InvalidRequest):
        client(coordinator, created(coordinator, "flood")).submit(*flood)
    with pytest.raises(InvalidRequest):
        client(coordinator, created(coordinator, "empty")).submit()


def test_a_body_that_is_too_long_is_refused(coordinator: RunningCoordinator) -> None:
    long = client(coordinator, created(coordinator, "long"))
    with pytest.raises(InvalidRequest, match="several requests"):
        long.submit("x" * SUBMISSION_BYTES_MAX)
    assert 413 in REFUSALS


def test_the_commands_say_what_becomes_of_a_token() -> None:
    assert "not shown again" in (create.command.help or "")
    assert "is refused" in (revoke.command.help or "")
    assert "last used" in (list_tokens.command.help or "")
    assert "--token-file" in (submit.command.help or "")


def test_tokens_are_listed_without_the_tokens(coordinator: RunningCoordinator) -> None:
    token = created(coordinator, "listed", "--never-expires")
    client(coordinator, token).submit(PAGE)
    listed = coordinator.rows("token", "list", "--json")
    [row] = [row for row in msgspec.json.decode(listed) if row["name"] == "listed"]
    assert (row["state"], row["scopes"], row["until_s"]) == ("valid", ["read", "submit"], None)
    assert row["used_s"] is not None
    assert token not in listed
    stored = Path(coordinator.database.removeprefix("sqlite:///"))
    on_disk = b"".join(file.read_bytes() for file in stored.parent.glob(f"{stored.name}*"))
    assert token.encode() not in on_disk, "only its digest is stored"


def test_a_valid_token_is_not_replaced_by_another_of_its_name(coordinator: RunningCoordinator) -> None:
    created(coordinator, "taken")
    line = ["coordinator", "token", "create", "taken", "--database", coordinator.database]
    result = CliRunner().invoke(program, line)
    assert isinstance(result.exception, OperatorFault), result.output
    coordinator.rows("token", "revoke", "taken")
    assert created(coordinator, "taken").startswith("ipmicra_")


def test_the_command_submits_to_a_running_coordinator(
    coordinator: RunningCoordinator, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(created(coordinator, "command") + "\n")
    line = [
        "coordinator",
        "submit",
        "https://c.example/",
        "--coordinator",
        coordinator.address,
        "--json",
    ]
    run = CliRunner().invoke
    done = run(program, [*line, "--token-file", str(file)])
    assert msgspec.json.decode(done.stdout) == {"submitted": 1, "new": 1}
    again = run(program, line, env={"IPMICRA_TOKEN_FILE": str(file)})
    assert msgspec.json.decode(again.stdout) == {"submitted": 1, "new": 0}
    assert isinstance(run(program, line).exception, OperatorFault)
    missing = run(program, [*line, "--token-file", str(tmp_path / "none")])
    assert isinstance(missing.exception, OperatorFault)


def test_the_description_names_the_token(coordinator: RunningCoordinator) -> None:
    with urllib.request.urlopen(f"{coordinator.address}/schema/openapi.json", timeout=30) as answer:
        described = msgspec.json.decode(answer.read())
    submit = described["paths"]["/v1/submit"]["post"]
    assert submit["security"] == [{"token": []}]
    assert {"200", "400", "401", "403"} <= set(submit["responses"])
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_a_coordinator_that_is_away_is_unavailable() -> None:
    away = CoordinatorClient(f"http://127.0.0.1:{free_port()}", token="ipmicra_any")
    with pytest.raises(CoordinatorAway, match="no coordinator answers"):
        away.submit(PAGE)


@pytest.mark.parametrize(
    "address",
    ["example.org", "ftp://a.example", "http://", "http://a:port", "http://a b/", "http://[::1", ""],
)
def test_what_is_not_an_address_is_the_operators_fault(address: str) -> None:
    with pytest.raises(OperatorFault, match="not a coordinator's address"):
        CoordinatorClient(address)


def test_a_token_is_not_sent_in_clear_text_over_a_network() -> None:
    with pytest.raises(OperatorFault, match="https only"):
        CoordinatorClient("http://crawl.example.net", token="ipmicra_any")
    CoordinatorClient("https://crawl.example.net", token="ipmicra_any")
    with pytest.raises(OperatorFault, match="not a token"):
        CoordinatorClient("http://127.0.0.1:8790", token="two words\r\nx: y")


class Redirecting(http.server.BaseHTTPRequestHandler):
    heard: list[str | None]

    def do_GET(self) -> None:
        self.heard.append(self.headers.get("authorization"))
        self.send_response(302)
        self.send_header("location", "/elsewhere")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


def test_a_token_is_not_sent_to_where_a_redirect_leads() -> None:
    Redirecting.heard = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(SiteFault, match="302"):
                CoordinatorClient(f"http://127.0.0.1:{server.server_port}", token="ipmicra_any").status()
        finally:
            server.shutdown()
            thread.join()
    assert Redirecting.heard == ["Bearer ipmicra_any"]
