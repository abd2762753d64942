"""What an operator's forms do to the rows."""

from __future__ import annotations

import re

import pytest

from ipmicra.coordinator.store import hosts, orders
from ipmicra.coordinator.store.hosts import HostRefused, HostState
from tests.web.dashboard_harness import DashboardHarness


@pytest.fixture
def signed_in(scene: DashboardHarness) -> DashboardHarness:
    assert scene.sign_in().status_code == 303
    return scene


def test_registering_shows_the_command_to_run_and_its_token_works(signed_in: DashboardHarness) -> None:
    page = signed_in.tell("/admin/hosts", name="Lima", contact="owner@example.org").text
    token = page.partition("ipmicra host join http://crawl.example ")[2].partition("<")[0]
    with signed_in.database.begin() as connection:
        assert hosts.enrol(connection, token, b"k" * 32, "192.0.2.1", signed_in.now_s) == "lima"
    assert token not in signed_in.get("/hosts/lima").text


def test_a_name_that_is_none_is_refused_with_the_reason(signed_in: DashboardHarness) -> None:
    for name in ("", "-lima", "li ma", "<b>", "a" * 64, "lima/../oslo"):
        answer = signed_in.tell("/admin/hosts", name=name)
        assert answer.status_code == 400, name
        assert "a host&#39;s name has letters" in answer.text


def test_a_name_is_taken_once(signed_in: DashboardHarness) -> None:
    signed_in.tell("/admin/hosts", name="lima")
    answer = signed_in.tell("/admin/hosts", name="lima")
    assert (answer.status_code, "already" in answer.text) == (400, True)


def test_a_host_is_paused_resumed_and_retired_by_orders(signed_in: DashboardHarness) -> None:
    signed_in.join("lima")
    for wanted in ("pause", "resume", "retire"):
        answer = signed_in.tell(f"/admin/hosts/lima/{wanted}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/hosts/lima")
        with signed_in.database.read() as connection:
            assert wanted in orders.counts(connection)
    with signed_in.database.read() as connection:
        assert orders.counts(connection) == {"resume": 1, "retire": 1}, "the pause was taken back"


def test_a_revoked_host_is_ended_at_once(signed_in: DashboardHarness) -> None:
    signed_in.join("lima")
    signed_in.tell("/admin/hosts/lima/revoke")
    with signed_in.database.read() as connection:
        host = hosts.host_named(connection, "lima")
    assert host is not None
    assert host.state is HostState.REVOKED
    assert signed_in.tell("/admin/hosts/lima/pause").status_code == 400


@pytest.mark.parametrize("path", ["/admin/hosts/nobody/pause", "/admin/hosts/lima/explode"])
def test_what_cannot_be_done_is_said(signed_in: DashboardHarness, path: str) -> None:
    signed_in.join("lima")
    assert signed_in.tell(path).status_code == 400


def test_pages_are_submitted_one_a_line(signed_in: DashboardHarness) -> None:
    page = signed_in.tell("/admin/pages", urls="https://a.example/\n https://b.example/x \n").text
    assert "2 submitted, 2 of them new" in page
    assert signed_in.row("https://b.example").state == "waiting"


@pytest.mark.parametrize("urls", ["", "javascript:alert(1)", "https://a.example/ <script>"])
def test_what_is_no_page_is_refused_and_shown_harmlessly(signed_in: DashboardHarness, urls: str) -> None:
    answer = signed_in.tell("/admin/pages", urls=urls)
    assert answer.status_code == 400
    assert "<script>" not in answer.text


def test_a_join_token_that_ran_out_is_replaced_on_the_hosts_page(scene: DashboardHarness) -> None:
    scene.sign_in()
    first = scene.tell("/admin/hosts", name="lima").text
    old = re.search(r"join \S+ ([0-9a-f]+)", first)
    scene.now_s += 30 * 86_400
    scene.strange().sign_in()
    assert 'action="/admin/hosts/lima/token"' in scene.get("/hosts/lima").text
    new = re.search(r"join \S+ ([0-9a-f]+)", scene.tell("/admin/hosts/lima/token").text)
    assert old is not None
    assert new is not None
    with scene.database.begin() as connection:
        with pytest.raises(HostRefused):
            hosts.enrol(connection, old[1], b"k" * 32, "", scene.now_s)
        assert hosts.enrol(connection, new[1], b"k" * 32, "", scene.now_s) == "lima"
    assert scene.tell("/admin/hosts/lima/token").status_code == 400, "it has joined"
    assert scene.strange().post("/admin/hosts/lima/token", {}).status_code == 303


def test_a_crawler_is_moved_by_a_form_that_names_where_to(signed_in: DashboardHarness) -> None:
    signed_in.join("lima")
    signed_in.join("oslo", "198.18.0.2")
    assert '<option value="oslo">' in signed_in.get("/hosts/lima").text
    assert signed_in.tell("/admin/hosts/lima/move", target="oslo").status_code == 303
    page = signed_in.get("/hosts/lima").text
    assert "moving to oslo" in page
    assert "/admin/hosts/lima/move" not in page, "it moves already"
    assert "/admin/hosts/lima/resume" in page
    assert signed_in.tell("/admin/hosts/lima/move", target="nobody").status_code == 400


def test_only_an_operator_can_order_a_move(scene: DashboardHarness) -> None:
    scene.join("lima")
    scene.join("oslo", "198.18.0.2")
    assert "/admin/hosts" not in scene.get("/hosts/lima").text
    forged = scene.post("/admin/hosts/lima/move", {"target": "oslo", "form_token": "0" * 64})
    assert forged.status_code == 303
    assert "moving" not in scene.get("/hosts/lima").text


def test_a_version_that_is_not_published_is_refused(signed_in: DashboardHarness) -> None:
    signed_in.join("lima", code={"takes_bundles": True})
    answer = signed_in.tell("/admin/hosts/lima/upgrade", version="6.6")
    assert (answer.status_code, "not published" in answer.text) == (400, True)


def test_a_page_offers_what_the_crawlers_state_allows(signed_in: DashboardHarness) -> None:
    signed_in.join("lima")
    page = signed_in.get("/hosts/lima").text
    assert "/admin/hosts/lima/pause" in page
    assert "/admin/hosts/lima/resume" not in page
    signed_in.tell("/admin/hosts/lima/pause")
    page = signed_in.get("/hosts/lima").text
    assert "/admin/hosts/lima/resume" in page
    assert "/admin/hosts/lima/pause" not in page
