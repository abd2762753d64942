"""Text in each registry's format -> the allocations that it states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy.allocation import Allocation
from ipmicra.registry.formats import FORMATS, format_of
from ipmicra.registry.sample_world import sample_folder

Reader = Callable[..., Any]

RPSL = b"""\
inetnum:        198.51.100.0 - 198.51.100.63
netname:        DE-MUEHLE
descr:          M\xfchle am Bach
country:        de
org:            ORG-MB1-RIPE
status:         ASSIGNED PA
source:         RIPE # Filtered
"""
ORGANISATION = b"""\
organisation:   ORG-MB1-RIPE
org-name:       M\xc3\xbchle am Bach GmbH
country:        AT
source:         RIPE
"""


def allocation(place: str, **facts: Any) -> Allocation:
    return Allocation(AddressRange.parse(place), source="sample", **facts)


def test_an_inetnum_becomes_an_allocation(read: Reader) -> None:
    assert read(RPSL).allocations == [
        allocation(
            "198.51.100.0/26",
            handle="ORG-MB1-RIPE",
            name="Mühle am Bach",
            country="DE",
            registry="ripencc",
            status="assigned pa",
        )
    ]


@pytest.mark.parametrize(
    "texts", [(RPSL, ORGANISATION), (ORGANISATION, RPSL), (RPSL + b"\n" + ORGANISATION,)]
)
def test_organisations_are_joined_whatever_file_and_order_they_come_in(
    read: Reader, texts: tuple[bytes, ...]
) -> None:
    (found,) = read(*texts).allocations
    assert (found.handle, found.name, found.country) == ("ORG-MB1-RIPE", "Mühle am Bach GmbH", "DE")


def test_a_network_without_a_country_has_its_organisations(read: Reader) -> None:
    without_country = RPSL.replace(b"country:        de\n", b"")
    assert [found.country for found in read(without_country, ORGANISATION).allocations] == ["AT"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"DE", "DE"),
        (b"de", "DE"),
        (b"EU # world wide", "EU"),
        (b"ZZ", ""),
        (b"Germany", ""),
        (b"D1", ""),
        (b"", ""),
    ],
)
def test_countries_are_two_letters_or_unknown(read: Reader, written: bytes, meant: str) -> None:
    (found,) = read(RPSL.replace(b"de\n", written + b"\n")).allocations
    assert found.country == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"inetnum: 198.51.100.0 - 198.51.100.9", "198.51.100.0 - 198.51.100.9"),
        (b"inetnum: 198.51.100.7-198.51.100.7", "198.51.100.7/32"),
        (b"inetnum: 198.51.100.0/25 # half", "198.51.100.0/25"),
        (b"inetnum: 200.1/16", "200.1.0.0/16"),
        (b"inetnum: 10/8", "10.0.0.0/8"),
        (b"inetnum: 192.000.002.000 - 192.000.002.255", "192.0.2.0/24"),
        (b"inetnum: 0.0.0.0 - 255.255.255.255", "0.0.0.0/0"),
        (b"inet6num: 2001:db8::/32", "2001:db8::/32"),
        (b"inet6num: ::/0", "::/0"),
        (b"inet6num: 2001:DB8:0:0::/64", "2001:db8::/64"),
        (b"INETNUM: 198.51.100.0/24", "198.51.100.0/24"),
        (b"inetnum:198.51.100.0/24", "198.51.100.0/24"),
        (b"inetnum:\n 198.51.100.0\n+- 198.51.100.255", "198.51.100.0/24"),
    ],
)
def test_ranges_in_every_way_they_are_written(read: Reader, written: bytes, meant: str) -> None:
    found = read(written + b"\nsource: RIPE\n", form=format_of(RPSL, ""))
    assert found.ranges() == [meant]
    assert not found.tally.malformed


def test_continued_lines_remarks_and_crlf_are_understood(read: Reader) -> None:
    text = RPSL.replace(b"descr:          M\xfchle am Bach", b"descr:  Muehle\n        am\n+       Bach")
    text = b"% header\n#\n\n\n" + text.replace(b"\n", b"\r\n") + b"\r\n\r\n% the end\n"
    found = read(text)
    assert [row.name for row in found.allocations] == ["Muehle am Bach"]
    assert not found.tally.malformed


def test_other_classes_of_a_whole_database_are_passed_over_and_counted(read: Reader) -> None:
    text = b"person: A\nsource: RIPE\n\nroute: 10.0.0.0/8\norigin: AS1\n\nnonsense: x\n\n" + RPSL
    found = read(text)
    assert len(found.allocations) == 1
    assert found.tally.passed_over == {"person": 1, "route": 1, "other object": 1}


LACNIC = b"""\
inetnum:     200.1/16
status:      allocated
owner:       Rio Quente S.A.
ownerid:     BR-RQTE-LACNIC
country:     BR

