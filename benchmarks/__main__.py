"""A benchmark's name and its flags -> its table. Without a name: all of them; with --list: what there is.

python -m benchmarks crawl --pages 500
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def names() -> list[str]:
    """The benchmarks: the modules of this folder. A benchmark of several files has a package beside it."""
    modules = pkgutil.iter_modules(benchmarks.__path__)
    return sorted(module.name for module in modules if not module.ispkg and module.name != "__main__")


def main(arguments: list[str]) -> int:
    known = names()
    if arguments == ["--list"]:
        for name in known:
            story = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").partition("\n")[0]
            print(f"{name:24} {story}")
        return 0
    first_flag = next((at for at, text in enumerate(arguments) if text.startswith("-")), len(arguments))
    wanted, flags = arguments[:first_flag], arguments[first_flag:]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted or known:
        print(f"== {name} ==", flush=True)
        sys.argv = [name, *flags]
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
