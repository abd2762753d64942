"""Who gets in, who does not, and what a session is: cookies, expiry, forged forms, guesses, logs."""

from __future__ import annotations

import logging
from itertools import product

import pytest

from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.admin.sessions import SESSION_COOKIE
from ipmicra.web.sign_in_throttle import (
    TRIES_OF_ALL_MAX,
    TRIES_OF_ONE_MAX,
    WINDOW_SECONDS,
    SignInThrottle,
)
from tests.web.dashboard_harness import DashboardHarness

WORDS = "correct horse battery staple"
HOUR_S = 3600.0


def test_someone_without_a_session_is_sent_to_the_login_page(scene: DashboardHarness) -> None:
    answer = scene.get("/admin")
    assert (answer.status_code, answer.headers["location"]) == (303, "/enter")


def test_a_login_link_works_once(scene: DashboardHarness) -> None:
    token = scene.link_token()
    answer = scene.sign_in(token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
    assert scene.get("/admin").status_code == 200
    assert scene.strange().sign_in(token).status_code == 403
    assert scene.get("/admin").status_code == 303


def test_a_link_that_waited_too_long_lets_nobody_in(scene: DashboardHarness) -> None:
    token = scene.link_token()
    scene.now_s += sessions.LINK_SECONDS
    assert scene.sign_in(token).status_code == 403


def test_only_the_first_start_makes_a_link_by_itself(scene: DashboardHarness) -> None:
    with scene.database.begin() as connection:
        first = sessions.create_first_link(connection, scene.now_s)
        assert first is not None
        assert sessions.create_first_link(connection, scene.now_s) is None
    assert scene.sign_in(first).status_code == 303
    with scene.database.begin() as connection:
        assert sessions.create_first_link(connection, scene.now_s) is None, "not even when it is used up"


def test_the_cookie_is_for_the_server_alone(scene: DashboardHarness) -> None:
    cookie = scene.sign_in().headers["set-cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie, "plain HTTP on loopback could not keep it"


def test_under_tls_the_cookie_is_for_tls_alone(scene: DashboardHarness) -> None:
    scene.use("https://crawl.example")
    cookie = scene.sign_in().headers["set-cookie"]
    assert "Secure" in cookie


@pytest.mark.parametrize(
    ("quiet_s", "visits", "lives"),
    [
        (sessions.SESSION_SECONDS_UNUSED - 1, 1, True),
        (sessions.SESSION_SECONDS_UNUSED, 1, False),
        (HOUR_S / 2, 23, True),
        (HOUR_S / 2, 24, False),
    ],
)
def test_a_session_ends_unused_and_ends_anyway(
    scene: DashboardHarness, quiet_s: float, visits: int, lives: bool
) -> None:
    scene.sign_in()
    for _ in range(visits):
        scene.now_s += quiet_s
        answer = scene.get("/admin")
    assert (answer.status_code == 200) is lives


def test_signing_out_ends_the_session_for_the_server_too(scene: DashboardHarness) -> None:
    scene.sign_in()
    session = scene.cookies[SESSION_COOKIE]
    assert scene.tell("/sign-out").status_code == 303
    scene.strange().cookies.set(SESSION_COOKIE, session)
    assert scene.get("/admin").status_code == 303


def test_a_passphrase_lets_in_again_and_ends_other_sessions(scene: DashboardHarness) -> None:
    scene.sign_in()
    other = scene.cookies[SESSION_COOKIE]
    scene.strange().sign_in()
    assert scene.tell("/admin/passphrase", passphrase="too short").status_code == 400
    assert scene.tell("/admin/passphrase", passphrase=WORDS).status_code == 200
    assert scene.get("/admin").status_code == 200
    scene.strange().cookies.set(SESSION_COOKIE, other)
    assert scene.get("/admin").status_code == 303
    assert scene.strange().sign_in(WORDS + "r").status_code == 403
    assert scene.strange().sign_in(WORDS).status_code == 303


FROM_ELSEWHERE: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "http://crawl.example.evil.example"},
    {"origin": "http://crawl.example:8080"},
    {"origin": "null"},
    {"origin": ""},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
]


def test_a_form_from_elsewhere_is_refused(scene: DashboardHarness) -> None:
    scene.sign_in()
    form = {"form_token": scene.form_token("/admin"), "name": "lima"}
    for headers in FROM_ELSEWHERE:
        assert scene.post("/admin/hosts", form, **headers).status_code == 403, headers
    assert scene.post("/admin/hosts", form).status_code == 200, "and the same from here is taken"


PATHS = ["/admin/hosts", "/admin/hosts/lima/revoke", "/admin/pages", "/admin/passphrase", "/sign-out"]


def test_a_form_without_our_token_is_refused(scene: DashboardHarness) -> None:
    scene.join("lima")
    scene.sign_in()
    for path, token in product(PATHS, ["", "0" * 64]):
        answer = scene.post(path, {"form_token": token, "urls": "https://a.example/"})
        assert answer.status_code == 403, path
    assert scene.get("/admin").status_code == 200, "not even the sign-out was heard"


def test_a_form_without_a_session_does_nothing(scene: DashboardHarness) -> None:
    token = scene.form_token("/enter")
    for path in PATHS:
        answer = scene.post(path, {"form_token": token, "name": "lima"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/enter"), path
    with scene.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM host").scalar() == 0


def test_another_visitors_form_token_is_worth_nothing(scene: DashboardHarness) -> None:
    token = scene.form_token("/enter")
    scene.strange().form_token("/enter")
    form = {"secret": scene.link_token(), "form_token": token}
    assert scene.post("/enter", form).status_code == 403


def test_who_guesses_has_to_wait(scene: DashboardHarness) -> None:
    answers = [scene.sign_in("a guess").status_code for _ in range(TRIES_OF_ONE_MAX + 1)]
    assert answers == [403] * TRIES_OF_ONE_MAX + [429]
    assert scene.sign_in("a guess").headers["retry-after"] == f"{WINDOW_SECONDS:.0f}"
    scene.now_s += WINDOW_SECONDS
    assert scene.sign_in("a guess").status_code == 403


def test_guessers_do_not_lock_the_operator_out(scene: DashboardHarness) -> None:
    operator = scene.sign_in()
    assert operator.status_code == 303
    session = dict(scene.cookies)
    scene.strange()
    while scene.sign_in("a guess").status_code != 429:
        pass
    assert scene.sign_in().status_code == 303, "a one-time link always works"
    scene.strange()
    scene.cookies.update(session)
    assert scene.get("/admin").status_code == 200, "a session goes on"


def test_many_guessers_have_to_wait_together() -> None:
    throttle = SignInThrottle()
    assert all(throttle.allows(f"192.0.2.{number}", 0.0) for number in range(TRIES_OF_ALL_MAX))
    assert not throttle.allows("198.51.100.1", 0.0)
    throttle.forgive("192.0.2.1")
    assert throttle.allows("198.51.100.1", 0.0)


def test_nothing_secret_is_logged_or_kept(
    scene: DashboardHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    link = scene.link_token()
    scene.sign_in(link)
    scene.tell("/admin/passphrase", passphrase=WORDS)
    page = scene.tell("/admin/hosts", name="lima").text
    join_token = page.partition("host join http://crawl.example ")[2].partition("<")[0]
    assert len(join_token) > 20
    secrets = [link, WORDS, join_token, scene.cookies[SESSION_COOKIE]]
    scene.strange().sign_in("a wrong guess")
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "signed in" in logged
    assert "sign-in refused" in logged
    kept = scene.dump()
    for secret in [*secrets, "a wrong guess"]:
        assert secret not in logged
        assert secret not in kept
