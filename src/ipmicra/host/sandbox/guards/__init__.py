"""What the kernel forbids to dispatched code: seccomp filter, notifications, and their self-test."""
