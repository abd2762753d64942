"""One crawl -> several processes, each with sites, a frontier and a spool of its own.

`parcels` carries what one process finds for another, `worker` is one of the processes, `team` starts, sums up
and stops them. Law: an address is asked by one process only (`decisions.ownership`); what changes hands is
durable in the receiver's inbox before the sender lets go of it.
"""
