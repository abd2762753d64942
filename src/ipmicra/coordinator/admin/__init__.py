"""What an operator may do: commands, sessions, submissions, quotas, crawler states."""
