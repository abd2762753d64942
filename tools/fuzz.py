"""Fuzz the parsers of foreign bytes: time, memory and undeclared exceptions are findings.

python tools/fuzz.py [--seconds 600] [TARGET ...]

Guided by coverage where Atheris is installed, else by seeded mutation. A finding is written to
tests/fuzz/corpus/TARGET, where `make test` tries it ever after; fix its cause before it is committed.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from pathlib import Path
from random import Random

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))
CORPUS = REPOSITORY / "tests" / "fuzz" / "corpus"
MEMORY_EVERY = 50


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--seconds", type=float, default=600.0, help="seconds per target")
    parser.add_argument(
        "--seed", type=int, default=None, help="seed of the inputs; the time, if none is given"
    )
    parser.add_argument(
        "--here", action="store_true", help=argparse.SUPPRESS
    )  # one target, in this process
    return parser.parse_args(words)


def tell(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command


def main(words: list[str]) -> int:
    options = parsed(words)
    if options.here:
        return fuzz_here(options.targets[0], options.seconds, options.seed)
    from tests.fuzz.targets import targets

    unknown = set(options.targets) - targets().keys()
    if unknown:
        tell(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(targets())}")
        return 2
    seed = int(time.time()) if options.seed is None else options.seed
    codes = [fuzz_apart(name, options.seconds, seed) for name in options.targets or targets()]
    return 1 if any(codes) else 0


def fuzz_apart(name: str, seconds: float, seed: int) -> int:
    """In a process of its own: a crash of native code is a finding too."""
    command = [sys.executable, __file__, "--here", "--seconds", str(seconds), "--seed", str(seed), name]
    code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode  # noqa: S603 - our own command
    if code not in (0, 1):
        tell(f"{name}: the process ended with {code}; its last input is in {last_input(name)}")
    return code


def last_input(name: str) -> Path:
    return REPOSITORY / "results" / "fuzz" / f"{name}.last"


def fuzz_here(name: str, seconds: float, seed: int) -> int:
    last_input(name).parent.mkdir(parents=True, exist_ok=True)
    try:
        import atheris  # type: ignore[import-not-found] # only where it is installed
    except ImportError:
        return fuzz_by_mutation(name, seconds, seed)
    with atheris.instrument_imports(include=["ipmicra"]):
        from tests.fuzz.targets import targets
    return fuzz_by_coverage(atheris, targets()[name], name, seconds, seed)


def fuzz_by_mutation(name: str, seconds: float, seed: int) -> int:
    from tests.fuzz.mutation import inputs
    from tests.fuzz.targets import targets

    target, until, count = targets()[name], time.monotonic() + seconds, 0
    known = tuple(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))
    for data in inputs(target.seeds + known, Random(seed), target.bytes_max):  # noqa: S311 - repeatable
        if time.monotonic() > until:
            break
        count += 1
        if is_finding(target, name, data, with_memory=count % MEMORY_EVERY == 0):
            return 1
    tell(f"{name}: {count} inputs by mutation, seed {seed}: no finding")
    return 0


def fuzz_by_coverage(atheris, target, name: str, seconds: float, seed: int) -> int:  # type: ignore[no-untyped-def]
    """libFuzzer ends the process itself: 0 after the time, another code after a finding."""
    seeds = REPOSITORY / "results" / "fuzz" / name
    seeds.mkdir(parents=True, exist_ok=True)
    for seed_input in target.seeds:
        (seeds / hashlib.sha256(seed_input).hexdigest()[:16]).write_bytes(seed_input)
    counts = [0]

    def try_one(data: bytes) -> None:
        counts[0] += 1
        if is_finding(target, name, data, with_memory=counts[0] % MEMORY_EVERY == 0):
            raise RuntimeError("a finding")

    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    arguments = [
        *(
            "fuzz",
            str(seeds),
            str(CORPUS / name),
            f"-max_total_time={int(seconds)}",
            f"-seed={seed % 2**31}",
        ),
        *(f"-max_len={target.bytes_max}", "-rss_limit_mb=4096", f"-artifact_prefix={seeds.parent}/"),
    ]
    atheris.Setup(arguments, try_one)
    atheris.Fuzz()
    return 0


def is_finding(target, name: str, data: bytes, *, with_memory: bool) -> bool:  # type: ignore[no-untyped-def]
    from tests.fuzz.oracle import Finding, check

    last_input(name).write_bytes(data)
    try:
        check(target, data, with_memory=with_memory)
    except Finding as finding:
        path = CORPUS / name / hashlib.sha256(data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        tell(f"{name}: {finding}\n  {path}")
        return True
    return False


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
