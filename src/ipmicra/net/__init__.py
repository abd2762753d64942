"""The network as processes see it: who may be connected to, who may connect, how long it takes."""
