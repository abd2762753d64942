"""Names of benchmarks -> their tables. Without a name: all of them; with --list: what there is."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(arguments: list[str]) -> int:
    names = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__"
    )
    if arguments == ["--list"]:
        for name in names:
            story = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").partition("\n")[0]
            print(f"{name:24} {story}")
        return 0
    unknown = [name for name in arguments if name not in names]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    for name in arguments or names:
        print(f"== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
