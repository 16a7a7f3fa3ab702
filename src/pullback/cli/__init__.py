"""The `pullback` command: one file per sub-command."""