inetnum:     2001:1280::/32
status:      allocated
owner:       Rio Quente S.A.
ownerid:     BR-RQTE-LACNIC
country:     BR
"""


def test_lacnic_bulk_whois(read: Reader) -> None:
    facts = {
        "handle": "BR-RQTE-LACNIC",
        "name": "Rio Quente S.A.",
        "country": "BR",
        "registry": "lacnic",
        "status": "allocated",
    }
    expected = [allocation("200.1.0.0/16", **facts), allocation("2001:1280::/32", **facts)]
    assert read(LACNIC).allocations == expected


ARIN_TEXT = b"""\
NetHandle:      NET-198-18-0-0-1
OrgID:          PRAIR
NetName:        PRAIRIE-NET
NetRange:       198.18.0.0 - 198.19.255.255
NetType:        allocation
Source:         ARIN

V6NetHandle:    NET6-2001-DB8-1
OrgID:          PRAIR
NetName:        PRAIRIE-6
NetRange:       2001:DB8:0:0:0:0:0:0 - 2001:DB8:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF
NetType:        allocation
Source:         ARIN

OrgID:          PRAIR
OrgName:        Prairie Carrier, Inc.
Country:        US
Source:         ARIN
"""
ARIN_XML = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<bulkwhois xmlns="http://www.arin.net/bulkwhois/core/v1">
<net><endAddress>198.019.255.255</endAddress><handle>NET-198-18-0-0-1</handle><name>PRAIRIE-NET</name>
 <netBlocks><netBlock><cidrLenth>15</cidrLenth><endAddress>198.019.255.255</endAddress>
 <type>DA</type><startAddress>198.018.000.000</startAddress></netBlock></netBlocks>
 <orgHandle>PRAIR</orgHandle><startAddress>198.018.000.000</startAddress><version>4</version></net>
<org><handle>PRAIR</handle><iso3166-1><code2>US</code2><code3>USA</code3><name>UNITED STATES</name>
 </iso3166-1><name>Prairie &amp; Carrier, Inc.</name></org>
<poc><handle>X1-ARIN</handle></poc>
</bulkwhois>
"""


def test_arin_bulk_whois_as_text(read: Reader) -> None:
    facts = {
        "handle": "PRAIR",
        "name": "Prairie Carrier, Inc.",
        "country": "US",
        "registry": "arin",
        "status": "allocation",
    }
    expected = [allocation("198.18.0.0/15", **facts), allocation("2001:db8::/32", **facts)]
    assert read(ARIN_TEXT).allocations == expected


def test_arin_bulk_whois_as_xml(read: Reader) -> None:
    found = read(ARIN_XML)
    assert found.allocations == [
        allocation(
            "198.18.0.0/15",
            handle="PRAIR",
            name="Prairie & Carrier, Inc.",
            country="US",
            registry="arin",
            status="direct allocation",
        )
    ]
    assert found.tally.passed_over == {"poc": 1}


