"""The command line: one file a command, one folder a group, under `commands/`.

A file's place is the command's name: `commands/registry/show.py` is `ipmicra registry show`. So a new
command is a new file that holds a click command named `command`; nothing else is edited.
"""
