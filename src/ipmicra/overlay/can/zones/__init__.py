"""How zones are split, transferred, taken over and repaired."""
