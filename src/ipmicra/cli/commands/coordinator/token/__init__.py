"""Tokens with which programs use the coordinator's API.

\b
Examples:
  ipmicra coordinator token create importer --days 90
  ipmicra coordinator token list
  ipmicra coordinator token revoke importer
"""
