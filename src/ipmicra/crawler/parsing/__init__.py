"""The body of a response -> a page, on the event loop where that takes a moment, else in another process.

`jobs` says what is to be parsed and what came of it, `weight` which jobs are light, `pool` owns the
processes, `process` is the program in them, `in_progress` names the page that is worked on.
"""
