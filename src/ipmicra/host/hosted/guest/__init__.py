"""What runs in a sandbox -> a crawler that does as the dock says, over a control channel.

Law: it is the dispatched code, so nothing in the dock trusts it. The dock's own ends of the channel are in
`ipmicra.host.hosted.sandboxed`; both ends share `messages`.
"""
