"""The command line: turns arguments into settings, and errors into exit codes. Other packages do the commands' work."""
