"""The command line: arguments to settings, errors to exit codes. What a command does is elsewhere."""
