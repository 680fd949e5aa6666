"""What podberth tells its operators: metrics and log lines. It watches, and never decides or waits."""
