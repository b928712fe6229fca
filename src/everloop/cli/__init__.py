"""The command line: ``el`` (alias ``everloop``). Each command is imported only when it is called."""
