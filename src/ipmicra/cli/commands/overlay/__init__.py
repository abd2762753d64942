"""Take part in a network of peers that agree, without a coordinator, on which of them is near to which
site.

\b
Examples:
  ipmicra overlay start net.json --listen 192.0.2.1:7400
  ipmicra overlay join net.json 192.0.2.1:7400 --listen 192.0.2.9:7400
  ipmicra overlay submit net.json 192.0.2.9:7400 example.org
  ipmicra overlay search net.json 192.0.2.9:7400 words to find
  ipmicra overlay status net.json 192.0.2.1:7400 --all
  ipmicra overlay dashboard net.json 192.0.2.1:7400
"""
