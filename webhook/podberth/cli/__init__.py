"""The command line: turns arguments into settings and errors into exit codes. Other rooms do the commands' work."""
