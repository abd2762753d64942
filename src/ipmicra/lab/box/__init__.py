"""A world file -> an Internet in a box: real TCP between network namespaces on one machine.

Each crawler has its own namespace, the sites share one, the coordinator has one. One user-space router
joins them by TUN devices and delays each packet by its source and destination. Sites have real public
addresses inside. Nothing is changed in the machine's own network, and no packet can leave the box.
"""
