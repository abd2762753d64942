"""Positions and countries -> round trips that distance alone predicts."""
