"""The command line: arguments become settings, errors become exit codes. Other rooms do the commands' work."""
