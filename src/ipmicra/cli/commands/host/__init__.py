"""Lend this machine to a crawler: join, run, see what it does, pause, leave.

\b
  ipmicra host join https://coordinator.example TOKEN
  ipmicra host run
  ipmicra host status
  ipmicra host log
  ipmicra host leave
"""
