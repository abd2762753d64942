"""The description of the search API is what the server does: each parameter, each bound, each refusal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema_rs  # schemathesis brings it
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from ipmicra.model.search import PER_SITE
from ipmicra.search.http.application import application, question_pool
from ipmicra.search.http.parameters import NAMES
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import package, seen

POOL = question_pool()
PATH = "/api/search"
SITES, PAGES_A_SITE = 15, 5
FOLDED = SITES * PER_SITE


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient[Litestar]]:
    index = TantivyIndex(tmp_path_factory.mktemp("index"), writable=True)
    pages = [
        seen(f"http://s{site}.example/{page}", f"otter {site} {page}", "otter text " * (1 + page))
        for site in range(SITES)
        for page in range(PAGES_A_SITE)
    ]
    index.integrate(*package(pages))
    index.commit()
    with TestClient(application(index, POOL)) as opened:
        yield opened
    index.close()


@pytest.fixture(scope="module")
def schema(client: TestClient[Litestar]) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/schema/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def described(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The schema of each parameter."""
    parameters = schema["paths"][PATH]["get"]["parameters"]
    assert all(one["in"] == "query" and not one["required"] for one in parameters)
    assert all(one["description"] for one in parameters)
    return {one["name"]: one["schema"] for one in parameters}


def asked(client: TestClient[Litestar], schema: dict[str, Any], **given: object) -> httpx.Response:
    """An answer that is as its status's description says."""
    words = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()
    }
    answer = client.get(PATH, params=words)  # type: ignore[arg-type] # any words
    told = schema["paths"][PATH]["get"]["responses"][str(answer.status_code)]
    wanted = {**told["content"]["application/json"]["schema"], "components": schema["components"]}
    jsonschema_rs.validate(wanted, answer.json())
    return answer


def test_the_description_names_what_is_read(described: dict[str, dict[str, Any]]) -> None:
    assert set(described) == NAMES
    assert {name: one["type"] for name, one in described.items()} == {
        "q": "string", "limit": "integer", "offset": "integer", "every": "boolean",
    }  # fmt: skip


def test_what_is_not_given_has_the_default_that_is_described(
    client: TestClient[Litestar], schema: dict[str, Any], described: dict[str, dict[str, Any]]
) -> None:
    for name in described:
        others = {} if name == "q" else {"q": "otter"}
        without = asked(client, schema, **others).json()
        with_it = asked(client, schema, **others, **{name: described[name]["default"]}).json()
        assert {**without, "took_ms": 0} == {**with_it, "took_ms": 0}, name


def test_numbers_are_taken_to_their_bounds_and_refused_beyond(
    client: TestClient[Litestar], schema: dict[str, Any], described: dict[str, dict[str, Any]]
) -> None:
    for name, one in described.items():
        if one["type"] == "integer":
            for value, status in (
                (one["minimum"], 200), (one["maximum"], 200),
                (one["minimum"] - 1, 400), (one["maximum"] + 1, 400),
                ("", 400), ("x", 400), ("1.5", 400), ("1e1", 400), ("9" * 5000, 400),
            ):  # fmt: skip
                answer = asked(client, schema, q="otter", **{name: value})
                assert answer.status_code == status, (name, value)
                assert (name in answer.json().get("detail", "")) is (status == 400), (name, value)


@pytest.mark.parametrize(
    ("given", "hits"),
    [
        ({}, 0),
        ({"q": "otter"}, 10),
        ({"q": "otter", "limit": 3}, 3),
        ({"q": "otter", "limit": 100}, FOLDED),
        ({"q": "otter", "limit": 100, "offset": FOLDED - 2}, 2),
        ({"q": "otter", "limit": 100, "every": True}, SITES * PAGES_A_SITE),
        ({"q": "otter", "limit": 100, "every": False}, FOLDED),
    ],
)
def test_each_parameter_does_what_it_says(
    client: TestClient[Litestar], schema: dict[str, Any], given: dict[str, object], hits: int
) -> None:
    assert len(asked(client, schema, **given).json()["hits"]) == hits


@pytest.mark.parametrize(
    "query",
    [
        *("limt=3", "q=otter&page=2", "Q=otter", "every=1", "every=", "every=True"),
        *("q=otter&q=beaver", "limit=1&limit=2"),
    ],
)
def test_what_is_not_described_is_refused(
    client: TestClient[Litestar], schema: dict[str, Any], query: str
) -> None:
    answer = client.get(f"{PATH}?{query}")
    told = schema["paths"][PATH]["get"]["responses"]["400"]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**told, "components": schema["components"]}, answer.json())
    assert (answer.status_code, answer.json()["status_code"]) == (400, 400)


def test_an_answer_that_reached_a_cap_is_as_described_and_says_so(
    client: TestClient[Litestar], schema: dict[str, Any]
) -> None:
    told = schema["paths"][PATH]["get"]["responses"]["200"]["description"]
    assert "partial" in told
    answer = asked(client, schema, q="otter " * 400).json()
    assert answer["partial"]
    assert answer["remarks"]
    assert not asked(client, schema, q="otter").json()["partial"]


def test_the_page_forgives_what_the_api_does_not(client: TestClient[Litestar]) -> None:
    """Addresses of pages are passed on with things added to them."""
    assert client.get("/search?q=otter&utm_source=letter").text.count("<li>") == 10
