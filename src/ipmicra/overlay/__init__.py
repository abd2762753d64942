"""Network coordinates -> CAN zones that decide, without a coordinator, which peer crawls which site.

`can/` is the protocol: messages in, messages out, no I/O. `live/` carries the messages over sockets.
"""
