"""One crawl -> several processes, each with its own sites, frontier and spool.

`mailbox` carries what one process finds for another, `worker` is one of the processes, `supervisor`
starts, sums up and stops them. Invariant: an address is contacted by one process only
(`decisions.partition`); a hand-over is durable in the receiver's inbox before the sender deletes it.
"""
