"""Points -> CAN zones: which crawler takes which site, decided without a coordinator.

`can/` is the protocol, pure: messages in, messages out. What carries the messages is elsewhere.
"""
