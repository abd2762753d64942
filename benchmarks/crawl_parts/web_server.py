"""Documentation sites -> nginx on loopback, one address per site, gzip on, on one core; and its log.

Every site has its own address in 127.0.1.0/24, so no contestant needs names, and politeness per address
applies. The log shows which contestant fetched which page.
"""

from __future__ import annotations

import contextlib
import getpass
import gzip
import os
import shutil
import ssl
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.crawl_parts.certificate import write_certificate
from benchmarks.crawl_parts.documentation_sites import START_PAGE, DocumentationSite
from ipmicra.errors import HostFault

PORT = 18_080
TLS_PORT = 18_443
CONFIGURATION = """
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
daemon off;
events {{ worker_connections 4096; }}
http {{
    types {{ text/html html; }}
    default_type application/octet-stream;
    log_format judge '$server_addr $uri $status';
    access_log {folder}/access.log judge;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000;
    keepalive_timeout {keep_alive_seconds};
    gzip on;
    gzip_static on;
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.pem;
    ssl_session_tickets off;
{servers}
}}
"""
SERVER = """    server {{
        listen {address}:{port};
        listen {address}:{tls_port} ssl;
        root {root};
    }}
"""


class Served(NamedTuple):
    """A running server."""

    sites: list[DocumentationSite]
    folder: Path
    authority: Path

    def start_urls(self, tls: bool) -> list[str]:
        scheme, port = ("https", TLS_PORT) if tls else ("http", PORT)
        return [f"{scheme}://{address_of(at)}:{port}/{START_PAGE}" for at in range(len(self.sites))]

    def begin_log(self) -> None:
        (self.folder / "access.log").write_text("")

    def pages_in_log(self) -> Counter[tuple[str, str]]:
        """How often each page was answered with 200, by address and path."""
        lines = (line.split() for line in (self.folder / "access.log").read_text().splitlines())
        return Counter((line[0], line[1]) for line in lines if line[2] == "200")

    def pages(self) -> set[tuple[str, str]]:
        return {
            (address_of(at), f"/{page}") for at, site in enumerate(self.sites) for page in site.pages
        }


def address_of(position: int) -> str:
    return f"127.0.1.{position + 1}"


@contextlib.contextmanager
def serving(
    sites: list[DocumentationSite], folder: Path, core: int, hang_up: bool = False
) -> Iterator[Served]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        raise HostFault("this benchmark needs nginx: apt-get install nginx-light")
    for site in sites:
        _compress(site)
    addresses = [address_of(at) for at in range(len(sites))]
    authority = write_certificate(folder / "server.pem", addresses)
    servers = "".join(
        SERVER.format(address=address, port=PORT, tls_port=TLS_PORT, root=site.root.resolve())
        for address, site in zip(addresses, sites, strict=True)
    )
    configuration = folder / "nginx.conf"
    keep_alive_seconds = 0 if hang_up else 75
    configuration.write_text(
        CONFIGURATION.format(
            user=_user(), folder=folder, servers=servers, keep_alive_seconds=keep_alive_seconds
        )
    )
    command = [
        "taskset",
        "-c",
        str(core),
        program,
        "-e",
        str(folder / "error.log"),
        "-c",
        str(configuration),
    ]
    with subprocess.Popen(command) as server:
        try:
            served = Served(sites, folder, authority)
            _wait_for(served)
            yield served
        finally:
            server.terminate()


def _user() -> str:
    """The user for nginx: started by root, it would run as a user that may not enter root's cache folder."""
    return f"user {getpass.getuser()};" if os.geteuid() == 0 else ""


def _compress(site: DocumentationSite) -> None:
    """Each page also as gzip, so that the server's core does not become what is measured."""
    for page in site.pages:
        packed = site.root / f"{page}.gz"
        if not packed.exists():
            packed.write_bytes(gzip.compress((site.root / page).read_bytes(), 6))


def _wait_for(served: Served) -> None:
    trusting = ssl.create_default_context(cafile=str(served.authority))
    for url in (*served.start_urls(False), *served.start_urls(True)):
        for _ in range(50):
            try:
                urllib.request.urlopen(
                    url, context=trusting if url.startswith("https") else None
                ).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise HostFault(f"nginx does not answer at {url}; see {served.folder}/error.log")
