"""Code that travels: build, sign and publish crawlers for hosts to run.

\b
Examples:
  ipmicra bundle init --keys ~/keys --repository ~/bundles
  ipmicra bundle build --version 1.1.0 crawler.zip
  ipmicra bundle sign crawler.zip --keys ~/keys --repository ~/bundles
  ipmicra bundle publish --repository ~/bundles
"""
