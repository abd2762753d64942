"""The coordinator: registers hosts, delegates subnets, takes packages home.

\b
Examples:
  ipmicra coordinator run
  ipmicra coordinator register lima --contact owner@example.org
  ipmicra coordinator pause lima --reason "a site complains about it"
  ipmicra coordinator submit https://example.org/
  ipmicra coordinator status
"""
