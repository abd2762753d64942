"""A layout of generated sites -> registry records of it, in RPSL, for `ipmicra registry build`.

A city's block is its provider's. Two sites of three have networks of a company of their own city; every
third lies in a network of one company that is in all cities, as clouds are.
"""

from __future__ import annotations

from ipaddress import IPv4Network

from ipmicra.lab.loopback.layout import COUNTRIES, FIRST_CITY_BLOCK, WebLayout
from ipmicra.lab.loopback.pages import CITIES

EVERYWHERE = "ORG-CUMULUS"
EVERYWHERE_EVERY = 3  # sites


def registry_text(layout: WebLayout) -> str:
    """The database of a registry that knows the generated Internet."""
    records = [_organisation(EVERYWHERE, "Cumulus Hosting")]
    for number, city in enumerate(CITIES):
        block = IPv4Network(f"127.{FIRST_CITY_BLOCK + number}.0.0/16")
        records += [
            _organisation(f"ORG-{city.upper()}-NET", f"{city} Exchange"),
            _organisation(f"ORG-{city.upper()}-GUILD", f"Guilds of {city}"),
            _network(block, f"{city}-EXCHANGE", f"ORG-{city.upper()}-NET", COUNTRIES[city]),
        ]
    for number, (address, site) in enumerate(layout.sites.items()):
        local = f"ORG-{site.city.upper()}-GUILD"
        owner = local if (number // len(CITIES)) % EVERYWHERE_EVERY else EVERYWHERE
        network = IPv4Network(f"{address}/24", strict=False)
        records.append(_network(network, site.name.partition(".")[0], owner, COUNTRIES[site.city]))
    return "\n".join(records)


def _organisation(handle: str, name: str) -> str:
    return f"organisation: {handle}\norg-name: {name}\nsource: MADE-UP\n"


def _network(network: IPv4Network, name: str, owner: str, country: str) -> str:
    return (
        f"inetnum: {network[0]} - {network[-1]}\nnetname: {name.upper()}\ncountry: {country}\n"
        f"org: {owner}\nstatus: ASSIGNED PA\nsource: MADE-UP\n"
    )
