"""The kernel's part of a box: namespaces, TUN devices, priorities, prerequisites."""
