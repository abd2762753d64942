"""The configured box -> measurements in it: round trips by three methods, and packets per second."""
