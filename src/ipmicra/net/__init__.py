"""The network below fetching and probing: address guard, DNS, connections, kernel round trips."""
