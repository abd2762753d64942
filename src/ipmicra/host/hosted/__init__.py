"""The crawler that a host runs: its interface, in this process or in a sandbox, and the guest program."""