DELEGATED = b"""\
2.3|arin|1539406814230|5|19700101|20181013|-0400
arin|*|ipv4|*|3|summary
#
arin|US|asn|1|1|20010920|assigned|e5e3
arin|US|ipv4|198.18.0.0|768|19910110|assigned|c3a1
arin|ca|ipv4|198.19.0.0|256|19910110|allocated|c3a1
arin|US|ipv6|2001:db8::|32|19910110|allocated|c3a1|extension
arin||ipv6|2620:1ff:8000::|33||reserved|
arin||ipv4|192.0.2.0|256||available
"""


def test_delegated_statistics(read: Reader) -> None:
    us = {"handle": "c3a1", "country": "US", "registry": "arin"}
    found = read(DELEGATED)
    assert sorted(found.allocations) == sorted(
        [
            allocation("198.18.0.0 - 198.18.2.255", status="assigned", **us),
            allocation("198.19.0.0/24", status="allocated", **{**us, "country": "CA"}),
            allocation("2001:db8::/32", status="allocated", **us),
        ]
    )
    assert not found.tally.malformed
    expected = {"version line": 1, "summary": 1, "remark": 1, "AS number": 1, "free space": 2}
    assert found.tally.passed_over == expected


def test_older_plain_delegated_files_have_no_handles(read: Reader) -> None:
    (found,) = read(b"ripencc|FR|ipv4|2.0.0.0|1048576|20100712|allocated\n").allocations
    assert (found.handle, found.registry, str(found.range)) == ("", "ripencc", "2.0.0.0/12")


def test_ipfire_networks_and_as_names(read: Reader) -> None:
    networks = b"1.0.0.0/8\t\tAU\n1.0.0.0/24\t13335\tAU\n2001:db8::/32\t64500\t\n"
    names = b"13335\tCLOUDY\n64500\tExample\n"
    found = read(networks, names)
    assert found.allocations == [
        allocation("1.0.0.0/8", country="AU"),
        allocation("1.0.0.0/24", handle="AS13335", name="CLOUDY", country="AU", asn=13335),
        allocation("2001:db8::/32", handle="AS64500", name="Example", asn=64500),
    ]


def test_as_ranges_of_ip_location_db(read: Reader) -> None:
    text = b'1.0.0.0,1.0.0.255,13335,"Cloudy, ""Big"" Inc."\n2001::,2001::ffff,6939,Hurricane\n'
    assert read(text).allocations == [
        allocation("1.0.0.0/24", handle="AS13335", name='Cloudy, "Big" Inc.', asn=13335),
        allocation("2001::/112", handle="AS6939", name="Hurricane", asn=6939),
    ]


SAMPLES = [
    RPSL,
    ARIN_TEXT,
    ARIN_XML,
    LACNIC,
    DELEGATED,
    b"1.0.0.0/8\t\tAU\n",
    b"1\tLVLT\n",
    b"::,::1,1,A\n",
]


@pytest.mark.parametrize(("text", "form"), list(zip(SAMPLES, FORMATS, strict=True)))
def test_contents_tell_the_format(text: bytes, form: object) -> None:
    assert format_of(text, "whatever.txt") is form
    assert format_of(text.replace(b"\n", b"\r\n"), "delegated-misnamed") is form


@pytest.mark.parametrize("text", [b"", b"hello\n", b"\x00\xff" * 50, b"<html><body>404</body></html>"])
def test_what_is_no_registry_file_has_no_format(text: bytes) -> None:
    assert format_of(text, "README.md") is None


def test_a_name_helps_where_contents_do_not() -> None:
    found = format_of(b"# a very long remark\n", "ripe.db.inetnum.gz")
    assert found is not None
    assert found.name == "RPSL database"


def test_every_sample_file_is_read_without_a_fault(read: Reader) -> None:
    texts = [path.read_bytes() for path in sorted(sample_folder().iterdir())]
    found = read(*texts)
    assert not found.tally.malformed
    assert {row.registry for row in found.allocations} == {
        "afrinic",
        "apnic",
        "arin",
        "lacnic",
        "ripencc",
    }
