"""A script of DNS answers -> a resolver for tests: names that move, rebind, fail or do not exist."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from ipmicra.net.dns_resolver import DnsAnswer, NamesUnreachable, NoSuchName

BROKEN = "broken"


class MadeUpNames:
    """Each look-up of a name takes its next answer (addresses, or BROKEN); the last one stays."""

    def __init__(
        self, script: Mapping[str, Sequence[Sequence[str] | str]], ttl_seconds: float = 60
    ) -> None:
        self._script = {name: list(answers) for name, answers in script.items()}
        self._ttl_seconds = ttl_seconds
        self.asked: list[str] = []

    async def resolve(self, name: str) -> DnsAnswer:
        self.asked.append(name)
        answers = self._script.get(name)
        if not answers:
            raise NoSuchName(f"{name} is not in the script")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, str):
            raise NamesUnreachable(f"{name} is {answer}")
        return DnsAnswer(tuple(ipaddress.ip_address(text) for text in answer), self._ttl_seconds)

    async def close(self) -> None:
        return None
