"""The actions of an operator: commands, sessions, submissions, quotas, crawler states."""
