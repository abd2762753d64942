"""Strategies and hosts in a simulated world: draws, a virtual clock, noise, and how good decisions were."""
