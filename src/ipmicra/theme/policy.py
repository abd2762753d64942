"""Every response -> security headers that allow content from our own origin only."""

from __future__ import annotations

from litestar.datastructures import ResponseHeader

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

# `same-origin`, not `no-referrer`: under the latter a browser sends "Origin: null" with a form, and
# we could not check that a form is ours.
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

RESPONSE_HEADERS = [ResponseHeader(name=name, value=value) for name, value in HEADERS.items()]
