"""The kernel's guards against dispatched code: seccomp filter, notifications, and their self-test."""
