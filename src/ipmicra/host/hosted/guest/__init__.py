"""The program that runs in a sandbox -> a crawler that executes the host's commands from a control
channel.

Invariant: it is dispatched code, so the host trusts nothing of it. The host's end of the channel is in
`ipmicra.host.hosted.sandboxed`; both ends share `ipmicra.protocol.guest_messages`.
"""
