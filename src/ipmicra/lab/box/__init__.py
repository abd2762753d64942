"""A world file -> an Internet in a box: real TCP between network namespaces on one machine.

Each crawler has a namespace of its own, the sites share one, the coordinator has one. One user-space
router joins them by TUN devices and delays each packet by who sends it to whom. Sites have real public
addresses inside. Nothing is made in the machine's own network, and there is no way out.
"""
