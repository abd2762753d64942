"""Which records belong to one organisation: what the rules join, and what they keep apart."""

from __future__ import annotations

import pytest

from ipmicra.hierarchy.organisation import UNKNOWN, Organisations, normalised_name

Record = tuple[str, str, str]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ripencc", "ORG-A1", "Alpha"), ("ripencc", "org-a1", "Alpha Networks")),
        (("ripencc", "", "Deutsche Telekom AG"), ("arin", "", "DEUTSCHE TELEKOM")),
        (("", "", "Telefónica, S.A."), ("", "", "TELEFONICA S. A.")),
        (("", "", "Alpha Pty Ltd"), ("", "", "Alpha Pty. Limited")),
        (("", "", "Beta GmbH & Co. KG"), ("", "", "beta")),
        (("", "", "Gamma Sp. z o.o."), ("", "", "GAMMA SP Z OO")),
        (("", "", "Delta, Inc."), ("", "", "Delta LLC")),
        (("", "", "Telenor A/S"), ("", "", "Telenor AS")),
        (("", "", "Nippon K.K."), ("", "", "Nippon")),
        (("", "", "Elisa Oyj"), ("", "", "Elisa Oy")),
        (("", "", "OOO Romashka"), ("", "", '"Romashka" OOO')),
        (("", "", "O'Reilly Media"), ("", "", "OReilly  Media")),
    ],
)
def test_these_are_the_same_organisation(one: Record, other: Record) -> None:
    organisations = Organisations()
    assert organisations.number(*one) == organisations.number(*other) != UNKNOWN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ripencc", "ORG-A1", "Alpha"), ("ripencc", "ORG-A2", "Alpha")),
        (("ripencc", "A1", "Alpha"), ("arin", "A1", "Alpha")),
        (("ripencc", "ORG-A1", "Alpha"), ("ripencc", "", "Alpha")),
        (("", "", "Alpha North"), ("", "", "Alpha South")),
        (("", "", "AB"), ("", "", "AG")),
        (("", "", "Limited Networks"), ("", "", "Networks")),
        (("", "", "Ω Telecom"), ("", "", "Telecom")),
    ],
)
def test_these_are_not(one: Record, other: Record) -> None:
    organisations = Organisations()
    assert organisations.number(*one) != organisations.number(*other)


@pytest.mark.parametrize("name", ["", "   ", "...", "-/-"])
def test_a_record_that_names_nobody_belongs_to_nobody(name: str) -> None:
    assert Organisations().number("ripencc", "", name) == UNKNOWN


def test_a_name_that_is_only_a_legal_form_stays() -> None:
    assert normalised_name("Limited") == "limited"
    assert normalised_name("Co. Ltd.") == "co"


def test_the_first_name_that_is_not_blank_stays() -> None:
    organisations = Organisations()
    number = organisations.number("arin", "H1", "")
    organisations.number("arin", "H1", "First")
    organisations.number("arin", "H1", "Second")
    assert (organisations.handles[number], organisations.names[number]) == ("H1", "First")
