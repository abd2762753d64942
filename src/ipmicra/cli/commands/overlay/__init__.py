"""Take part in a network of peers that agree, without a coordinator, on who is near to which site.

\b
Examples:
  ipmicra overlay start net.json --listen 192.0.2.1:7400 --point 10,-4,2
  ipmicra overlay join net.json 192.0.2.1:7400 --listen 192.0.2.9:7400 --point -80,3,11
  ipmicra overlay submit net.json 192.0.2.9:7400 example.org --point 12,-5,2
  ipmicra overlay status net.json 192.0.2.1:7400
"""
