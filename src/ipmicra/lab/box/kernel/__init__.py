"""What a box needs of the kernel: namespaces, TUN devices, priorities, prerequisites."""
