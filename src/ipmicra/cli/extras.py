"""A library that is not installed -> which extra has it, and the command that adds it."""

from __future__ import annotations

from ipmicra.errors import HostFault

OF_LIBRARY = {
    "numpy": "search",
    "tantivy": "search",
    "litestar": "search",
    "uvicorn": "search",
    "htpy": "search",
    "scipy": "coordinator",
    "sqlalchemy": "coordinator",
    "psycopg": "coordinator",
    "prometheus_client": "coordinator",
    "matplotlib": "lab",
    "pypdfium2": "pdf",
    "obstore": "s3",
    "pyarrow": "export",
}
OF_COMMAND = ("coordinator", "registry", "overlay", "nearest", "explain", "bundle")  # more than a search


def extra_missing(command: str, missing: ModuleNotFoundError) -> Exception:
    """The fault to report; the error itself if no extra would help."""
    library = (missing.name or "").partition(".")[0]
    extra = OF_LIBRARY.get(library)
    if extra is None:
        return missing
    words = command.replace(".", " ").split()
    if extra == "search" and any(word in OF_COMMAND for word in words):
        extra = "coordinator"
    if any(word in ("lab", "demo") for word in words):
        extra = "lab"
    return HostFault(
        f"this command needs {library}, which comes with an extra that is not installed: "
        f"pip install 'ipmicra[{extra}]'"
    )
