"""What was asked of the box -> what is measured in it: round trips in three ways, and packets a second."""
