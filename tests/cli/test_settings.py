"""Settings: three sources, later ones winning, and every mistake named with its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.cli.display.settings_text import settings_text
from ipmicra.errors import OperatorFault
from ipmicra.settings import load_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.toml"
    path.write_text('[general]\ndata_folder = "/from/file"\n', encoding="utf-8")
    return path


def data_folder(file: Path | None, environment: dict[str, str], *overrides: str) -> str:
    settings, _ = load_settings(file, environment, overrides)
    return settings.general.data_folder


def test_the_environment_wins_over_the_file_and_a_flag_over_both(file: Path) -> None:
    variable = {"IPMICRA_GENERAL_DATA_FOLDER": "/from/environment"}
    assert data_folder(file, {}) == "/from/file"
    assert data_folder(file, variable) == "/from/environment"
    assert data_folder(file, variable, "general.data_folder=/from/flag") == "/from/flag"


def test_a_variable_names_the_file(file: Path) -> None:
    assert data_folder(None, {"IPMICRA_SETTINGS": str(file)}) == "/from/file"


def test_every_setting_tells_where_it_comes_from(file: Path) -> None:
    _, knobs = load_settings(file, {})
    sources = {knob.name: knob.source for knob in knobs}
    assert sources["general.data_folder"] == str(file)
    assert all(knob.description for knob in knobs), "a setting without a description"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[general]\nno_such = 1\n", "unknown setting general.no_such"),
        ("[nowhere]\nx = 1\n", "unknown settings table 'nowhere'"),
        ("x = 1\n", "outside of a table"),
        ("[general]\ndata_folder = 7\n", "Expected `str`"),
        ("[general\n", "cannot read the settings file"),
        ("[crawler]\nsites_open_max = 0\n", "crawler.sites_open_max = 0: Expected `int` >= 1"),
        ("[crawler]\ndelay_seconds_min = nan\n", "Expected `float` >= 0"),
        ("[crawler]\nproduct = 'my bot/2'\n", "matching regex"),
        ("[crawler]\ncontact = ' '\n", "matching regex"),
        ("[fetching]\nbody_bytes_max = -1\n", "Expected `int` >= 1"),
        ('[crawler]\ngrants = [{site = "e.org", requests_per_second = 0}]', "Expected `float` > 0"),
        (
            '[crawler]\ngrants = [{site = "e.org", requests_per_second = 1, connections = 0}]',
            "Expected `int` >= 1",
        ),
        (
            '[crawler]\ngrants = [{site = "https://e.org/", requests_per_second = 1}]',
            "'https://e.org/' is not the name of a site",
        ),
        ('[crawler]\ngrants = [{site = "E.org", requests_per_second = 1}]', "write 'e.org'"),
    ],
)
def test_a_mistake_in_the_file_is_the_operators_fault(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OperatorFault, match=r"bad\.toml") as fault:
        load_settings(path, {})
    assert complaint in str(fault.value)


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    with pytest.raises(OperatorFault, match="IPMICRA_GENERAL_NO_SUCH"):
        load_settings(None, {"IPMICRA_GENERAL_NO_SUCH": "1"})


def test_a_variable_of_no_settings_table_is_somebody_elses() -> None:
    assert load_settings(None, {"IPMICRA_DATA": "/srv/data"}) == load_settings(None, {})


@pytest.mark.parametrize("override", ["general.data_folder", "data_folder=1", "=1"])
def test_an_override_without_its_form_is_refused(override: str) -> None:
    with pytest.raises(OperatorFault, match=r"table\.key=value"):
        load_settings(None, {}, [override])


@pytest.mark.parametrize(
    "site", ["e.org", "e.org:8080", "e.org:80", "127.0.0.1:8301", "::1", "[::1]", "[::1]:8301"]
)
def test_a_grant_names_a_site_and_perhaps_its_port(site: str) -> None:
    settings, _ = load_settings(None, {}, [f'crawler.grants=[{{site="{site}", requests_per_second=5}}]'])
    assert settings.crawler.grants[0].site == site


def test_former_names_of_settings_are_accepted_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "old.toml"
    path.write_text("[coordinator]\nacquaintance_seconds = 60\n", encoding="utf-8")
    settings, _ = load_settings(path, {"IPMICRA_COORDINATOR_ACQUAINTANCES_MAX": "7"})
    assert settings.coordinator.mesh_refresh_seconds == 60
    assert settings.coordinator.mesh_partners_max == 7
    assert "old.toml: coordinator.acquaintance_seconds is now called" in caplog.text
    assert "coordinator.mesh_partners_max" in caplog.text


def test_a_former_name_and_the_present_one_are_the_same_setting() -> None:
    old, new = "coordinator.acquaintances_max=7", "coordinator.mesh_partners_max=9"
    assert load_settings(None, {}, [old, new])[0].coordinator.mesh_partners_max == 9
    assert load_settings(None, {}, [new, old])[0].coordinator.mesh_partners_max == 7


def test_changed_settings_are_written_as_a_file_that_is_read_the_same(tmp_path: Path) -> None:
    words = (
        "general.data_folder=/somewhere",
        "crawler.delay_seconds_min=0.5",
        'crawler.grants=[{site="a.example", requests_per_second=3.0, connections=2}]',
    )
    settings, knobs = load_settings(None, {}, words)
    again = tmp_path / "again.toml"
    again.write_text(settings_text(knobs), encoding="utf-8")
    assert load_settings(again, {})[0] == settings


@pytest.mark.parametrize(
    ("database", "written"),
    [
        ("postgresql://crawler:secret@db.example/crawl", "postgresql://crawler:***@db.example/crawl"),
        ("not a database secret", ""),
    ],
)
def test_no_password_of_a_database_is_written(database: str, written: str) -> None:
    _, knobs = load_settings(None, {}, [f"coordinator.database={database}"])
    assert settings_text(knobs) == f'[coordinator]\ndatabase = "{written}"\n'
